// The control plane's methods for pairing: list requests and paired people, approve a request, revoke a
// pairing.
import { z } from "zod";

const pairingRequest = z.object({
  code: z.string(),
  channel: z.string(),
  account: z.string(),
  senderId: z.string(),
  senderName: z.string(),
  expiresAtMs: z.number(),
});

export const pairingMethods = {
  "pairing.list": {
    scope: "read",
    sessions: "none",
    needs: "store",
    params: z.object({}),
    result: z.object({
      pending: z.array(pairingRequest),
      paired: z.array(
        z.object({
          channel: z.string(),
          account: z.string(),
          senderId: z.string(),
          senderName: z.string(),
          atMs: z.number(),
        }),
      ),
    }),
  },
  "pairing.approve": {
    scope: "approve",
    sessions: "none",
    needs: "config and store",
    params: z.object({ code: z.string().min(1).max(64) }),
    result: z.object({
      channel: z.string(),
      account: z.string(),
      senderId: z.string(),
      senderName: z.string(),
    }),
  },
  /**
   * Takes `<channel>:<account>:<sender>`, or any ending of it that names one person. Ownership that came with
   * the pairing is revoked too.
   */
  "pairing.revoke": {
    scope: "approve",
    sessions: "none",
    needs: "config and store",
    params: z.object({ id: z.string().min(1).max(1024) }),
    result: z.object({
      channel: z.string(),
      account: z.string(),
      senderId: z.string(),
      senderName: z.string(),
    }),
  },
} as const;
