// A child process with everything it starts, as one group: what is stopped is stopped whole.
import { spawn } from "node:child_process";
import { type Clock, Fault } from "@parley/protocol";

export interface GroupRequest {
  readonly program: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: { readonly [name: string]: string };
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Most bytes of output that are kept; the rest is read and dropped. */
  readonly outputBytes: number;
}

export interface GroupEnd {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly output: string;
}

/** After SIGTERM a group has this long before SIGKILL. */
const graceMs = 500;

/** Resolves when the process ended and its output is closed. An abort ends the whole group and rejects with Fault("aborted"). */
export function runGroup(request: GroupRequest): Promise<GroupEnd> {
  const { program, args, cwd, env, signal, clock } = request;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(new Fault("aborted", "stopped before it started"));
    const child = spawn(program, args, { cwd, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    const chunks: Buffer[] = [];
    let bytes = 0;
    const keep = (chunk: Buffer): void => {
      if (bytes < request.outputBytes) chunks.push(chunk.subarray(0, request.outputBytes - bytes));
      bytes += chunk.length;
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);

    let killTimer: { cancel(): void } | null = null;
    const stop = (): void => {
      killGroup(child.pid, "SIGTERM");
      killTimer = clock.after(graceMs, () => killGroup(child.pid, "SIGKILL"));
    };
    signal.addEventListener("abort", stop, { once: true });
    child.on("error", (cause) => {
      signal.removeEventListener("abort", stop);
      reject(new Fault("invalid", `${program} cannot be started: ${cause.message}`, { cause }));
    });
    child.on("close", (code) => {
      signal.removeEventListener("abort", stop);
      // Grandchildren that closed their output may outlive their parent's grace; the group's timer still ends them.
      if (!signal.aborted) killTimer?.cancel();
      if (signal.aborted) reject(new Fault("aborted", "stopped while it ran"));
      else resolve({ code, output: Buffer.concat(chunks).toString() });
    });
  });
}

/** Nothing happens when the group is gone. */
export function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is gone already, which is what was wanted.
  }
}
