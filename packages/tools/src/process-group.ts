// Runs a child process with everything it starts as one group, so that a stop ends all of it. A mark in the
// environment finds processes that left their group.
import { readdir, readFile } from "node:fs/promises";
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

/**
 * Resolves when the process ended and its output is closed. An abort ends the whole group and rejects with
 * Fault("aborted").
 */
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
      // Grandchildren that closed their output may outlive their parent's grace; the group's timer still ends
      // them.
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

/**
 * In the environment of a command, and so of all that it starts; its value is the command's id. A model may
 * not set it.
 */
export const markName = "PARLEY_COMMAND";

/** Passes over all processes: what forks meanwhile is found by the next one. */
const mostPasses = 5;

/**
 * Ends what carries the mark, whatever group or session it made for itself: a daemon of its own is no way
 * past a stop. Where there is no /proc nothing is found, and neither is what threw its environment away.
 */
export async function killMarked(id: string): Promise<void> {
  for (let pass = 0; pass < mostPasses; pass += 1) {
    const marked = await markedPids(id);
    if (marked.length === 0) return;
    for (const pid of marked) kill(Number(pid));
  }
}

/** Never rejects. */
export async function markedPids(id: string): Promise<readonly string[]> {
  const mark = `\0${markName}=${id}\0`;
  const pids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => carries(pid, mark)));
  return pids.filter((_pid, index) => found[index]);
}

async function carries(pid: string, mark: string): Promise<boolean> {
  // Somebody else's, or over by now: none of ours.
  const environment = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
  return `\0${environment}`.includes(mark);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone, which is what was wanted.
  }
}
