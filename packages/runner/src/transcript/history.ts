// Reads the part of a session's log that a turn can see: the entries of the turn's epoch since the last
// summary. It reads backwards in bounded pages (I9); the context window compacts a log long before it reaches
// these bounds.
import { longLog, type Placed } from "@parley/agent";
import type { Entry, SessionKey } from "@parley/protocol";
import type { Session, Sessions, StoredEntry } from "@parley/store";

/** Session field: grows when something in its entries was forgotten. */
export const rewrittenField = "rewritten";

const most = { entries: longLog.entries * 2, bytes: longLog.bytes * 2 };
const pageEntries = 250;

/**
 * The seq through which the last summary goes; reading stops there because the summary stands for the rest.
 */
export const standsFromField = "contextAfterSeq";

/** Oldest first, up to the session's last entry. */
export async function sessionHistory(
  sessions: Pick<Sessions, "transcript">,
  session: Session,
  epoch: number,
): Promise<readonly Placed[]> {
  return (await readBack(sessions, session, epoch, floorOf(session))).placed;
}

export type ReadHistory = (session: Session, epoch: number) => Promise<readonly Placed[]>;

interface Known {
  readonly session: Session;
  readonly epoch: number;
  readonly floorSeq: number;
  readonly read: Stretch;
}

/**
 * Caches the histories read last: a transcript only grows (I11), so a turn reads only what came since the one
 * before it.
 */
export function historyReader(sessions: Sessions): ReadHistory {
  const remembered = new Map<string, Known>();
  let bytes = 0;

  const forget = (key: string): void => {
    bytes -= remembered.get(key)?.read.bytes ?? 0;
    remembered.delete(key);
  };

  return async (session, epoch) => {
    const { key, createdAtMs, lastSeq } = session;
    const floorSeq = floorOf(session);
    const known = remembered.get(key);
    const goesOn =
      known?.epoch === epoch &&
      // A turn from before a reset may resume after the cache lost what it had read.
      known.session.epoch === session.epoch &&
      known.floorSeq === floorSeq &&
      known.session.createdAtMs === createdAtMs &&
      known.session.lastSeq <= lastSeq &&
      known.session.fields[rewrittenField] === session.fields[rewrittenField] &&
      isShort(known.read);
    const read = goesOn
      ? joined(known.read, await readBack(sessions, session, epoch, known.session.lastSeq))
      : await readBack(sessions, session, epoch, floorSeq);
    forget(key);
    remembered.set(key, { session, epoch, floorSeq, read });
    bytes += read.bytes;
    for (const oldest of remembered.keys()) {
      if (bytes <= rememberedMost.bytes && remembered.size <= rememberedMost.sessions) break;
      forget(oldest);
    }
    return read.placed;
  };
}

/** Parsed entries take about three times these bytes in memory. */
const rememberedMost = { bytes: 4_000_000, sessions: 500 };

interface Stretch {
  readonly placed: readonly Placed[];
  readonly entries: number;
  readonly bytes: number;
}

function joined(first: Stretch, rest: Stretch): Stretch {
  if (rest.entries === 0) return first;
  // The new entries alone fill the bounds, so the cached ones are not needed.
  if (!isShort(rest)) return rest;
  return {
    placed: [...first.placed, ...rest.placed],
    entries: first.entries + rest.entries,
    bytes: first.bytes + rest.bytes,
  };
}

function isShort({ entries, bytes }: Pick<Stretch, "entries" | "bytes">): boolean {
  return entries < most.entries && bytes < most.bytes;
}

function floorOf({ fields }: Session): number {
  const from = fields[standsFromField];
  return typeof from === "number" ? from : 0;
}

async function readBack(
  sessions: Pick<Sessions, "transcript">,
  session: Session,
  epoch: number,
  floorSeq: number,
): Promise<Stretch> {
  const pages: Placed[][] = [];
  let before = session.lastSeq + 1;
  let entries = 0;
  let bytes = 0;
  while (before > floorSeq + 1 && isShort({ entries, bytes })) {
    const afterSeq = Math.max(floorSeq, before - 1 - pageEntries);
    const stored = await sessions.transcript(session.key as SessionKey, {
      epoch,
      afterSeq,
      limit: before - 1 - afterSeq,
    });
    const page = stored.filter(({ seq }) => seq < before);
    // Seqs count on through all epochs, so an empty page is the beginning of this one.
    if (page.length === 0) break;
    pages.push(page.flatMap(placed));
    entries += page.length;
    bytes += page.reduce((sum, { body }) => sum + body.length, 0);
    before = afterSeq + 1;
  }
  return { placed: pages.toReversed().flat(), entries, bytes };
}

function placed({ seq, body }: StoredEntry): Placed[] {
  const entry = readEntry(body);
  return entry === null ? [] : [{ seq, entry }];
}

/**
 * Returns null for an entry that cannot be read, even in part, so that it does not block the whole
 * conversation.
 */
export function readEntry(body: string): Entry | null {
  try {
    const entry = JSON.parse(body) as Partial<Entry> | null;
    return entry !== null && isWhole(entry) ? (entry as Entry) : null;
  } catch {
    // A damaged entry is no JSON any more and has nothing to show.
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
