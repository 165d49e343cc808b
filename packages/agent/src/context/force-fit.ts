// Cuts a view to a number of tokens without asking a model, as the last resort. It shortens texts, leaves out
// the oldest parts of the conversation, and tells the model so. Only the view changes (I11), and pairs stay
// pairs.
import type { AssistantContent, Entry, ImageContent, Json, JsonObject, TextContent } from "@parley/protocol";
import { excerpt } from "./summary-prompt.ts";

/** Most characters of one text in each round of shortening. */
const roundsChars = [4_000, 1_500, 400] as const;
const leftOut =
  "[Parley: earlier parts of this conversation are left out here, they did not fit. Say so if they are needed.]";

/** Returns the first view that fits `maxTokens`, or the tightest one. */
export function forceFit(
  entries: readonly Entry[],
  maxTokens: number,
  sizeOf: (entry: Entry) => number,
): readonly Entry[] {
  const size = (view: readonly Entry[]): number => view.reduce((sum, entry) => sum + sizeOf(entry), 0);
  if (size(entries) <= maxTokens) return entries;
  let view = entries;
  for (const maxChars of roundsChars) {
    const newest = entries.findLastIndex((entry) => entry.type === "user");
    // The message that is being answered is shortened last.
    const last = maxChars === roundsChars.at(-1);
    view = entries.map((entry, at) => (at === newest && !last ? entry : shortened(entry, maxChars)));
    view = withoutOldest(view, maxTokens, sizeOf);
    if (size(view) <= maxTokens) return view;
  }
  return view;
}

/** Leaves out whole parts from the front, but not the newest message or the last part. */
function withoutOldest(
  entries: readonly Entry[],
  maxTokens: number,
  sizeOf: (entry: Entry) => number,
): readonly Entry[] {
  const first = entries[0];
  const summary = first?.type === "summary" ? [first] : [];
  const parts = partsOf(entries.slice(summary.length));
  const newest = parts.findLastIndex(([entry]) => entry?.type === "user");
  let tokens = entries.reduce((sum, entry) => sum + sizeOf(entry), 0);
  const gone = new Set<number>();
  for (let at = 0; at < parts.length - 1 && tokens > maxTokens; at += 1) {
    if (at === newest) continue;
    tokens -= (parts[at] ?? []).reduce((sum, entry) => sum + sizeOf(entry), 0);
    gone.add(at);
  }
  if (gone.size === 0) return entries;
  const note: Entry = {
    type: "user",
    content: [{ type: "text", text: leftOut }],
    rows: [],
    atMs: first?.atMs ?? 0,
  };
  return [...summary, note, ...parts.flatMap((part, at) => (gone.has(at) ? [] : part))];
}

/** Keeps an answer together with the results of its calls. */
function partsOf(entries: readonly Entry[]): readonly (readonly Entry[])[] {
  const parts: Entry[][] = [];
  for (const entry of entries) {
    const last = parts.at(-1);
    if (last === undefined || entry.type === "user" || entry.type === "assistant") parts.push([entry]);
    else last.push(entry);
  }
  return parts;
}

function shortened(entry: Entry, maxChars: number): Entry {
  if (entry.type === "notice") return entry;
  if (entry.type === "summary") return { ...entry, text: excerpt(entry.text, maxChars * 2) };
  if (entry.type === "assistant")
    return { ...entry, content: entry.content.flatMap((part) => shortAnswer(part, maxChars)) };
  return { ...entry, content: entry.content.map((part) => shortText(part, maxChars)) };
}

function shortText(part: TextContent | ImageContent, maxChars: number): TextContent | ImageContent {
  if (part.type === "image") return { type: "text", text: "[image left out]" };
  return part.text.length <= maxChars ? part : { ...part, text: excerpt(part.text, maxChars) };
}

/** A thought cannot be shortened under its signature, so it goes whole or stays. */
function shortAnswer(part: AssistantContent, maxChars: number): readonly AssistantContent[] {
  if (part.type === "thinking") return part.text.length <= maxChars ? [part] : [];
  if (part.type === "text")
    return [part.text.length <= maxChars ? part : { ...part, text: excerpt(part.text, maxChars) }];
  return [
    JSON.stringify(part.args).length <= maxChars ? part : { ...part, args: shortArgs(part.args, maxChars) },
  ];
}

function shortArgs(args: JsonObject, maxChars: number): JsonObject {
  const short = (value: Json): Json =>
    typeof value === "string" ? excerpt(value, Math.floor(maxChars / 4)) : value;
  const kept = Object.fromEntries(Object.entries(args).map(([key, value]) => [key, short(value)]));
  return JSON.stringify(kept).length <= maxChars * 2 ? kept : {};
}
