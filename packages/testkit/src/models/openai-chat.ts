// Writes the event stream of OpenAI's chat completions, as the public API does: unnamed events, `[DONE]` at
// the end.
import { halves, rawArgs, type ReadyStep, words } from "./script.ts";

const stops = { stop: "stop", length: "length", toolUse: "tool_calls", refusal: "content_filter" } as const;

export function openAiChatEvents(step: ReadyStep, model: string, id: string): readonly string[] {
  const chunk = (choices: readonly unknown[], more: object = {}): string =>
    `data: ${JSON.stringify({ id: `chatcmpl-${id}`, object: "chat.completion.chunk", created: 1_700_000_000, model, choices, ...more })}\n\n`;
  const delta = (part: object, finish: string | null = null): string =>
    chunk([{ index: 0, delta: part, finish_reason: finish }]);
  const calls = step.toolCalls ?? [];
  const events = [
    delta({ role: "assistant", content: "" }),
    ...words(step.thinking ?? "").map((word) => delta({ reasoning_content: word })),
    ...words(step.text ?? "").map((word) => delta({ content: word })),
    ...calls.flatMap((call, index) => {
      const start = {
        index,
        id: call.id ?? `call_${id}_${index}`,
        type: "function",
        function: { name: call.name, arguments: "" },
      };
      return [
        delta({ tool_calls: [start] }),
        ...halves(rawArgs(call)).map((part) =>
          delta({ tool_calls: [{ index, function: { arguments: part } }] }),
        ),
      ];
    }),
  ];
  if (step.errorEvent !== undefined)
    return [
      ...events,
      `data: ${JSON.stringify({ error: { ...step.errorEvent, code: step.errorEvent.type } })}\n\n`,
    ];
  const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = step.usage ?? {};
  const prompt = input + cacheRead + cacheWrite;
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
  };
  return [
    ...events,
    delta({}, stops[step.stop ?? (calls.length > 0 ? "toolUse" : "stop")]),
    chunk([], { usage }),
    "data: [DONE]\n\n",
  ];
}
