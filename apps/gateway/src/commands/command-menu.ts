// Sets the platform's menu of commands, and only when it differs from the last one, because platforms limit
// these calls and a restart changes nothing. A cell stores the hash of the last menu.
import { createHash } from "node:crypto";
import type { Channel } from "@parley/channels";
import { accountKey, isFault, sleep, type Clock, type Log, deadline } from "@parley/protocol";
import type { Cells } from "@parley/store";

export interface MenuOptions {
  readonly channel: Channel;
  readonly menu: readonly { readonly name: string; readonly description: string }[];
  readonly cells: Pick<Cells, "get" | "put">;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the attempts. */
  readonly signal: AbortSignal;
}

export interface KeepMenuOptions extends Omit<MenuOptions, "menu"> {
  readonly menuNow: () => Promise<MenuOptions["menu"]>;
}

/** Skills come and go while the daemon runs; a menu that follows within a minute is fast enough. */
const lookEveryMs = 60_000;

const callTimeoutMs = 30_000;
const againAfterMs = 60_000;

/** Sets the menu, and sets it again after each change, until the signal. */
export async function keepMenu({ menuNow, ...options }: KeepMenuOptions): Promise<void> {
  const { channel, clock, signal } = options;
  if (channel.act === undefined || channel.actions?.includes("setCommands") !== true) return;
  let told = "";
  // A channel that the config removed or replaced needs no menu any more.
  while (!signal.aborted && channel.health().state !== "stopped") {
    const menu = await menuNow();
    const words = JSON.stringify(menu);
    if (words !== told) await registerMenu({ ...options, menu });
    told = words;
    await sleep(clock, lookEveryMs, signal);
  }
}

/** Tries until the platform accepts the menu or refuses it for good; never rejects for either. */
export async function registerMenu({ channel, menu, cells, clock, log, signal }: MenuOptions): Promise<void> {
  const { act, actions, name, account } = channel;
  if (act === undefined || actions?.includes("setCommands") !== true) return;
  const cell = `menu:${accountKey({ channel: name, account })}`;
  const hash = createHash("sha256").update(JSON.stringify(menu)).digest("hex");

  async function attempt(): Promise<void> {
    if ((await cells.get(cell))?.value === hash) return;
    const timeout = deadline(clock, callTimeoutMs, "the platform's answer");
    try {
      // The menu belongs to the account, so any private chat's route will do.
      const anywhere = { channel: name, account, kind: "dm", peer: "0" } as const;
      const how = { idempotencyKey: `${cell}/${hash}`, signal: AbortSignal.any([signal, timeout.signal]) };
      await channel.act?.(anywhere, { kind: "setCommands", commands: menu }, how);
    } finally {
      timeout.cancel();
    }
    await cells.put(cell, hash, {});
    log.info({ channel: name, account, commands: menu.length }, "the menu of commands was set");
  }

  while (!signal.aborted && channel.health().state !== "stopped") {
    try {
      return await attempt();
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ channel: name, account, error }, "could not set the menu of commands");
      if (!isFault(error) || ["invalid", "unsupported", "denied", "missing"].includes(error.code)) return;
      await sleep(clock, error.retryAfterMs ?? againAfterMs, signal);
    }
  }
}
