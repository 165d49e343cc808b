// Writes the whole text of a tool result that was too long for the transcript to a file that the agent can
// read. Sessions share a workspace and some models count call ids from one, so the name contains the
// session and the turn: no result overwrites another, and none is read where its session is not. The
// oldest files are removed (I9).
import { createHash } from "node:crypto";
import { lstat, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import type { WorkspaceFiles } from "@parley/tools";

const folder = ".parley/results";
const namesOfOurs = /^[0-9a-f]{12}-[\w-]{1,64}\.txt$/;
/** Beyond this many files the oldest tenth is removed. */
export const mostResults = 1_000;

const hashed = (text: string, length: number): string =>
  createHash("sha256").update(text).digest("hex").slice(0, length);

/** Whether a path below the workspace is a kept result, and of this session. Null: it is none. */
export function isResultOf(session: string, path: string): boolean | null {
  if (path !== folder && !path.startsWith(`${folder}/`)) return null;
  return path.startsWith(`${folder}/${hashed(session, 6)}`);
}

/** Models and providers choose call ids, so only their safe characters become part of the file's name. */
export function resultName(turn: string, callId: string): string {
  const session = turn.slice(0, Math.max(0, turn.lastIndexOf("#")));
  const mark = hashed(session, 6) + hashed(turn, 6);
  return `${mark}-${callId.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "call"}.txt`;
}

/** Returns the path for the model, relative to the workspace. */
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
    })), // The file is gone already, so the removal loses nothing.
  );
  const oldest = aged
    .toSorted((a, b) => a.atMs - b.atMs)
    .slice(0, names.length - mostResults + mostResults / 10);
  // A failed removal is tried again with the next result, because the result just written matters more.
  for (const { name } of oldest) await own.remove(`${folder}/${name}`).catch(() => {});
}
