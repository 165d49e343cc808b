// The process of the running gateway, as stop, restart and doctor need it: who it is, what it still waits
// for, whether it is gone.
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { placesIn, type Env } from "@parley/config";
import { statusFileName, type MethodResult } from "@parley/protocol";
import type { Console } from "./console.ts";
import { CommandFailure } from "./exit.ts";
import { isAlive } from "./is-alive.ts";
import { quietly, withGateway } from "./with-gateway.ts";

export type Status = MethodResult<"status">;

export interface GatewayProcess {
  readonly pid: number;
  /** Null when the process is there but does not answer. */
  readonly status: Status | null;
}

/** Null when none runs on this state folder. */
export async function gatewayProcess(terminal: Console): Promise<GatewayProcess | null> {
  const status = await statusNow(terminal);
  if (status !== null) return { pid: status.pid, status };
  const pid = await pidInHome(terminal);
  return pid === null ? null : { pid, status: null };
}

/**
 * Null when nothing answers; other refusals are thrown. Says nothing of a broken config: this is asked again
 * and again.
 */
export async function statusNow(terminal: Console): Promise<Status | null> {
  const found = await look(terminal);
  return found === "silent" ? null : found;
}

/** "silent": something listens and does not answer; null: nothing does. */
export async function look(terminal: Console): Promise<Status | "silent" | null> {
  try {
    return await withGateway(quietly(terminal), (client) => client.request("status", {}));
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    if (error.code === "unavailable") return null;
    if (error.code === "timeout") return "silent";
    throw error;
  }
}

/**
 * What the gateway wrote down last, when it takes no connection; null when none runs here, or nothing is
 * there that can be read.
 */
export async function statusWritten(
  terminal: Console,
): Promise<{ readonly pid: number; readonly atMs: number; readonly status: Status } | null> {
  const pid = await pidInHome(terminal);
  if (pid === null) return null;
  const text = await readFile(join(placesIn(terminal.env).home, statusFileName), "utf8").catch(() => "");
  const found = written(text);
  return found === null || found.status.pid !== pid ? null : { pid, ...found };
}

function written(text: string): { readonly atMs: number; readonly status: Status } | null {
  try {
    return JSON.parse(text) as { readonly atMs: number; readonly status: Status };
  } catch {
    // Read while it was written, or cut by a full disk.
    return null;
  }
}

/**
 * Null when no process has this state folder, or several nodes of this machine share it and nobody can say
 * which is meant.
 */
export async function pidInHome({ env }: Console): Promise<number | null> {
  const { home } = placesIn(env);
  const own = await pidIn(home, env);
  if (own !== null) return own;
  const nodes = await readdir(join(home, "nodes")).catch(() => []);
  const pids: number[] = [];
  for (const node of nodes) {
    const folder = join(home, "nodes", node);
    // Other machines may mount the same folder: their numbers say nothing here.
    const boot = await readFile(join(folder, "daemon.boot"), "utf8").catch(() => "");
    if (boot !== "" && !boot.includes(JSON.stringify(hostname()))) continue;
    const pid = await pidIn(folder, env);
    if (pid !== null) pids.push(pid);
  }
  const [pid = null, ...others] = pids;
  return others.length === 0 ? pid : null;
}

/**
 * The file outlives a killed gateway, and its number may be another program's by now: the program's name
 * decides.
 */
async function pidIn(folder: string, env: Env): Promise<number | null> {
  const text = await readFile(join(folder, "daemon.pid"), "utf8").catch(() => "");
  const pid = Number(text.trim());
  if (!Number.isSafeInteger(pid) || pid <= 1 || !isAlive(pid)) return null;
  const command = await commandOf(pid, env);
  return command !== null && /\b(?:gateway|parley)\b/.test(command) ? pid : null;
}

/** What it was given after `parley start`: the role, the name and the port of a node. */
export async function argumentsOf(pid: number, env: Env): Promise<readonly string[]> {
  const command = (await commandOf(pid, env)) ?? "";
  return [...command.matchAll(/ --(role|node|port)[ =](\S+)/g)].flatMap(([, name = "", value = ""]) => [
    `--${name}`,
    value,
  ]);
}

/** With its words; Linux tells it itself, because small containers have no `ps`. Null where nobody tells. */
async function commandOf(pid: number, env: Env): Promise<string | null> {
  const written = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  if (written !== "") return written.replaceAll("\0", " ").trim();
  return said("ps", ["-o", "args=", "-p", String(pid)], env);
}

/** Throws CommandFailure when this user may not. */
export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ESRCH")
      throw new CommandFailure(
        "unavailable",
        `Process ${pid} of the gateway is not on this machine, or it has just ended.`,
      );
    throw new CommandFailure(
      "denied",
      `Process ${pid} belongs to another user. Run this as the user of the daemon.`,
      undefined,
      { cause },
    );
  }
}

/** What a draining gateway still does, in words; null when nothing is known to be left. */
export function waitsFor({ turnsRunning, deliveriesWaiting }: Status): string | null {
  const parts = [
    ...(turnsRunning === 0 ? [] : [`${turnsRunning} ${turnsRunning === 1 ? "turn" : "turns"} to end`]),
    ...(deliveriesWaiting === 0
      ? []
      : [`${deliveriesWaiting} ${deliveriesWaiting === 1 ? "answer" : "answers"} to go out`]),
  ];
  return parts.length === 0 ? null : parts.join(" and ");
}

/** What a program prints, trimmed; null when it is missing or fails. */
export function said(program: string, args: readonly string[], env: Env): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program, args, { env: { ...env }, timeout: 10_000 }, (error, out) =>
      resolve(error === null ? out.trim() : null),
    );
  });
}
