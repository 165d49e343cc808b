// The processes of one gateway: who they are, what they do, who leads which account.
import { z } from "zod";

const nodeView = z.object({
  node: z.string(),
  boot: z.string(),
  role: z.enum(["all", "edge", "worker"]),
  version: z.string(),
  pid: z.number().int(),
  url: z.string(),
  startedAtMs: z.number(),
  /** As it said last: starting, running, draining, safe-mode, gone. */
  state: z.string(),
  turns: z.number().int(),
  deliveries: z.number().int(),
  /** Accounts that it holds the connection of, `<channel>:<account>`. */
  leads: z.array(z.string()),
  /** Whether it said anything within the last ten seconds and has not left. */
  up: z.boolean(),
  silentMs: z.number(),
});

export const nodeMethods = {
  "nodes.list": {
    scope: "read",
    sessions: "none",
    params: z.object({}),
    result: z.object({ nodes: z.array(nodeView) }),
  },
} as const;
