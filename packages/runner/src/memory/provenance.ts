// Tells where a line of the notes comes from: the turn that wrote it, and whose words that turn followed.
// What tools wrote stands in the transcripts; what the silent turn before a compaction wrote is stamped,
// because that turn leaves no transcript.
import { createHash } from "node:crypto";
import type { Entry } from "@parley/protocol";
import type { Cells, Inbox, Sessions } from "@parley/store";
import { speakersOf } from "../turn-rows.ts";

export interface Provenance {
  readonly session: string;
  readonly turn: string;
  /** `<channel>:<id>` of the people whose words the turn followed. */
  readonly by: readonly string[];
  readonly atMs: number;
  /** What wrote it: the name of a tool, or "memory flush". */
  readonly tool: string;
}

const mostSessions = 500;
const mostEpochs = 50;
const mostEntries = 50_000;
const pageEntries = 500;
const mostFound = 10;
/** A shorter line stands in too much. */
const leastChars = 4;

/** As it may have been written before somebody moved it: without its list mark. */
const bare = (line: string): string => line.replace(/^\s*(?:[-*+]|\d+[.)]|#{1,6}|>)\s+/, "").trim();

const keyOf = (line: string): string =>
  `memory-note:${createHash("sha256").update(bare(line)).digest("hex").slice(0, 32)}`;

export async function stampLines(cells: Pick<Cells, "put">, text: string, from: Provenance): Promise<void> {
  for (const line of text.split("\n"))
    if (bare(line) !== "") await cells.put(keyOf(line), JSON.stringify(from), {});
}

/** Newest first; empty when no turn that is still stored wrote the line. */
export async function provenanceOf(
  {
    cells,
    sessions,
    inbox,
  }: { readonly cells: Pick<Cells, "get">; readonly sessions: Sessions; readonly inbox: Inbox },
  agent: string,
  line: string,
): Promise<readonly Provenance[]> {
  const text = bare(line);
  if (text.length < leastChars) return [];
  const found: Provenance[] = [];
  const stamped = await cells.get(keyOf(line));
  if (stamped !== null) found.push(JSON.parse(stamped.value) as Provenance);
  const quoted = JSON.stringify(text).slice(1, -1);
  let left = mostEntries;
  for (const { key, epoch } of await sessions.list({ prefix: `agent:${agent}:`, limit: mostSessions })) {
    for (let at = epoch; at >= Math.max(0, epoch - mostEpochs) && left > 0; at -= 1) {
      for (let afterSeq = 0; left > 0;) {
        const page = await sessions.transcript(key, { epoch: at, afterSeq, limit: pageEntries });
        left -= page.length;
        for (const stored of page) {
          if (!stored.body.includes(quoted)) continue;
          const entry = JSON.parse(stored.body) as Entry;
          if (entry.type !== "assistant") continue;
          for (const part of entry.content) {
            if (part.type !== "toolCall" || !JSON.stringify(part.args).includes(quoted)) continue;
            if (!writers.has(part.name)) continue;
            found.push({ session: key, turn: stored.turn, by: [], atMs: entry.atMs, tool: part.name });
          }
        }
        const last = page.at(-1);
        if (last === undefined || page.length < pageEntries) break;
        afterSeq = last.seq;
      }
    }
  }
  const newest = found.toSorted((a, b) => b.atMs - a.atMs).slice(0, mostFound);
  return Promise.all(
    newest.map(async (one) =>
      one.by.length > 0
        ? one
        : { ...one, by: speakersOf(await inbox.find({ turn: one.turn, limit: 100 })).senders },
    ),
  );
}

/** Tools that write files; what only read the line did not write it. */
const writers: ReadonlySet<string> = new Set(["write", "edit", "apply_patch", "exec"]);
