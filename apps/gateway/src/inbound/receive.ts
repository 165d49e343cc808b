// From a platform's events to durable rows; a platform is acknowledged when this resolves, and not before (I1).
// Every event gets a row: work, a command, a refusal with its reason, or a dead one that nobody could read.
import {
  accountKey,
  conversationKey,
  type Address,
  type ConversationKey,
  type Inbound,
  type Log,
  type SessionKey,
  type Unreadable,
} from "@parley/protocol";
import type { Inbox, NewDelivery, NewRow, Outbox, Sessions } from "@parley/store";
import { noticeDelivery } from "../outbound/notice.ts";
import type { Admission, Admit } from "./admit.ts";
import { parseCommand, type Command } from "./command.ts";
import type { MakeRoom } from "./make-room.ts";
import { queueSettingsOf, type QueueSettings } from "./queue-settings.ts";
import type { Route, RouteInbound } from "./route.ts";
import { formatRowPayload } from "./row-payload.ts";

/** An admitted message with its place. */
export interface Admitted {
  readonly inbound: Inbound;
  readonly route: Route;
  readonly owner: boolean;
  readonly authority: string;
}

/** Runs a command that acts past the lane; its answer goes back to where the command came from. Must bear repetition. */
export type RunPastLane = (command: Command, by: Admitted) => Promise<string | null>;

export interface ReceiveOptions {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly sessions: Sessions;
  readonly admit: Admit;
  readonly route: RouteInbound;
  readonly runPastLane: RunPastLane;
  readonly makeRoom: MakeRoom;
  readonly queue: QueueSettings;
  readonly log: Log;
}

export type ReceiveEvents = (events: readonly (Inbound | Unreadable)[]) => Promise<void>;

/** Quiet time in which the parts of an album or of a forwarded batch arrive; Telegram marks no end of either. */
const albumQuietMs = 700;

interface Planned {
  readonly row: NewRow;
  readonly notices: readonly NewDelivery[];
  readonly settings?: QueueSettings;
}

export function receiver(options: ReceiveOptions): ReceiveEvents {
  const { inbox, outbox, log } = options;

  async function store(batch: readonly Planned[]): Promise<void> {
    if (batch.length === 0) return;
    const notices = batch.flatMap((planned) => planned.notices);
    // Asked for in one turn of the event loop, so that rows and notices share one commit.
    const [accepted] = await Promise.all([
      inbox.accept(batch.map((planned) => planned.row)),
      notices.length > 0 ? outbox.post(notices) : Promise.resolve(),
    ]);
    for (const [index, verdict] of accepted.entries()) {
      const planned = batch[index];
      if (planned === undefined) continue;
      log.info({ id: verdict.id, lane: planned.row.lane, verdict: verdict.verdict, waiting: verdict.waiting }, "received");
      if (verdict.verdict === "queued" && planned.settings !== undefined) await options.makeRoom(planned.row, verdict, planned.settings);
    }
  }

  async function runAtOnce(command: Command, by: Admitted): Promise<void> {
    const { inbound, route, authority } = by;
    // A redelivered command must not act twice: its row is there once it has acted.
    if ((await inbox.find({ id: inbound.id, limit: 1 })).length > 0) return;
    const answer = await options.runPastLane(command, by);
    const row = baseRow(inbound, route.session, authority, { kind: "closed", outcome: "commanded", reason: `/${command.name}` });
    await store([
      {
        row: { ...row, payload: formatRowPayload({ v: 1, inbound, owner: by.owner, command: { name: command.name, args: command.args } }) },
        notices: answer === null ? [] : [noticeDelivery(inbound, answer)],
      },
    ]);
  }

  async function work(by: Admitted, command: Command | null): Promise<Planned> {
    const { inbound, route, owner, authority } = by;
    const payload = formatRowPayload({
      v: 1,
      inbound,
      owner,
      ...(command === null ? {} : { command: { name: command.name, args: command.args } }),
    });
    if (inbound.kind === "edit") return { row: { ...baseRow(inbound, route.session, authority, { kind: "edit" }), payload }, notices: [] };
    const settings = queueSettingsOf(await options.sessions.open(route.session), options.queue);
    const afterMs = Math.max(settings.mode === "collect" ? settings.debounceMs : 0, inbound.groupId === undefined ? 0 : albumQuietMs);
    const as: NewRow["as"] = {
      kind: "work",
      ...(afterMs > 0 ? { afterMs } : {}),
      // In followup mode every message is a turn of its own.
      ...(command !== null || settings.mode === "followup" ? { barrier: true } : {}),
    };
    return { row: { ...baseRow(inbound, route.session, authority, as), payload }, notices: [], settings };
  }

  return async (events) => {
    let batch: Planned[] = [];
    const flush = async (): Promise<void> => {
      const full = batch;
      batch = [];
      await store(full);
    };
    for (const event of events) {
      if (event.kind === "unreadable") {
        batch.push(unreadable(event));
        continue;
      }
      const route = options.route(event);
      const admission = await options.admit(event);
      if (!admission.allow) {
        batch.push(refused(event, route, admission));
        continue;
      }
      const by: Admitted = { inbound: event, route, owner: admission.owner, authority: admission.authority };
      const command = event.kind === "edit" ? null : parseCommand(event.text);
      if (command?.place === "past-lane") {
        await flush();
        await runAtOnce(command, by);
      } else {
        batch.push(await work(by, command));
      }
    }
    await flush();
  };
}

function baseRow(inbound: Inbound, lane: SessionKey, authority: string, as: NewRow["as"]): Omit<NewRow, "payload"> {
  return {
    id: inbound.id,
    subject: `${accountKey(inbound)}/${conversationKey(inbound.address)}/${inbound.messageId}${inbound.kind === "message" || inbound.kind === "edit" || inbound.kind === "command" ? "" : `/${inbound.id}`}`,
    version: inbound.editedAtMs ?? 0,
    pool: "main",
    lane,
    conversation: conversationKey(inbound.address),
    authority,
    as,
  };
}

/** A refusal keeps its key and reason, not its words: strangers must not be able to fill the database. */
function refused(inbound: Inbound, route: Route, admission: Extract<Admission, { allow: false }>): Planned {
  const as: NewRow["as"] = { kind: "closed", outcome: "refused", reason: admission.reason };
  return {
    row: { ...baseRow(inbound, route.session, "none", as), payload: "" },
    notices: admission.say === undefined ? [] : [noticeDelivery(inbound, admission.say)],
  };
}

function unreadable(event: Unreadable): Planned {
  const address: Address = { channel: event.channel, account: event.account, kind: "channel", peer: "unreadable" };
  return {
    row: {
      id: event.id,
      pool: "main",
      lane: `agent:main:hook:unreadable` as SessionKey,
      conversation: conversationKey(address) as ConversationKey,
      authority: "none",
      as: { kind: "closed", outcome: "dead", reason: event.reason },
      payload: event.raw,
    },
    notices: [],
  };
}
