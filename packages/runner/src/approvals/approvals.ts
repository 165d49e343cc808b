// Asks people for approvals and records their decisions. A decision is durable before anybody is told, counts
// once, and wakes the session by a row under the approval's ticket. The parked turn then continues or, when
// it did not wait, a new one runs the stored call.
import {
  conversationKey,
  Fault,
  parseConversationKey,
  type Address,
  type Clock,
  type ConversationKey,
  type Log,
} from "@parley/protocol";
import type { Inbox, Outbox, Cells, NewRow, Sessions, Turns } from "@parley/store";
import { noRefusals, type PlaceOf, type Refusals } from "@parley/access";
import { movedTo } from "../internal-row.ts";
import { isGiven, type Approval, type Verdict } from "./approval.ts";
import { approvalStore, type ApprovalStore, type Kept } from "./approval-store.ts";
import { approvalSurfaces, type Approvers } from "./approval-surfaces.ts";
import { tooManyOpen } from "./open-limits.ts";
import { cardDeliveries, settledCard, toldElsewhere, type Surface } from "./approval-card.ts";
import { ticketRow, lastBy, outcomeOf, settledWords } from "./approval-outcome.ts";

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

export interface ApprovalsOptions extends Approvers {
  readonly cells: Pick<Cells, "get" | "put" | "list" | "remove">;
  readonly inbox: Pick<Inbox, "accept">;
  readonly outbox: Pick<Outbox, "post">;
  readonly sessions: Pick<Sessions, "open">;
  readonly turns: Pick<Turns, "find">;
  readonly placeOf: PlaceOf;
  /** Records requests for which there was no room. */
  readonly refusals?: Refusals;
  readonly clock: Clock;
  readonly log: Log;
}

/** The store keeps rows longer than this, so it still recognizes a repeated row. */
const healWithinMs = 86_400_000;

export function createApprovals(options: ApprovalsOptions): Approvals {
  const { inbox, outbox, sessions, refusals = noRefusals, clock, log } = options;
  const book = approvalStore(options.cells, clock);
  const { approvers, surfaces } = approvalSurfaces(options);
  /** Open requests whose expiry this process waits for. */
  const watched = new Set<string>();
  /** Requests are counted and stored one at a time, because many at once would pass the limit together. */
  let lastKept: Promise<unknown> = Promise.resolve();

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
