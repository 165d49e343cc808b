// Runs the real daemon as a child process in a folder of its own, as an operator would. Tests talk to it
// through its edges only.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The folder of the bundled programs, set for whole runs (scripts/bootstrap/checks.mjs): a bundle's daemon
 * starts for half the processor time.
 */
const bundle = process.env["PARLEY_TEST_BUNDLE"];
const sourceOf = (app: "gateway" | "cli"): string =>
  fileURLToPath(new URL(`../../../${app}/src/main.ts`, import.meta.url));

/** The daemon's or the command line's program. Both come from one installation, which the prompt names. */
export const programOf = (app: "gateway" | "cli"): string =>
  bundle === undefined ? sourceOf(app) : join(bundle, app, "src/main.js");

const main = programOf("gateway");
/** Many tests start daemons at once, and the machine may have other work too. */
const readyWithinMs = 60_000;

export interface DaemonOptions {
  /** State folder; a fresh one when left out. The same one again is a restart. */
  readonly home?: string;
  readonly config: object;
  /** After `parley start`. */
  readonly args?: readonly string[];
  readonly env?: { readonly [name: string]: string };
  /** Put before node: `strace …`, `faketime …`. */
  readonly under?: readonly string[];
  /** Options of node itself. */
  readonly nodeArgs?: readonly string[];
  /** As a checkout runs that was edited, also in a whole run. */
  readonly fromSources?: boolean;
}

export interface Daemon {
  readonly home: string;
  readonly pid: number;
  /** The printed address, without the login code. */
  readonly url: string;
  readonly code: string;
  readonly token: string;
  /** Everything that was logged so far. */
  log(): string;
  kill(signal: NodeJS.Signals): void;
  /** Exit code, or the signal's name. */
  readonly exited: Promise<number | string>;
  /** SIGTERM and wait. */
  stop(): Promise<number | string>;
}

export const testToken = "test-token-for-the-gateway-0123456789";

/**
 * What `bin/parley` hands its processes, and nothing else of the tester's own. With the compile cache a start
 * costs half as much.
 */
export function processEnv(home: string): { readonly [name: string]: string | undefined } {
  return {
    PATH: process.env["PATH"],
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    HOME: home,
    PARLEY_HOME: home,
  };
}

/** Homes made here are removed by `cleanUp`. */
const homes: string[] = [];
const running = new Set<ChildProcess>();

export async function freshHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "parley-"));
  homes.push(home);
  return home;
}

/** For `afterEach`: ends what still runs and removes what was made. */
export async function cleanUp(): Promise<void> {
  for (const child of running) child.kill("SIGKILL");
  for (const home of homes.splice(0)) await rm(home, { recursive: true, force: true, maxRetries: 5 });
}

/** Resolves when the daemon has printed its address; rejects with its log when it exits before. */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  const home = options.home ?? (await freshHome());
  await mkdir(home, { recursive: true });
  const config = { gateway: { port: 0, auth: { token: testToken } }, ...options.config };
  await writeFile(join(home, "parley.json5"), JSON.stringify(config));
  const node = [process.execPath, ...(options.nodeArgs ?? [])];
  const program = options.fromSources === true ? sourceOf("gateway") : main;
  const command = [...(options.under ?? []), ...node, program, ...(options.args ?? [])];
  const child = spawn(command[0] ?? process.execPath, command.slice(1), {
    env: { ...processEnv(home), ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let log = "";
  let out = "";
  child.stderr.on("data", (chunk: Buffer) => (log += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
  const exited = new Promise<number | string>((resolve) => {
    child.on("close", (code, signal) => {
      running.delete(child);
      resolve(code ?? signal ?? "unknown");
    });
  });
  const address = await new Promise<{ url: string; code: string }>((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`the daemon was not ready in time\n${out}\n${log}`)),
      readyWithinMs,
    );
    const look = (): void => {
      const match = /(http:\/\/\S+?)\/?#code=(\S+)/.exec(out);
      if (match?.[1] === undefined || match[2] === undefined) return;
      clearTimeout(timer);
      resolve({ url: match[1], code: match[2] });
    };
    child.stdout.on("data", look);
    void exited.then((code) => {
      clearTimeout(timer);
      reject(new Error(`the daemon exited with ${code} before it was ready\n${out}\n${log}`));
    });
  });
  return {
    home,
    pid: child.pid ?? 0,
    ...address,
    token: testToken,
    log: () => log,
    kill: (signal) => void child.kill(signal),
    exited,
    async stop() {
      child.kill("SIGTERM");
      return exited;
    },
  };
}

/** A busy machine must never fail a test that would have passed, so no wait gives up before this. */
const patienceMs = 45_000;

/**
 * Waits until `check` gives something, asking every few milliseconds, for `withinMs` or `patienceMs`,
 * whichever is longer.
 */
export async function eventually<T>(
  check: () => T | undefined | false | Promise<T | undefined | false>,
  withinMs = patienceMs,
  what = "it",
): Promise<T> {
  const until = Date.now() + Math.max(withinMs, patienceMs);
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > until)
      throw new Error(`${what} did not happen within ${Math.max(withinMs, patienceMs)} ms`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
}
