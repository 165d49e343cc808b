// Sends heartbeats: every so often each agent is asked whether anything needs its owner. Nothing is asked
// outside of its active hours, when its HEARTBEAT.md says nothing and no event waits, when nobody could be
// told, or while the session has work. The row's id is made from agent and instant, so that of several nodes
// one asks; events that were kept for it are read in the same turn.
import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { MayReach } from "@parley/access";
import { saysNothing } from "@parley/agent";
import type { AgentConfig, Config } from "@parley/config";
import {
  conversationKey,
  isFault,
  type Address,
  type Clock,
  type Log,
  type SessionKey,
} from "@parley/protocol";
import { addressIn, joining, scheduleRow, slotOf, type Schedules } from "@parley/runner";
import { localText, mayRun, spanMs } from "@parley/schedules";
import type { Cells, CellWrite, Inbox, NewRow } from "@parley/store";
import { keptEvent, keptEvents, type KeptEvent } from "./kept-events.ts";

export interface HeartbeatWork {
  readonly agents: readonly string[];
  /** 0: the agent has none. */
  everyMs(agent: string): number;
  /** Returns why none was sent; null when one was. */
  beat(agent: string, instantMs: number): Promise<string | null>;
  /** Tells what was kept for a heartbeat that does not come any more. */
  release(agent: string): Promise<void>;
  /** Counts one heartbeat by what became of it. */
  count(result: string): void;
  /** Of the whole process, over reloads. */
  readonly counts: ReadonlyMap<string, number>;
}

export interface Home {
  readonly session: SessionKey;
  readonly place: Address | null;
}

export interface HeartbeatOptions {
  readonly config: Pick<Config, "agents">;
  readonly jobs: Pick<Schedules["jobs"], "get">;
  /** Where each owner talks to the agent, the first one first; without an owner, the main session. */
  readonly homesOf: (agent: string) => Promise<readonly [Home, ...Home[]]>;
  readonly inbox: Pick<Inbox, "accept" | "find">;
  readonly cells: Pick<Cells, "list" | "remove">;
  readonly reach: MayReach;
  readonly counts: Map<string, number>;
  readonly clock: Clock;
}

/** Rows of one lane that are looked through for a person's newest. */
const mostRows = 50;
const longestSeconds = 600;
/** What is larger says something, so it is not read to find out. */
const mostFileBytes = 262_144;

/** The cell that keeps a row for the agent's next heartbeat; null where none comes. */
export function keepingForHeartbeat({ agents }: Pick<Config, "agents">) {
  return (row: NewRow, agent: string): CellWrite | null => {
    return beatsEveryMs(agents.list.find(({ id }) => id === agent)) === 0 ? null : keptEvent(row, agent);
  };
}

export function heartbeatWork(options: HeartbeatOptions): HeartbeatWork {
  const { config, jobs, homesOf, inbox, cells, reach, counts, clock } = options;
  const { defaults, list } = config.agents;
  const agentNamed = (agent: string): AgentConfig | undefined => list.find(({ id }) => id === agent);

  /** The session that is asked, and where its answer goes: null where nobody is to be told. */
  async function whereOf({ id, heartbeat }: AgentConfig): Promise<Home | string> {
    const homes = await homesOf(id);
    const [first] = homes;
    const { target } = heartbeat;
    if (target === "none") return { ...first, place: null };
    const home = target === "last" ? await lastOf(homes) : first;
    const place = target === "owner" || target === "last" ? home.place : placeNamed(target);
    if (place === null) return "no-route: no owner is known whom it could tell";
    if (typeof place === "string") return `no-route: ${place}`;
    const refused = await reach({ address: place });
    return refused === null ? { session: home.session, place } : `no-route: ${refused}`;
  }

  /** Of the owners' private chats the one that was written in last, so that no stranger moves it. */
  async function lastOf(homes: readonly [Home, ...Home[]]): Promise<Home> {
    const [first] = homes;
    let last = { home: first, atMs: -1 };
    for (const home of homes) {
      if (home.place === null) continue;
      const key = conversationKey(home.place);
      const rows = await inbox.find({ lane: home.session, limit: mostRows });
      const row = rows.find(({ conversation, pool }) => conversation === key && pool === "main");
      if (row !== undefined && row.acceptedAtMs > last.atMs) last = { home, atMs: row.acceptedAtMs };
    }
    return last.home;
  }

  function beatRow(
    { id, heartbeat }: AgentConfig,
    { session, place }: Home,
    instantMs: number,
    joined: boolean,
  ) {
    const everySeconds = Math.max(1, Math.floor(everyOf(heartbeat.every) / 1_000));
    return scheduleRow({
      id: `heartbeat:${id}:${new Date(instantMs).toISOString()}`,
      lane: session,
      place,
      job: `heartbeat-${id}`,
      sender: place === null ? "web:operator" : `${place.channel}:${place.peer}`,
      owner: true,
      authority: "owner",
      text: heartbeat.prompt,
      turn: "",
      nowMs: clock.now(),
      kind: "heartbeat",
      pool: "heartbeat",
      alone: !joined,
      internal: {
        slot: { version: 0, instantMs, own: false, ...(heartbeat.lightContext ? { light: true } : {}) },
        run: {
          label: "heartbeat",
          timeoutSeconds: Math.min(everySeconds, defaults.timeoutSeconds, longestSeconds),
          ...(heartbeat.model === undefined ? {} : { model: heartbeat.model }),
        },
      },
    });
  }

  /** Without those of jobs that were edited or removed since. */
  async function stillWanted(events: readonly KeptEvent[]): Promise<readonly NewRow[]> {
    const wanted = await Promise.all(
      events.map(async ({ row }) => {
        const slot = slotOf(row);
        if (slot === null) return true;
        const job = (await jobs.get(slot.job))?.job ?? null;
        return mayRun(job, { version: slot.run.version }, { running: 0, waiting: 0 }).run === "now";
      }),
    );
    return events.flatMap(({ row }, at) => (wanted[at] === true ? [row] : []));
  }

  async function accept(rows: readonly NewRow[], events: readonly KeptEvent[]): Promise<void> {
    if (rows.length > 0) await inbox.accept(rows);
    for (const { key } of events) await cells.remove(key);
  }

  async function release(agent: string): Promise<void> {
    const events = await keptEvents(cells, agent);
    await accept(await stillWanted(events), events);
  }

  return {
    agents: list.map(({ id }) => id),
    everyMs: (agent) => beatsEveryMs(agentNamed(agent)),
    release,
    counts,
    count: (result) => void counts.set(result, (counts.get(result) ?? 0) + 1),
    async beat(id, instantMs) {
      const agent = agentNamed(id);
      if (agent === undefined) return "no-route: there is no such agent";
      const { activeHours } = agent.heartbeat;
      if (activeHours !== undefined && !isWithin(activeHours, defaults.userTimezone, clock.now()))
        return "quiet-hours";
      const where = await whereOf(agent);
      if (typeof where === "string") {
        await release(id);
        return where;
      }
      const { session } = where;
      const busy = await Promise.all(
        (["claimed", "waiting"] as const).map((state) => inbox.find({ lane: session, state, limit: 1 })),
      );
      if (busy.flat().length > 0) return "requests-in-flight";
      const events = await keptEvents(cells, id);
      const told = await stillWanted(events);
      if (told.length === 0 && (await isEmptyFile(join(agent.workspace, "HEARTBEAT.md")))) {
        await accept([], events);
        return "empty-heartbeat-file";
      }
      const beat = beatRow(agent, where, instantMs, told.length > 0);
      await accept([beat, ...told.map((row) => joining(row, beat))], events);
      return null;
    },
  };
}

