// A folder for one test, with skills in it.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach } from "vitest";

const made: string[] = [];
afterEach(async () => {
  for (const folder of made.splice(0)) await rm(folder, { recursive: true, force: true });
});

export async function home(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "parley-skills-"));
  made.push(folder);
  return folder;
}

export async function put(file: string, text: string | Uint8Array): Promise<string> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

/** A SKILL.md in `<root>/<path>/`; its name is the last part of the path unless `front` says otherwise. */
export function skill(
  root: string,
  path: string,
  front = `name: ${path.split("/").at(-1)}\ndescription: ${path}`,
): Promise<string> {
  return put(join(root, path, "SKILL.md"), `---\n${front}\n---\nBody of ${path}.\n`);
}
