// Reads Ollama's answer, one JSON object per line, as the SDKs' stream parts. Only a line with `done` ends
// it: a stream that stops before, or a line that is no JSON, makes the answer torn.
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { jsonIn } from "../sdk/json.ts";

interface Line {
  readonly message?: {
    readonly content?: unknown;
    readonly thinking?: unknown;
    readonly tool_calls?: unknown;
  } | null;
  readonly done?: boolean;
  readonly done_reason?: string;
  readonly prompt_eval_count?: unknown;
  readonly eval_count?: unknown;
  readonly error?: unknown;
}

/** Servers that imitate Ollama write null where there is nothing. */
interface Called {
  readonly id?: string | null;
  readonly function?: { readonly name?: string | null; readonly arguments?: unknown } | null;
}

type Part = LanguageModelV4StreamPart;

export function chatParts(): TransformStream<Uint8Array, Part> {
  const decoder = new TextDecoder();
  let rest = "";
  let calls = 0;
  let ended = false;
  /** The open block; its id counts up. */
  let block: { readonly kind: "text" | "reasoning"; readonly id: string } | null = null;
  let blocks = 0;

  const close = (): Part[] => {
    const closed = block;
    block = null;
    return closed === null ? [] : [{ type: `${closed.kind}-end`, id: closed.id }];
  };
  const delta = (kind: "text" | "reasoning", text: unknown): Part[] => {
    if (typeof text !== "string" || text === "") return [];
    const opening: Part[] = [];
    if (block?.kind !== kind) {
      opening.push(...close());
      blocks += 1;
      block = { kind, id: String(blocks) };
      opening.push({ type: `${kind}-start`, id: block.id });
    }
    return [...opening, { type: `${kind}-delta`, id: String(blocks), delta: text }];
  };

  const partsOf = (line: Line): Part[] => {
    if (line.error !== undefined && line.error !== null)
      return [
        {
          type: "error",
          error: { message: typeof line.error === "string" ? line.error : JSON.stringify(line.error) },
        },
      ];
    const { content, thinking, tool_calls: made } = line.message ?? {};
    const parts = [...delta("reasoning", thinking), ...delta("text", content)];
    for (const { id, function: called } of Array.isArray(made) ? (made as readonly Called[]) : []) {
      calls += 1;
      parts.push({
        type: "tool-call",
        toolCallId: id ?? `call_${calls}`,
        toolName: called?.name ?? "",
        input:
          typeof called?.arguments === "string" ? called.arguments : JSON.stringify(called?.arguments ?? {}),
      });
    }
    if (line.done !== true) return parts;
    ended = true;
    const raw = line.done_reason ?? "stop";
    return [
      ...parts,
      ...close(),
      {
        type: "finish",
        finishReason: { unified: raw === "length" ? "length" : calls > 0 ? "tool-calls" : "stop", raw },
        usage: {
          inputTokens: {
            total: countIn(line.prompt_eval_count),
            noCache: undefined,
            cacheRead: undefined,
            cacheWrite: undefined,
          },
          outputTokens: { total: countIn(line.eval_count), text: undefined, reasoning: undefined },
        },
      },
    ];
  };

  const read = (text: string): Part[] =>
    text.trim() === "" || ended ? [] : partsOf(JSON.parse(text) as Line);

  return new TransformStream({
    transform(chunk, controller) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) for (const part of read(line)) controller.enqueue(part);
    },
    flush(controller) {
      // The last line may lack its line break; half a line does not count.
      for (const part of isWhole(rest) ? read(rest) : []) controller.enqueue(part);
    },
  });
}

function isWhole(text: string): boolean {
  // The stream was cut off; the missing end tells the caller that it is torn.
  return jsonIn(text) !== undefined;
}

/** counts.ts estimates an undefined count. */
function countIn(value: unknown): number | undefined {
  const count = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof count === "number" && Number.isFinite(count) && count >= 0 ? count : undefined;
}
