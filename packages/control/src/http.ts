// Serves plain HTTP on the control plane's port: liveness, readiness and the web page. These answers are
// public and equal for everybody. Webhooks come in here too; their channels check the secrets.
import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import type { WebhookHandler } from "@parley/channels";
import { Hono, type Context } from "hono";
import { isFault, type Log } from "@parley/protocol";
import { metricsContentType } from "./prometheus-text.ts";
import type { RefusalReason, Refusals } from "@parley/access";
import type { Attempts } from "./auth/login-attempts.ts";
import { bearerToken, pathOf } from "./auth/bearer.ts";
import { originTrouble, type HostRules } from "./auth/allowed-hosts.ts";
import type { RemoteOf } from "./auth/remote-address.ts";
import { webFiles } from "./web-files.ts";

type Handle = (context: Context<{ Bindings: HttpBindings }>) => Promise<Response>;

/** Routes that programs call. */
export interface ProgramRoutes {
  readonly complete: Handle;
  readonly models: Handle;
  readonly model: Handle;
  readonly hook: Handle;
  /** This gateway for other agents (Model Context Protocol). */
  readonly mcp: Handle;
  /** Pages that agents show, for whoever has a link. */
  readonly canvas: Handle;
  /** The documentation, for everybody. */
  readonly docs: Handle;
}

export interface HttpOptions {
  readonly hosts: HostRules;
  /** Says whether work can be taken; the reasons stay inside. */
  readonly health: () => { readonly ok: boolean };
  /** Returns the handler of POST /telegram/<account>; null where the account has no webhook. */
  readonly webhook: (account: string) => WebhookHandler | null;
  readonly programs: ProgramRoutes;
  /** Folder of the built web page; null serves none. */
  readonly webRoot: string | null;
  /** Numbers for callers with a token, or as the config says; null serves none. */
  readonly metrics: MetricsPage | null;
  readonly remoteOf: RemoteOf;
  readonly attempts: Pick<Attempts, "wrong">;
  readonly refusals: Refusals;
  readonly log: Log;
}

export interface MetricsPage {
  /** Checks that the request's token may read; rejects with Fault. */
  readonly admit: (request: IncomingMessage) => Promise<void>;
  /** True when programs of this machine need no token. */
  readonly openOnLoopback: () => boolean;
  readonly text: () => Promise<string>;
}

