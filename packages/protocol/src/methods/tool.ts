// The control plane's methods for tools and for approvals of tool calls.
import { z } from "zod";

const approval = z.object({
  id: z.string(),
  state: z.enum(["open", "once", "always", "denied", "expired", "stopped", "used"]),
  session: z.string(),
  agent: z.string(),
  tool: z.string(),
  /** The whole action as it would run. */
  shown: z.string(),
  reason: z.string(),
  /** True when the answer may be "always". */
  always: z.boolean(),
  askedBy: z.array(z.string()),
  /** Who asks, in which chat and session, as lines for people. */
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

const question = z.object({
  id: z.string(),
  /** `written`: somebody wrote a message instead. */
  state: z.enum(["open", "answered", "expired", "stopped", "written"]),
  session: z.string(),
  conversation: z.string(),
  question: z.string(),
  options: z.array(z.string()),
  /** `<channel>:<id>` of those who may answer. */
  people: z.array(z.string()),
  createdAtMs: z.number(),
  expiresAtMs: z.number(),
  answer: z.object({ text: z.string(), by: z.string(), name: z.string() }).nullable(),
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
  /** State of the tool in this session: usable, removed by a rule, or unavailable. */
  status: z.enum(["ready", "removed", "unavailable"]),
  reason: z.string().nullable(),
});

export const toolMethods = {
  /** Newest first. With `all` decided approvals are included. */
  "approvals.list": {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    params: z.object({ all: z.boolean().default(false) }),
    result: z.object({ approvals: z.array(approval), grants: z.array(grant) }),
  },
  "approvals.resolve": {
    scope: "approve",
    sessions: "all",
    needs: "config and store",
    params: z.object({
      id,
      decision: z.enum(["once", "always", "deny"]),
      idempotencyKey: z.string().min(1).max(128).optional(),
    }),
    result: z.object({ id: z.string(), state: approval.shape.state, say: z.string() }),
  },
  /** Revokes a standing "always" approval. */
  "approvals.revoke": {
    scope: "approve",
    sessions: "all",
    needs: "config and store",
    params: z.object({ id }),
    result: z.object({ id: z.string() }),
  },
  /** Lists the questions of `ask_user`, newest first. With `all` also those that have ended. */
  "questions.list": {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    params: z.object({ all: z.boolean().default(false) }),
    result: z.object({ questions: z.array(question) }),
  },
  /**
   * Emergency stop (/estop): no tool of any session starts until `tools.resume`. `held` is false when it was
   * already on.
   */
  "tools.hold": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({}),
    result: z.object({ held: z.boolean() }),
  },
  /** `resumed` is false when tools were not stopped. */
  "tools.resume": {
    scope: "admin",
    sessions: "all",
    needs: "config and store",
    params: z.object({}),
    result: z.object({ resumed: z.boolean() }),
  },
  /**
   * Lists the tools of a session's next turn, and why the others are not available. Default: the session that
   * changed last.
   */
  "tools.list": {
    scope: "read",
    sessions: "all",
    needs: "config and store",
    params: z.object({ session: z.string().min(1).max(1024).optional() }),
    result: z.object({
      session: z.string(),
      tools: z.array(entry),
      sandbox: z.string().nullable(),
      /** Set when no tool is left. */
      reason: z.string().nullable(),
    }),
  },
} as const;
