// Changes several files as one: all of them or none, also when the process dies in between. Drafts lie beside
// their targets; a plan names them before they are written; renaming the plan is the commit; the next process
// finishes what a dead one had committed.
import { readdir, rename, unlink } from "node:fs/promises";
import { Fault, isFault } from "@parley/protocol";
import { z } from "zod";
import {
  contentHash,
  draftName,
  draftPattern,
  dropDraft,
  moveDraft,
  rooted,
  writeDraft,
  type Rooted,
} from "./rooted.ts";
import { entryPath, ignoring, walk, type Place } from "./walk.ts";

export interface Change {
  readonly path: string;
  /** The content that the change was made for; null for a missing file. */
  readonly before: Uint8Array | null;
  /** Null removes the file. */
  readonly after: Uint8Array | null;
}

const folder = ".parley/changes";
/**
 * Read back from the workspace, where anybody may have written it: a draft is a bare name, and paths are
 * walked like all others.
 */
const step = z.object({
  path: z.string(),
  draft: z.string().regex(draftPattern).nullable(),
  expects: z.string().nullable(),
});
const plan = z.object({ steps: z.array(step) });
type Step = z.infer<typeof step>;

let plans = 0;

/**
 * Throws Fault("conflict") when a file is no longer what it was; then nothing has changed. Call it only
 * inside `files.exclusive`.
 */
export async function applyChanges(files: Rooted, changes: readonly Change[]): Promise<void> {
  const name = `${process.pid}-${(plans += 1)}`;
  const steps = changes.map(({ path, before, after }): Step => ({
    path,
    draft: after === null ? null : draftName(),
    expects: before === null ? null : contentHash(before),
  }));
  for (const change of changes) await expected(files, change);
  try {
    await plansOf(files).replace(`${folder}/${name}.plan`, Buffer.from(JSON.stringify({ steps })));
    for (const [index, { draft, path }] of steps.entries()) {
      const after = changes[index]?.after ?? null;
      if (draft !== null && after !== null)
        await at(files, path, true, (place) => writeDraft(files, place, draft, after));
    }
    await at(files, `${folder}/${name}.plan`, false, async ({ folder: open, name: from }) => {
      await rename(entryPath(open, from), entryPath(open, `${name}.commit`));
      await open.handle.sync();
    });
  } catch (error) {
    await discard(files, steps, `${name}.plan`);
    throw error;
  }
  let done = 0;
  try {
    for (const each of steps) {
      await perform(files, each);
      done += 1;
    }
  } catch (error) {
    // Until the plan is gone a crash still ends in all of it; after this loop, in none.
    for (const change of changes.slice(0, done)) await undo(files, change);
    await discard(files, steps, `${name}.commit`);
    throw error;
  }
  await discard(files, [], `${name}.commit`);
}

/** A turn's rules do not apply to the record of its changes. */
function plansOf({ root, alsoKnownAs = [], forbidden = [] }: Rooted): Rooted {
  return rooted({ root, alsoKnownAs, forbidden });
}

/**
 * Finishes what was committed, drops what was not. Call before the first change of a process. Returns what
 * could not be finished.
 */
export async function finishChanges(files: Rooted): Promise<readonly string[]> {
  const names = await at(files, folder, false, async ({ folder: open, name, stat }) =>
    stat?.isDirectory() === true ? readdir(entryPath(open, name)) : [],
  ).catch((error: unknown) => {
    // No such folder, or something else of that name: nothing was begun here.
    if (isFault(error)) return [];
    throw error;
  });
  const left: string[] = [];
  for (const name of names) {
    const file = await files.readWhole(`${folder}/${name}`);
    const parsed = plan.safeParse(jsonOf(file?.bytes));
    const steps = parsed.success ? parsed.data.steps : [];
    if (name.endsWith(".commit")) for (const each of steps) left.push(...(await resume(files, each)));
    await discard(files, steps, name);
  }
  return left;
}

async function resume(files: Rooted, each: Step): Promise<readonly string[]> {
  try {
    if (each.draft !== null && (await at(files, beside(each), false, async ({ stat }) => stat)) === null)
      return []; // It was moved already.
    const now = await files.readWhole(each.path);
    const is = now === null ? null : contentHash(now.bytes);
    if (each.draft === null && is === null) return [];
    // Somebody wrote to it since: theirs stays.
    if (is !== each.expects) return [each.path];
    await perform(files, each);
    return [];
  } catch (error) {
    if (isFault(error)) return [each.path];
    throw error;
  }
}

async function perform(files: Rooted, { path, draft }: Step): Promise<void> {
  if (draft === null) await files.remove(path);
  else await at(files, path, false, (place) => moveDraft(place, draft));
}

async function undo(files: Rooted, { path, before }: Change): Promise<void> {
  if (before === null) await files.remove(path);
  else await files.replace(path, before);
}

async function discard(files: Rooted, steps: readonly Step[], name: string): Promise<void> {
  for (const each of steps) {
    const { draft } = each;
    if (draft === null) continue;
    await at(files, beside(each), false, ({ folder: open }) => dropDraft(open, draft)).catch(orMissing);
  }
  await at(files, `${folder}/${name}`, false, ({ folder: open, name: file }) =>
    unlink(entryPath(open, file)).catch(ignoring("ENOENT")),
  ).catch(orMissing);
}

async function expected(files: Rooted, { path, before }: Change): Promise<void> {
  const now = await files.readWhole(path);
  const same = now === null || before === null ? now === before : Buffer.compare(now.bytes, before) === 0;
  if (!same)
    throw new Fault(
      "conflict",
      `${path} was changed by somebody else meanwhile; nothing was changed. Read it again`,
    );
}

function at<T>(files: Rooted, path: string, make: boolean, use: (place: Place) => Promise<T>): Promise<T> {
  return walk(files, path, make, use);
}

function beside({ path, draft }: Step): string {
  return `${path.includes("/") ? path.slice(0, path.lastIndexOf("/") + 1) : ""}${draft ?? ""}`;
}

function jsonOf(bytes: Buffer | undefined): unknown {
  try {
    return JSON.parse(bytes?.toString() ?? "");
  } catch {
    return null; // Half a plan: nothing of it was committed.
  }
}

function orMissing(error: unknown): void {
  // What is to go is gone with its folder.
  if (!isFault(error)) throw error;
}
