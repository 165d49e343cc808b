// The control plane's method for the audit log: who asked the gateway for what, by which token.
import { z } from "zod";

const auditRecord = z.object({
  atMs: z.number(),
  method: z.string(),
  /** `device:<id>`, `gateway-token`, or `once` for a command while no daemon ran. */
  by: z.string(),
  /** The program's name, as it says. */
  client: z.string(),
  address: z.string(),
  /** What it was about: ids, names and places, never values or words of people. */
  about: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.array(z.string())])),
  ok: z.boolean(),
  /** Why it was refused or failed. */
  code: z.string().optional(),
});

export const auditMethods = {
  /** The newest last. What only reads, and what people say in their own chats, is not recorded. */
  "audit.list": {
    scope: "admin",
    sessions: "none",
    needs: "config",
    params: z.object({
      sinceMs: z.number().optional(),
      /** A part of the method's name. */
      method: z.string().max(64).optional(),
      by: z.string().max(128).optional(),
      limit: z.number().int().min(1).max(5_000).default(200),
      /** Leaves out so many of the newest, to read on from there. */
      skip: z.number().int().min(0).default(0),
    }),
    result: z.object({ records: z.array(auditRecord), more: z.boolean() }),
  },
} as const;

export type AuditRecord = z.infer<typeof auditRecord>;
