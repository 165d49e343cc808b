// Asks people for approvals and records their decisions. A decision is durable before anybody is told, counts
// once, and wakes the session by a row under the approval's ticket. The parked turn then continues or, when
// it did not wait, a new one runs the stored call.
import {
  conversationKey,
  Fault,
  parseConversationKey,
  parseSessionKey,
  type Address,
  type Clock,
  type ConversationKey,
  type Log,
  formatRowPayload,
} from "@parley/protocol";
import type { Inbox, Outbox, Cells, NewRow, Sessions, Turns } from "@parley/store";
import { noRefusals, type PlaceOf, type Refusals } from "@parley/access";
import { movedTo } from "../internal-row.ts";
import { isGiven, type Approval, type Verdict } from "./approval.ts";
import { approvalStore, type ApprovalStore, type Kept } from "./approval-store.ts";
import { tooManyOpen } from "./open-limits.ts";
import { cardDeliveries, settledCard, toldElsewhere, type Surface } from "./approval-card.ts";

/** A person of a channel, or the operator with a client of the gateway. */
export type Decider = { readonly person: string } | { readonly operator: string };

export interface Approvals {
  readonly book: ApprovalStore;
  /** `<channel>:<id>` of everyone who may decide. */
  people(): Promise<string[]>;
  /**
   * Lists where approvers of a call asked for here are reached and who may decide there; an empty list means
   * that nobody can be asked. `owner`: an owner asked.
   */
  surfaces(address: Address, owner: boolean): Promise<readonly Surface[]>;
  /**
   * Stores the request and shows it, or says why there is no room for it. It is safe to repeat. `closing`
   * ends an open preview at the head of the conversation and returns its id.
   */
  ask(approval: Approval, closing: () => Promise<string | null>): Promise<Kept | { readonly full: string }>;
  /** Marks an open request whose time is over as expired. */
  current(kept: Kept): Promise<Kept>;
  /**
   * Returns the reply to the person who decided. Throws Fault: "missing", "denied", or "conflict" when the
   * request was decided otherwise before.
   */
  decide(
    id: string,
    verdict: Verdict,
    by: Decider,
  ): Promise<{ readonly approval: Approval; readonly say: string }>;
  /**
   * Shows a session's open requests also where its person goes on now, when they may decide there. It is safe
   * to repeat.
   */
  follow(session: string, from: Address): Promise<void>;
  /** Ends the open requests of one turn or of a whole session. */
  stop(of: { readonly turn: string } | { readonly session: string }): Promise<number>;
  list(): Promise<readonly Approval[]>;
  /** Finishes what a process left undone when it died between a decision and its row. */
  heal(): Promise<void>;
}

