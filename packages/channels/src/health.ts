// Keeps an account's health and logs one line per transition, never one per failure.
import type { Clock, Log } from "@parley/protocol";
import type { ChannelHealth } from "./channel.ts";

export interface HealthBoard {
  read(): ChannelHealth;
  set(state: ChannelHealth["state"], reason?: string): void;
  /**
   * Called when inbound work completed: a poll was answered, a webhook's update accepted. Sends do not count.
   */
  inboundCompleted(): void;
}

export function healthBoard(clock: Clock, log: Log): HealthBoard {
  let state: ChannelHealth["state"] = "starting";
  let reason: string | undefined;
  let lastInboundAtMs: number | undefined;
  return {
    read: () => ({
      state,
      ...(reason === undefined ? {} : { reason }),
      ...(lastInboundAtMs === undefined ? {} : { lastInboundAtMs }),
    }),
    set(nextState, nextReason) {
      const changed = nextState !== state;
      state = nextState;
      reason = nextReason;
      if (!changed) return;
      if (state === "degraded" || state === "down") log.warn({ state, reason }, "channel is in trouble");
      else log.info({ state }, "channel changed state");
    },
    inboundCompleted() {
      lastInboundAtMs = clock.now();
    },
  };
}
