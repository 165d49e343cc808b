// Serves the fake's HTTP: /api/v10, the CDN's /attachments and /_control. It checks every call, keeps a
// record, and applies limits and faults.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerBadly, listen, replacesAnswer, writeJson } from "../../answers.ts";
import type { Faults } from "../../faults.ts";
import type { Bot } from "../model.ts";
import type { World } from "../world.ts";
import { readRestBody, type RestBody } from "./body.ts";
import { Answer, type DiscordCall, type RestOptions, type RouteCall } from "./call.ts";
import type { Forms } from "./form.ts";
import { type Limits, refusedBody } from "./limits.ts";
import { DiscordRefusal, refuse } from "./refusal.ts";
import { type Found, routeOf } from "./routes.ts";

export interface RestServerOptions {
  readonly state: World;
  readonly forms: Forms;
  readonly limits: Limits;
  readonly faults: Faults;
  readonly calls: DiscordCall[];
  readonly violations: string[];
  readonly rest: RestOptions;
  /** The bot of a token, or null for one that is not registered. */
  readonly botFor: (token: string) => Bot | null;
  /** Returns the answer of /gateway/bot. */
  readonly gatewayBot: (bot: Bot) => unknown;
  readonly control: (incoming: IncomingMessage, outgoing: ServerResponse, url: URL) => Promise<void>;
}

export interface RestServer {
  readonly url: string;
  readonly server: Server;
  close(): Promise<void>;
}

