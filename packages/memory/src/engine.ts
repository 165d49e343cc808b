// Keeps the indexes of this process and answers what is asked of them. Before a search the notes are looked
// at again, so that what was written a moment ago is found; a large backlog goes on in the background and is
// told. Scope decides before ranking: no chunk of another scope is read.
import { existsSync } from "node:fs";
import { Fault, type Clock } from "@parley/protocol";
import { alikeLines } from "./changes/alike.ts";
import type { MemoryEngine, MemoryTarget } from "./contract.ts";
import { forgetInFiles } from "./changes/forget-files.ts";
import { forgetting } from "./changes/forgetting.ts";
import { linesOf } from "./get-lines.ts";
import { isDamage, removeIndex, removeOtherIndexes } from "./index-file.ts";
import { statusOf } from "./index-status.ts";
import { openedIndex, patienceMs, type OpenIndex } from "./open-index.ts";
import { search } from "./search/search.ts";
import { dropTalk, knownTalks, takeTalk } from "./talk.ts";
import { rewriteNote, tidied } from "./changes/tidy.ts";
import { undoChange } from "./changes/undo.ts";

export function memoryEngine({ clock }: { readonly clock: Clock }): MemoryEngine {
  const open = new Map<string, OpenIndex>();

  const indexOf = (target: MemoryTarget): OpenIndex => {
    const key = JSON.stringify(target);
    const known = open.get(key);
    if (known !== undefined && known.file.isThere()) return known;
    // One file has one connection: another workspace or other settings take its place.
    for (const [other, index] of open)
      if (index.target.indexPath === target.indexPath) {
        index.close();
        open.delete(other);
      }
    const wasThere = known !== undefined;
    const index = openedIndex(target, clock, wasThere ? "the index was removed" : null);
    open.set(key, index);
    return index;
  };

  /** Damage that shows only in reading: the index is made anew and the question asked again, once. */
  async function heal<T>(target: MemoryTarget, run: (index: OpenIndex) => Promise<T>): Promise<T> {
    try {
      return await run(indexOf(target));
    } catch (error) {
      if (!isDamage(error)) throw error;
      for (const [key, index] of open) {
        if (index.target.indexPath !== target.indexPath) continue;
        index.close();
        open.delete(key);
      }
      removeIndex(target.indexPath);
      const index = openedIndex(target, clock, "the index was damaged");
      open.set(JSON.stringify(target), index);
      return run(index);
    }
  }

  return {
    search: (target, request) => heal(target, (index) => search(index, request)),
    async get(target, request) {
      return linesOf(target, request);
    },
    status: (target) =>
      heal(target, async (index) => {
        await index.upToDate(patienceMs);
        return statusOf(index);
      }),
    reindex: (target) =>
      heal(target, async (index) => {
        index.wipe();
        await index.upToDate(Infinity);
        index.shrink();
        await index.vectors?.filled();
        return statusOf(index);
      }),
    async forget(target, { query, write, nowMs }) {
      const what = forgetting(query);
      if (what === null)
        throw new Fault("invalid", "say more of what is looked for: words, a name, a number of three signs");
      const found = forgetInFiles(target.workspace, what, write);
      if (write)
        await heal(target, async (index) => {
          index.wipe();
          index.forgotten(nowMs);
          await index.upToDate(Infinity);
          index.shrink();
          removeOtherIndexes(target.indexPath);
        });
      return found;
    },
    undo: async ({ workspace }, change) => undoChange(workspace, change),
    alike: async ({ workspace }, mostGroups) => alikeLines(workspace, mostGroups),
    tidied: async ({ workspace }, changes, day) => tidied(workspace, changes, day),
    rewrite: async ({ workspace }, rewrite) => rewriteNote(workspace, rewrite),
    talks: (target, sessions) => heal(target, async ({ file }) => knownTalks(file.db, sessions)),
    takeTalk: (target, talk) =>
      heal(target, async (index) => {
        if (target.talk && takeTalk(index.file.db, index.vectors, target.chunking, talk)) index.shrink();
        index.vectors?.fill();
      }),
    async dropTalk(target, session) {
      // Nothing was ever searched, so that nothing is known.
      if (!existsSync(target.indexPath)) return;
      await heal(target, async (index) => {
        if (!dropTalk(index.file.db, index.vectors, session)) return;
        index.shrink();
      });
    },
    isBusy: async () => [...open.values()].some((index) => index.filesLeft() > 0 || index.vectors?.isBusy()),
    close() {
      for (const index of open.values()) index.close();
      open.clear();
    },
  };
}
