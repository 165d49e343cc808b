// Pairing over the control plane. The first person that the operator lets in becomes an owner when the config names none: somebody has
// to be able to answer approvals.
import type { MethodParams, MethodResult } from "@parley/protocol";
import type { PairingBook } from "../inbound/pairing.ts";
import type { Owners } from "../inbound/owners.ts";

export function pairingMethods(book: PairingBook, owners: Owners) {
  return {
    async list(_params: MethodParams<"pairing.list">): Promise<MethodResult<"pairing.list">> {
      const [pending, paired] = await Promise.all([book.pending(), book.paired()]);
      return { pending: pending.map(({ askedBy: _askedBy, ...request }) => request), paired: [...paired] };
    },
    async approve({ code }: MethodParams<"pairing.approve">): Promise<MethodResult<"pairing.approve">> {
      const { channel, account, senderId, senderName } = await book.approve(code);
      await owners.claimFirst(`${channel}:${senderId}`);
      return { channel, account, senderId, senderName };
    },
  };
}