const sliceMs = 30_000;

/** Beats until the returned function is called. A heartbeat that was missed is not made up for. */
export function sendHeartbeats(now: () => HeartbeatWork, clock: Clock, log: Log): () => void {
  let stopped = false;
  let seenMs = clock.now();
  /** The config whose agents without heartbeats were looked at for what is kept. */
  let released: HeartbeatWork | null = null;

  async function look(): Promise<void> {
    const work = now();
    const nowMs = clock.now();
    const sinceMs = seenMs;
    seenMs = nowMs;
    for (const agent of work.agents) {
      const everyMs = work.everyMs(agent);
      try {
        if (everyMs <= 0) {
          if (released !== work) await work.release(agent);
          continue;
        }
        const instantMs = lastInstant(agent, everyMs, nowMs);
        if (instantMs <= sinceMs) continue;
        const skipped = await work.beat(agent, instantMs);
        work.count(skipped === null ? "sent" : (skipped.split(":")[0] ?? skipped));
        log.info({ agent, ...(skipped === null ? {} : { skipped }) }, "heartbeat");
      } catch (error) {
        work.count("failed");
        log.warn({ agent, error }, "a heartbeat could not be sent");
      }
    }
    released = work;
  }

  function arm(): void {
    if (stopped) return;
    const { agents, everyMs } = now();
    const nowMs = clock.now();
    const next = agents.flatMap((agent) => {
      const spanOf = everyMs(agent);
      return spanOf <= 0 ? [] : [lastInstant(agent, spanOf, nowMs) + spanOf - nowMs];
    });
    timer = clock.after(Math.max(1, Math.min(sliceMs, ...next)), () => void look().finally(arm));
  }

  let timer: { cancel(): void } | null = null;
  arm();
  return () => {
    stopped = true;
    timer?.cancel();
  };
}

/** 0 where no heartbeat comes: it is off, or its active hours are none. */
function beatsEveryMs(agent: Pick<AgentConfig, "heartbeat"> | undefined): number {
  if (agent === undefined) return 0;
  const { every, activeHours } = agent.heartbeat;
  return activeHours !== undefined && activeHours.start === activeHours.end ? 0 : everyOf(every);
}

/** Missing is not empty: then the prompt alone says what to do. Nor is what is no small plain file. */
async function isEmptyFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  if (found === null || !found.isFile() || found.size > mostFileBytes) return false;
  const text = await readFile(path, "utf8").catch(() => null);
  return text !== null && saysNothing(text);
}

function everyOf(every: string): number {
  return spanMs(every) ?? 0;
}

/** A time of day in the zone's clocks; over midnight where the end comes before the start. */
export function isWithin(
  { start, end, timezone }: NonNullable<AgentConfig["heartbeat"]["activeHours"]>,
  userZone: string,
  nowMs: number,
): boolean {
  const host = new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zone = timezone === "user" ? userZone : timezone === "local" ? host : timezone;
  const at = localText(nowMs, zone).slice(11, 16);
  if (start === end) return false;
  return start < end ? at >= start && at < end : at >= start || at < end;
}

function placeNamed(target: string): Address | string {
  try {
    return addressIn(target, { conversation: null });
  } catch (error) {
    if (isFault(error, "invalid")) return error.message;
    throw error;
  }
}

/** Each agent beats at its own fixed part of the time, so that they do not all begin at once. */
function lastInstant(agent: string, everyMs: number, nowMs: number): number {
  if (everyMs <= 0) return 0;
  const partMs = createHash("sha256").update(agent).digest().readUInt32BE(0) % everyMs;
  return Math.floor((nowMs - partMs) / everyMs) * everyMs + partMs;
}
