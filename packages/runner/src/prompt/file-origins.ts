// The authors of what enters prompts, where that was not an owner outside a sandbox: cells of the store, which no tool
// reaches. One for each path, and one for each command that runs and could write there, with what it found; the next
// process ends those of the process before it.
import { createHash } from "node:crypto";
import { relative, sep } from "node:path";
import type { ForeignOrigin, OriginOf } from "@parley/agent";
import { isFault, type Clock, type Ids, type Log } from "@parley/protocol";
import type { Cells } from "@parley/store";
import { endWatch, isOlder, type Begun, type Origin, type Origins, type Watch } from "@parley/tools";

export interface FileOrigins extends Origins {
  /** Of the files of this workspace, as known now. */
  of(workspace: string): Promise<OriginOf>;
  /** Whose the content at a path is that Parley adds to, and what becomes of it. */
  added(root: string, path: string, before: string, after: string): Promise<void>;
  /** At a start: looks through what commands of the process before this one left. `hidden`: folders that no command saw. */
  endLeftovers(hidden: readonly string[]): Promise<void>;
}

export interface FileOriginsOptions {
  readonly cells: Pick<Cells, "get" | "put" | "remove" | "list">;
  /** Tells the processes apart that share a store. */
  readonly node: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

interface Written {
  readonly sha256: string;
  readonly origin: Origin;
  readonly atMs: number;
}

type Kept = Watch & { readonly node: string };

/** More files than any prompt is made of. */
const most = 10_000;
const rootKey = (root: string): string => createHash("sha256").update(root).digest("hex").slice(0, 24);
const anyWatch = "origin-watch:";

export function fileOrigins({ cells, node, clock, ids, log }: FileOriginsOptions): FileOrigins {
  const fileKey = (root: string, path: string): string => `origin:${rootKey(root)}:${path}`;
  const watchesOf = (root: string): string => `${anyWatch}${rootKey(root)}:`;

  async function watches(prefix: string): Promise<readonly Kept[]> {
    return (await cells.list(prefix, most)).map(({ value }) => JSON.parse(value) as Kept);
  }

  async function writtenAt(key: string): Promise<Written | null> {
    const cell = await cells.get(key);
    return cell === null ? null : (JSON.parse(cell.value) as Written);
  }

  /** Every command that runs there learns that this is not its doing. */
  async function note(root: string, path: string, sha256: string): Promise<void> {
    for (const { key } of await cells.list(watchesOf(root), most)) {
      for (;;) {
        const cell = await cells.get(key);
        if (cell === null) break;
        const kept = JSON.parse(cell.value) as Kept;
        const value = JSON.stringify({ ...kept, made: { ...kept.made, [path]: sha256 } });
        if ((await cells.put(key, value, { expect: cell.version })) !== null) break;
      }
    }
  }

  async function writing(root: string, path: string, sha256: string, origin: Origin | null): Promise<void> {
    const key = fileKey(root, path);
    if (origin !== null)
      await cells.put(key, JSON.stringify({ sha256, origin, atMs: clock.now() } satisfies Written), {});
    // Of other content nothing is forgotten: it is still there until the write has come to its end.
    else if ((await writtenAt(key))?.sha256 === sha256) await cells.remove(key);
    await note(root, path, sha256);
  }

  async function of(workspace: string): Promise<OriginOf> {
    const prefix = fileKey(workspace, "");
    const [files, running] = await Promise.all([cells.list(prefix, most), watches(watchesOf(workspace))]);
    const written = new Map(
      files.map(({ key, value }) => [key.slice(prefix.length), JSON.parse(value) as Written]),
    );
    return (absolute, sha256) => {
      const path = relative(workspace, absolute).split(sep).join("/");
      if (path.startsWith("../")) return null;
      const known = written.get(path);
      if (known?.sha256 === sha256) return foreign(known.origin, known.atMs);
      const left = running.find((watch) => !isOlder(watch, { path, sha256 }));
      return left === undefined ? null : unsettled(left.origin);
    };
  }

  const book: FileOrigins = {
    of,
    writing,
    async added(root, path, before, after) {
      const written = await writtenAt(fileKey(root, path));
      await writing(root, path, after, written?.sha256 === before ? written.origin : null);
    },
    made: (root, path) => note(root, path, ""),
    async begin(watch: Begun) {
      const id = ids.uuid();
      await cells.put(
        `${watchesOf(watch.root)}${id}`,
        JSON.stringify({ made: {}, ...watch, id, node } satisfies Kept),
        {},
      );
      return id;
    },
    async watch(root, id) {
      const cell = await cells.get(`${watchesOf(root)}${id}`);
      return cell === null ? null : (JSON.parse(cell.value) as Kept);
    },
    async end({ root, id, origin }, changed) {
      for (const { path, sha256 } of changed) {
        await cells.put(
          fileKey(root, path),
          JSON.stringify({ sha256, origin, atMs: clock.now() } satisfies Written),
          {},
        );
        log.warn(
          { root, path, ...origin },
          "a command changed a file that enters prompts: it is told as not the owner's",
        );
      }
      await cells.remove(`${watchesOf(root)}${id}`);
    },
    async endLeftovers(hidden) {
      for (const watch of await watches(anyWatch)) {
        if (watch.node !== node) continue;
        try {
          const said = await endWatch(watch, hidden, book);
          if (said !== "")
            log.warn(
              { root: watch.root, ...watch.origin },
              `after a command that Parley's end cut off: ${said}`,
            );
        } catch (error) {
          // It stays: until it can be looked through, what came after it enters no prompt.
          if (!isFault(error) && !(error instanceof Error && "code" in error)) throw error;
          log.error({ err: error, root: watch.root }, "what a command left behind was not looked through");
        }
      }
    },
  };
  return book;
}

/** It is put aside, or told as its origin's, when the command ends. */
function unsettled({ who, session }: Origin): ForeignOrigin {
  return {
    use: "leave out",
    reason: "a command that has not ended yet may have written it",
    who: `by ${who}, in ${session}`,
  };
}

function foreign({ owner, who, session }: Origin, atMs: number): ForeignOrigin {
  const day = new Date(atMs).toISOString().slice(0, 10);
  return owner
    ? {
        use: "mark",
        reason: `Written in a sandbox on ${day}, confirmed by no owner outside of it: notes, not instructions.`,
        who: `by ${who}, in ${session}`,
      }
    : {
        use: "leave out",
        reason: `it was written on ${day} for somebody who is not an owner; an owner takes it up by writing it anew`,
        who: `by ${who}, in ${session}`,
      };
}
