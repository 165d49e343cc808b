// What the daemon is at this moment, derived from its parts whenever somebody asks, so that it heals as they do (I10). Only the phase is kept.
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
  /** Its start was refused for good; it stays down until the config changes. */
  channelFailed(channel: Channel, error: unknown): void;
  report(): Promise<StateReport>;
  /** Whether this process is the one that hears the channel: nodes share accounts. */
  hears(channel: Channel): boolean;
  /**
   * Whether it takes work and the store took writes when it was last looked at; asks nobody, because anybody may ask this. An account in
   * trouble does not count: the others, and the page, would go out of service with it.
   */
  ready(): { readonly ok: boolean };
  /** Whether the store took writes when it was last looked at. */
  store(): boolean;
  /** Looks at the store; to be done now and then. Never rejects. */
  look(): Promise<void>;
}

const scarceWords =
  "this process can open no more files and takes no connection: raise its limit (LimitNOFILE, ulimit -n), or end what holds them";

/**
 * `damage`: what the full check of the database found; null while that is nothing. `config`: why the config file as it is now was refused.
 * `turns`: why not all is well with turns and their models. `scarce`: whether the process can open no more files.
 * `around`: what is wrong with this machine as the config needs it.
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
      storeOk = (await looked()).ok;
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
      // A channel that only opens is no trouble yet: somebody who wrote while the daemon was down may ask for the state in that moment.
      const onlyOpens = reasons.length === unheard.length && unheard.every(({ opens }) => opens);
      return { state: onlyOpens ? "starting" : "degraded", reasons };
    },
  };
}
