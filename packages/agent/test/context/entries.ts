// Entries and logs for the context's tests, and the law that every view must keep.
import fc from "fast-check";
import type { ModelMessage } from "@parley/models";
import { type AssistantContent, type Entry, noUsage, type Usage } from "@parley/protocol";
import type { Placed } from "../../src/index.ts";

export function said(text: string, atMs = 0): Entry {
  return { type: "user", content: [{ type: "text", text }], rows: [], atMs };
}

export function answered(
  text: string,
  calls: readonly string[] = [],
  more: { readonly atMs?: number; readonly usage?: Usage } = {},
): Entry {
  const content: AssistantContent[] = [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...calls.map((id) => ({ type: "toolCall" as const, id, name: "read", args: {} })),
  ];
  return {
    type: "assistant",
    content,
    model: "m",
    stop: calls.length > 0 ? "toolUse" : "stop",
    usage: noUsage,
    atMs: 0,
    ...more,
  };
}

export function result(callId: string, text: string, name = "read"): Entry {
  return { type: "toolResult", callId, name, content: [{ type: "text", text }], isError: false, atMs: 0 };
}

export function image(path = "a.png"): {
  readonly type: "image";
  readonly mediaType: string;
  readonly path: string;
} {
  return { type: "image", mediaType: "image/png", path };
}

export function placed(entries: readonly Entry[], from = 1): readonly Placed[] {
  return entries.map((entry, at) => ({ seq: from + at, entry }));
}

/** Turns of messages, answers and calls with results, as a transcript has them. */
export const conversation: fc.Arbitrary<readonly Entry[]> = fc
  .array(
    fc.record({
      text: fc.integer({ min: 1, max: 3_000 }),
      rounds: fc.array(fc.array(fc.integer({ min: 1, max: 9_000 }), { minLength: 1, maxLength: 3 }), {
        maxLength: 3,
      }),
      answers: fc.boolean(),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((turns) => {
    let calls = 0;
    return turns.flatMap(({ text, rounds, answers }, turn): Entry[] => [
      said(`m${turn} ${"w".repeat(text)}`),
      ...rounds.flatMap((sizes) => {
        const ids = sizes.map(() => `c${(calls += 1)}`);
        return [answered("", ids), ...ids.map((id, nth) => result(id, `r ${"x".repeat(sizes[nth] ?? 1)}`))];
      }),
      ...(answers ? [answered(`a${turn} ${"v".repeat(text)}`)] : []),
    ]);
  });

/** What is wrong with a request's messages; empty for a valid one (I11). */
export function flaws(messages: readonly ModelMessage[]): readonly string[] {
  const found: string[] = [];
  const ids = new Set<string>();
  let open: string[] = [];
  if (messages.length > 0 && messages[0]?.role !== "user") found.push("does not begin with a user message");
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool") {
      if (open.shift() !== message.callId) found.push(`${at}: a result without its call`);
    } else {
      if (open.length > 0) found.push(`${at}: calls without results: ${open.join(" ")}`);
      open =
        message.role === "assistant"
          ? message.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []))
          : [];
      if (messages[at - 1]?.role === message.role) found.push(`${at}: two ${message.role} messages in a row`);
    }
    if (message.content.length === 0) found.push(`${at}: empty`);
    if (message.content.some((part) => part.type === "text" && part.text.trim() === ""))
      found.push(`${at}: empty text`);
    for (const part of message.role === "assistant" ? message.content : []) {
      if (part.type !== "toolCall") continue;
      if (ids.has(part.id)) found.push(`${at}: the id ${part.id} twice`);
      ids.add(part.id);
    }
  }
  if (open.length > 0) found.push("ends with open calls");
  return found;
}
