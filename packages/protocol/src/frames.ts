// The control plane's wire: three frames, one handshake. Web chat, CLI and any other client speak exactly this.
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
  /** Position in the durable event log; absent on what is not replayed (deltas, typing). */
  seq: z.number().int().optional(),
});

export type RequestFrame = z.infer<typeof requestFrame>;
export type ResponseFrame = z.infer<typeof responseFrame>;
export type EventFrame = z.infer<typeof eventFrame>;
export type WireError = z.infer<typeof wireError>;
export type Frame = RequestFrame | ResponseFrame | EventFrame;

export const scopes = ["read", "write", "approve", "admin"] as const;
export type Scope = (typeof scopes)[number];

/** Params of the first frame's method, `connect`. */
export const connectParams = z.object({
  protocol: z.object({ min: z.number().int(), max: z.number().int() }),
  client: z.object({ name: z.string().max(64), version: z.string().max(64) }),
  auth: z
    .union([
      /** The gateway's token, or a device token. `remember`: trade the gateway's token for a device token, so that a page need not keep it. */
      z.object({ token: z.string().max(512), remember: z.boolean().optional() }),
      /**
       * The one-time login code of the printed URL; the answer carries a device token. `deviceToken`: the client's own choice of it, drawn at
       * random, so that it may ask again when the answer was lost.
       */
      z.object({
        code: z.string().max(128),
        deviceToken: z
          .string()
          .regex(/^[A-Za-z0-9]{43,128}$/)
          .optional(),
      }),
    ])
    .optional(),
  /** Web chat only: which conversation's events to follow. */
  peer: z.string().max(128).optional(),
  thread: z.string().max(128).optional(),
  /** Last event seen; what came after it is replayed. */
  lastSeq: z.number().int().nonnegative().optional(),
  /** False: it only asks, and follows no conversation. So the holder of the gateway's token gets in while the store is away. */
  follows: z.boolean().optional(),
});
export type ConnectParams = z.infer<typeof connectParams>;

/** The answer to `connect`. */
export const connectResult = z.object({
  protocol: z.number().int(),
  server: z.object({ version: z.string(), bootId: z.string() }),
  scopes: z.array(z.enum(scopes)),
  /** Minted for a login code, or for a token with `remember`: kept by the client, sent as `auth.token` from then on. */
  deviceToken: z.string().optional(),
  /** The web peer of this client, minted by the gateway. */
  peer: z.string(),
  /** Where the event log stands; a client whose `lastSeq` is older than the log gets `resync: true`. */
  seq: z.number().int(),
  resync: z.boolean(),
});
export type ConnectResult = z.infer<typeof connectResult>;