export interface ApprovalsOptions {
  readonly cells: Pick<Cells, "get" | "put" | "list" | "remove">;
  readonly inbox: Pick<Inbox, "accept">;
  readonly outbox: Pick<Outbox, "post">;
  readonly sessions: Pick<Sessions, "open">;
  readonly turns: Pick<Turns, "find">;
  readonly placeOf: PlaceOf;
  /** `<channel>:<id>` of the approvers; null stands for the owners. */
  readonly approvers: readonly string[] | null;
  readonly owners: () => Promise<readonly string[]>;
  /** The places in which approvers are asked about requests from a place that they share with others. */
  readonly target: "dm" | "channel" | "both";
  /** Accounts that can send, as `<channel>:<account>`. */
  readonly accounts: () => readonly Pick<Address, "channel" | "account">[];
  /** Records requests for which there was no room. */
  readonly refusals?: Refusals;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Clients on this channel hold a token of the gateway, so one that may administer or approve is the operator.
 */
const operators = "web";

/** The store keeps rows longer than this, so it still recognizes a repeated row. */
const healWithinMs = 86_400_000;

export function createApprovals(options: ApprovalsOptions): Approvals {
  const { inbox, outbox, sessions, refusals = noRefusals, clock, log } = options;
  const book = approvalStore(options.cells, clock);
  /** Open requests whose expiry this process waits for. */
  const watched = new Set<string>();
  /** Requests are counted and stored one at a time, because many at once would pass the limit together. */
  let lastKept: Promise<unknown> = Promise.resolve();

  const approvers = async (): Promise<readonly string[]> => options.approvers ?? (await options.owners());

  function idsOn(channel: string, people: readonly string[]): readonly string[] {
    return people.flatMap((person) =>
      person.startsWith(`${channel}:`) ? [person.slice(channel.length + 1)] : [],
    );
  }

  async function surfaces(address: Address, owner: boolean): Promise<readonly Surface[]> {
    // Any reader of the page sees it; a press counts only if its token may approve.
    const page: readonly Surface[] = address.channel === operators ? [{ address, approvers: null }] : [];
    if (page.length > 0 && owner) return page;
    const people = await approvers();
    const here = idsOn(address.channel, people);
    if (address.kind === "dm" && here.includes(address.peer)) return [{ address, approvers: here }];
    const shared =
      address.kind !== "dm" && options.target !== "dm" && here.length > 0
        ? [{ address, approvers: here }]
        : [];
    if (shared.length > 0 && options.target === "channel") return shared;
    const privately = people.flatMap((person): Surface[] => {
      const [channel, peer] = [person.slice(0, person.indexOf(":")), person.slice(person.indexOf(":") + 1)];
      const account = options
        .accounts()
        .find(
          (each) =>
            each.channel === channel && (channel !== address.channel || each.account === address.account),
        );
      return account === undefined || channel === operators
        ? []
        : [{ address: { channel, account: account.account, kind: "dm", peer }, approvers: [peer] }];
    });
    return [...page, ...shared, ...privately];
  }

  async function current(kept: Kept): Promise<Kept> {
    const { approval } = kept;
    if (approval.state !== "open" || clock.now() < approval.expiresAtMs) return kept;
    const expired = await book.move(kept, { state: "expired" }, { what: "expired", by: "time" });
    if (expired === null) return (await book.get(approval.id)) ?? kept;
    await settle(expired.approval, "⌛ Nobody answered in time: not run.");
    return expired;
  }

  /** Expires the request even when no turn waits for it, so that its buttons go away by themselves. */
  function expireInTime({ id, expiresAtMs }: Approval): void {
    if (watched.has(id)) return;
    watched.add(id);
    const look = async (): Promise<void> => {
      watched.delete(id);
      const kept = await book.get(id);
      if (kept !== null) await current(kept);
    };
    clock.after(expiresAtMs - clock.now(), () => {
      look().catch((error: unknown) =>
        log.warn(
          { approval: id, error },
          "an approval could not be ended in time; whoever looks at it ends it",
        ),
      );
    });
  }

  async function settle(approval: Approval, words: string): Promise<void> {
    const places = await surfaces(parseConversationKey(approval.conversation), approval.owner);
    const shown = new Set([
      ...places.map(({ address }) => conversationKey(address)),
      ...(approval.followed ?? []).map((key) => key as ConversationKey),
    ]);
    await outbox.post([...shown].map((key) => settledCard(approval, parseConversationKey(key), words)));
  }

  /** A decision that no turn waits for any more is told where the conversation goes on. */
  async function decisionRow(approval: Approval): Promise<NewRow> {
    const row = ticketRow(approval, clock.now());
    const turn = await options.turns.find(approval.turn);
    if (turn?.state === "parked" && turn.tickets.includes(approval.id)) return row;
    return movedTo(row, options.placeOf(approval.session, parseConversationKey(approval.conversation)));
  }

  async function show(approval: Approval, surface: Surface, closes: string | null): Promise<void> {
    const { deliveries, cells } = cardDeliveries(approval, surface, closes);
    for (const { key, value, ttlMs } of cells)
      await options.cells.put(key, value ?? "", ttlMs === undefined ? {} : { ttlMs });
    await outbox.post(deliveries);
  }

  function mayDecide({ approvers: asked }: Approval, by: Decider, people: readonly string[]): boolean {
    // The person must have been an approver when asked and must still be one.
    return "operator" in by || (asked.includes(by.person) && people.includes(by.person));
  }

  async function finish(approval: Approval): Promise<void> {
    if (approval.state === "always" && approval.grant !== null)
      await book.grant(approval.agent, approval.grant, lastBy(approval));
    await inbox.accept([await decisionRow(approval)]);
    await settle(approval, outcomeOf(approval));
  }

  return {
    book,
    people: async () => [...(await approvers())],
    surfaces,
    current,
    async ask(approval, closing) {
      const keeping = lastKept.then(() => keep(approval));
      // The caller gets the error; the next request only waits its turn.
      lastKept = keeping.catch(() => undefined);
      const kept = await keeping;
      if ("full" in kept || kept.approval.state !== "open") return kept;
      const closes = await closing();
      expireInTime(kept.approval);
      const shown = await surfaces(parseConversationKey(approval.conversation), approval.owner);
      if (!shown.some(({ address }) => conversationKey(address) === approval.conversation))
        await outbox.post([toldElsewhere(approval, closes)]);
      for (const surface of shown) {
        const isHere = approval.conversation === conversationKey(surface.address);
        await show(kept.approval, surface, isHere ? closes : null);
      }
      log.info(
        { approval: approval.id, session: approval.session, turn: approval.turn, hash: approval.hash },
        "approval asked for",
      );
      return kept;
    },
    async decide(id, verdict, by) {
      const found = await book.get(id.trim().toLowerCase());
      if (found === null)
        throw new Fault("missing", `there is no approval ${JSON.stringify(id.slice(0, 40))}`);
      const who = "operator" in by ? `operator (${by.operator})` : by.person;
      if (!mayDecide(found.approval, by, await approvers())) {
        log.warn({ approval: found.approval.id, by: who }, "somebody who is no approver tried to decide");
        throw new Fault("denied", "you may not decide about this");
      }
      const kept = await stillMeant(await current(found));
      const { approval } = kept;
      const state = verdict === "deny" ? "denied" : verdict;
      if (approval.state !== "open") {
        // A client repeats its answer when ours may have been lost, so the follow-up is done again.
        if (lastBy(approval) !== who || approval.state !== state)
          throw new Fault("conflict", settledWords(approval));
        await finish(approval);
        return { approval, say: outcomeOf(approval) };
      }
      if (verdict === "always" && approval.grant === null)
        throw new Fault("invalid", "this command cannot be allowed for good: answer once or deny");
      const moved = await book.move(kept, { state }, { what: state, by: who });
      if (moved === null)
        throw new Fault("conflict", settledWords((await book.get(approval.id))?.approval ?? approval));
      log.info(
        { approval: approval.id, session: approval.session, verdict, by: who, hash: approval.hash },
        "approval decided",
      );
      await finish(moved.approval);
      return { approval: moved.approval, say: outcomeOf(moved.approval) };
    },
    async follow(session, from) {
      const to = options.placeOf(session, from);
      if (to === null) return;
      const place = conversationKey(to);
      for (const found of await book.list()) {
        const kept = found.approval.session === session ? await current(found) : found;
        const { approval } = kept;
        const began = parseConversationKey(approval.conversation);
        if (approval.session !== session || approval.state !== "open") continue;
        // What others began in a session that people share is not shown to this one (I6).
        if (approval.conversation === place || options.placeOf(session, began) === null) continue;
        const there = (await surfaces(to, approval.owner)).find(
          ({ address }) => conversationKey(address) === place,
        );
        const before = (await surfaces(began, approval.owner)).some(
          ({ address }) => conversationKey(address) === place,
        );
        if (there === undefined || before) continue;
        const followed = [...new Set([...(approval.followed ?? []), place])];
        const moved = approval.followed?.includes(place)
          ? kept
          : await book.move(kept, { followed }, { what: "shown where the conversation goes on", by: place });
        if (moved !== null) await show(moved.approval, there, null);
      }
    },
    async stop(of) {
      let stopped = 0;
      for (const kept of await book.list()) {
        const { approval } = kept;
        const isMeant = "turn" in of ? approval.turn === of.turn : approval.session === of.session;
        if (approval.state !== "open" || !isMeant) continue;
        const moved = await book.move(kept, { state: "stopped" }, { what: "stopped", by: "/stop" });
        if (moved === null) continue;
        stopped += 1;
        await settle(moved.approval, "⏹ Stopped: not run.");
      }
      return stopped;
    },
    async list() {
      const all = await Promise.all((await book.list()).map(current));
      return all.map(({ approval }) => approval);
    },
    async heal() {
      for (const kept of await book.list()) {
        const { approval } = await current(kept);
        if (approval.state === "open") expireInTime(approval);
        const isFresh = clock.now() - (approval.log.at(-1)?.atMs ?? 0) < healWithinMs;
        if (isFresh && (approval.state === "denied" || isGiven(approval))) await finish(approval);
      }
    },
  };

  async function keep(approval: Approval): Promise<Kept | { readonly full: string }> {
    if ((await book.get(approval.id)) === null) {
      const open = (await book.list())
        .map((kept) => kept.approval)
        .filter((each) => each.state === "open" && clock.now() < each.expiresAtMs);
      const full = tooManyOpen(open, approval);
      if (full !== null) {
        const { session, turn, askedBy, conversation } = approval;
        refusals.note("too_many_approvals", askedBy[0] ?? conversation, {
          session,
          turn,
          conversation,
          open: open.length,
        });
        return { full };
      }
    }
    return book.open(approval);
  }

  /** Voids the request after /new: the conversation has forgotten what it asked for. */
  async function stillMeant(kept: Kept): Promise<Kept> {
    const { approval } = kept;
    if (approval.state !== "open" || (await sessions.open(approval.session)).epoch === approval.epoch)
      return kept;
    const moved = await book.move(kept, { state: "stopped" }, { what: "stopped", by: "a new conversation" });
    return moved ?? (await book.get(approval.id)) ?? kept;
  }
}

function lastBy({ log }: Approval): string {
  return log.at(-1)?.by ?? "";
}

function outcomeOf(approval: Approval): string {
  const by = lastBy(approval);
  if (approval.state === "denied") return `⛔ Denied by ${by}: not run.`;
  return approval.state === "always" ? `♾ Allowed for good by ${by}.` : `✅ Allowed once by ${by}.`;
}

function settledWords(approval: Approval): string {
  const words: { readonly [state in Approval["state"]]: string } = {
    open: "it is being decided by somebody else just now",
    once: `it was allowed before, by ${lastBy(approval)}`,
    always: `it was allowed before, by ${lastBy(approval)}`,
    denied: `it was denied before, by ${lastBy(approval)}`,
    expired: "its time is over",
    stopped: "what asked for it was stopped",
    used: "it was allowed and used before",
  };
  return `Approval ${approval.id}: ${words[approval.state]}.`;
}

/**
 * Builds the row that wakes the session in Parley's name: a parked turn only resumes by it, a new one is told
 * the decision.
 */
function ticketRow(approval: Approval, nowMs: number): NewRow {
  const { id, session, conversation, authority, owner, askedBy, turn, guild, parent } = approval;
  const address = parseConversationKey(conversation);
  const asker = askedBy[0] ?? "parley:parley";
  const who = lastBy(approval);
  const what = approval.tool === "exec" ? "The command" : `The call of ${approval.tool}`;
  const text = isGiven(approval)
    ? `Approval ${id} was given by ${who}. ${what} is run now; its result follows.`
    : `Approval ${id} was denied by ${who}. ${what} was not run and may not be tried again in another form.`;
  const inbound = {
    id: `approval:${id}`,
    channel: address.channel,
    account: address.account,
    address,
    // The row carries the asker's id, so that the asker's tool rules apply.
    sender: { id: asker.slice(asker.indexOf(":") + 1), name: "Parley", isBot: false },
    messageId: `approval:${id}`,
    kind: "message" as const,
    text,
    attachments: [],
    mentions: [],
    addressed: true,
    ...(guild === undefined ? {} : { guild }),
    ...(parent === undefined ? {} : { parent }),
    atMs: nowMs,
  };
  return {
    id: inbound.id,
    subject: `ticket:${id}`,
    pool: parseSessionKey(session).kind === "subagent" ? "subagent" : "main",
    lane: session,
    conversation,
    authority,
    as: { kind: "work", ticket: id },
    payload: formatRowPayload({ v: 1, inbound, owner, internal: { kind: "approval", id, turn } }),
  };
}