export async function restServer(options: RestServerOptions, port = 0): Promise<RestServer> {
  const connections = new WeakMap<object, number>();
  let connectionCount = 0;
  const server = createServer((incoming, outgoing) => {
    const connection = connections.get(incoming.socket) ?? ++connectionCount;
    connections.set(incoming.socket, connection);
    serve(options, incoming, outgoing, connection).catch((error: unknown) => {
      // A bug of the fake, or a client that went away in the middle of its request.
      if (!outgoing.headersSent)
        writeJson(outgoing, 500, { message: `500: Internal Server Error (${String(error)})`, code: 0 });
    });
  });
  // Longer than any client keeps an idle connection, so that the fake never closes one under a request.
  server.keepAliveTimeout = 75_000;
  await listen(server, port);
  return {
    server,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function serve(
  options: RestServerOptions,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  connection: number,
): Promise<void> {
  const url = new URL(incoming.url ?? "/", "http://127.0.0.1");
  if (url.pathname.startsWith("/_control")) return await options.control(incoming, outgoing, url);
  if (url.pathname.startsWith("/attachments/")) return await serveFile(options, outgoing, url.pathname);
  const path = /^\/api\/v10(\/.*)$/.exec(url.pathname)?.[1];
  if (path === undefined) {
    options.violations.push(`${incoming.method} ${url.pathname}: not under /api/v10`);
    return writeJson(outgoing, 404, { message: "404: Not Found", code: 0 });
  }
  await serveCall(options, { incoming, outgoing, url, path, connection });
}

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  readonly url: URL;
  readonly path: string;
  readonly connection: number;
}

async function serveCall(
  options: RestServerOptions,
  { incoming, outgoing, url, path, connection }: Exchange,
): Promise<void> {
  const { state, faults, limits } = options;
  const method = incoming.method ?? "GET";
  const found = routeOf(method, path);
  const name = found === null || found === "method" ? `${method} ${path}` : found.name;
  const token = (incoming.headers.authorization ?? "").replace(/^Bot /, "");
  // A body that cannot be read is refused below, so that the call is still recorded and faults still apply.
  const body = await readRestBody(incoming).catch((error: unknown) => error);
  const read = body instanceof Error ? { json: undefined, files: [] } : (body as RestBody);
  const call: DiscordCall = {
    route: name,
    path,
    query: Object.fromEntries(url.searchParams),
    token,
    body: read.json,
    files: Object.fromEntries(read.files.map(({ field, file }) => [field, file.name])),
    connection,
    atMs: state.clock.now(),
    acted: false,
  };
  options.calls.push(call);
  const rule = faults.next(name, token);
  const headers: Record<string, string> = { "x-ratelimit-precision": "millisecond" };
  if (rule !== null && rule.when !== "after" && replacesAnswer(rule.trouble))
    return await answerBadly(state.clock, rule.trouble, outgoing, 200, {});
  if (limits.isBanned(token))
    return void outgoing
      .writeHead(429, { "content-type": "text/html", "retry-after": "600" })
      .end("<html>error code: 1015</html>");
  let result: { readonly status: number; readonly body: unknown };
  try {
    if (body instanceof Error) throw body;
    const asked = { options, found, token, url, read, headers };
    result = await act(asked, incoming);
    call.acted = result.status < 300;
  } catch (error) {
    if (!(error instanceof DiscordRefusal)) throw error;
    if (ownMistakes.has(error.code))
      options.violations.push(`${name}: ${error.message} ${JSON.stringify(error.errors ?? {})}`);
    result = { status: error.status, body: error.body() };
  }
  if ([401, 403, 429].includes(result.status) && headers["x-ratelimit-scope"] !== "shared")
    limits.noteInvalid(token);
  for (const [header, value] of Object.entries(headers)) outgoing.setHeader(header, value);
  if (rule !== null)
    return await answerBadly(state.clock, rule.trouble, outgoing, result.status, result.body);
  call.status = result.status;
  call.answer = result.body;
  if (result.status === 204) outgoing.writeHead(204).end();
  else writeJson(outgoing, result.status, result.body);
}

/**
 * Refusals that only a mistake of the client can cause: a wrong form, nothing to send, a second answer to an
 * interaction.
 */
const ownMistakes = new Set([50_035, 50_006, 40_060]);

interface Asked {
  readonly options: RestServerOptions;
  readonly found: Found | "method" | null;
  readonly token: string;
  readonly url: URL;
  readonly read: RestBody;
  readonly headers: Record<string, string>;
}

async function act(
  { options, found, token, url, read, headers }: Asked,
  incoming: IncomingMessage,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const { state, limits } = options;
  if (found === null) {
    options.violations.push(`${incoming.method} ${url.pathname} is not part of this fake`);
    throw refuse("notFound");
  }
  if (found === "method") throw refuse("methodNotAllowed");
  const { route, params } = found;
  const bot = route.isOpen === true ? botOfToken(state, params) : options.botFor(token);
  if (bot === null || (route.isOpen !== true && !(incoming.headers.authorization ?? "").startsWith("Bot ")))
    throw refuse("unauthorized");
  const resource = params["channel"] ?? params["guild"] ?? params["token"] ?? "";
  const verdict = limits.take(
    bot.token,
    route.bucket ?? found.name,
    resource,
    route.limit,
    route.isOpen === true,
  );
  Object.assign(headers, verdict.headers);
  if (verdict.refusal !== null)
    return { status: 429, body: refusedBody(verdict.refusal.scope, verdict.refusal.retryAfterMs) };
  const call: RouteCall = {
    state,
    bot,
    params,
    query: url.searchParams,
    body: read.json,
    files: read.files,
    options: options.rest,
    violations: options.violations,
    gatewayBot: options.gatewayBot,
  };
  checkForm(options, found, call);
  const answer = route.run(call);
  if (answer instanceof Answer) return answer;
  return answer === undefined ? { status: 204, body: undefined } : { status: 200, body: answer };
}

/**
 * The bot that an interaction's token stands for; for a token that nobody knows any bot will do, the route
 * refuses by itself.
 */
function botOfToken(state: World, params: { readonly [name: string]: string }): Bot | null {
  const interaction = [...state.interactions.values()].find(({ token }) => token === params["token"]);
  return interaction?.bot ?? [...state.bots.values()][0] ?? null;
}

function checkForm({ forms, violations }: RestServerOptions, { name, route }: Found, call: RouteCall): void {
  const form = typeof route.form === "function" ? route.form(call) : route.form;
  if (form === undefined || form === null) return;
  const parts = Array.isArray(call.body)
    ? call.body.map((body, index) => ({ body, path: `${index}.` }))
    : [{ body: call.body ?? {}, path: "" }];
  const errors: Record<string, unknown> = {};
  for (const { body, path } of parts) {
    const { errors: found, unknown } = forms.check(form, body);
    violations.push(...unknown.map((field) => `${name}: Discord knows no ${path}${field}`));
    if (found !== null) Object.assign(errors, path === "" ? found : { [path.slice(0, -1)]: found });
  }
  if (Object.keys(errors).length > 0) throw refuse("badForm", errors as never);
}

async function serveFile(options: RestServerOptions, outgoing: ServerResponse, path: string): Promise<void> {
  const file = options.state.files.get(path);
  if (file === undefined)
    return void outgoing
      .writeHead(404, { "content-type": "text/plain" })
      .end("This content is no longer available.");
  const rule = options.faults.next("download", "");
  if (rule !== null) return await answerBadly(options.state.clock, rule.trouble, outgoing, 200, {});
  // No content length, as a server that streams: a client must count for itself.
  outgoing.writeHead(200, { "content-type": file.mediaType });
  outgoing.end(file.bytes);
}
