// Where an operator, or an owner in chat, decides on pairings. The first person let in becomes the owner when the config names none:
// somebody has to be able to answer approvals. Putting that person out takes the ownership along.
import { Fault } from "@parley/protocol";
import type { Owners } from "./owners.ts";
import type { Paired, PairingStore, PairingRequest } from "./pairing.ts";

export interface PairingDecisions {
  list(): Promise<{ readonly pending: readonly PairingRequest[]; readonly paired: readonly Paired[] }>;
  /** Throws Fault("missing") for a code that is unknown, used or expired. */
  approve(code: string): Promise<Paired>;
  /** `<channel>:<account>:<sender>`, or any end of it that names one person. Throws Fault("missing"), or Fault("conflict") where it names several. */
  revoke(id: string): Promise<Paired>;
}

export function pairingDecisions(book: PairingStore, owners: Owners): PairingDecisions {
  return {
    async list() {
      const [pending, paired] = await Promise.all([book.pending(), book.paired()]);
      return { pending, paired };
    },
    async approve(code) {
      // Ownership first: should we die in between, approving again lets the same person in, and nobody else can come first.
      await owners.claimFirst(ownerId(await book.request(code)));
      return book.approve(code);
    },
    async revoke(id) {
      const found = (await book.paired()).filter((paired) => namesOf(paired).includes(id.trim()));
      const [paired, ...others] = found;
      if (paired === undefined)
        throw new Fault("missing", `nobody with the id "${id}" is paired: the list of pairings shows who is`);
      if (others.length > 0) {
        const names = found.map((each) => namesOf(each)[0]).join(", ");
        throw new Fault("conflict", `"${id}" is several: ${names}. Write the whole id`);
      }
      // Ownership first: should we die in between, somebody without it is still listed and can be put out again.
      await owners.release(ownerId(paired));
      await book.revoke(paired);
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
