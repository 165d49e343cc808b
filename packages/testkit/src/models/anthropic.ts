// Writes the event stream of Anthropic's Messages API: named events around content blocks, pings in between;
// `message_stop` ends it.
import { halves, rawArgs, type ReadyStep, words } from "./script.ts";

const stops = { stop: "end_turn", length: "max_tokens", toolUse: "tool_use", refusal: "refusal" } as const;

export function anthropicEvents(step: ReadyStep, model: string, id: string): readonly string[] {
  const event = (type: string, fields: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = step.usage ?? {};
  const usage = {
    input_tokens: input,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
  };
  const message = {
    id: `msg_${id}`,
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
  };
  const events = [
    event("message_start", { message: { ...message, usage: { ...usage, output_tokens: 1 } } }),
    event("ping", {}),
  ];
  let index = 0;
  const block = (content_block: object, deltas: readonly object[]): void => {
    events.push(event("content_block_start", { index, content_block }));
    events.push(...deltas.map((delta) => event("content_block_delta", { index, delta })));
    events.push(event("content_block_stop", { index }));
    index += 1;
  };
  if (step.thinking !== undefined) {
    const signature = { type: "signature_delta", signature: `sealed-${id}` };
    block({ type: "thinking", thinking: "", signature: "" }, [
      ...words(step.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
      signature,
    ]);
  }
  if (step.text !== undefined)
    block(
      { type: "text", text: "" },
      words(step.text).map((text) => ({ type: "text_delta", text })),
    );
  const calls = step.toolCalls ?? [];
  for (const [at, call] of calls.entries()) {
    const deltas = halves(rawArgs(call)).map((partial_json) => ({ type: "input_json_delta", partial_json }));
    block({ type: "tool_use", id: call.id ?? `toolu_${id}_${at}`, name: call.name, input: {} }, deltas);
  }
  if (step.errorEvent !== undefined) return [...events, event("error", { error: step.errorEvent })];
  const stop_reason = stops[step.stop ?? (calls.length > 0 ? "toolUse" : "stop")];
  return [
    ...events,
    event("message_delta", { delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: output } }),
    event("message_stop", {}),
  ];
}
