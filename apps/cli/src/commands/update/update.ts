// `parley update`: finds out how Parley was installed and what a release source has, and runs the update to
// its end, from wherever a dead process left it.
import { mkdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { loadBlocks, placesIn } from "@parley/config";
import { systemClock, systemIds, version } from "@parley/protocol";
import {
  hasEnded,
  installedAt,
  isVersion,
  lockUpdate,
  readRecord,
  runUpdate,
  writeRecord,
  type Installed,
  type UpdateRecord,
} from "@parley/update";
import { document, line, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { gatewayProgram } from "../../gateway-program.ts";
import { secondsOf } from "../../seconds.ts";
import { copyFor } from "./database-copies.ts";
import type { UpdateFlags } from "./update-flags.ts";
import { check, plan } from "./update-target.ts";
import { told, wordsOfEnd } from "./update-words.ts";
import { atStart, resumed, worldOf } from "./update-world.ts";

export async function update(terminal: Console, flags: UpdateFlags): Promise<ExitCode> {
  const installed = installedAt(resolve(dirname(gatewayProgram), "../../.."), version);
  const { home } = placesIn(terminal.env);
  if (flags.atStart !== undefined) return atStart(terminal, flags.atStart, installed);
  const watchMs =
    flags.watch === undefined ? await watchedByConfigMs(terminal) : secondsOf("--watch", flags.watch);
  const isWrong = flags.to !== undefined && installed.kind !== "checkout" && !isVersion(flags.to);
  const wrongVersion = `--to takes a version, as 1.2.3, not "${flags.to ?? ""}"`;
  if (isWrong && flags.askedBy === undefined)
    throw new CommandFailure("invalid", wrongVersion, exitCodes.usage);
  if (flags.check === true) return check(terminal, flags, installed);

  /** Whoever asked from elsewhere reads in the record that there is no update. */
  const refuse = (reason: string): void => {
    if (flags.askedBy === undefined) return;
    const nowMs = systemClock().now();
    const to = flags.to ?? installed.version;
    const refs = { from: installed.version, to, fromRef: installed.version, toRef: to };
    writeRecord(home, {
      ...freshRecord(installed, flags, refs, watchMs),
      state: "failed",
      reason,
      endedAtMs: nowMs,
    });
  };
  const unlock = lockUpdate(home);
  try {
    const unfinished = readRecord(home);
    if (unfinished !== null && !hasEnded(unfinished)) {
      const ended = await resumed(terminal, installed, unfinished);
      if (flags.resume === true || !hasEnded(ended)) return told(terminal, ended);
      line(terminal.err, `An update to ${ended.to} was not finished: ${wordsOfEnd(ended)}`);
    } else if (flags.resume === true) return exitCodes.ok;
    if (isWrong) {
      refuse(wrongVersion.replace("--to takes", "it takes"));
      throw new CommandFailure("invalid", wrongVersion, exitCodes.usage);
    }
    const planned = await plan(terminal, flags, installed).catch((error: unknown) => {
      refuse(error instanceof Error ? error.message : String(error));
      throw error;
    });
    if ("nothing" in planned) {
      refuse(planned.nothing);
      if (terminal.json)
        document(terminal.out, {
          ok: true,
          state: "none",
          version: planned.version,
          message: planned.nothing,
        });
      else line(terminal.out, planned.nothing);
      return exitCodes.ok;
    }
    const record = freshRecord(installed, flags, planned.refs, watchMs);
    mkdirSync(home, { recursive: true, mode: 0o700 });
    writeRecord(home, record);
    const world = worldOf(terminal, installed, planned.inForce);
    const restore = planned.isOlder ? await copyFor(terminal, flags, world, record) : null;
    return told(terminal, await runUpdate({ ...record, restore }, world));
  } finally {
    unlock();
  }
}

async function watchedByConfigMs({ env }: Console): Promise<number> {
  const seconds = (await loadBlocks(env, ["update"]))?.config.update.watchSeconds;
  return (seconds ?? 60) * 1_000;
}

function freshRecord(
  { root }: Installed,
  { askedBy }: UpdateFlags,
  refs: Pick<UpdateRecord, "from" | "to" | "fromRef" | "toRef">,
  watchMs: number,
): UpdateRecord {
  return {
    id: systemIds().uuid(),
    root,
    ...refs,
    state: "preparing",
    reason: null,
    backup: null,
    restore: null,
    replaced: null,
    kept: null,
    worked: null,
    watchMs,
    askedBy: askedBy ?? null,
    driver: process.pid,
    before: null,
    begunAtMs: systemClock().now(),
    endedAtMs: null,
  };
}
