// Serves pairing to the operator over the control plane.
import type { MethodParams, MethodResult } from "@parley/protocol";
import type { StorePorts } from "../ports.ts";

export function pairingMethods({ pairing }: Pick<StorePorts, "pairing">) {
  return {
    async "pairing.list"(_params: MethodParams<"pairing.list">): Promise<MethodResult<"pairing.list">> {
      const { pending, paired } = await pairing.list();
      return { pending: pending.map(({ askedBy: _askedBy, ...request }) => request), paired: [...paired] };
    },
    async "pairing.approve"({
      code,
    }: MethodParams<"pairing.approve">): Promise<MethodResult<"pairing.approve">> {
      const { channel, account, senderId, senderName } = await pairing.approve(code);
      return { channel, account, senderId, senderName };
    },
    async "pairing.revoke"({ id }: MethodParams<"pairing.revoke">): Promise<MethodResult<"pairing.revoke">> {
      const { channel, account, senderId, senderName } = await pairing.revoke(id);
      return { channel, account, senderId, senderName };
    },
  };
}
