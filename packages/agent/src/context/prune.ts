// Shortens old tool results in what the model is shown, never in the transcript (I11). From 30 % of the
// window on, long results keep their ends; from 50 % on, a placeholder replaces them. The last answers,
// everything before the first message of a person, results with images and tools that are not prunable stay.
// Only the content of results changes, so pairs stay pairs.
import type { Entry, ToolResultEntry } from "@parley/protocol";
import { headOf, tailOf } from "../plain-line.ts";
import type { PruningSettings } from "./settings.ts";
import { charsOf, charsOfAll, charsPerToken, imageChars } from "./size.ts";

/** In a window too small for that much prunable text, this share of it replaces `minPrunableToolChars`. */
const minPrunableShare = 0.25;
/** Images of this many last messages stay images. */
const imageTurns = 3;
const imageGone = "[image data removed - already processed by model]";

/** Pure: equal entries give an equal view, so that a provider's cache finds its prefix again. */
export function prune(
  entries: readonly Entry[],
  windowTokens: number,
  settings: PruningSettings,
): readonly Entry[] {
  if (settings.mode === "off" || windowTokens <= 0) return entries;
  const windowChars = windowTokens * charsPerToken;
  let chars = charsOfAll(entries);
  if (chars / windowChars < settings.softTrimRatio) return entries;

  const view = [...entries];
  const prunable = prunablePlaces(entries, settings);
  const replace = (at: number, entry: Entry): void => {
    const before = view[at];
    if (before === undefined) return;
    chars += charsOf(entry) - charsOf(before);
    view[at] = entry;
  };
  for (const at of oldImages(entries)) replace(at, withoutImages(view[at]));
  for (const at of prunable) replace(at, softTrimmed(resultAt(view, at), settings.softTrim));
  if (chars / windowChars < settings.hardClearRatio || !settings.hardClear.enabled) return view;

  const prunableChars = prunable.reduce((sum, at) => sum + charsOf(resultAt(view, at)), 0);
  if (prunableChars < Math.min(settings.minPrunableToolChars, windowChars * minPrunableShare)) return view;
  for (const at of prunable) {
    if (chars / windowChars < settings.hardClearRatio) break;
    replace(at, { ...resultAt(view, at), content: [{ type: "text", text: settings.hardClear.placeholder }] });
  }
  return view;
}

/** Returns the indexes of results that may be pruned, oldest first. */
function prunablePlaces(
  entries: readonly Entry[],
  { keepLastAssistants, tools }: PruningSettings,
): readonly number[] {
  const answers = entries.flatMap((entry, at) => (entry.type === "assistant" ? [at] : []));
  const cutoff = keepLastAssistants === 0 ? entries.length : answers.at(-keepLastAssistants);
  const firstUser = entries.findIndex((entry) => entry.type === "user" || entry.type === "summary");
  if (cutoff === undefined || firstUser < 0) return [];
  const mayPrune = toolFilter(tools);
  return entries.flatMap((entry, at) => {
    if (entry.type !== "toolResult" || at < firstUser || at >= cutoff) return [];
    return mayPrune(entry.name) && entry.content.every((part) => part.type === "text") ? [at] : [];
  });
}

/** Ignores case; deny wins. */
export function toolFilter({ allow, deny }: PruningSettings["tools"]): (name: string) => boolean {
  const allowed = allow.map(pattern);
  const denied = deny.map(pattern);
  return (name) =>
    !denied.some((each) => each.test(name)) &&
    (allowed.length === 0 || allowed.some((each) => each.test(name)));
}

function pattern(glob: string): RegExp {
  const parts = glob
    .trim()
    .split(/\*+/)
    .map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "i");
}

function softTrimmed(
  result: ToolResultEntry,
  { maxChars, headChars, tailChars }: PruningSettings["softTrim"],
): ToolResultEntry {
  const text = result.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  if (text.length <= maxChars) return result;
  const note = `\n\n[Tool result trimmed: kept first ${headChars} chars and last ${tailChars} chars of ${text.length} chars.]`;
  const trimmed = `${headOf(text, headChars)}\n...\n${tailOf(text, tailChars)}${note}`;
  return trimmed.length < text.length ? { ...result, content: [{ type: "text", text: trimmed }] } : result;
}

function oldImages(entries: readonly Entry[]): readonly number[] {
  const people = entries.flatMap((entry, at) => (entry.type === "user" ? [at] : []));
  const from = people.at(-imageTurns) ?? 0;
  return entries.flatMap((entry, at) =>
    at < from &&
    (entry.type === "user" || entry.type === "toolResult") &&
    charsOf(entry) >= imageChars &&
    hasImage(entry)
      ? [at]
      : [],
  );
}

function hasImage(entry: Entry): boolean {
  return (
    (entry.type === "user" || entry.type === "toolResult") &&
    entry.content.some((part) => part.type === "image")
  );
}

function withoutImages(entry: Entry | undefined): Entry {
  if (entry?.type !== "user" && entry?.type !== "toolResult")
    throw new Error("only messages and results have images");
  return {
    ...entry,
    content: entry.content.map((part) => (part.type === "image" ? { type: "text", text: imageGone } : part)),
  };
}

function resultAt(view: readonly Entry[], at: number): ToolResultEntry {
  const entry = view[at];
  if (entry?.type !== "toolResult") throw new Error("only tool results are pruned");
  return entry;
}
