// Pairing over the control plane: what the operator decides at the desk.
import type { MethodParams, MethodResult } from "@parley/protocol";
import type { PairingDecisions } from "@parley/access";

export function pairingMethods(desk: PairingDecisions) {
  return {
    async list(_params: MethodParams<"pairing.list">): Promise<MethodResult<"pairing.list">> {
      const { pending, paired } = await desk.list();
      return { pending: pending.map(({ askedBy: _askedBy, ...request }) => request), paired: [...paired] };
    },
    async approve({ code }: MethodParams<"pairing.approve">): Promise<MethodResult<"pairing.approve">> {
      const { channel, account, senderId, senderName } = await desk.approve(code);
      return { channel, account, senderId, senderName };
    },
    async revoke({ id }: MethodParams<"pairing.revoke">): Promise<MethodResult<"pairing.revoke">> {
      const { channel, account, senderId, senderName } = await desk.revoke(id);
      return { channel, account, senderId, senderName };
    },
  };
}
