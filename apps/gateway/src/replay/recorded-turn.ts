// Reads a past turn from the records with all that it takes to run it again: what the model had read before,
// what it was told, who spoke and where, and the report of its prompt.
import { liveHistory, type Placed } from "@parley/agent";
import {
  Fault,
  parseRowPayload,
  parseSessionKey,
  type Entry,
  type SavedTurn,
  type SessionKey,
} from "@parley/protocol";
import { readEntry, type PromptHistory } from "@parley/runner";
import type { Inbox, Row, Session, Sessions, StoredEntry, Turns } from "@parley/store";

export interface RecordPorts {
  readonly store: {
    readonly sessions: Pick<Sessions, "list" | "transcript">;
    readonly turns: Pick<Turns, "find">;
    readonly inbox: Pick<Inbox, "find">;
  };
  readonly prompts: Pick<PromptHistory, "turns" | "explanation">;
}

const pageEntries = 500;
/** More of a session is never shown to a model. */
const mostHistory = 2_000;
/** A saved turn goes back in one frame, which may have two mebibytes. */
const mostHistoryChars = 1_000_000;

/** `id`: a turn, a row of one, or a session, of which it is the last. Throws Fault("missing"). */
export async function recordedTurn(ports: RecordPorts, id: string): Promise<SavedTurn> {
  const { sessions, turns, inbox } = ports.store;
  const turn = await turnOf(ports, id);
  const key = turn.slice(0, turn.lastIndexOf("#"));
  const session = await sessionAt(sessions, key);
  const found = await entriesOf(sessions, session, turn);
  if (found === null)
    throw new Fault(
      "missing",
      `the transcript of ${key} has nothing of the turn ${turn}: it is open, or was forgotten`,
    );
  const [view, rows, records] = await Promise.all([
    turns.find(turn),
    inbox.find({ turn, limit: 100, dismissed: true }),
    ports.prompts.turns(key),
  ]);
  const record = records.find((each) => each.turn === turn);
  const explanation = record === undefined ? null : await ports.prompts.explanation(record);
  const { summary, tail } = liveHistory(found.before);
  const started = view?.openedAtMs ?? found.entries[0]?.atMs ?? 0;
  const ended = view?.endedAtMs ?? null;
  return {
    v: 1,
    kind: "parley-turn",
    turn,
    session: key,
    place:
      record?.conversation === undefined
        ? null
        : {
            conversation: record.conversation,
            ...(record.guild === undefined ? {} : { guild: record.guild }),
            ...(record.parent === undefined ? {} : { parent: record.parent }),
          },
    by: speakersIn(rows),
    fields: { ...session.fields },
    history: newest([...(summary === null ? [] : [summary.entry]), ...tail.map(({ entry }) => entry)]).map(
      (entry) => ({ ...entry }),
    ),
    entries: found.entries.map((entry) => ({ ...entry })),
    prompt:
      explanation === null ? null : { ...structuredClone(explanation), sections: [...explanation.sections] },
    startedAtMs: started,
    tookMs: ended === null ? null : ended - started,
    expect: { calls: "names", answer: {} },
  };
}

async function turnOf({ store: { sessions, turns, inbox } }: RecordPorts, id: string): Promise<string> {
  if ((await turns.find(id)) !== null) return id;
  const [row] = await inbox.find({ id, limit: 1, dismissed: true });
  if (row !== undefined) {
    if (row.turn !== null) return row.turn;
    throw new Fault("missing", `${id} was answered by no turn`);
  }
  if (id.includes("#")) return id;
  if (!id.startsWith("agent:"))
    throw new Fault(
      "missing",
      `no turn, message or session is known by "${id}"; "parley sessions" and "parley why" show them`,
    );
  const session = await sessionAt(sessions, id);
  const last = await sessions.transcript(session.key, { epoch: session.epoch, newest: true, limit: 1 });
  const turn = last[0]?.turn;
  if (turn === undefined || turn === "") throw new Fault("missing", `${id} has had no turn since it began`);
  return turn;
}

async function sessionAt(sessions: Pick<Sessions, "list">, key: string): Promise<Session> {
  parseSessionKey(key);
  const found = (await sessions.list({ prefix: key, limit: 1_000 })).find((each) => each.key === key);
  if (found !== undefined) return found;
  throw new Fault("missing", `there is no session ${key}; "parley sessions" shows those that there are`);
}

async function entriesOf(
  sessions: Pick<Sessions, "transcript">,
  session: Session,
  turn: string,
): Promise<{ readonly entries: readonly Entry[]; readonly before: readonly Placed[] } | null> {
  for (let epoch = session.epoch; epoch >= 1; epoch -= 1) {
    let before: Placed[] = [];
    const entries: Entry[] = [];
    for (let afterSeq = 0; ;) {
      const page: readonly StoredEntry[] = await sessions.transcript(session.key as SessionKey, {
        epoch,
        afterSeq,
        limit: pageEntries,
      });
      for (const stored of page) {
        const entry = readEntry(stored.body);
        if (entry === null) continue;
        if (stored.turn === turn) entries.push(entry);
        else if (entries.length === 0) before.push({ seq: stored.seq, entry });
      }
      before = before.slice(-mostHistory);
      const last = page.at(-1);
      if (last === undefined || page.length < pageEntries) break;
      if (entries.length > 0 && last.turn !== turn) break;
      afterSeq = last.seq;
    }
    if (entries.length > 0) return { entries, before };
  }
  return null;
}

function newest(entries: readonly Entry[]): readonly Entry[] {
  let chars = 0;
  const first = entries.findLastIndex((entry) => (chars += JSON.stringify(entry).length) > mostHistoryChars);
  return entries.slice(first + 1);
}

/** Null where the rows are kept no longer: then everyone who writes there. */
function speakersIn(rows: readonly Pick<Row, "payload">[]): SavedTurn["by"] {
  if (rows.length === 0) return null;
  const told = rows.map(({ payload }) => parseRowPayload(payload));
  return {
    owner: told.every(({ owner }) => owner),
    senders: [...new Set(told.map(({ inbound }) => `${inbound.channel}:${inbound.sender.id}`))],
  };
}
