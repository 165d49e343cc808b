// The control plane's methods about tools and the approvals of what they do.
import { z } from "zod";

const approval = z.object({
  id: z.string(),
  state: z.enum(["open", "once", "always", "denied", "expired", "stopped", "used"]),
  session: z.string(),
  agent: z.string(),
  tool: z.string(),
  /** The whole action, as it would run. */
  shown: z.string(),
  reason: z.string(),
  /** The answer may be "always". */
  always: z.boolean(),
  askedBy: z.array(z.string()),
  /** Who asks by name, in which chat and session: lines, as people are shown them. */
  asked: z.string(),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  log: z.array(z.object({ atMs: z.number(), what: z.string(), by: z.string() })),
});

const grant = z.object({
  id: z.string(),
  agent: z.string(),
  argv: z.array(z.string()),
  cwd: z.string(),
  sandbox: z.string(),
  by: z.string(),
  atMs: z.number(),
});

const id = z.string().min(1).max(128);

const entry = z.object({
  id: z.string(),
  label: z.string(),
  section: z.string(),
  profiles: z.array(z.string()),
  groups: z.array(z.string()),
  effect: z.enum(["reads", "writes", "sends"]),
  summary: z.string(),
  /** What it is in this session: to be used, taken away by a rule, or not to be had. */
  status: z.enum(["ready", "removed", "unavailable"]),
  reason: z.string().nullable(),
});

export const toolMethods = {
  /** Newest first. `all`: also those that are decided. */
  "approvals.list": {
    scope: "read",
    sessions: "all",
    params: z.object({ all: z.boolean().default(false) }),
    result: z.object({ approvals: z.array(approval), grants: z.array(grant) }),
  },
  "approvals.resolve": {
    scope: "approve",
    sessions: "all",
    params: z.object({ id, decision: z.enum(["once", "always", "deny"]) }),
    result: z.object({ id: z.string(), state: approval.shape.state, say: z.string() }),
  },
  /** Takes back what was allowed for good. */
  "approvals.revoke": {
    scope: "approve",
    sessions: "all",
    params: z.object({ id }),
    result: z.object({ id: z.string() }),
  },
  /** /estop: no tool of any session starts until `tools.resume`. `held` is false when that was so before. */
  "tools.hold": {
    scope: "admin",
    sessions: "all",
    params: z.object({}),
    result: z.object({ held: z.boolean() }),
  },
  /** `resumed` is false when they were not held. */
  "tools.resume": {
    scope: "admin",
    sessions: "all",
    params: z.object({}),
    result: z.object({ resumed: z.boolean() }),
  },
  /** What a session's next turn could use, and why not the rest. Without a session: the one that last changed. */
  "tools.list": {
    scope: "read",
    sessions: "all",
    params: z.object({ session: z.string().min(1).max(1024).optional() }),
    result: z.object({
      session: z.string(),
      tools: z.array(entry),
      sandbox: z.string().nullable(),
      /** Set when nothing is left. */
      reason: z.string().nullable(),
    }),
  },
} as const;
