// Finds the outside programs that some suites drive: redis-server, a browser, a sandbox. A suite without its
// program is skipped with the line that installs it, or with what the machine forbids it; with CI=true a skip
// would hide a hole, so there it fails. The only place of the testkit that reads the environment.
//
//   const redis = program("redis-server");
//   describe.skipIf(lacks(redis))("the Redis driver", () => { ... programPath(redis) ... });
import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import path from "node:path";

export type ProgramName =
  | "redis-server"
  | "chromium"
  | "bwrap"
  | "strace"
  | "faketime"
  | "espeak-ng"
  | "opusinfo"
  | "nginx"
  | "caddy"
  | "promtool"
  | "prometheus"
  | "git"
  | "prlimit"
  | "systemd-analyze";

interface Known {
  /** Names to search on the PATH; the first match wins. */
  readonly commands: readonly string[];
  /** The Debian package that brings it. */
  readonly debian: string;
  /** A run that fails where a container or the kernel does not let it work. */
  readonly tryWith?: readonly string[];
}

const known: { readonly [name in ProgramName]: Known } = {
  "redis-server": { commands: ["redis-server"], debian: "redis-server" },
  chromium: { commands: ["chromium", "chromium-browser", "google-chrome"], debian: "chromium" },
  bwrap: {
    commands: ["bwrap"],
    debian: "bubblewrap",
    tryWith: ["--unshare-all", "--ro-bind", "/", "/", "true"],
  },
  strace: { commands: ["strace"], debian: "strace", tryWith: ["-o", "/dev/null", "true"] },
  faketime: { commands: ["faketime"], debian: "faketime" },
  "espeak-ng": { commands: ["espeak-ng"], debian: "espeak-ng" },
  opusinfo: { commands: ["opusinfo"], debian: "opus-tools" },
  nginx: { commands: ["nginx"], debian: "nginx-light" },
  caddy: { commands: ["caddy"], debian: "caddy" },
  promtool: { commands: ["promtool"], debian: "prometheus" },
  prometheus: { commands: ["prometheus"], debian: "prometheus" },
  git: { commands: ["git"], debian: "git" },
  "systemd-analyze": { commands: ["systemd-analyze"], debian: "systemd" },
  prlimit: { commands: ["prlimit"], debian: "util-linux" },
};

/** A program's path, or why it is missing, with the shell line that installs it where one does. */
export type Program = { readonly path: string } | { readonly missing: ProgramName; readonly why: string };

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false; // Not there, or not for us: either way the next folder is asked.
  }
}

/** Looks along `searchPath`, by default the PATH. Runs only what a machine may forbid, to see. */
export function program(name: ProgramName, searchPath = process.env["PATH"] ?? ""): Program {
  const { commands, debian, tryWith } = known[name];
  const folders = searchPath.split(path.delimiter).filter((folder) => folder !== "");
  const found = commands
    .flatMap((command) => folders.map((folder) => path.join(folder, command)))
    .find(isExecutable);
  if (found === undefined)
    return { missing: name, why: `${name} is not on the PATH: apt-get install -y ${debian}` };
  const tried = tryWith === undefined ? null : spawnSync(found, tryWith, { encoding: "utf8" });
  if (tried === null || tried.status === 0) return { path: found };
  return {
    missing: name,
    why: `${name} does not work on this machine: ${(tried.stderr || tried.error?.message) ?? "it was killed"}`.trim(),
  };
}

/**
 * For `describe.skipIf`. True when a program cannot be had, after saying why; throws with the same line where
 * CI is "true".
 */
export function lacks(...programs: readonly Program[]): boolean {
  const lines = programs.flatMap((it) => ("missing" in it ? [it.why] : []));
  if (lines.length === 0) return false;
  if (process.env["CI"] === "true") throw new Error(`CI must not skip. ${lines.join("; ")}`);
  for (const line of lines) console.warn(`skipped: ${line}`);
  return true;
}

/** The path of a program that is there. Throws why it is not, otherwise. */
export function programPath(it: Program): string {
  if ("missing" in it) throw new Error(it.why);
  return it.path;
}
