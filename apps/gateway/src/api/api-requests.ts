// Stores requests of programs before they are acknowledged (I1) and answers them from the durable records:
// the row's end and its deliveries. So a program gets the same answer however often it asks, also after a
// restart.
import { guestRole, type Receive } from "@parley/channels";
import {
  addUsage,
  conversationKey,
  Fault,
  noUsage,
  sleep,
  type Address,
  type Clock,
  type Entry,
  type Inbound,
  type Usage,
  parseRowPayload,
  parseContent,
  parseSessionKey,
} from "@parley/protocol";
import type { DeliveryView, Inbox, Outbox, Outcome, RowView, Sessions, Turns } from "@parley/store";
import type { Hub } from "@parley/control";
import type { Schedules } from "@parley/runner";
import { beginOwnSession } from "../hooks/own-session.ts";
import type { HookCall } from "./hook-call.ts";
import { apiAddress, hookAddress, programAccount, type ApiUser } from "@parley/access";

export interface ProgramAnswer {
  readonly outcome: Outcome;
  /** Markdown; empty where the agent said nothing. */
  readonly text: string;
  /** The reason of the outcome. */
  readonly reason: string | null;
  readonly usage: Usage;
}

interface EndpointCall {
  readonly name: string;
  readonly agent: string;
  /** Unique among the calls of this webhook. */
  readonly delivery: string;
  readonly text: string;
  /** Where the answer is sent; absent: it stays in the session. */
  readonly deliver?: Address;
}

interface Stored {
  readonly id: string;
  readonly duplicate: boolean;
}

export interface ApiRequests {
  /**
   * Resolves once it is durable. Rejects with Fault("conflict") for a key that was used with another text.
   */
  ask(who: ApiUser, key: string, text: string): Promise<Stored>;
  call(hook: EndpointCall): Promise<Stored>;
  /** As `ask`, for a row that is made already; a call for the next heartbeat waits for it. */
  tell(call: HookCall): Promise<Stored>;
  /**
   * Waits for the answer. Rejects with Fault: "aborted" with the signal, "conflict" when it waits for
   * somebody's approval.
   */
  answer(id: string, signal: AbortSignal): Promise<ProgramAnswer>;
  /**
   * Calls `hear` with the visible text of the user's running turns, whole each time. Returns a function that
   * stops it.
   */
  watch(who: ApiUser, hear: (text: string) => void): () => void;
}

export interface ApiRequestsOptions {
  readonly receive: Receive;
  /** False while the gateway takes no work. */
  readonly isOpen: () => boolean;
  readonly inbox: Pick<Inbox, "find">;
  readonly turns: Pick<Turns, "find">;
  readonly outbox: Pick<Outbox, "find">;
  readonly hub: Pick<Hub, "follow">;
  /** Accepts a row, or keeps it for the next heartbeat where one comes. */
  readonly wake: Schedules["tell"];
  readonly sessions: Pick<Sessions, "open" | "reset" | "trim" | "patch">;
  /** How long what a webhook's calls left in sessions of their own is kept. */
  readonly hookRetentionMs: () => number;
  readonly clock: Clock;
}

/** Another node may run the turn, and its message that the turn ended may be lost. */
const lookEveryMs = 250;
const deliveriesRead = 50;

/** Id of the row of a program's call. */
export function requestId(channel: "api" | "hook", said: string): string {
  return `${channel}:${programAccount}:${said}`;
}

