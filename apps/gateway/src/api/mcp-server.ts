// Offers this gateway to other agents by the Model Context Protocol: POST /mcp, stateless, one JSON answer
// for each message. Every tool is a method of the control plane or a message on the path of people, so a
// token can do here exactly what its scopes let it do there.
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { type ApiCallers, type Caller, readBody, Unauthorized } from "@parley/control";
import { Fault, isFault, version, type Clock, type Ids, type Scope } from "@parley/protocol";
import { z } from "zod";
import type { ApiRequests } from "./api-requests.ts";
import { callPace } from "./call-pace.ts";

export interface McpServerOptions extends Pick<
  ApiCallers,
  "callerOf" | "dispatch" | "whileKnown" | "closing"
> {
  readonly requests: ApiRequests;
  /** Ids of the agents. */
  readonly agents: () => readonly string[];
  readonly clock: Clock;
  readonly ids: Ids;
}

type In = Context<{ Bindings: HttpBindings }>;

/** Revisions with the same messages for tools, the newest first (modelcontextprotocol.io/specification). */
const revisions = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const bodyBytes = 1_048_576;
const mostCalls = 64;
const callsPerMinute = 600;
const codes = { parse: -32_700, request: -32_600, method: -32_601, params: -32_602 } as const;

/** Any other refusal is the request's own fault, 400. */
const statuses: { readonly [code in Fault["code"]]?: 403 | 429 | 503 } = {
  denied: 403,
  rate_limited: 429,
  unavailable: 503,
};

const message = z.object({
  jsonrpc: z.literal("2.0"),
  id: z.union([z.string().max(256), z.number()]).optional(),
  method: z.string().max(128),
  params: z.record(z.string(), z.unknown()).optional(),
});

interface OfferedTool {
  readonly scope: Scope;
  readonly description: string;
  readonly args: z.ZodType;
  readonly readOnly: boolean;
}

const limit = z.number().int().min(1).max(200).default(50);
const sendArgs = z.object({
  message: z.string().min(1).max(200_000),
  conversation: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/)
    .default("mcp")
    .describe("Messages with the same name go on with the same conversation."),
  agent: z.string().max(64).optional().describe("Default: the first agent."),
});
const offered: { readonly [name: string]: OfferedTool & { readonly method?: string } } = {
  sessions_list: {
    scope: "read",
    method: "sessions.list",
    description: "Lists the conversations of this gateway's agents, the one that changed last first.",
    args: z.object({ agent: z.string().max(64).optional(), limit }),
    readOnly: true,
  },
  sessions_history: {
    scope: "read",
    method: "sessions.show",
    description: "Returns the newest entries of a conversation, by the key that sessions_list shows.",
    args: z.object({ key: z.string().min(1).max(1_024), limit }),
    readOnly: true,
  },
  memory_search: {
    scope: "read",
    method: "memory.search",
    description: "Searches the notes that an agent keeps (MEMORY.md and memory/).",
    args: z.object({
      query: z.string().min(1).max(10_000),
      agent: z.string().max(64).optional(),
      maxResults: z.number().int().min(1).max(50).optional(),
    }),
    readOnly: true,
  },
  messages_send: {
    scope: "write",
    description: "Sends a message to an agent of this gateway and returns its answer.",
    args: sendArgs,
    readOnly: false,
  },
};

