// Reads from a turn's commit how it ended and what it said, for the session that asked for it.
import { type Entry, parseContent, type Part, type SessionKey } from "@parley/protocol";
import type { Commit, Row, Sessions, Step } from "@parley/store";
import { internalOf } from "../internal-row.ts";
import type { AskedEnd } from "./child-registry.ts";
import { readThere, sourceIn } from "./read-there.ts";

/** The end with the mark of what stood before the turn: it may have come of text of strangers read then. */
export async function markedBefore(
  end: AskedEnd,
  { session, epoch }: { readonly session: SessionKey; readonly epoch: number | undefined },
  sessions: Pick<Sessions, "open" | "transcript">,
): Promise<AskedEnd> {
  if (end.untrusted !== undefined || end.text === "") return end;
  const source = await readThere(sessions, await sessions.open(session), epoch);
  return source === undefined ? end : { ...end, untrusted: source };
}

export function isWell({ state }: AskedEnd): boolean {
  return state === "answered" || state === "silent";
}

/**
 * Takes the state from what the runtime did, never from the words. `shown`: the beginning of the answer that
 * went out before in pieces, which people have read and the asker has not.
 */
export function endOf(what: Commit, rows: readonly Row[], shown: string): AskedEnd {
  const source =
    (what.entries ?? []).map(untrustedIn).find((each) => each !== null) ??
    rows.map((row) => internalOf(row)?.untrusted).find((each) => each !== undefined);
  const end = wholeAnswer(endWords(what), what, shown);
  return source === undefined ? end : { ...end, untrusted: source };
}

function wholeAnswer(end: AskedEnd, { outcome, entries }: Commit, shown: string): AskedEnd {
  // Pieces of what was said before a call are no part of the answer.
  if (shown === "" || outcome !== "answered" || !lastWords(entries ?? []).includes(shown)) return end;
  const text = end.text.startsWith(shown) ? end.text : [shown, end.text].filter(Boolean).join("\n\n");
  return { ...end, state: "answered", text };
}

/** What the model said last. */
function lastWords(entries: readonly string[]): string {
  const said = entries
    .map((entry) => JSON.parse(entry) as Entry)
    .findLast(({ type }) => type === "assistant");
  if (said?.type !== "assistant") return "";
  return said.content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** How much of an answer that goes out in pieces went out, by the turn's log. */
export function shownPieces(log: readonly Step[]): string {
  const marks = log.flatMap(({ kind, body }) =>
    kind === "preview" ? [JSON.parse(body) as { readonly said?: string }] : [],
  );
  return marks.findLast(({ said }) => said !== undefined)?.said?.trim() ?? "";
}

/** Of an entry as it is written; most have no such word and are not parsed. */
function untrustedIn(entry: string): string | null {
  if (!entry.includes('"untrusted"')) return null;
  return sourceIn(JSON.parse(entry) as Entry) ?? null;
}

function endWords({ outcome, reason = "", deliveries = [], patch = {} }: Commit): AskedEnd {
  const words = deliveries.flatMap(({ parts }) => parts.flatMap(({ content }) => wordsIn(content)));
  const used = patch["usage"] as
    | { readonly inputTokens?: number; readonly outputTokens?: number }
    | undefined;
  const tokens = (used?.inputTokens ?? 0) + (used?.outputTokens ?? 0);
  const text = words.join("\n\n");
  if (outcome === "answered")
    return { state: text === "" ? "silent" : "answered", text, reason: null, tokens };
  if (outcome === "silent") return { state: "silent", text: "", reason: null, tokens };
  if (outcome === "stopped") return { state: "stopped", text, reason, tokens };
  return { state: "failed", text: "", reason, tokens };
}

export function wordsIn(content: string): readonly string[] {
  const meant = parseContent(content);
  return meant.kind === "reply" ? meant.parts.map(partWords) : [];
}

function partWords(part: Part): string {
  switch (part.kind) {
    case "text":
      return part.markdown;
    case "card":
      return `${part.title}\n${part.markdown}`;
    case "poll":
      return [part.question, ...part.options].join("\n");
    case "voice":
      return `[voice note: ${part.file.name}]`;
    case "media":
      return [`[files: ${part.files.map(({ name }) => name).join(", ")}]`, part.caption ?? ""]
        .join(" ")
        .trim();
  }
}
