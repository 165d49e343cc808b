// The control plane's methods for MCP servers: list them with their tools, start one to look at it, approve
// tools that wait, forget what was approved.
import { z } from "zod";

const name = z.string().min(1).max(64);

const described = z.object({
  /** As the server spells it. */
  name: z.string(),
  /** As models know it. */
  tool: z.string(),
  description: z.string(),
  /** JSON Schema of its arguments. */
  schema: z.record(z.string(), z.json()),
  readOnly: z.boolean(),
});

const server = z.object({
  name: z.string(),
  enabled: z.boolean(),
  transport: z.enum(["stdio", "http", "sse"]),
  /** Its program with the arguments, or its address. */
  target: z.string(),
  /** Of this process; a server is started by its first call. */
  state: z.enum(["stopped", "starting", "running", "failed"]),
  /** Why it failed last. */
  reason: z.string().nullable(),
  /** What it calls itself while it runs. */
  version: z.string().nullable(),
  pid: z.number().int().nullable(),
  /** Starts since the gateway's. */
  starts: z.number().int(),
  /** Tools that agents may use. */
  tools: z.array(described),
  /** Tools that wait for an approval, with what was approved before. */
  waiting: z.array(described.extend({ before: described.nullable() })),
  /** Names exactly what waits; empty: nothing. */
  code: z.string(),
  /** Tools that cannot be used at all. */
  leftOut: z.array(z.object({ name: z.string(), reason: z.string() })),
  /** Null: its tools were never listed. */
  listedAtMs: z.number().nullable(),
});

export const mcpMethods = {
  /** Starts nothing. */
  "mcp.list": {
    scope: "read",
    sessions: "none",
    needs: "config and store",
    params: z.object({ name: name.optional() }),
    result: z.object({ servers: z.array(server) }),
  },
  /** Starts the server where it does not run, and lists its tools again. */
  "mcp.test": {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({ name }),
    result: server,
  },
  /** Answers with the address that a person opens; it leads to `redirectUrl`, on their machine. */
  "mcp.login.start": {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({
      name,
      redirectUrl: z
        .string()
        .regex(/^http:\/\/127\.0\.0\.1:\d{1,5}\/[\w/-]*$/)
        .max(200),
    }),
    result: z.object({ url: z.string() }),
  },
  /** `answer`: the address that the person was led to, or the code in it. */
  "mcp.login.finish": {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({ name, answer: z.string().min(1).max(16_384) }),
    result: server,
  },
  "mcp.logout": {
    scope: "admin",
    sessions: "none",
    needs: "daemon",
    params: z.object({ name }),
    result: z.object({ name: z.string(), wasLoggedIn: z.boolean() }),
  },
  /** `code`: refused when something else waits by now. */
  "mcp.approve": {
    scope: "approve",
    sessions: "none",
    needs: "config and store",
    params: z.object({ name, code: z.string().max(64).optional() }),
    result: z.object({ name: z.string(), tools: z.array(z.string()) }),
  },
  /** The tools that it lists next are its first ones. */
  "mcp.forget": {
    scope: "approve",
    sessions: "none",
    needs: "config and store",
    params: z.object({ name }),
    result: z.object({ name: z.string(), forgotten: z.boolean() }),
  },
} as const;
