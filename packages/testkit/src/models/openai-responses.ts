// Writes the event stream of OpenAI's Responses API: named, numbered events around output items;
// `response.completed` or `response.incomplete` ends it.
import { halves, rawArgs, type ReadyStep, words } from "./script.ts";

export function openAiResponsesEvents(step: ReadyStep, model: string, id: string): readonly string[] {
  let sequence = 0;
  const event = (type: string, fields: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: (sequence += 1), ...fields })}\n\n`;
  const response = (status: string, more: object = {}): object => ({
    response: {
      id: `resp_${id}`,
      object: "response",
      created_at: 1_700_000_000,
      status,
      model,
      output: [],
      ...more,
    },
  });
  const events = [
    event("response.created", response("in_progress")),
    event("response.in_progress", response("in_progress")),
  ];
  let output = 0;
  const item = (fields: object, inside: (at: object) => readonly string[], done: object): void => {
    const at = { output_index: output };
    events.push(
      event("response.output_item.added", { ...at, item: { status: "in_progress", ...fields } }),
      ...inside(at),
    );
    events.push(
      event("response.output_item.done", { ...at, item: { status: "completed", ...fields, ...done } }),
    );
    output += 1;
  };

  if (step.thinking !== undefined) {
    const thinking = step.thinking;
    const item_id = `rs_${id}`;
    item(
      { id: item_id, type: "reasoning", summary: [], encrypted_content: `sealed-${id}` },
      (at) => [
        event("response.reasoning_summary_part.added", {
          ...at,
          item_id,
          summary_index: 0,
          part: { type: "summary_text", text: "" },
        }),
        ...words(thinking).map((delta) =>
          event("response.reasoning_summary_text.delta", { ...at, item_id, summary_index: 0, delta }),
        ),
        event("response.reasoning_summary_part.done", {
          ...at,
          item_id,
          summary_index: 0,
          part: { type: "summary_text", text: thinking },
        }),
      ],
      { summary: [{ type: "summary_text", text: thinking }] },
    );
  }
  if (step.text !== undefined) {
    const text = step.text;
    const item_id = `msg_${id}`;
    const part = { type: "output_text", text, annotations: [] };
    item(
      { id: item_id, type: "message", role: "assistant", content: [] },
      (at) => [
        event("response.content_part.added", {
          ...at,
          item_id,
          content_index: 0,
          part: { ...part, text: "" },
        }),
        ...words(text).map((delta) =>
          event("response.output_text.delta", { ...at, item_id, content_index: 0, delta }),
        ),
        event("response.output_text.done", { ...at, item_id, content_index: 0, text }),
      ],
      { content: [part] },
    );
  }
  const calls = step.toolCalls ?? [];
  for (const [index, call] of calls.entries()) {
    const item_id = `fc_${id}_${index}`;
    item(
      {
        id: item_id,
        type: "function_call",
        call_id: call.id ?? `call_${id}_${index}`,
        name: call.name,
        arguments: "",
      },
      (at) => [
        ...halves(rawArgs(call)).map((delta) =>
          event("response.function_call_arguments.delta", { ...at, item_id, delta }),
        ),
        event("response.function_call_arguments.done", { ...at, item_id, arguments: rawArgs(call) }),
      ],
      { arguments: rawArgs(call) },
    );
  }
  if (step.errorEvent !== undefined) {
    const { type, message } = step.errorEvent;
    return [...events, event("error", { code: type, message, param: null })];
  }
  const { input = 0, output: written = 0, cacheRead = 0, cacheWrite = 0 } = step.usage ?? {};
  const prompt = input + cacheRead + cacheWrite;
  const usage = {
    input_tokens: prompt,
    output_tokens: written,
    total_tokens: prompt + written,
    input_tokens_details: { cached_tokens: cacheRead },
    output_tokens_details: { reasoning_tokens: 0 },
  };
  const cut =
    step.stop === "length" ? "max_output_tokens" : step.stop === "refusal" ? "content_filter" : null;
  const last =
    cut === null
      ? response("completed", { usage })
      : response("incomplete", { usage, incomplete_details: { reason: cut } });
  return [...events, event(cut === null ? "response.completed" : "response.incomplete", last)];
}
