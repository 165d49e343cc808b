// What the daemon is at this moment, derived from its parts whenever somebody asks, so that it heals as they do (I10). Only the phase is kept.
import type { Channel } from "@parley/channels";
import type { Store } from "@parley/store";

export type Phase = "starting" | "running" | "draining" | "safe-mode";

export interface StateReport {
  readonly state: "starting" | "ok" | "degraded" | "draining" | "safe-mode";
  /** Why it is not `ok`; empty when it is. */
  readonly reasons: readonly string[];
}

export interface GatewayState {
  phase(): Phase;
  enter(phase: Phase, reason?: string): void;
  report(): Promise<StateReport>;
}

export function gatewayState(store: Pick<Store, "check">, channels: () => readonly Channel[]): GatewayState {
  let phase: Phase = "starting";
  let phaseReason: string | undefined;

  return {
    phase: () => phase,
    enter(next, reason) {
      phase = next;
      phaseReason = reason;
    },
    async report() {
      const checked = await store.check();
      const ailing = channels().flatMap((channel) => {
        const { state, reason } = channel.health();
        if (state === "ok" || (state === "stopped" && phase !== "running")) return [];
        return [`${channel.name}:${channel.account} is ${state}${reason === undefined ? "" : `: ${reason}`}`];
      });
      const reasons = [
        ...(phaseReason === undefined ? [] : [phaseReason]),
        ...(checked.ok ? [] : [`the store does not work: ${checked.reason}`]),
        ...ailing,
      ];
      if (phase !== "running") return { state: phase, reasons };
      return { state: reasons.length === 0 ? "ok" : "degraded", reasons };
    },
  };
}
