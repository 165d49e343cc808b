// Keeps what was said in sessions in the index, turn by turn, each session in a scope of its own. The
// store has the truth: what is known here is only as far as it was told, and goes when the store's entries
// went.
import type { DatabaseSync } from "node:sqlite";
import { chunksOf, type Chunk, type ChunkSettings } from "./chunk.ts";
import type { KnownTalk, Talk, TalkTurn } from "./contract.ts";
import { putFile, removeFile, type PassageWatch } from "./passages.ts";
import { prepared } from "./prepared.ts";
import { talkScope } from "./scope.ts";

export function knownTalks(db: DatabaseSync, sessions: readonly string[]): readonly KnownTalk[] {
  const one = prepared(db, "SELECT session, since, through AS throughSeq FROM talks WHERE session = ?");
  return sessions.flatMap((session) => {
    const row = one.get(session) as KnownTalk | undefined;
    return row === undefined ? [] : [{ ...row }];
  });
}

/** True when something that is not true any more was taken out. */
export function takeTalk(
  db: DatabaseSync,
  watch: PassageWatch | null,
  chunking: ChunkSettings,
  { session, since, afterSeq, throughSeq, turns }: Talk,
): boolean {
  let [known] = knownTalks(db, [session]);
  const isOutdated = known !== undefined && known.since !== since;
  if (isOutdated) {
    dropTalk(db, watch, session);
    known = undefined;
  }
  if ((known?.throughSeq ?? 0) !== afterSeq) return isOutdated;
  for (const turn of turns) {
    const [first] = turn.lines;
    if (first === undefined) continue;
    const file = {
      source: "sessions",
      // The end of a turn may come with the next stretch.
      path: `${session}#${first.seq}`,
      scope: talkScope(session),
      stamp: "",
      sha256: "",
      note: null,
      turn: turn.turn,
      untrusted: turn.untrusted,
    } as const;
    run(putFile(db, watch, file, passagesOf(turn, chunking), 0));
  }
  prepared(db, "INSERT OR REPLACE INTO talks (session, since, through) VALUES (?, ?, ?)").run(
    session,
    since,
    throughSeq,
  );
  return isOutdated;
}

function passagesOf({ heading, lines }: TalkTurn, chunking: ChunkSettings): readonly Chunk[] {
  const text = lines.map((line) => line.text).join("\n");
  const seqAt = (line: number): number => lines[line - 1]?.seq ?? 0;
  return chunksOf(text, chunking).map((chunk) => ({
    ...chunk,
    heading,
    startLine: seqAt(chunk.startLine),
    endLine: seqAt(chunk.endLine),
  }));
}

/** False: nothing was known. */
export function dropTalk(db: DatabaseSync, watch: PassageWatch | null, session: string): boolean {
  const files = prepared(db, "SELECT id FROM files WHERE source = 'sessions' AND scope = ?").all(
    talkScope(session),
  );
  for (const { id } of files as unknown as { id: number }[]) run(removeFile(db, watch, id, 0));
  const { changes } = prepared(db, "DELETE FROM talks WHERE session = ?").run(session);
  return files.length > 0 || changes > 0;
}

/** False: nothing was known of any session. */
export function dropAllTalk(db: DatabaseSync, watch: PassageWatch | null): boolean {
  const all = prepared(db, "SELECT session FROM talks").all() as unknown as { session: string }[];
  for (const { session } of all) dropTalk(db, watch, session);
  return all.length > 0;
}

function run(steps: Generator<unknown, void>): void {
  while (steps.next().done !== true);
}
