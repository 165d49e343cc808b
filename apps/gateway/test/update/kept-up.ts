// A gateway of an installation, and who keeps it up: a service manager in a few lines, or nobody.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { processEnv } from "../e2e/daemon.ts";

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface KeptUp {
  /** Runs `parley <argv>` of the version in force. */
  parley(...argv: readonly string[]): { readonly child: ChildProcess; readonly ended: Promise<Ran> };
  /** Of the gateway that runs; null when none does. */
  pid(): number | null;
  /** All that its gateways said. */
  log(): string;
  /** Ends whatever runs, for good. */
  stop(): Promise<void>;
}

/**
 * `supervisor`: starts the gateway whenever it ended, as a service manager does, after so many milliseconds.
 * `args`: after `parley start`. `more`: beside what a gateway of a test is given of its environment.
 */
export function keptUp(
  program: string,
  home: string,
  supervisor: { readonly afterMs: number } | null,
  args: readonly string[] = [],
  more: { readonly [name: string]: string | undefined } = {},
): KeptUp {
  const env = {
    ...processEnv(home),
    ...more,
    PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`,
  };
  let said = "";
  let isOver = false;
  const started = new Set<ChildProcess>();

  const name = args[args.indexOf("--node") + 1];
  const pidFile = args.includes("--node")
    ? join(home, "nodes", name ?? "", "daemon.pid")
    : join(home, "daemon.pid");

  function pid(): number | null {
    try {
      const found = Number(readFileSync(pidFile, "utf8"));
      process.kill(found, 0);
      return found;
    } catch {
      // None was ever started, or it is gone.
      return null;
    }
  }

  function start(): void {
    if (isOver) return;
    const child = spawn(program, ["start", ...args], { env, cwd: home, stdio: ["ignore", "pipe", "pipe"] });
    started.add(child);
    for (const from of [child.stdout, child.stderr])
      from.on("data", (chunk: Buffer) => (said += chunk.toString()));
    child.once("exit", (code, signal) => {
      started.delete(child);
      said += `[ended: ${code ?? signal}]\n`;
      if (supervisor !== null) setTimeout(start, supervisor.afterMs);
    });
  }

  function parley(...argv: readonly string[]): ReturnType<KeptUp["parley"]> {
    const child = spawn(program, argv, { env, cwd: home, stdio: ["ignore", "pipe", "pipe"] });
    let [out, err] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    return {
      child,
      ended: once(child, "close").then(([code]) => ({ code: code as number | null, out, err })),
    };
  }

  const logOf = (name: string): string => {
    const path = join(home, "logs", name);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  };

  start();
  return {
    parley,
    pid,
    log: () => `${said}${logOf("start.log")}${logOf("update.log")}`,
    async stop() {
      isOver = true;
      await parley("stop").ended;
      for (const child of started) child.kill("SIGKILL");
    },
  };
}
