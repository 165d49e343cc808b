// Serves the fake's HTTP: /bot<token>/<method>, /file/bot<token>/<path> and /_control. It checks every call,
// keeps a record and applies fault rules.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerBadly, listen, replacesAnswer, writeJson } from "../answers.ts";
import type { Faults } from "../faults.ts";
import { readRequest, type Request } from "./body.ts";
import { chatMethods } from "./methods/chats.ts";
import type { Methods } from "./methods/call.ts";
import { mediaMethods } from "./methods/media.ts";
import { messageMethods } from "./methods/messages.ts";
import { updateMethods } from "./methods/updates.ts";
import type { Params, ParamsCheck } from "./params.ts";
import { badRequest, Refusal } from "./refusal.ts";
import type { Bot, World } from "./world.ts";

const methods: Methods = { ...updateMethods, ...messageMethods, ...mediaMethods, ...chatMethods };

/** One call that reached the server. */
export interface ApiCall {
  readonly method: string;
  readonly token: string;
  readonly params: Params;
  /** Names of uploaded files by field. */
  readonly files: Readonly<Record<string, string>>;
  /** Tells connections apart: calls over one keep-alive socket share it. */
  readonly connection: number;
  readonly atMs: number;
  /**
   * Whether the server acted, and what it answered; absent while it works or when a fault swallowed the
   * answer.
   */
  acted: boolean;
  answer?: unknown;
}

export interface ApiServerOptions {
  readonly state: World;
  readonly check: ParamsCheck;
  readonly faults: Faults;
  readonly calls: ApiCall[];
  readonly violations: string[];
  /** The bot of a token, or null for one that is not registered. */
  readonly botFor: (token: string) => Bot | null;
  /** Runs after every call: the webhook may have changed. */
  readonly afterCall: (bot: Bot) => void;
  readonly control: (incoming: IncomingMessage, outgoing: ServerResponse, url: URL) => Promise<void>;
}

export interface ApiServer {
  readonly url: string;
  close(): Promise<void>;
}

export async function apiServer(options: ApiServerOptions, port = 0): Promise<ApiServer> {
  const connections = new WeakMap<object, number>();
  let connectionCount = 0;
  const server = createServer((incoming, outgoing) => {
    const connection = connections.get(incoming.socket) ?? ++connectionCount;
    connections.set(incoming.socket, connection);
    serve(options, incoming, outgoing, connection).catch((error: unknown) => {
      // A bug of the fake, or a client that went away in the middle of its request.
      if (!outgoing.headersSent)
        writeJson(outgoing, 500, { ok: false, error_code: 500, description: String(error) });
    });
  });
  // Longer than any client keeps an idle connection, so that the fake never closes one under a request.
  server.keepAliveTimeout = 75_000;
  await listen(server, port);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(
  options: ApiServerOptions,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  connection: number,
): Promise<void> {
  const url = new URL(incoming.url ?? "/", "http://127.0.0.1");
  if (url.pathname.startsWith("/_control")) return await options.control(incoming, outgoing, url);
  const download = /^\/file\/bot([^/]+)\/(.+)$/.exec(url.pathname);
  if (download !== null)
    return await serveFile(options, outgoing, download[1] ?? "", decodeURIComponent(download[2] ?? ""));
  const [, token = "", method = ""] = /^\/bot([^/]+)\/(\w+)$/.exec(url.pathname) ?? [];
  const bot = options.botFor(decodeURIComponent(token));
  // The real server answers 404 to what cannot be a token and 401 to one that it does not know.
  if (!/^\d+:/.test(token))
    return writeJson(outgoing, 404, { ok: false, error_code: 404, description: "Not Found" });
  if (bot === null)
    return writeJson(outgoing, 401, { ok: false, error_code: 401, description: "Unauthorized" });
  await serveCall(options, bot, method, incoming, outgoing, url, connection);
}

async function serveCall(
  options: ApiServerOptions,
  bot: Bot,
  method: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  url: URL,
  connection: number,
): Promise<void> {
  const { state, faults } = options;
  const request = await readRequest(incoming, url, method, options.check);
  const call: ApiCall = {
    method,
    token: bot.token,
    params: request.params,
    files: Object.fromEntries([...request.files].map(([field, file]) => [field, file.name])),
    connection,
    atMs: state.clock.now(),
    acted: false,
  };
  options.calls.push(call);
  const rule = faults.next(method, bot.token);
  const actsFirst = rule === null || rule.when === "after" || !replacesAnswer(rule.trouble);
  if (!actsFirst) return await answerBadly(state.clock, rule.trouble, outgoing, 200, {});
  const hungUp = new AbortController();
  outgoing.on("close", () => hungUp.abort());
  const { status, body } = await act(options, bot, method, request, hungUp.signal);
  call.acted = true;
  options.afterCall(bot);
  if (rule !== null) return await answerBadly(state.clock, rule.trouble, outgoing, status, body);
  call.answer = body;
  writeJson(outgoing, status, body);
}

/**
 * Runs the method. Well-formedness first: what the schema or the fake's stricter rules refuse is a violation,
 * on record for the test.
 */
async function act(
  options: ApiServerOptions,
  bot: Bot,
  method: string,
  { params, files }: Request,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly body: unknown }> {
  try {
    const run = methods[method];
    if (run === undefined) {
      options.violations.push(
        options.check.knows(method)
          ? `${method} is not part of this fake`
          : `${method} is no method of the Bot API`,
      );
      throw new Refusal(404, "Not Found: method not found");
    }
    const problems = options.check.problems(method, params);
    options.violations.push(...problems);
    if (problems.length > 0) throw badRequest(problems.join("; "));
    return {
      status: 200,
      body: { ok: true, result: await run({ state: options.state, bot, params, files, signal }) },
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (strictOnly.test(error.message)) options.violations.push(`${method}: ${error.message}`);
    const parameters = error.parameters === undefined ? {} : { parameters: error.parameters };
    return {
      status: error.code,
      body: { ok: false, error_code: error.code, description: error.message, ...parameters },
    };
  }
}

/** Refusals that only our own mistakes can cause. */
const strictOnly =
  /can't parse entities|entity be|message is too long|caption is too long|text is empty|BUTTON_|unsupported parse_mode/;

async function serveFile(
  options: ApiServerOptions,
  outgoing: ServerResponse,
  token: string,
  path: string,
): Promise<void> {
  const file = [...options.state.files.values()].find((stored) => stored.path === path);
  if (options.botFor(decodeURIComponent(token)) === null || file === undefined) {
    return writeJson(outgoing, 404, { ok: false, error_code: 404, description: "Not Found" });
  }
  const rule = options.faults.next("download", token);
  if (rule !== null) return await answerBadly(options.state.clock, rule.trouble, outgoing, 200, {});
  // No content length, as a server that streams: a client must count for itself.
  outgoing.writeHead(200, { "content-type": "application/octet-stream" });
  outgoing.end(file.bytes);
}
