// Builds the row by which an instant of a job becomes a turn, and reads it back. The row's id is made from
// job and instant, and the store takes an id once: that alone keeps an instant from firing twice, over
// crashes, several nodes and clocks that jump. Places and people are those of the job's maker (I6).
import {
  conversationKey,
  formatRowPayload,
  formatSessionKey,
  parseRowPayload,
  parseSessionKey,
  type Address,
  type InternalRow,
  type SessionKey,
  type SlotRun,
} from "@parley/protocol";
import { hookAddress } from "@parley/access";
import { localText, zoneOf, type Job } from "@parley/schedules";
import type { NewRow, Row } from "@parley/store";
import { allows } from "@parley/tools";
import { internalOf } from "../internal-row.ts";

/** What a row of the job's maker may do at the moment. */
export interface RunRights {
  readonly owner: boolean;
  readonly authority: string;
}

/** The operator, whose jobs have no person on a platform. */
export const operatorSender = "web:operator";

/** The session in which a job's runs work. */
export function sessionOfRuns({
  id,
  agent,
  target,
  owner,
}: Pick<Job, "id" | "agent" | "target" | "owner">): SessionKey {
  switch (target.kind) {
    case "isolated":
      return formatSessionKey({ kind: "cron", agent, job: id });
    case "main":
      return (owner.session as SessionKey | null) ?? formatSessionKey({ kind: "main", agent });
    case "current":
    case "session":
      return target.session as SessionKey;
  }
}

/** Where a run's answer goes; null: no conversation sees it. */
export function placeOfRuns({ delivery }: Pick<Job, "delivery">): Address | null {
  return delivery.kind === "announce" ? delivery.to : null;
}

/** `isDue`: by its schedule, and not because somebody wants it now. */
export function slotRow(
  job: Job,
  slot: { readonly id: string; readonly instantMs: number; readonly because?: string },
  { owner, authority }: RunRights,
  nowMs: number,
): NewRow {
  const { payload, target } = job;
  const lane = sessionOfRuns(job);
  const run: SlotRun = {
    version: job.version,
    instantMs: slot.instantMs,
    own: target.kind === "isolated",
    ...toolsOf(job),
    ...(payload.kind === "agentTurn" && payload.lightContext === true ? { light: true } : {}),
  };
  const { model, fallbacks, thinking } = payload.kind === "agentTurn" ? payload : {};
  return scheduleRow({
    id: slot.id,
    lane,
    place: placeOfRuns(job),
    job: job.id,
    sender: job.owner.sender ?? operatorSender,
    owner,
    authority,
    text: wordsOf(job, slot),
    ...(slot.because === undefined ? {} : { kind: "watch" as const }),
    turn: job.owner.turn ?? "",
    nowMs,
    internal: {
      ...(job.owner.untrusted === undefined ? {} : { untrusted: job.owner.untrusted }),
      slot: run,
      run: {
        label: job.name,
        timeoutSeconds: job.timeoutSeconds,
        ...(model === undefined ? {} : { model }),
        ...(fallbacks === undefined ? {} : { fallbacks }),
        ...(thinking === undefined ? {} : { thinking }),
      },
    },
  });
}

/** A row of kind `schedule` by its parts; `job`: the job's id, or what woke the session without one. */
export function scheduleRow({
  id,
  lane,
  place,
  job,
  sender,
  owner,
  authority,
  text,
  turn,
  nowMs,
  internal = {},
  kind = "schedule",
  pool = "cron",
  alone = true,
}: {
  readonly id: string;
  readonly lane: SessionKey;
  readonly place: Address | null;
  readonly job: string;
  /** `<channel>:<id>`. */
  readonly sender: string;
  readonly owner: boolean;
  readonly authority: string;
  readonly text: string;
  readonly turn: string;
  readonly nowMs: number;
  readonly internal?: Pick<InternalRow, "slot" | "run" | "untrusted">;
  readonly kind?: "schedule" | "heartbeat" | "watch" | "hook";
  readonly pool?: "cron" | "heartbeat";
  /** False: it may be read together with other rows. */
  readonly alone?: boolean;
}): NewRow {
  const { agent } = parseSessionKey(lane);
  const to = place ?? hookAddress(agent, `cron-${job}`);
  const at = sender.indexOf(":");
  const channel = sender.slice(0, at);
  return {
    id,
    pool,
    lane,
    conversation: conversationKey(to),
    authority,
    // A ticket of its own: it wakes no turn that waits for a person's answer.
    as: { kind: "work", ticket: id, ...(alone ? { barrier: true } : {}) },
    payload: formatRowPayload({
      v: 1,
      inbound: {
        id,
        // The rules for a person are those of the channel on which the person made the job.
        channel,
        account: channel === to.channel ? to.account : "default",
        address: to,
        sender: { id: sender.slice(at + 1), name: "Parley", isBot: false },
        messageId: id,
        kind: "message",
        text,
        attachments: [],
        mentions: [],
        addressed: true,
        atMs: nowMs,
      },
      owner,
      internal: { kind, id: job, turn, ...internal, ...(place === null ? { unseen: true } : {}) },
    }),
  };
}

