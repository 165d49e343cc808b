// The part of a session's log that a turn can look at: the entries of the epoch it was opened in, from where the last summary left off.
// Read backwards in pages and bounded (I9): the context keeper compacts a log long before it reaches these bounds.
import { longLog, type Placed } from "@parley/agent";
import type { Entry, SessionKey } from "@parley/protocol";
import type { Session, Sessions, StoredEntry } from "@parley/store";

const most = { entries: longLog.entries * 2, bytes: longLog.bytes * 2 };
const pageEntries = 250;

/** Where the last summary left off; only spares reading what it stands for. */
export const standsFromField = "contextAfterSeq";

/** Oldest first; ends with the session's last entry. */
export async function sessionHistory(sessions: Sessions, session: Session, epoch: number): Promise<readonly Placed[]> {
  const from = session.fields[standsFromField];
  const floorSeq = typeof from === "number" ? from : 0;
  const pages: Placed[][] = [];
  let before = session.lastSeq + 1;
  let entries = 0;
  let bytes = 0;
  while (before > floorSeq + 1 && entries < most.entries && bytes < most.bytes) {
    const afterSeq = Math.max(floorSeq, before - 1 - pageEntries);
    const stored = await sessions.transcript(session.key as SessionKey, { epoch, afterSeq, limit: before - 1 - afterSeq });
    const page = stored.filter(({ seq }) => seq < before);
    // Seqs are counted through all epochs, so an empty page is the beginning of this one.
    if (page.length === 0) break;
    pages.push(page.flatMap(placed));
    entries += page.length;
    bytes += page.reduce((sum, { body }) => sum + body.length, 0);
    before = afterSeq + 1;
  }
  return pages.toReversed().flat();
}

function placed({ seq, body }: StoredEntry): Placed[] {
  const entry = readEntry(body);
  return entry === null ? [] : [{ seq, entry }];
}

/** Null for an entry that cannot be read, be it one part of it: it must not take the whole conversation with it. */
export function readEntry(body: string): Entry | null {
  try {
    const entry = JSON.parse(body) as Partial<Entry> | null;
    return entry !== null && isWhole(entry) ? (entry as Entry) : null;
  } catch {
    // Not JSON any more: a damaged file, and nothing in it to show.
    return null;
  }
}

function isWhole(entry: Partial<Entry>): boolean {
  switch (entry.type) {
    case "summary":
      return typeof entry.text === "string" && typeof entry.throughSeq === "number";
    case "notice":
      return typeof entry.text === "string";
    case "assistant":
      return isObject(entry.usage) && isContent(entry.content);
    case "toolResult":
      return typeof entry.callId === "string" && typeof entry.name === "string" && isContent(entry.content);
    case "user":
      return isContent(entry.content);
    default:
      return false;
  }
}

function isContent(content: unknown): boolean {
  return Array.isArray(content) && content.every(isPart);
}

function isPart(part: unknown): boolean {
  if (!isObject(part)) return false;
  const { type, text, path, id, name, args } = part;
  if (type === "image") return typeof path === "string";
  if (type === "toolCall") return typeof id === "string" && typeof name === "string" && isObject(args);
  return (type === "text" || type === "thinking") && typeof text === "string";
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null;
}