const securityHeaders: { readonly [name: string]: string } = {
  // Forbids inline scripts and other sites; a picture from elsewhere would leak what the agent wrote into its
  // URL. Text becomes markup only by the policy of the library that draws the page (`lit-html`).
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; frame-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lit-html parley-worker",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** The viewer of canvases stands beside a conversation too: the console may hold it in a frame. */
const viewerPath = "/canvas.html";
const viewerHeaders: typeof securityHeaders = {
  ...securityHeaders,
  "content-security-policy": (securityHeaders["content-security-policy"] ?? "").replace(
    "frame-ancestors 'none'",
    "frame-ancestors 'self'",
  ),
};

/**
 * The frame that draws an agent's diagram: it runs two scripts of ours and sends nothing anywhere. Its
 * sandbox gives it an origin of its own, for which those scripts are another's.
 */
const diagramHeaders: typeof securityHeaders = {
  ...securityHeaders,
  "content-security-policy":
    "sandbox allow-scripts; default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'none'; form-action 'none'; base-uri 'none'; frame-src 'none'; frame-ancestors 'self'; webrtc 'block'",
  "permissions-policy": "camera=(), microphone=(), geolocation=(), clipboard-read=(), display-capture=()",
  "x-dns-prefetch-control": "off",
};
const diagramScriptHeaders: typeof securityHeaders = {
  ...securityHeaders,
  "cross-origin-resource-policy": "cross-origin",
};

const headersByPath: ReadonlyMap<string, typeof securityHeaders> = new Map([
  [viewerPath, viewerHeaders],
  ["/diagram.html", diagramHeaders],
  ["/diagram.js", diagramScriptHeaders],
  ["/mermaid.js", diagramScriptHeaders],
]);

type App = Hono<{ Bindings: HttpBindings }>;

export function httpApp(options: HttpOptions): App {
  const { hosts, health, webhook, programs, webRoot, metrics, remoteOf, attempts, refusals, log } = options;
  const app: App = new Hono();
  const note = (
    { env: { incoming } }: Here,
    reason: RefusalReason,
    { address, origin } = remoteOf(incoming),
  ): void =>
    refusals.note(reason, address, {
      address,
      ...(origin === null ? {} : { origin }),
      path: pathOf(incoming),
    });
  app.onError((error, context) => {
    // A client that leaves during a request is not our error and must not fill the log.
    if (error === context.env.incoming.errored) return context.body(null, 400);
    log.error({ error, path: context.req.path }, "an HTTP request failed");
    return context.text("something went wrong; the log says what\n", 500);
  });

  // Placed before the host rules: Telegram calls the proxy's public name, and no web page can send its secret
  // header.
  app.post("/telegram/:account", async (context) => {
    const handler = webhook(context.req.param("account"));
    if (handler === null) return context.notFound();
    const { incoming } = context.env;
    // Read before the body, because a request that was cut has no address any more.
    const from = remoteOf(incoming);
    // Passes the body as a stream, so it is read only after the secret was checked.
    const { status } = await handler(incoming.headers, incoming);
    if (status === 413) note(context, "body_too_large", from);
    if (status !== 401) return context.body(null, status);
    if (incoming.headers["x-telegram-bot-api-secret-token"] === undefined)
      note(context, "no_credential", from);
    else {
      const { code, retryAfterMs = 0 } = await attempts.wrong(from, "wrong_token", "the secret is wrong");
      if (code === "rate_limited")
        return context.body(null, 429, { "retry-after": String(Math.ceil(retryAfterMs / 1_000)) });
    }
    return context.body(null, 401);
  });

  // A scraper does not use our host name either: its token is enough, and no web page has one.
  app.get("/metrics", async (context, next) => {
    if (metrics === null || bearerToken(context.req.header("authorization")) === null) return next();
    try {
      await metrics.admit(context.env.incoming);
    } catch (error) {
      if (!isFault(error)) throw error;
      if (error.retryAfterMs !== undefined)
        context.header("retry-after", String(Math.ceil(error.retryAfterMs / 1_000)));
      return context.text(
        `${error.message}\n`,
        error.code === "rate_limited" ? 429 : error.code === "denied" ? 401 : 503,
      );
    }
    return numbers(context, metrics);
  });

  // Placed before the host rules too: a webhook's token or signature is enough.
  app.post("/hooks/:name", (context) => programs.hook(unkept(context)));
  app.all("/hooks/:name", (context) => {
    context.header("allow", "POST");
    return context.json({ ok: false, error: "a webhook is called by POST" }, 405);
  });

  app.use(async (context, next) => {
    const { method, path } = context.req;
    // The same two scripts for everybody, for a frame whose origin is nobody's.
    const isForFrame = method === "GET" && headersByPath.get(path) === diagramScriptHeaders;
    const origin = isForFrame ? undefined : context.req.header("origin");
    const trouble = originTrouble({ host: context.req.header("host"), origin }, hosts);
    if (trouble !== null) {
      note(context, trouble.reason);
      return context.text(`${trouble.text}\n`, 403);
    }
    await next();
    for (const [name, value] of Object.entries(headersByPath.get(path) ?? securityHeaders))
      if (!context.res.headers.has(name)) context.header(name, value);
  });

  app.get("/healthz", (context) => unkept(context).json({ ok: true }));
  app.get("/readyz", (context) => {
    const { ok } = health();
    return unkept(context).json({ ok }, ok ? 200 : 503);
  });
  app.get("/metrics", (context) => {
    if (metrics === null) return context.notFound();
    // Behind a proxy everybody comes from this machine, and the proxy's headers name the client.
    const { headers } = context.env.incoming;
    const isDirect =
      headers["forwarded"] === undefined &&
      headers["x-forwarded-for"] === undefined &&
      headers["via"] === undefined;
    if (metrics.openOnLoopback() && isDirect && isLoopback(remoteOf(context.env.incoming).address))
      return numbers(context, metrics);
    note(context, "no_credential");
    context.header("www-authenticate", "Bearer");
    return context.text('a token with the scope "read" is needed: Authorization: Bearer ...\n', 401);
  });
  app.post("/v1/chat/completions", (context) => programs.complete(context));
  app.post("/mcp", (context) => programs.mcp(unkept(context)));
  // Nothing is told without being asked, and no session is kept.
  app.on(["GET", "DELETE"], "/mcp", (context) => {
    context.header("allow", "POST");
    return context.body(null, 405);
  });
  app.all("/canvas/*", (context) => programs.canvas(context));
  app.get("/docs", (context) => programs.docs(context));
  app.get("/docs/*", (context) => programs.docs(context));
  app.get("/v1/models", (context) => programs.models(context));
  app.get("/v1/models/*", (context) => programs.model(context));
  if (webRoot !== null) app.get("*", webFiles(webRoot));
  app.notFound((context) => {
    // Browsers ask for an icon; a request with a token or a body meant a path that is missing.
    const isLook = context.req.method === "GET" && context.req.header("authorization") === undefined;
    if (!isLook) note(context, "path");
    return context.text("not found\n", 404);
  });
  return app;
}

type Here = Context<{ Bindings: HttpBindings }>;

function isLoopback(address: string): boolean {
  return address === "::1" || address.startsWith("127.");
}

async function numbers(context: Here, { text }: MetricsPage): Promise<Response> {
  context.header("cache-control", "no-store");
  context.header("content-type", metricsContentType);
  return context.body(await text());
}

function unkept<C extends Context>(context: C): C {
  context.header("cache-control", "no-store");
  return context;
}