export function mcpServer(options: McpServerOptions) {
  const { callerOf, dispatch, whileKnown, closing, requests, agents, ids } = options;
  const pace = callPace(callsPerMinute, options.clock);
  let running = 0;

  async function call(name: string, given: unknown, caller: Caller, signal: AbortSignal): Promise<object> {
    const tool = Object.hasOwn(offered, name) ? offered[name] : undefined;
    if (tool === undefined || !caller.scopes.includes(tool.scope))
      throw new Fault("missing", `there is no tool ${JSON.stringify(name.slice(0, 80))} for this token`);
    const args = tool.args.safeParse(given ?? {});
    if (!args.success) return said(z.prettifyError(args.error), true);
    if (running >= mostCalls) return said("too many calls run at once; try again", true);
    running += 1;
    try {
      if (tool.method === undefined) return await send(sendArgs.parse(args.data), caller, signal);
      const params = args.data as never;
      const answer = await dispatch({ type: "req", id: ids.uuid(), method: tool.method, params }, caller);
      return answer.ok
        ? said(JSON.stringify(answer.payload))
        : said(answer.error?.message ?? "it failed", true);
    } finally {
      running -= 1;
    }
  }

  async function send(
    { message: text, conversation, agent }: z.output<typeof sendArgs>,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<object> {
    const [first = "main"] = agents();
    if (agent !== undefined && !agents().includes(agent))
      return said(`there is no agent "${agent}"; there are: ${agents().join(", ")}`, true);
    try {
      const { id } = await requests.ask(
        {
          agent: agent ?? first,
          client: caller.peer,
          guest: !caller.scopes.includes("admin"),
          user: conversation,
        },
        ids.uuid(),
        text,
      );
      const { text: answer, reason } = await requests.answer(id, signal);
      return answer === ""
        ? said(`the agent said nothing${reason === null ? "" : ` (${reason})`}`)
        : said(answer);
    } catch (error) {
      if (isFault(error)) return said(error.message, true);
      throw error;
    }
  }

  async function answerTo(
    { method, params = {} }: z.output<typeof message>,
    caller: Caller,
    signal: AbortSignal,
  ): Promise<object | null> {
    switch (method) {
      case "initialize": {
        const asked = params["protocolVersion"];
        const protocolVersion = revisions.find((each) => each === asked) ?? revisions[0];
        return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "parley", version } };
      }
      case "ping":
        return {};
      case "tools/list":
        return {
          tools: Object.entries(offered)
            .filter(([, { scope }]) => caller.scopes.includes(scope))
            .map(([name, { description, args, readOnly }]) => ({
              name,
              description,
              inputSchema: z.toJSONSchema(args, { io: "input" }),
              annotations: { readOnlyHint: readOnly },
            })),
        };
      case "tools/call":
        return call(String(params["name"]), params["arguments"], caller, signal);
      default:
        return null;
    }
  }

  return {
    async mcp(context: In): Promise<Response> {
      const { incoming } = context.env;
      try {
        const caller = await callerOf(incoming, "read");
        pace.take(caller.peer);
        let sent: unknown;
        try {
          sent = JSON.parse((await readBody(incoming, bodyBytes)).toString("utf8"));
        } catch (error) {
          return context.json(failed(null, codes.parse, isFault(error) ? error.message : "no JSON"), 400);
        }
        const parsed = message.safeParse(sent);
        if (!parsed.success) return context.json(failed(null, codes.request, "no message of JSON-RPC"), 400);
        const { id, method } = parsed.data;
        if (id === undefined) return context.body(null, 202);
        const underWay = whileKnown(caller);
        const signal = AbortSignal.any([context.req.raw.signal, underWay.signal, closing]);
        const result = await answerTo(parsed.data, caller, signal)
          .catch((error: unknown) => {
            if (isFault(error, "missing")) return error;
            throw error;
          })
          .finally(underWay.leave);
        if (result === null) return context.json(failed(id, codes.method, `there is no method ${method}`));
        if (isFault(result)) return context.json(failed(id, codes.params, result.message));
        return context.json({ jsonrpc: "2.0", id, result });
      } catch (error) {
        if (!isFault(error)) throw error;
        if (error.retryAfterMs !== undefined)
          context.header("retry-after", String(Math.ceil(error.retryAfterMs / 1_000)));
        const isUnknown = error instanceof Unauthorized;
        if (isUnknown) context.header("www-authenticate", "Bearer");
        const status = isUnknown ? 401 : (statuses[error.code] ?? 400);
        return context.json(failed(null, codes.request, error.message), status);
      }
    },
  };
}

function said(text: string, isError = false): object {
  return { content: [{ type: "text", text }], ...(isError ? { isError } : {}) };
}

function failed(id: string | number | null, code: number, words: string): object {
  return { jsonrpc: "2.0", id, error: { code, message: words } };
}
