// Stores who asked to talk to us, under which code, and who was let in; and lets an operator, or an owner in
// chat, decide. Requests and pairings live in cells, so codes survive a restart. A flood of strangers is
// harmless: three open requests per account, an hour each.
import { z } from "zod";
import { accountKey, encodeKeyPart, Fault, type Clock, type Ids, type Inbound } from "@parley/protocol";
import type { Cells } from "@parley/store";
import type { Owners } from "./owners.ts";

/** Without letters and digits that people confuse. */
const alphabet = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const codeLength = 8;
const codeLifeMs = 3_600_000;
const mostPending = 3;
/** Far more than can be pending at once: three per account. */
const listLimit = 1000;

const requestSchema = z.object({
  code: z.string(),
  channel: z.string(),
  account: z.string(),
  senderId: z.string(),
  senderName: z.string(),
  expiresAtMs: z.number(),
  /** The event that asked: when a crash redelivers it, the person is told the code again. */
  askedBy: z.string(),
});
const pairedSchema = z.object({
  channel: z.string(),
  account: z.string(),
  senderId: z.string(),
  senderName: z.string(),
  atMs: z.number(),
});
type PairingRequest = z.infer<typeof requestSchema>;
type Paired = z.infer<typeof pairedSchema>;

/**
 * `asked`: a new code, to be told once. `pending`: was told already. `full`: too many strangers wait, so say
 * nothing.
 */
type PairingAnswer =
  | { readonly kind: "asked"; readonly code: string }
  | { readonly kind: "pending" }
  | { readonly kind: "full" };

export interface PairingStore {
  isPaired(who: Pick<Inbound, "channel" | "account" | "sender">): Promise<boolean>;
  /** Asking again with the same event gives the same answer. */
  ask(who: Pick<Inbound, "id" | "channel" | "account" | "sender">): Promise<PairingAnswer>;
  pending(): Promise<readonly PairingRequest[]>;
  paired(): Promise<readonly Paired[]>;
  /** Throws Fault("missing") for a code that is unknown, used or expired. */
  request(code: string): Promise<PairingRequest>;
  /**
   * Throws as `request` does. The first person let in becomes the owner when the config names none, because
   * somebody has to answer approvals.
   */
  approve(code: string): Promise<Paired>;
  /** Lets in a person whom an operator's other gateway had let in. False when the person is in already. */
  admit(who: Pick<Paired, "channel" | "account" | "senderId">): Promise<boolean>;
  revoke(who: {
    readonly channel: string;
    readonly account: string;
    readonly senderId: string;
  }): Promise<boolean>;
}

export function pairingStore(cells: Cells, clock: Clock, ids: Ids): PairingStore {
  const place = (who: { readonly channel: string; readonly account: string }, senderId: string): string =>
    `${accountKey(who)}:${encodeKeyPart(senderId)}`;

  async function pending(prefix = ""): Promise<PairingRequest[]> {
    const cellsFound = await cells.list(`pairing:${prefix}`, listLimit);
    return cellsFound
      .map((cell) => requestSchema.parse(JSON.parse(cell.value)))
      .filter((request) => request.expiresAtMs > clock.now());
  }

  async function request(code: string): Promise<PairingRequest> {
    const wanted = code.trim().toUpperCase();
    const found = (await pending()).find((each) => each.code === wanted);
    if (found !== undefined) return found;
    throw new Fault(
      "missing",
      `no pairing request has the code "${code}": it may be mistyped, used or older than an hour. "parley pair list" shows what waits`,
    );
  }

  return {
    async isPaired(who) {
      return (await cells.get(`paired:${place(who, who.sender.id)}`)) !== null;
    },
    async ask(who) {
      const { channel, account, sender } = who;
      const open = await pending(`${accountKey(who)}:`);
      const mine = open.find((request) => request.senderId === sender.id);
      if (mine !== undefined)
        return mine.askedBy === who.id ? { kind: "asked", code: mine.code } : { kind: "pending" };
      if (open.length >= mostPending) return { kind: "full" };
      const request: PairingRequest = {
        code: ids.code(alphabet, codeLength),
        channel,
        account,
        senderId: sender.id,
        senderName: sender.name.slice(0, 64),
        expiresAtMs: clock.now() + codeLifeMs,
        askedBy: who.id,
      };
      const put = await cells.put(`pairing:${place(who, sender.id)}`, JSON.stringify(request), {
        expect: 0,
        ttlMs: codeLifeMs,
      });
      return put === null ? { kind: "pending" } : { kind: "asked", code: request.code };
    },
    pending: () => pending(),
    async paired() {
      return (await cells.list("paired:", listLimit)).map((cell) =>
        pairedSchema.parse(JSON.parse(cell.value)),
      );
    },
    request,
    async approve(code) {
      const found = await request(code);
      const { channel, account, senderId, senderName } = found;
      const paired: Paired = { channel, account, senderId, senderName, atMs: clock.now() };
      await cells.put(`paired:${place(found, senderId)}`, JSON.stringify(paired), {});
      await cells.remove(`pairing:${place(found, senderId)}`);
      return paired;
    },
    async admit(who) {
      const { channel, account, senderId } = who;
      const paired: Paired = { channel, account, senderId, senderName: senderId, atMs: clock.now() };
      const put = await cells.put(`paired:${place(who, senderId)}`, JSON.stringify(paired), { expect: 0 });
      return put !== null;
    },
    async revoke(who) {
      return cells.remove(`paired:${place(who, who.senderId)}`);
    },
  };
}

export interface PairingDecisions {
  list(): Promise<{ readonly pending: readonly PairingRequest[]; readonly paired: readonly Paired[] }>;
  approve(code: string): Promise<Paired>;
  /**
   * `id` is `<channel>:<account>:<sender>`, or an end of it that names one person. The person loses ownership
   * too. Throws Fault("missing"), or Fault("conflict") when several match.
   */
  revoke(id: string): Promise<Paired>;
}

export function pairingDecisions(store: PairingStore, owners: Owners): PairingDecisions {
  return {
    async list() {
      const [pending, paired] = await Promise.all([store.pending(), store.paired()]);
      return { pending, paired };
    },
    async approve(code) {
      // Ownership first: if the process dies in between, approving again lets the same person in, and nobody
      // else can come first.
      await owners.claimFirst(ownerId(await store.request(code)));
      return store.approve(code);
    },
    async revoke(id) {
      const found = (await store.paired()).filter((paired) => namesOf(paired).includes(id.trim()));
      const [paired, ...others] = found;
      if (paired === undefined)
        throw new Fault("missing", `nobody with the id "${id}" is paired: the list of pairings shows who is`);
      if (others.length > 0) {
        const names = found.map((each) => namesOf(each)[0]).join(", ");
        throw new Fault("conflict", `"${id}" is several: ${names}. Write the whole id`);
      }
      // Ownership first: if the process dies in between, somebody who is no owner is still listed and can be
      // revoked again.
      await owners.release(ownerId(paired));
      await store.revoke(paired);
      return paired;
    },
  };
}

function namesOf({ channel, account, senderId }: Paired): readonly string[] {
  return [`${channel}:${account}:${senderId}`, `${channel}:${senderId}`, senderId];
}

function ownerId({ channel, senderId }: Pick<Paired, "channel" | "senderId">): string {
  return `${channel}:${senderId}`;
}
