// Fits a conversation into a smaller window than it was kept for: a fallback model's. Whole exchanges go
// first, oldest first; the current one stays, and where it alone is too long its oldest results are cut.
// Pure; the result is not stored.
import type { ModelMessage } from "@parley/models";
import type { ImageContent, TextContent } from "@parley/protocol";
import { charsPerToken, imageChars } from "./size.ts";

const leftOut = "[Earlier parts of this conversation are left out: they do not fit.]";
const cutMark = "\n[...left out: it does not fit...]\n";
/** Characters that stay of a cut result. */
const keptChars = 400;

export function narrowed(messages: readonly ModelMessage[], maxTokens: number): readonly ModelMessage[] {
  const sizes = messages.map(tokensOfMessage);
  let total = sizes.reduce((sum, size) => sum + size, 0);
  if (total <= maxTokens) return messages;
  // A person's message begins an exchange, unless it joined a running one: then tool results stand before it.
  const begins = messages.flatMap(({ role }, at) =>
    role === "user" && messages[at - 1]?.role !== "tool" ? [at] : [],
  );
  let from = 0;
  for (const at of begins) {
    if (total <= maxTokens) break;
    total -= sizes.slice(from, at).reduce((sum, size) => sum + size, 0);
    from = at;
  }
  const kept = messages.slice(from);
  const told = from === 0 ? kept : withNote(kept);
  return total <= maxTokens ? told : withShortResults(told, total - maxTokens);
}

function withNote([first, ...rest]: readonly ModelMessage[]): readonly ModelMessage[] {
  if (first?.role !== "user") return first === undefined ? rest : [first, ...rest];
  return [{ ...first, content: [{ type: "text", text: leftOut }, ...first.content] }, ...rest];
}

function withShortResults(messages: readonly ModelMessage[], overTokens: number): readonly ModelMessage[] {
  let over = overTokens;
  return messages.map((message) => {
    if (over <= 0 || message.role !== "tool") return message;
    const content = message.content.map(short);
    over -= tokensOfMessage(message) - tokensOfMessage({ ...message, content });
    return { ...message, content };
  });
}

function short(part: TextContent | ImageContent): TextContent | ImageContent {
  if (part.type === "image") return { type: "text", text: cutMark.trim() };
  if (part.text.length <= keptChars) return part;
  const half = keptChars / 2;
  return {
    type: "text",
    text: `${part.text.slice(0, half)}${cutMark}${part.text.slice(-half)}`.toWellFormed(),
  };
}

function tokensOfMessage({ content }: ModelMessage): number {
  const sizes = content.map((part) => {
    if (part.type === "image") return imageChars;
    return Buffer.byteLength(part.type === "toolCall" ? part.name + JSON.stringify(part.args) : part.text);
  });
  return Math.ceil(sizes.reduce((sum, size) => sum + size, 0) / charsPerToken);
}
