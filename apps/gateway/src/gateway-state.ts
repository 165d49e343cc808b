// Derives the daemon's state from its parts whenever somebody asks, so that it heals as they do (I10). It
// stores only the phase.
import type { Channel } from "@parley/channels";
import type { Store } from "@parley/store";

export type Phase = "starting" | "running" | "draining" | "safe-mode";

interface StateReport {
  readonly state: "starting" | "ok" | "degraded" | "draining" | "safe-mode";
  /** Why it is not `ok`; empty when it is. */
  readonly reasons: readonly string[];
}

export interface GatewayState {
  phase(): Phase;
  enter(phase: Phase, reason?: string): void;
  /** Records a start that was refused for good: the channel stays down until the config changes. */
  channelFailed(channel: Channel, error: unknown): void;
  report(): Promise<StateReport>;
  /** Returns whether this process receives on the channel, because nodes share accounts. */
  hears(channel: Channel): boolean;
  /**
   * Returns whether it takes work and the store took writes at the last check. It reads nothing, because
   * anybody may ask. A failing account does not count: the other accounts, and the page, would go out of
   * service with it.
   */
  ready(): { readonly ok: boolean };
  /** Returns whether the store took writes at the last check. */
  store(): boolean;
  /**
   * Checks the store; call it now and then. Never rejects; resolves with what keeps it from taking writes, or
   * null.
   */
  look(): Promise<string | null>;
}

const scarceWords =
  "this process can open no more files and takes no connection: raise its limit (LimitNOFILE, ulimit -n), or end what holds them";

/**
 * `damage`: findings of the database's full check, or null. `config`: why the current config file was
 * refused. `turns`: failures of turns and their models. `scarce`: true when the process can open no more
 * files. `around`: failures of this machine.
 */
export function gatewayState(
  store: Pick<Store, "check">,
  channels: () => readonly Channel[],
  damage: () => string | null = () => null,
  config: () => readonly string[] = () => [],
  turns: () => readonly string[] = () => [],
  scarce: () => boolean = () => false,
  around: () => Promise<readonly string[]> = async () => [],
): GatewayState {
  let phase: Phase = "starting";
  let phaseReason: string | undefined;
  const failed = new WeakMap<Channel, string>();
  let storeOk = true;

  const ailing = (): { readonly opens: boolean; readonly words: string }[] =>
    channels().flatMap((channel) => {
      const { state, reason = failed.get(channel) } = channel.health();
      if (state === "ok" || (state === "stopped" && phase !== "running")) return [];
      const words = `${channel.name}:${channel.account} is ${state}${reason === undefined ? "" : `: ${reason}`}`;
      return [{ opens: state === "starting", words }];
    });

  const looked = (): ReturnType<Store["check"]> =>
    store.check().catch((error: unknown) => ({
      ok: false,
      reason: error instanceof Error ? error.message : String(error),
    }));

  return {
    phase: () => phase,
    enter(next, reason) {
      phase = next;
      phaseReason = reason;
    },
    channelFailed(channel, error) {
      failed.set(channel, error instanceof Error ? error.message : String(error));
    },
    hears: (channel) => channels().includes(channel),
    ready: () => ({ ok: phase === "running" && storeOk }),
    store: () => storeOk,
    async look() {
      const checked = await looked();
      storeOk = checked.ok;
      return checked.ok ? null : checked.reason;
    },
    async report() {
      const [checked, machine] = await Promise.all([looked(), around()]);
      storeOk = checked.ok;
      const damaged = damage();
      const unheard = ailing();
      const reasons = [
        ...(phaseReason === undefined ? [] : [phaseReason]),
        ...(checked.ok ? [] : [`the store does not work: ${checked.reason}`]),
        ...(checked.ok && checked.danger !== undefined ? [`the store may forget: ${checked.danger}`] : []),
        ...(damaged === null ? [] : [damaged]),
        ...(scarce() ? [scarceWords] : []),
        ...config().map(
          (problem) => `the config file was refused, the last good one is in force: ${problem}`,
        ),
        ...turns(),
        ...machine,
        ...unheard.map(({ words }) => words),
      ];
      if (phase !== "running") return { state: phase, reasons };
      if (reasons.length === 0) return { state: "ok", reasons };
      // A channel that is still opening is no failure yet: somebody who wrote while the daemon was down may
      // ask for the state in that moment.
      const onlyOpens = reasons.length === unheard.length && unheard.every(({ opens }) => opens);
      return { state: onlyOpens ? "starting" : "degraded", reasons };
    },
  };
}
