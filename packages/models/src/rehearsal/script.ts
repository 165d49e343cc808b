// The script language of the rehearsal model: one command per line, beginning with `!`. docs/rehearsal.md is
// its manual. Other lines are no error: a message without commands is ordinary conversation.
import type { JsonObject } from "@parley/protocol";
import { isObject, jsonIn, nestsTooDeep } from "../sdk/json.ts";
import { modelErrorKinds, type ModelErrorKind } from "../model.ts";

export type RehearsalCommand =
  | { readonly do: "text"; readonly pieces: readonly string[]; readonly everyMs: number }
  | { readonly do: "think"; readonly text: string }
  | { readonly do: "wait"; readonly afterMs: number }
  | { readonly do: "tool"; readonly name: string; readonly args: JsonObject }
  | { readonly do: "badTool"; readonly name: string; readonly raw: string }
  | { readonly do: "fail"; readonly kind: ModelErrorKind; readonly retryAfterMs?: number }
  | { readonly do: "result" | "history" | "promptHash" | "help" | "hang" | "empty" | "length" };

/** Longest reply; a script that asks for more is a mistake and not a load test. */
const longestTextChars = 1_000_000;
const longestWaitMs = 3_600_000;

const commandLine = /^\s*!([a-z-]+)(?: ([^\n]*))?$/;

// Text that the gateway adds to a message: labels, and fences around quotes, memories and other people's
// words.
const fenced = /<<<BEGIN_PARLEY_(\w+ \S+)>>>[\s\S]*?<<<END_PARLEY_\1>>>/g;
const label = /^\[(?:Parley:|from |attached |edited message\]|reaction\])[^\n]*$/gm;

/** The person's own text without the gateway's additions, because a script in a quote is no order. */
export function ownWords(text: string): string {
  return text.replaceAll(fenced, "").replaceAll(label, "").trim();
}

/**
 * The commands of a message in order. A command with wrong arguments becomes a text that says what is wrong.
 */
export function parseScript(text: string): readonly RehearsalCommand[] {
  return text.split("\n").flatMap((line) => {
    const match = commandLine.exec(line.trimEnd());
    const read = match?.[1] === undefined ? undefined : commands[match[1]];
    if (match === null || read === undefined) return [];
    return [
      read((match[2] ?? "").trim()) ??
        say(`(rehearsal) I cannot do "${line.trim()}". Send !help to see the commands.`),
    ];
  });
}

function say(text: string): RehearsalCommand {
  return { do: "text", pieces: inPieces(text), everyMs: 0 };
}

/**
 * Pieces of about two whole words each, as a streaming model sends them. A word can be read in one way only,
 * so that a long one costs no more than its length.
 */
export function inPieces(text: string): readonly string[] {
  return text.match(/\s*\S+(?:\s+\S+)?(?:\s+$)?|\s+/g) ?? [];
}

function evenly(text: string, count: number): readonly string[] {
  const characters = Array.from(text);
  const size = Math.max(1, Math.ceil(characters.length / count));
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, at) =>
    characters.slice(at * size, (at + 1) * size).join(""),
  );
}

const unescaped = (text: string): string => text.replaceAll("\\n", "\n");

/** Returns null for wrong arguments. */
const commands: { readonly [name: string]: (rest: string) => RehearsalCommand | null } = {
  say: (rest) => say(unescaped(rest)),
  stream: (rest) => {
    const [, count, everyMs, text] = /^(\d{1,4}) (\d{1,6}) (.+)$/.exec(rest) ?? [];
    return text === undefined
      ? null
      : { do: "text", pieces: evenly(unescaped(text), Number(count)), everyMs: Number(everyMs) };
  },
  repeat: (rest) => {
    const [, count, text] = /^(\d{1,6}) (.+)$/.exec(rest) ?? [];
    if (text === undefined || Number(count) * text.length > longestTextChars) return null;
    return say(Array.from({ length: Number(count) }, () => unescaped(text)).join("\n"));
  },
  big: (rest) => {
    const chars = whole(rest, longestTextChars);
    return chars === null ? null : say(numberedLines(chars));
  },
  think: (rest) => ({ do: "think", text: unescaped(rest) }),
  wait: (rest) => {
    const afterMs = whole(rest, longestWaitMs);
    return afterMs === null ? null : { do: "wait", afterMs };
  },
  tool: (rest) => {
    const [, name, json] = /^(\S+)(?: (.*))?$/.exec(rest) ?? [];
    const args = parseObject(json ?? "{}");
    return name === undefined || args === null ? null : { do: "tool", name, args };
  },
  "bad-tool": (rest) => {
    const [, name, raw] = /^(\S+)(?: (.*))?$/.exec(rest) ?? [];
    return name === undefined ? null : { do: "badTool", name, raw: raw ?? "" };
  },
  fail: (rest) => {
    const [, word, waitMs] = /^(\S+)(?: (\d{1,7}))?$/.exec(rest) ?? [];
    const kind = modelErrorKinds.find((known) => known === word);
    return kind === undefined
      ? null
      : { do: "fail", kind, ...(waitMs === undefined ? {} : { retryAfterMs: Number(waitMs) }) };
  },
  silent: () => say("NO_REPLY"),
  result: () => ({ do: "result" }),
  history: () => ({ do: "history" }),
  "prompt-hash": () => ({ do: "promptHash" }),
  help: () => ({ do: "help" }),
  hang: () => ({ do: "hang" }),
  empty: () => ({ do: "empty" }),
  length: () => ({ do: "length" }),
};

function whole(text: string, atMost: number): number | null {
  const value = Number(text);
  return /^\d+$/.test(text) && value <= atMost ? value : null;
}

function parseObject(json: string): JsonObject | null {
  const value = jsonIn(json);
  // Arguments as deep as no other model's reach a tool.
  return isObject(value) && !nestsTooDeep(value) ? value : null;
}

/** Exactly `chars` characters of numbered lines, so that a missing or doubled piece is seen at once. */
function numberedLines(chars: number): string {
  let text = "";
  for (let line = 1; text.length < chars; line += 1)
    text += `${line}. The quick brown fox jumps over the lazy dog.\n`;
  return text.slice(0, chars);
}
