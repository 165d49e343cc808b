// Tells where a line of the notes comes from: the turn that wrote it, and whose words that turn followed.
// Whatever writes notes for an agent stamps the lines, beside the files and without their text; what commands
// wrote, and lines beyond the stamps of one write, are looked for in the transcripts.
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
  /** Where text of strangers came from that the turn had read before. */
  readonly untrusted?: string | undefined;
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

/** Knows a line again, wherever it was moved to. */
export const lineMark = (line: string): string =>
  createHash("sha256").update(bare(line)).digest("hex").slice(0, 32);

const keyOf = (agent: string, line: string): string => `memory-note:${agent}:${lineMark(line)}`;

/** So many lines of one write are stamped. */
const mostStamped = 500;

export async function stampLines(
  cells: Pick<Cells, "put">,
  agent: string,
  text: string,
  from: Provenance,
  untrusted: (line: string) => string | undefined = () => from.untrusted,
): Promise<void> {
  const lines = text.split("\n").filter((line) => bare(line) !== "");
  for (const line of lines.slice(0, mostStamped)) {
    const stamp: Provenance = { ...from, untrusted: untrusted(line) };
    await cells.put(keyOf(agent, line), JSON.stringify(stamp), {});
  }
}

/** What was stamped on a line when it was written. */
export async function stampOf(
  cells: Pick<Cells, "get">,
  agent: string,
  line: string,
): Promise<Provenance | null> {
  const cell = await cells.get(keyOf(agent, line));
  return cell === null ? null : (JSON.parse(cell.value) as Provenance);
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
  const stamped = await stampOf(cells, agent, line);
  if (stamped !== null) found.push(stamped);
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
            if (found.some(({ turn, tool }) => turn === stored.turn && tool === part.name)) continue;
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
