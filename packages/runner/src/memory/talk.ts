// Tells the index what was said in sessions, from the store and stretch by stretch, when somebody searches
// who may see them. Who that is, is decided here: a session itself, and in private the other private
// sessions of the same person; never anybody else's.
import { sanitizeOutbound, type Redaction } from "@parley/agent";
import type { Config } from "@parley/config";
import type { MemoryEngine, MemoryTarget, TalkTurn } from "@parley/memory";
import { isFault, parseSessionKey, type Clock, type Entry, type SessionKey } from "@parley/protocol";
import type { Session, Sessions, StoredEntry } from "@parley/store";
import type { ToolScope } from "@parley/tools";
import { readEntry, rewrittenField } from "../transcript/history.ts";
import { answersToMany } from "./recall-places.ts";

export interface TalkParts {
  readonly engine: Pick<MemoryEngine, "talks" | "takeTalk">;
  readonly sessions: Pick<Sessions, "list" | "transcript">;
  readonly redaction: Redaction;
  readonly clock: Clock;
}

const mostSessions = 1_000;
const mostOwnSessions = 50;
const stretchEntries = 100;
const entryChars = 4_000;
/** How long a search waits until what was said is taken up; the rest goes on behind it. */
const patienceMs = 1_500;
/** Written by whoever has a session's entries deleted. */
const forgottenField = "forgotten";

type Asking = Pick<ToolScope, "agent" | "session" | "conversation" | "by">;

/** The sessions whose talk the people of a call may search. */
export async function sessionsOf(
  asking: Asking,
  { session: { identityLinks }, tools }: Pick<Config, "session" | "tools">,
  sessions: Pick<Sessions, "list">,
): Promise<readonly Session[]> {
  const all = await sessions.list({ prefix: `agent:${asking.agent}:`, limit: mostSessions });
  const isOwn = ({ key }: Session): boolean => key === asking.session;
  const [sender] = asking.by.senders;
  if (
    answersToMany(asking) ||
    tools.sessions.visibility === "self" ||
    asking.by.senders.length !== 1 ||
    sender === undefined
  )
    return all.filter(isOwn);
  const linked = Object.entries(identityLinks).filter(([, ids]) => ids.includes(sender));
  const people = new Set([sender, ...linked.flatMap(([, ids]) => ids)]);
  const names = new Set(linked.map(([person]) => person));
  return all
    .filter((session) => isOwn(session) || isPrivateOf(session.key, people, names))
    .slice(0, mostOwnSessions);
}

function isPrivateOf(key: string, people: ReadonlySet<string>, names: ReadonlySet<string>): boolean {
  const parts = partsOf(key);
  if (parts?.kind !== "dm") return false;
  // A key without a channel names a person of the links, or an id that another channel may have too.
  return (
    names.has(parts.peer) || (parts.channel !== undefined && people.has(`${parts.channel}:${parts.peer}`))
  );
}

function partsOf(key: string): ReturnType<typeof parseSessionKey> | null {
  try {
    return parseSessionKey(key);
  } catch (error) {
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}

export interface TalkFeed {
  /** Resolves when the index knows all of it, or after a while; then it says how many are left. */
  upToDate(target: MemoryTarget, sessions: readonly Session[]): Promise<number>;
}

export function talkFeed(parts: TalkParts): TalkFeed {
  const running = new Map<string, Promise<void>>();

  /** One at a time for each session of an index. */
  function fed(target: MemoryTarget, session: Session): Promise<void> {
    const key = `${target.indexPath}\0${session.key}`;
    const known = running.get(key);
    if (known !== undefined) return known;
    const work = feed(parts, target, session).finally(() => running.delete(key));
    running.set(key, work);
    return work;
  }

  return {
    async upToDate(target, sessions) {
      let left = sessions.length;
      const all = (async () => {
        for (const session of sessions) {
          await fed(target, session);
          left -= 1;
        }
      })();
      let late = (): void => undefined;
      const timer = parts.clock.after(patienceMs, () => late());
      const waited = new Promise<void>((resolve) => (late = resolve));
      await Promise.race([all, waited]).finally(() => timer.cancel());
      // What fails behind the answer fails again, and is told, at the next search.
      if (left > 0) all.catch(() => undefined);
      return left;
    },
  };
}

async function feed(
  { engine, sessions, redaction }: TalkParts,
  target: MemoryTarget,
  { key, epoch, lastSeq, createdAtMs, fields }: Session,
): Promise<void> {
  const since = JSON.stringify([createdAtMs, fields[forgottenField] ?? null, fields[rewrittenField] ?? null]);
  const [known] = await engine.talks(target, [key]);
  let afterSeq = known?.since === since ? known.throughSeq : 0;
  if (known !== undefined && known.since === since && afterSeq >= lastSeq) return;
  // The epochs before may have been deleted; the store then answers nothing for them.
  for (let at = await firstEpoch(sessions, key, epoch, afterSeq); at <= epoch;) {
    const page = await sessions.transcript(key, { epoch: at, afterSeq, limit: stretchEntries });
    const last = page.at(-1);
    if (last === undefined) {
      at += 1;
      continue;
    }
    await engine.takeTalk(target, {
      session: key,
      since,
      afterSeq,
      throughSeq: last.seq,
      turns: turnsOf(page, redaction),
    });
    afterSeq = last.seq;
  }
  if (afterSeq === 0)
    await engine.takeTalk(target, { session: key, since, afterSeq, throughSeq: 0, turns: [] });
}

const mostEpochs = 200;

async function firstEpoch(
  sessions: TalkParts["sessions"],
  key: SessionKey,
  epoch: number,
  afterSeq: number,
): Promise<number> {
  let first = epoch;
  for (let at = epoch - 1; at >= Math.max(0, epoch - mostEpochs); at -= 1) {
    const found = await sessions.transcript(key, { epoch: at, afterSeq, limit: 1 });
    if (found.length > 0) first = at;
    // Entries are numbered through all epochs: what is known already ends the look back.
    else if (afterSeq > 0) break;
  }
  return first;
}

function turnsOf(page: readonly StoredEntry[], redaction: Redaction): readonly TalkTurn[] {
  const turns: {
    turn: string;
    heading: string;
    untrusted: string | null;
    lines: { seq: number; text: string }[];
  }[] = [];
  for (const { seq, turn, body } of page) {
    const entry = readEntry(body);
    if (entry === null) continue;
    let into = turns.at(-1);
    if (into?.turn !== turn) {
      into = { turn, heading: heading(entry), untrusted: null, lines: [] };
      turns.push(into);
    }
    if ("untrusted" in entry && entry.untrusted !== undefined) into.untrusted ??= entry.untrusted;
    for (const text of saidIn(entry, redaction)) into.lines.push({ seq, text });
  }
  return turns.filter(({ lines }) => lines.length > 0);
}

const heading = ({ atMs }: Entry): string => new Date(atMs).toISOString().slice(0, 16).replace("T", " ");

/** What people and the agent said; summaries say it again, and results of tools are not theirs. */
function saidIn(entry: Entry, redaction: Redaction): readonly string[] {
  if (entry.type !== "user" && entry.type !== "assistant") return [];
  const text = entry.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const clean = sanitizeOutbound(text, redaction).trim().slice(0, entryChars).toWellFormed();
  if (clean === "") return [];
  return `${entry.type}: ${clean}`.split("\n");
}
