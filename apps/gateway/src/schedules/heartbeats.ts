// Sends heartbeats: every so often each agent is asked whether anything needs its owner, in the owner's
// private chat. Nothing is asked when its HEARTBEAT.md says nothing, when nobody could be told, or while the
// session has work. The row's id is made from agent and instant, so that of several nodes one asks.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { MayReach } from "@parley/access";
import { saysNothing } from "@parley/agent";
import type { Config } from "@parley/config";
import type { Clock, Log } from "@parley/protocol";
import { scheduleRow, type Schedules } from "@parley/runner";
import { spanMs } from "@parley/schedules";
import type { Inbox } from "@parley/store";

export interface HeartbeatWork {
  /** 0: none are sent. */
  readonly everyMs: number;
  readonly agents: readonly string[];
  /** Returns why none was sent; null when one was. */
  beat(agent: string, instantMs: number): Promise<string | null>;
}

export interface HeartbeatOptions {
  readonly config: Pick<Config, "agents">;
  readonly schedules: Pick<Schedules, "homeOf">;
  readonly inbox: Pick<Inbox, "accept" | "find">;
  readonly reach: MayReach;
  readonly clock: Clock;
}

export function heartbeatWork({ config, schedules, inbox, reach, clock }: HeartbeatOptions): HeartbeatWork {
  const { every, prompt } = config.agents.defaults.heartbeat;
  return {
    everyMs: spanMs(every) ?? 0,
    agents: config.agents.list.map(({ id }) => id),
    async beat(agent, instantMs) {
      const workspace = config.agents.list.find(({ id }) => id === agent)?.workspace ?? "";
      const { session, place } = await schedules.homeOf(agent);
      if (place === null) return "no-route: no owner is known whom it could tell";
      const refused = await reach({ address: place });
      if (refused !== null) return `no-route: ${refused}`;
      // Missing is not empty: then the prompt alone says what is to be done.
      const file = await readFile(join(workspace, "HEARTBEAT.md"), "utf8").catch(() => null);
      if (file !== null && saysNothing(file)) return "empty-heartbeat-file";
      const busy = await Promise.all(
        (["claimed", "waiting"] as const).map((state) => inbox.find({ lane: session, state, limit: 1 })),
      );
      if (busy.flat().length > 0) return "requests-in-flight";
      const row = scheduleRow({
        id: `heartbeat:${agent}:${new Date(instantMs).toISOString()}`,
        lane: session,
        place,
        job: `heartbeat-${agent}`,
        sender: `${place.channel}:${place.peer}`,
        owner: true,
        authority: "owner",
        text: prompt,
        turn: "",
        nowMs: clock.now(),
        kind: "heartbeat",
        pool: "heartbeat",
      });
      await inbox.accept([row]);
      return null;
    },
  };
}

const sliceMs = 30_000;

/** Beats until the returned function is called. A heartbeat that was missed is not made up for. */
export function sendHeartbeats(now: () => HeartbeatWork, clock: Clock, log: Log): () => void {
  let stopped = false;
  let seenMs = clock.now();

  async function look(): Promise<void> {
    const { everyMs, agents, beat } = now();
    const nowMs = clock.now();
    const sinceMs = Math.min(seenMs, nowMs);
    seenMs = nowMs;
    if (everyMs <= 0) return;
    for (const agent of agents) {
      const instantMs = lastInstant(agent, everyMs, nowMs);
      if (instantMs <= sinceMs) continue;
      try {
        const skipped = await beat(agent, instantMs);
        log.info({ agent, ...(skipped === null ? {} : { skipped }) }, "heartbeat");
      } catch (error) {
        log.warn({ agent, error }, "a heartbeat could not be sent");
      }
    }
  }

  function arm(): void {
    if (stopped) return;
    const { everyMs, agents } = now();
    const nowMs = clock.now();
    const next = agents.map((agent) => lastInstant(agent, everyMs, nowMs) + everyMs - nowMs);
    const waitMs = everyMs <= 0 ? sliceMs : Math.min(sliceMs, ...next);
    timer = clock.after(Math.max(1, waitMs), () => void look().finally(arm));
  }

  let timer: { cancel(): void } | null = null;
  arm();
  return () => {
    stopped = true;
    timer?.cancel();
  };
}

/** Each agent beats at its own fixed part of the time, so that they do not all begin at once. */
function lastInstant(agent: string, everyMs: number, nowMs: number): number {
  if (everyMs <= 0) return 0;
  const partMs = createHash("sha256").update(agent).digest().readUInt32BE(0) % everyMs;
  return Math.floor((nowMs - partMs) / everyMs) * everyMs + partMs;
}
