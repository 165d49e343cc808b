// The platform's menu of commands, told only when it differs from what was told last: platforms count these
// calls, and a restart changes nothing. What was told is remembered by its hash in a cell.
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

/** Skills come and go while the daemon runs; nobody needs the menu to follow faster. */
const lookEveryMs = 60_000;

const callTimeoutMs = 30_000;
const againAfterMs = 60_000;

/** Sets the menu, and again when it has changed, until the signal. */
export async function keepMenu({ menuNow, ...options }: KeepMenuOptions): Promise<void> {
  const { channel, clock, signal } = options;
  if (channel.act === undefined || channel.actions?.includes("setCommands") !== true) return;
  let told = "";
  // A channel that the config took away, or put another in the place of, has no menu to keep.
  while (!signal.aborted && channel.health().state !== "stopped") {
    const menu = await menuNow();
    const words = JSON.stringify(menu);
    if (words !== told) await registerMenu({ ...options, menu });
    told = words;
    await sleep(clock, lookEveryMs, signal);
  }
}

/** Tries until the platform took it or refused it for good; never rejects for either. */
export async function registerMenu({ channel, menu, cells, clock, log, signal }: MenuOptions): Promise<void> {
  const { act, actions, name, account } = channel;
  if (act === undefined || actions?.includes("setCommands") !== true) return;
  const cell = `menu:${accountKey({ channel: name, account })}`;
  const hash = createHash("sha256").update(JSON.stringify(menu)).digest("hex");

  async function attempt(): Promise<void> {
    if ((await cells.get(cell))?.value === hash) return;
    const timeout = deadline(clock, callTimeoutMs, "the platform's answer");
    try {
      // The menu is the account's; no chat is looked at.
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
