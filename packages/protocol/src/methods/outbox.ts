// Methods of what did not get through: answers that wait or are in trouble, and messages that failed for
// good.
import { z } from "zod";
import { deliverySchema, rowSchema } from "../story.ts";

const limit = z.number().int().min(1).max(1000).default(100);
const id = z.string().min(1).max(1024);
/** Of what is done once, however often it is asked under this key. */
const idempotencyKey = z.string().min(1).max(128).optional();

/** What an operator decides about one of them, once. */
const decision = {
  scope: "admin",
  sessions: "all",
  needs: "store",
  params: z.object({ id, idempotencyKey }),
  result: z.object({ id: z.string() }),
} as const;

export const outboxMethods = {
  "outbox.list": {
    scope: "read",
    sessions: "all",
    needs: "store",
    /**
     * Newest first: deliveries that wait or are in trouble, with `troubled` only the latter. `lane` restricts
     * it to one conversation.
     */
    params: z.object({ troubled: z.boolean().optional(), lane: z.string().optional(), limit }),
    result: z.object({ deliveries: z.array(deliverySchema) }),
  },
  /** One delivery, whatever became of it. */
  "outbox.show": {
    scope: "read",
    sessions: "all",
    needs: "store",
    params: z.object({ id }),
    result: deliverySchema,
  },
  /** Sends a troubled delivery again under a new id, once; the old one leaves the list. */
  "outbox.retry": decision,
  "outbox.drop": decision,
} as const;

export const deadMethods = {
  "dead.list": {
    scope: "read",
    sessions: "all",
    needs: "store",
    params: z.object({ limit }),
    result: z.object({ rows: z.array(rowSchema) }),
  },
  /**
   * Accepts a copy of a dead row under a new id, with the same lane, conversation and authority; the old one
   * leaves the list.
   */
  "dead.retry": decision,
  "dead.drop": decision,
} as const;