/** Null for a row that no job wrote, and for one that this build cannot read. */
export function slotOf(
  row: Pick<Row, "id" | "payload">,
): { readonly job: string; readonly id: string; readonly run: SlotRun } | null {
  const internal = internalOf(row);
  return (internal?.kind === "schedule" || internal?.kind === "watch") && internal.slot !== undefined
    ? { job: internal.id, id: row.id, run: internal.slot }
    : null;
}

/** What the first row of a turn in a job's own session says of it; null for every other turn. */
export function ownRun(
  rows: readonly Pick<Row, "id" | "payload">[],
): { readonly settings: NonNullable<InternalRow["run"]> } | null {
  const [first] = rows;
  const internal = first === undefined ? null : internalOf(first);
  if (internal?.slot?.own !== true || internal.run === undefined) return null;
  return { settings: internal.run };
}

/**
 * What the rows of jobs and heartbeats ask of their turn. `within`: names, groups and patterns of the tools
 * that all of them may use.
 */
export function runLimits(rows: readonly Pick<Row, "payload">[]): {
  readonly within?: readonly string[];
  readonly light?: boolean | "heartbeat";
  readonly model?: string;
  readonly fallbacks?: readonly string[];
  readonly timeoutMs?: number;
} {
  const all = rows.map(internalOf);
  const [first] = all;
  if (first === undefined || first === null || first.slot === undefined) return {};
  const { slot, run, kind } = first;
  const isBeat = kind === "heartbeat";
  const within = all.reduce<readonly string[] | undefined>((so, row) => {
    const tools = row?.slot?.tools;
    return tools === undefined || so === undefined ? (so ?? tools) : inBoth(so, tools);
  }, undefined);
  return {
    ...(within === undefined ? {} : { within }),
    ...(slot.light === true ? { light: isBeat ? "heartbeat" : true } : {}),
    ...(isBeat && run?.model !== undefined ? { model: run.model } : {}),
    ...(run?.fallbacks === undefined ? {} : { fallbacks: run.fallbacks }),
    ...(run?.timeoutSeconds === undefined ? {} : { timeoutMs: run.timeoutSeconds * 1_000 }),
  };
}

/**
 * True when all rows come from schedules, heartbeats, watches or hooks: nobody waits, and nobody watches the
 * answer grow.
 */
export function isUnasked(rows: readonly Pick<Row, "payload">[]): boolean {
  return (
    rows.length > 0 &&
    rows.every((row) => {
      const kind = internalOf(row)?.kind;
      return kind === "schedule" || kind === "heartbeat" || kind === "watch" || kind === "hook";
    })
  );
}

export function isHeartbeat(rows: readonly Pick<Row, "payload">[]): boolean {
  return rows.length > 0 && rows.every((row) => internalOf(row)?.kind === "heartbeat");
}

/** True also for a heartbeat that events joined: its acknowledgement is one of all of them. */
export function asksHeartbeat(rows: readonly Pick<Row, "payload">[]): boolean {
  return isUnasked(rows) && rows.some((row) => internalOf(row)?.kind === "heartbeat");
}

/**
 * The row of an event as part of a heartbeat's turn, where it is for the same session and no other
 * conversation sees it; else as it is.
 */
export function joining(event: NewRow, beat: NewRow): NewRow {
  const { internal, ...payload } = parseRowPayload(event.payload);
  const to = parseRowPayload(beat.payload);
  const isFree = internal?.unseen === true || event.conversation === beat.conversation;
  // Rows of another authority have a turn of their own, so they keep their place too.
  const isKin = event.lane === beat.lane && event.authority === beat.authority;
  if (internal === undefined || !isKin || !isFree) return event;
  const { unseen: _unseen, ...known } = internal;
  const shown = to.internal?.unseen === true ? { ...known, unseen: true } : known;
  return {
    ...event,
    pool: beat.pool,
    conversation: beat.conversation,
    as: { kind: "work", ticket: event.id },
    payload: formatRowPayload({
      ...payload,
      inbound: { ...payload.inbound, address: to.inbound.address },
      internal: shown,
    }),
  };
}

/** The narrower of what the maker's tools were and what the job asks for. */
function toolsOf({ owner, payload }: Job): { readonly tools?: readonly string[] } {
  const wanted = payload.kind === "agentTurn" ? payload.tools : undefined;
  const { tools: then } = owner;
  if (then === null) return wanted === undefined ? {} : { tools: wanted };
  return { tools: wanted === undefined ? then : then.filter((name) => allows(wanted, name)) };
}

/** Of two lists of names and patterns, what both of them allow. */
function inBoth(one: readonly string[], other: readonly string[]): readonly string[] {
  const both = [...one.filter((name) => allows(other, name)), ...other.filter((name) => allows(one, name))];
  return [...new Set(both)];
}

function wordsOf(
  { id, name, payload, schedule }: Job,
  { instantMs, because }: { readonly instantMs: number; readonly because?: string },
): string {
  const zone = zoneOf(schedule);
  const due = because ?? `due ${localText(instantMs, zone)} ${zone}`;
  const what =
    payload.kind === "agentTurn"
      ? payload.message
      : payload.kind === "systemEvent"
        ? payload.text
        : payload.command;
  const word = payload.kind === "systemEvent" ? "Scheduled event" : "Scheduled job";
  return `${word} ${JSON.stringify(name)} (${id}), ${due}:\n${what}`;
}
