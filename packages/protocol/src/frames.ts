// The control plane's wire format: three kinds of frame and one handshake. The web chat, the CLI and every
// other client use only this.
import { z } from "zod";
import { faultCodes } from "./fault.ts";

export const requestFrame = z.object({
  type: z.literal("req"),
  id: z.string().min(1).max(128),
  method: z.string().min(1).max(64),
  params: z.unknown().optional(),
});

export const wireError = z.object({
  code: z.enum([...faultCodes, "unauthorized", "internal"]),
  message: z.string(),
  retryAfterMs: z.number().optional(),
  details: z.unknown().optional(),
});

export const responseFrame = z.object({
  type: z.literal("res"),
  id: z.string(),
  ok: z.boolean(),
  payload: z.unknown().optional(),
  error: wireError.optional(),
});

export const eventFrame = z.object({
  type: z.literal("event"),
  event: z.string(),
  payload: z.unknown(),
  /** Position in the durable event log; absent on events that are not replayed (deltas, typing). */
  seq: z.number().int().optional(),
});

export type RequestFrame = z.infer<typeof requestFrame>;
export type ResponseFrame = z.infer<typeof responseFrame>;
export type EventFrame = z.infer<typeof eventFrame>;
export type WireError = z.infer<typeof wireError>;
export type Frame = RequestFrame | ResponseFrame | EventFrame;

export const scopes = ["read", "write", "approve", "admin"] as const;
export type Scope = (typeof scopes)[number];

/** Parameters of `connect`, which is the method of the first frame. */
export const connectParams = z.object({
  protocol: z.object({ min: z.number().int(), max: z.number().int() }),
  client: z.object({ name: z.string().max(64), version: z.string().max(64) }),
  auth: z
    .union([
      /**
       * The gateway's token or a device token. With `remember` the gateway trades its own token for a device
       * token, so that a page need not keep it.
       */
      z.object({ token: z.string().max(512), remember: z.boolean().optional() }),
      /**
       * The one-time login code from the printed URL; the answer carries a device token. The client may
       * choose that token itself, at random (`deviceToken`), so that it can ask again when the answer is
       * lost.
       */
      z.object({
        code: z.string().max(128),
        deviceToken: z
          .string()
          .regex(/^[A-Za-z0-9]{43,128}$/)
          .optional(),
        /** Of a device that is paired: what its person grants of what the code allows. Absent: all. */
        grants: z.array(z.string().max(32)).max(32).optional(),
      }),
    ])
    .optional(),
  /** Web chat only: the conversation whose events the client follows. */
  peer: z.string().max(128).optional(),
  thread: z.string().max(128).optional(),
  /** Seq of the last event that the client saw; the gateway replays what came after it. */
  lastSeq: z.number().int().nonnegative().optional(),
  /**
   * False for a client that follows no conversation. The holder of the gateway's token can then connect while
   * the store is down.
   */
  follows: z.boolean().optional(),
});
export type ConnectParams = z.infer<typeof connectParams>;

/** The answer to `connect`. */
export const connectResult = z.object({
  protocol: z.number().int(),
  server: z.object({ version: z.string(), bootId: z.string() }),
  scopes: z.array(z.enum(scopes)),
  /**
   * A new device token, issued for a login code or for `remember`. The client keeps it and sends it as
   * `auth.token`.
   */
  deviceToken: z.string().optional(),
  /** The client's web peer id, which the gateway issues. */
  peer: z.string(),
  /**
   * Last seq of the event log. The gateway sends `resync: true` when the client's `lastSeq` is older than the
   * log.
   */
  seq: z.number().int(),
  resync: z.boolean(),
});
export type ConnectResult = z.infer<typeof connectResult>;
