// The control plane's methods for the processes (nodes) of one gateway: state, load and the accounts that
// each leads.
import { z } from "zod";

const nodeView = z.object({
  node: z.string(),
  boot: z.string(),
  role: z.enum(["all", "edge", "worker"]),
  version: z.string(),
  pid: z.number().int(),
  url: z.string(),
  startedAtMs: z.number(),
  /** The state it reported last: starting, running, draining, safe-mode or gone. */
  state: z.string(),
  turns: z.number().int(),
  deliveries: z.number().int(),
  /** Accounts (`<channel>:<account>`) whose platform connection this node holds. */
  leads: z.array(z.string()),
  /** True when it reported within the last ten seconds and has not left. */
  up: z.boolean(),
  silentMs: z.number(),
});

export const nodeMethods = {
  "nodes.list": {
    scope: "read",
    sessions: "none",
    needs: "store",
    params: z.object({}),
    result: z.object({ nodes: z.array(nodeView) }),
  },
} as const;