export function apiRequests({
  receive,
  isOpen,
  inbox,
  turns,
  outbox,
  hub,
  wake: wakeBy,
  sessions,
  hookRetentionMs,
  clock,
}: ApiRequestsOptions): ApiRequests {
  async function rowOf(id: string): Promise<RowView | null> {
    return (await inbox.find({ id, dismissed: true, limit: 1 }))[0] ?? null;
  }

  /**
   * What is stored under the id. Throws Fault("conflict") where it says something else, or where `isOurs`
   * says that it was meant for somebody else.
   */
  async function unused(
    id: string,
    text: string,
    isOurs: (row: RowView) => boolean,
  ): Promise<RowView | null> {
    if (!isOpen())
      throw new Fault("unavailable", "the gateway takes no work now; try again", { retryAfterMs: 2_000 });
    const known = await rowOf(id);
    if (known === null) return null;
    const isSame = known.payload === "" || parseRowPayload(known.payload).inbound.text === text;
    if (isSame && isOurs(known)) return known;
    throw new Fault("conflict", "this key was used with another message; take a new key for a new message");
  }

  async function store(
    channel: "api" | "hook",
    said: string,
    address: Address,
    sender: Inbound["sender"],
    text: string,
  ): Promise<Stored> {
    const id = requestId(channel, said);
    // A program that gives two of its users one key would else hand one of them the other's answer. Where a
    // webhook's answers go is the config's, which may have changed between a call and its repeat.
    const own = conversationKey(address);
    const known = await unused(id, text, (row) => channel === "hook" || row.conversation === own);
    if (known?.payload) return { id, duplicate: true };
    const inbound: Inbound = {
      id,
      channel,
      account: programAccount,
      address,
      sender,
      messageId: said,
      kind: "message",
      text,
      attachments: [],
      mentions: [],
      addressed: true,
      atMs: clock.now(),
    };
    await receive([inbound]);
    return { id, duplicate: known !== null };
  }

  async function ended(row: RowView): Promise<ProgramAnswer> {
    const { turn } = row;
    const [view, byRow, byTurn] = await Promise.all([
      turn === null ? null : turns.find(turn),
      outbox.find({ cause: row.id, limit: deliveriesRead }),
      turn === null ? [] : outbox.find({ cause: turn, limit: deliveriesRead }),
    ]);
    const entries = (view?.entries ?? []).map(({ body }) => JSON.parse(body) as Entry);
    const usage = entries.reduce(
      (sum, entry) => (entry.type === "assistant" ? addUsage(sum, entry.usage) : sum),
      noUsage,
    );
    const said = [...byRow, ...byTurn].toReversed().flatMap(textsOf);
    return { outcome: row.outcome ?? "silent", text: said.join("\n\n"), reason: row.reason, usage };
  }

  return {
    ask(who, key, text) {
      const roles = who.guest === true ? { roles: [guestRole] } : {};
      return store(
        "api",
        `${who.client}:${key}`,
        apiAddress(who),
        { id: who.client, name: who.user, isBot: false, ...roles },
        text,
      );
    },

    async call({ name, agent, delivery, text, deliver }) {
      const sender = { id: `${agent}/${name}`, name: `webhook ${name}`, isBot: false };
      return store("hook", `${name}:${delivery}`, deliver ?? hookAddress(agent, name), sender, text);
    },

    async tell({ row, agent, mode, own }) {
      const { id } = row;
      const known = await unused(
        id,
        parseRowPayload(row.payload).inbound.text,
        ({ lane }) => parseSessionKey(lane).agent === agent,
      );
      if (known === null) {
        if (own) await beginOwnSession(sessions, row.lane, hookRetentionMs(), clock.now());
        await wakeBy(row, agent, mode);
      }
      return { id, duplicate: known !== null };
    },

    async answer(id, signal) {
      const first = await rowOf(id);
      if (first === null) throw new Fault("missing", `nothing is known of ${id} any more`);
      let wake: (() => void) | null = null;
      const stop = hub.follow(first.conversation, { wake: () => wake?.(), show: () => wake?.() });
      try {
        for (;;) {
          const row = await rowOf(id);
          if (row === null) throw new Fault("missing", `nothing is known of ${id} any more`);
          if (row.state === "ended") return await ended(row);
          if (row.turn !== null && (await turns.find(row.turn))?.state === "parked") {
            throw new Fault(
              "conflict",
              "the agent waits for an approval; ask again under the same key once it is given",
            );
          }
          if (signal.aborted) throw new Fault("aborted", "nobody waits for the answer any more");
          const early = new AbortController();
          wake = () => early.abort();
          await sleep(clock, lookEveryMs, AbortSignal.any([early.signal, signal]));
        }
      } finally {
        stop();
      }
    },

    watch: (who, hear) =>
      hub.follow(conversationKey(apiAddress(who)), {
        wake() {},
        show(frame) {
          const { event, payload } = JSON.parse(frame) as {
            readonly event: string;
            readonly payload: { readonly text?: string };
          };
          if (event === "chat.delta" && payload.text !== undefined) hear(payload.text);
        },
      }),
  };
}

/** Returns a delivery's texts, before its split and after. */
function textsOf({ parts }: DeliveryView): string[] {
  return parts.flatMap(({ content }) => {
    const meant = parseContent(content);
    if (meant.kind === "rendered") return meant.part.kind === "text" ? [meant.part.text] : [];
    if (meant.kind !== "reply") return [];
    return meant.parts.flatMap((part) =>
      part.kind === "text"
        ? [part.markdown]
        : part.kind === "card"
          ? [`**${part.title}**\n\n${part.markdown}`]
          : [],
    );
  });
}
