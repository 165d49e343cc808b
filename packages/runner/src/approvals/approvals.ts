// Where approvals are asked for and decided. A decision is durable before anybody hears of it, counts once, and wakes the session by a row
// under the approval's ticket: the parked turn goes on, or, when it did not wait, a new one runs the call that was kept.
import {
  conversationKey,
  Fault,
  parseConversationKey,
  parseSessionKey,
  type Address,
  type Clock,
  type Log,
  formatRowPayload,
} from "@parley/protocol";
import type { Inbox, Outbox, Cells, NewRow, Sessions } from "@parley/store";
import { noRefusals, type Refusals } from "@parley/access";
import { isGiven, type Approval, type Verdict } from "./approval.ts";
import { approvalStore, type ApprovalStore, type Kept } from "./approval-store.ts";
import { tooManyOpen } from "./open-limits.ts";
import { cardDeliveries, settledCard, toldElsewhere, type Surface } from "./approval-card.ts";

/** Who decides: a person of a channel, or the operator with a client of the gateway. */
export type Decider = { readonly person: string } | { readonly operator: string };

export interface Approvals {
  readonly book: ApprovalStore;
  /** `<channel>:<id>` of all who may decide. */
  people(): Promise<string[]>;
  /** Who may decide about a call that was asked for here, by an owner or not, and where they are asked; empty: nobody can be. */
  surfaces(address: Address, owner: boolean): Promise<readonly Surface[]>;
  /**
   * Keeps the request and shows it, or says why there is no room for it. May be repeated. `closing` ends an open preview at the head of the
   * conversation, and names it.
   */
  ask(approval: Approval, closing: () => Promise<string | null>): Promise<Kept | { readonly full: string }>;
  /** Open ones whose time is over become expired. */
  current(kept: Kept): Promise<Kept>;
  /** What is said to whoever decided. Throws Fault: "missing", "denied", "conflict" when it was decided otherwise before. */
  decide(
    id: string,
    verdict: Verdict,
    by: Decider,
  ): Promise<{ readonly approval: Approval; readonly say: string }>;
  /** Of a turn or of a whole session: its open requests end. */
  stop(of: { readonly turn: string } | { readonly session: string }): Promise<number>;
  list(): Promise<readonly Approval[]>;
  /** What a process that died between a decision and its row left undone. */
  heal(): Promise<void>;
}

export interface ApprovalsOptions {
  readonly cells: Pick<Cells, "get" | "put" | "list" | "remove">;
  readonly inbox: Pick<Inbox, "accept">;
  readonly outbox: Pick<Outbox, "post">;
  readonly sessions: Pick<Sessions, "open">;
  /** `<channel>:<id>` of those who may decide; null: the owners. */
  readonly approvers: readonly string[] | null;
  readonly owners: () => Promise<readonly string[]>;
  /** Where people are asked about what is wanted in a place that they share with others. */
  readonly target: "dm" | "channel" | "both";
  /** Accounts that can send, as `<channel>:<account>`. */
  readonly accounts: () => readonly Pick<Address, "channel" | "account">[];
  /** Told of requests for which there was no room. */
  readonly refusals?: Refusals;
  readonly clock: Clock;
  readonly log: Log;
}

/** Its clients hold a token of the gateway: those who may administer or approve are the operator. */
const operators = "web";

/** Rows are kept longer: within this a second one is known to be a repeat. */
const healWithinMs = 86_400_000;

export function createApprovals(options: ApprovalsOptions): Approvals {
  const { inbox, outbox, sessions, refusals = noRefusals, clock, log } = options;
  const book = approvalStore(options.cells, clock);
  /** Open ones whose end is waited for. */
  const watched = new Set<string>();
  /** Requests are counted and kept one at a time, or many at once would pass the limit together. */
  let lastKept: Promise<unknown> = Promise.resolve();

  const approvers = async (): Promise<readonly string[]> => options.approvers ?? (await options.owners());

  function idsOn(channel: string, people: readonly string[]): readonly string[] {
    return people.flatMap((person) =>
      person.startsWith(`${channel}:`) ? [person.slice(channel.length + 1)] : [],
    );
  }

  async function surfaces(address: Address, owner: boolean): Promise<readonly Surface[]> {
    // Whoever gets there; a press counts if its token may approve.
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

  /** Its time is over whether or not anything still waits for it: the buttons go away by themselves. */
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
    await outbox.post(places.map(({ address }) => settledCard(approval, address, words)));
  }

  function mayDecide({ approvers: asked }: Approval, by: Decider, people: readonly string[]): boolean {
    // Both: whom it was bound to, and who still is one.
    return "operator" in by || (asked.includes(by.person) && people.includes(by.person));
  }

  async function finish(approval: Approval): Promise<void> {
    if (approval.state === "always" && approval.grant !== null)
      await book.grant(approval.agent, approval.grant, lastBy(approval));
    await inbox.accept([ticketRow(approval, clock.now())]);
    await settle(approval, outcomeOf(approval));
  }

  return {
    book,
    people: async () => [...(await approvers())],
    surfaces,
    current,
    async ask(approval, closing) {
      const keeping = lastKept.then(() => keep(approval));
      lastKept = keeping.catch(() => undefined); // Whoever asked is told; the next one only waits.
      const kept = await keeping;
      if ("full" in kept || kept.approval.state !== "open") return kept;
      const closes = await closing();
      expireInTime(kept.approval);
      const shown = await surfaces(parseConversationKey(approval.conversation), approval.owner);
      if (!shown.some(({ address }) => conversationKey(address) === approval.conversation))
        await outbox.post([toldElsewhere(approval, closes)]);
      for (const surface of shown) {
        const isHere = approval.conversation === conversationKey(surface.address);
        const { deliveries, cells } = cardDeliveries(kept.approval, surface, isHere ? closes : null);
        for (const { key, value, ttlMs } of cells)
          await options.cells.put(key, value ?? "", ttlMs === undefined ? {} : { ttlMs });
        await outbox.post(deliveries);
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
        // The same answer again, perhaps because ours was lost: what follows from it is made sure of.
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

  /** A conversation that began anew has forgotten what it asked for. */
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

/** Speaks for Parley: the turn that waits only wakes by it, a new one is told what was decided. */
function ticketRow(approval: Approval, nowMs: number): NewRow {
  const { id, session, conversation, authority, owner, askedBy, turn, guild, parent } = approval;
  const address = parseConversationKey(conversation);
  const asker = askedBy[0] ?? "parley:parley";
  const who = lastBy(approval);
  const text = isGiven(approval)
    ? `Approval ${id} was given by ${who}. The command is run now; its result follows.`
    : `Approval ${id} was denied by ${who}. The command was not run and may not be tried again in another form.`;
  const inbound = {
    id: `approval:${id}`,
    channel: address.channel,
    account: address.account,
    address,
    // Of whoever asked, so that the rules of tools are theirs.
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
