// The control plane's methods for trying an account: the places that it knows, and a message to one of them.
import { z } from "zod";

const place = z.object({
  /** A conversation key, which `channels.test` takes. */
  conversation: z.string(),
  channel: z.string(),
  account: z.string(),
  kind: z.enum(["dm", "group", "channel"]),
  /** Who wrote there, the newest first. */
  names: z.array(z.string()),
  title: z.string().nullable(),
  lastAtMs: z.number(),
});

export const channelMethods = {
  /** Where somebody wrote to an agent, the newest first; with `channel` and `account` only theirs. */
  "channels.places": {
    scope: "read",
    sessions: "all",
    needs: "daemon",
    params: z.object({ channel: z.string().max(64).optional(), account: z.string().max(64).optional() }),
    result: z.object({ places: z.array(place) }),
  },
  /**
   * Sends a message that says it is a test. It goes through the outbox like an answer; `outbox.show` tells
   * what became of it. `to`: a conversation key, `telegram:123`, `discord:user:456`, or with `channel` and
   * `account` only the id.
   */
  "channels.test": {
    scope: "admin",
    sessions: "all",
    needs: "daemon",
    params: z.object({
      to: z.string().min(1).max(300),
      channel: z.string().max(64).optional(),
      account: z.string().max(64).optional(),
      text: z.string().max(1_000).optional(),
      idempotencyKey: z.string().min(1).max(128),
    }),
    result: z.object({ id: z.string(), conversation: z.string() }),
  },
} as const;
