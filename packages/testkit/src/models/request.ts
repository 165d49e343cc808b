// Represents a request as a fake model server received it, and reads the parts that tests ask about from the
// three wire formats.

export type ModelWire = "chat" | "responses" | "anthropic";

export interface ModelCall {
  readonly wire: ModelWire;
  readonly headers: { readonly [name: string]: string | undefined };
  /** The whole body, parsed. */
  readonly body: { readonly [field: string]: unknown };
  readonly model: string;
  readonly system: string;
  /** Text of the last user message; empty when there is none. */
  readonly lastUserText: string;
  /** Text of a tool result that stands after the last user message; null when there is none. */
  readonly lastToolResult: string | null;
  readonly tools: readonly string[];
  /** Filled when the client hung up before the answer was written. */
  aborted: boolean;
}

type Fields = { readonly [field: string]: unknown };

export function modelCall(wire: ModelWire, headers: ModelCall["headers"], body: Fields): ModelCall {
  const items = objects(wire === "responses" ? body["input"] : body["messages"]);
  const lastUser = items.findLastIndex((item) => item["role"] === "user" && !holdsResult(item));
  const results = items.slice(lastUser + 1).flatMap(resultTexts);
  const system = [
    textOf(body["system"]),
    textOf(body["instructions"]),
    ...items
      .filter((item) => item["role"] === "system" || item["role"] === "developer")
      .map((item) => textOf(item["content"])),
  ];
  return {
    wire,
    headers,
    body,
    model: String(body["model"]),
    system: system.filter((text) => text !== "").join("\n"),
    lastUserText: textOf(items[lastUser]?.["content"]),
    lastToolResult: results.at(-1) ?? null,
    tools: objects(body["tools"]).map((tool) =>
      String(tool["name"] ?? objects([tool["function"]])[0]?.["name"]),
    ),
    aborted: false,
  };
}

/** Anthropic puts tool results into user messages. */
function holdsResult(item: Fields): boolean {
  return objects(item["content"]).some((part) => part["type"] === "tool_result");
}

function resultTexts(item: Fields): readonly string[] {
  if (item["role"] === "tool") return [textOf(item["content"])];
  if (item["type"] === "function_call_output") return [textOf(item["output"])];
  return objects(item["content"]).flatMap((part) =>
    part["type"] === "tool_result" ? [textOf(part["content"])] : [],
  );
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return objects(content)
    .flatMap((part) => (typeof part["text"] === "string" ? [part["text"]] : []))
    .join("\n");
}

function objects(value: unknown): readonly Fields[] {
  return Array.isArray(value)
    ? value.filter((item): item is Fields => typeof item === "object" && item !== null)
    : [];
}
