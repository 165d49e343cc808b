// Keeps every change that a turn makes to an agent's notes, so that an operator sees and undoes it. A
// change is kept as the lines that went and came, beside the notes in the store; forgetting takes it out
// there too.
import { createHash } from "node:crypto";
import type { Clock } from "@parley/protocol";
import type { Cell, Cells } from "@parley/store";
import type { Forgetting } from "@parley/memory";

export interface NoteChange {
  readonly id: string;
  readonly path: string;
  readonly session: string;
  readonly turn: string;
  readonly by: readonly string[];
  readonly tool: string;
  readonly atMs: number;
  /** Where in the text the lines stand. */
  readonly at: number;
  readonly removed: string;
  readonly added: string;
  /** Hashes of the whole file; null: there was none, or is none after it. */
  readonly before: string | null;
  readonly after: string | null;
  readonly undoneAtMs?: number;
}

type NoteChangeFrom = Pick<NoteChange, "path" | "session" | "turn" | "by" | "tool">;

export interface NoteHistory {
  /**
   * Null: there was no file, or is none after it. `once`: a repeat, by a process that does again what another
   * died of, is known by its turn and texts.
   */
  record(
    agent: string,
    from: NoteChangeFrom,
    before: string | null,
    after: string | null,
    how?: { readonly once: boolean },
  ): Promise<void>;
  /** Newest first. */
  list(agent: string, limit: number): Promise<readonly NoteChange[]>;
  undone(agent: string, id: string): Promise<void>;
  /** Takes out what says it, and returns how many changes that were. */
  forget(agent: string, what: Forgetting): Promise<number>;
}

const keptMs = 90 * 86_400_000;
/** The oldest go when a change comes past these. */
const mostKept = 2_000;
/** More than a curated file has. A larger change is kept without its text, and cannot be undone. */
const mostChars = 256_000;

const prefixOf = (agent: string): string => `memory-change:${agent}:`;
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

export function noteHistory({
  cells,
  clock,
}: {
  readonly cells: Pick<Cells, "get" | "put" | "list" | "remove">;
  readonly clock: Clock;
}): NoteHistory {
  let last = 0;
  /** Some more than are kept, because two turns may each add one at a time. */
  const cellsOf = (agent: string): Promise<readonly Cell[]> => cells.list(prefixOf(agent), mostKept * 2);
  const all = async (agent: string): Promise<readonly NoteChange[]> =>
    (await cellsOf(agent)).map(({ value }) => JSON.parse(value) as NoteChange);

  return {
    async record(agent, from, before, after, { once } = { once: false }) {
      if (before === after) return;
      const atMs = clock.now();
      const kept = await cellsOf(agent);
      // Undo takes the newest first, so changes of one millisecond, or after a clock was set back, need their
      // order too, whoever recorded the one before.
      const newest = kept.at(-1)?.key.slice(prefixOf(agent).length) ?? "0";
      last = Math.max(last, Number.parseInt(newest, 10), atMs - 1) + 1;
      const lines = changedLines(before ?? "", after ?? "");
      const isKept = lines.removed.length + lines.added.length <= mostChars;
      const hashes = {
        before: before === null ? null : hashOf(before),
        after: after === null ? null : hashOf(after),
      };
      const mark = hashOf(JSON.stringify([from.turn, from.path, hashes])).slice(0, 8);
      if (once && kept.some(({ key }) => key.endsWith(`-${mark}`))) return;
      const id = `${String(last).padStart(14, "0")}-${mark}`;
      const change: NoteChange = {
        ...from,
        id,
        atMs,
        ...(isKept ? lines : { at: -1, removed: "", added: "" }),
        ...hashes,
      };
      await cells.put(`${prefixOf(agent)}${id}`, JSON.stringify(change), { ttlMs: keptMs });
      const over = Math.max(0, kept.length + 1 - mostKept);
      for (const { key } of kept.slice(0, over)) await cells.remove(key);
    },
    list: async (agent, limit) => (await all(agent)).toReversed().slice(0, limit),
    async undone(agent, id) {
      const key = `${prefixOf(agent)}${id}`;
      const cell = await cells.get(key);
      if (cell === null) return;
      const change = { ...(JSON.parse(cell.value) as NoteChange), undoneAtMs: clock.now() };
      const leftMs = cell.expiresAtMs === null ? keptMs : Math.max(1, cell.expiresAtMs - clock.now());
      await cells.put(key, JSON.stringify(change), { ttlMs: leftMs });
    },
    async forget(agent, what) {
      let count = 0;
      for (const { id, removed, added } of await all(agent)) {
        if (what.text(removed) === null && what.text(added) === null) continue;
        await cells.remove(`${prefixOf(agent)}${id}`);
        count += 1;
      }
      return count;
    },
  };
}

/** What differs, in whole lines. */
export function changedLines(before: string, after: string): Pick<NoteChange, "at" | "removed" | "added"> {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  let first = 0;
  while (first < old.length && first < fresh.length && old[first] === fresh[first]) first += 1;
  let last = 0;
  const most = Math.min(old.length, fresh.length) - first;
  while (last < most && old[old.length - 1 - last] === fresh[fresh.length - 1 - last]) last += 1;
  return {
    at: old.slice(0, first).join("").length,
    removed: old.slice(first, old.length - last).join(""),
    added: fresh.slice(first, fresh.length - last).join(""),
  };
}

/** With their ends. */
const linesOf = (text: string): readonly string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
