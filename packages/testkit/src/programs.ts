// Programs from outside that some suites drive: redis-server, a browser, a sandbox. A suite without its program is skipped with the line that
// installs it; with CI=true a skip would hide a hole, so there it fails. The only place of the testkit that reads the environment.
//
//   const redis = program("redis-server");
//   describe.skipIf(lacks(redis))("the Redis driver", () => { ... programPath(redis) ... });
import { accessSync, constants } from "node:fs";
import path from "node:path";

/** What to look for on the PATH, first match wins, and the Debian package that brings it. */
const known = {
  "redis-server": { commands: ["redis-server"], debian: "redis-server" },
  chromium: { commands: ["chromium", "chromium-browser", "google-chrome"], debian: "chromium" },
  bwrap: { commands: ["bwrap"], debian: "bubblewrap" },
  strace: { commands: ["strace"], debian: "strace" },
  faketime: { commands: ["faketime"], debian: "faketime" },
} as const;

export type ProgramName = keyof typeof known;

/** Where a program is, or the line for a shell that brings it. */
export type Program = { readonly path: string } | { readonly missing: ProgramName; readonly install: string };

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // Not there, or not for us: either way the next folder is asked.
  }
}

/** Looks along `searchPath`, by default the PATH. Runs nothing. */
export function program(name: ProgramName, searchPath = process.env["PATH"] ?? ""): Program {
  const { commands, debian } = known[name];
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== "");
  const found = commands.flatMap((command) => folders.map((folder) => path.join(folder, command))).find(isExecutable);
  return found === undefined ? { missing: name, install: `apt-get install -y ${debian}` } : { path: found };
}

/** For `describe.skipIf`. True when a program is missing, after saying so; throws with the same line where CI is "true". */
export function lacks(...programs: readonly Program[]): boolean {
  const lines = programs.flatMap((it) => ("missing" in it ? [`${it.missing} is not on the PATH: ${it.install}`] : []));
  if (lines.length === 0) return false;
  if (process.env["CI"] === "true") throw new Error(`CI must not skip. ${lines.join("; ")}`);
  for (const line of lines) console.warn(`skipped: ${line}`);
  return true;
}

/** The path of a program that is there. Throws the line that installs it otherwise. */
export function programPath(it: Program): string {
  if ("missing" in it) throw new Error(`${it.missing} is not on the PATH: ${it.install}`);
  return it.path;
}
