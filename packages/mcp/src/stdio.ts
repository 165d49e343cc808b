// Speaks to a server that is a program of this machine, one JSON message a line. The server leads a process
// group of its own, guarded by a shell that ends all of it as soon as the gateway is gone, however it went.
// Whatever the server writes is bounded: lines, junk between them, and what it says on standard error (I9).
import { spawn, type ChildProcess } from "node:child_process";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { Fault, type Clock } from "@parley/protocol";
import { lineReader } from "./line-reader.ts";

export interface StdioRequest {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
  /** Marks the server's processes in their environment, also those that leave its group. */
  readonly mark: string;
  readonly clock: Clock;
  /** The last lines of standard error, for people. */
  readonly onStderr: (text: string) => void;
  readonly limits?: Partial<StdioLimits>;
}

interface StdioLimits {
  /** Longest message. */
  readonly messageBytes: number;
  /** Most output in a row that is no message; the server is ended then. */
  readonly junkBytes: number;
}

const defaultLimits: StdioLimits = { messageBytes: 16_000_000, junkBytes: 64_000_000 };
const graceMs = 500;
/** A server that writes to standard error without end is read at this pace, and waits meanwhile. */
const stderrPauseMs = 50;

/**
 * The guard waits in the background for its end of a pipe to close, which the kernel does for a gateway that
 * was killed; then it ends what carries the mark, and its own group with itself. The server has no such pipe.
 */
const guarded = `(trap '' TERM HUP INT
read -r _ <&3
for f in $(grep -lzxF "PARLEY_MCP=$0" /proc/[0-9]*/environ); do p=\${f#/proc/}; kill -9 "\${p%/environ}"; done
kill -9 0) </dev/null >/dev/null 2>&1 &
exec 3<&-
exec env "PARLEY_MCP=$0" "$@"`;

export interface StdioTransport extends Transport {
  readonly pid: () => number | undefined;
  /** Why there is no server any more, for people; null while it runs. */
  readonly ended: () => string | null;
}

export function stdioTransport(request: StdioRequest): StdioTransport {
  const { argv, cwd, env, mark, clock, onStderr } = request;
  const limits = { ...defaultLimits, ...request.limits };
  let child: ChildProcess | null = null;
  let over: Promise<void> = Promise.resolve();
  let ended: string | null = null;

  const transport: StdioTransport = {
    pid: () => child?.pid,
    ended: () => ended,
    start() {
      const started = spawn("/bin/sh", ["-c", guarded, mark, ...argv], {
        cwd,
        env,
        detached: true,
        stdio: ["pipe", "pipe", "pipe", "pipe"],
      });
      child = started;
      const guard = started.stdio[3];
      const { stdin, stdout, stderr } = started;
      const failed = (error: Error): void => transport.onerror?.(error);
      // A pipe that breaks is reported by the end of the process.
      for (const stream of [guard, stdin, stdout, stderr]) stream?.on("error", () => undefined);
      const reader = lineReader({
        ...limits,
        onMessage: (message) => transport.onmessage?.(message as unknown as JSONRPCMessage),
        onJunk: () => {
          ended = "it writes without end what is no message";
          failed(new Fault("unavailable", ended));
          void transport.close();
        },
      });
      stdout?.on("data", (chunk: Buffer) => reader.read(chunk));
      stderr?.on("data", (chunk: Buffer) => {
        onStderr(chunk.toString("utf8"));
        stderr.pause();
        clock.after(stderrPauseMs, () => stderr.resume());
      });
      over = new Promise((resolve) => {
        started.once("close", () => {
          resolve();
          transport.onclose?.();
        });
      });
      started.once("exit", (code, killedBy) => {
        ended ??= endOf(code, killedBy);
        // What the server left behind goes with it, and keeps its output open no longer.
        guard?.destroy();
      });
      return new Promise((resolve, reject) => {
        started.once("spawn", () => resolve());
        started.once("error", (cause) =>
          reject(new Fault("invalid", `it cannot be started: ${cause.message}`, { cause })),
        );
      });
    },
    send(message) {
      const stdin = child?.stdin;
      return new Promise((resolve, reject) => {
        if (stdin === null || stdin === undefined || !stdin.writable)
          return reject(new Fault("unavailable", "it has ended"));
        stdin.write(`${JSON.stringify(message)}\n`, (error) =>
          error === null || error === undefined
            ? resolve()
            : reject(new Fault("unavailable", "it has ended", { cause: error })),
        );
      });
    },
    async close() {
      const ending = child;
      if (ending === null) return;
      if (ending.exitCode === null && ending.signalCode === null) {
        // As the specification wants it: input closes, then SIGTERM, then SIGKILL for the whole group.
        ending.stdin?.end();
        const asked = clock.after(graceMs, () => signal(ending.pid, "SIGTERM"));
        const forced = clock.after(2 * graceMs, () => {
          ending.stdio[3]?.destroy();
          signal(ending.pid, "SIGKILL");
        });
        await over;
        asked.cancel();
        forced.cancel();
      } else await over;
    },
  };
  return transport;
}

/** The shell and `env` say with 126 and 127 that there was nothing to run. */
function endOf(code: number | null, killedBy: string | null): string {
  if (code === 127) return "its program was not found";
  if (code === 126) return "its program may not be run";
  return `its program ended with ${code === null ? String(killedBy) : `exit code ${code}`}`;
}

function signal(pid: number | undefined, name: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch {
    // The group is gone already, which is what was wanted.
  }
}
