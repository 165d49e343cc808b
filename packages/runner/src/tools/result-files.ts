// Whole texts of tool results that were too long for the transcript, as files that the agent can read. Sessions share a workspace and call
// ids repeat from turn to turn (some models count them from one), so the turn is part of the name: nobody's text takes the place of another's.
// Bounded (I9): the oldest go.
import { createHash } from "node:crypto";
import { lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { WorkspaceFiles } from "@parley/tools";

const folder = ".parley/results";
const namesOfOurs = /^[0-9a-f]{12}-[\w-]{1,64}\.txt$/;
/** Beyond so many files the oldest tenth is removed. */
export const mostResults = 1_000;

/** Call ids are made by models and providers, so only their harmless characters become part of a file's name. */
export function resultName(turn: string, callId: string): string {
  const mark = createHash("sha256").update(turn).digest("hex").slice(0, 12);
  return `${mark}-${callId.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "call"}.txt`;
}

/** The path to tell, relative to the workspace. */
export async function keepResult(
  { own }: Pick<WorkspaceFiles, "own">,
  name: string,
  text: string,
): Promise<string> {
  await mkdir(own.root, { recursive: true });
  const { path, created } = await own.replace(`${folder}/${name}`, Buffer.from(text));
  if (created) await removeOldest(own);
  return path;
}

async function removeOldest(own: WorkspaceFiles["own"]): Promise<void> {
  const names = (await readdir(join(own.root, folder))).filter((name) => namesOfOurs.test(name));
  if (names.length <= mostResults) return;
  const aged = await Promise.all(
    names.map(async (name) => ({
      name,
      atMs: await lstat(join(own.root, folder, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      ),
    })), // Gone already: nothing is lost by trying.
  );
  const oldest = aged
    .toSorted((a, b) => a.atMs - b.atMs)
    .slice(0, names.length - mostResults + mostResults / 10);
  // A file that cannot be removed is tried again with the next result; the result that was just kept is worth more.
  for (const { name } of oldest) await own.remove(`${folder}/${name}`).catch(() => {});
}
