// What the control plane's port says over plain HTTP: whether the daemon lives, whether it is ready, and the web page. Public: nothing
// of that depends on who asks, and nothing tells more than that. Webhooks come in here too; their secret is their channel's to check.
import { readFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { extname, join } from "node:path";
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

type Handle = (context: Context<{ Bindings: HttpBindings }>) => Promise<Response>;

/** What programs call. */
export interface ProgramRoutes {
  readonly complete: Handle;
  readonly models: Handle;
  readonly model: Handle;
  readonly hook: Handle;
}

export interface HttpOptions {
  readonly hosts: HostRules;
  /** Whether work can be taken; the reasons stay inside. */
  readonly health: () => { readonly ok: boolean };
  /** What takes POST /telegram/<account>; null where the account has no webhook. */
  readonly webhook: (account: string) => WebhookHandler | null;
  readonly programs: ProgramRoutes;
  /** The built web page; null serves none. */
  readonly webRoot: string | null;
  /** Numbers for whoever shows a token, or as the config has it; null: nobody gets any. */
  readonly metrics: MetricsPage | null;
  readonly remoteOf: RemoteOf;
  readonly attempts: Pick<Attempts, "wrong">;
  readonly refusals: Refusals;
  readonly log: Log;
}

export interface MetricsPage {
  /** Whether the request's token may read; rejects with Fault. */
  readonly admit: (request: IncomingMessage) => Promise<void>;
  /** Programs of this machine need no token. */
  readonly openOnLoopback: () => boolean;
  readonly text: () => Promise<string>;
}

const contentTypes: { readonly [extension: string]: string } = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".webmanifest": "application/manifest+json",
};

const securityHeaders: { readonly [name: string]: string } = {
  // No inline script and no other site; pictures from elsewhere would leak what the agent wrote into their URLs.
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

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
    // A client that leaves in mid-request is no trouble of ours, and must not be able to fill the log.
    if (error === context.env.incoming.errored) return context.body(null, 400);
    log.error({ error, path: context.req.path }, "an HTTP request failed");
    return context.text("something went wrong; the log says what\n", 500);
  });

  // Before the rules about hosts: Telegram comes under the public name of a proxy, and no page can send its secret header.
  app.post("/telegram/:account", async (context) => {
    const handler = webhook(context.req.param("account"));
    if (handler === null) return context.notFound();
    const { incoming } = context.env;
    // Asked before the body is read: a request that was cut has no address any more.
    const from = remoteOf(incoming);
    // The body goes on as a stream: it is read only once the secret was right.
    const { status } = await handler(incoming.headers, incoming);
    if (status === 413) note(context, "body_too_large", from);
    if (status !== 401) return context.body(null, status);
    if (incoming.headers["x-telegram-bot-api-secret-token"] === undefined)
      note(context, "no_credential", from);
    else if (isFault(await attempts.wrong(from, "wrong_token", "the secret is wrong"), "rate_limited"))
      return context.body(null, 429);
    return context.body(null, 401);
  });

  // Nor does a scraper come under a name of ours: a token is its leave, and no page has one to show.
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

  // For the same reason, and so is its signature.
  app.post("/hooks/:name", (context) => programs.hook(unkept(context)));

  app.use(async (context, next) => {
    const trouble = originTrouble(
      { host: context.req.header("host"), origin: context.req.header("origin") },
      hosts,
    );
    if (trouble !== null) {
      note(context, trouble.reason);
      return context.text(`${trouble.text}\n`, 403);
    }
    await next();
    for (const [name, value] of Object.entries(securityHeaders)) context.header(name, value);
  });

  app.get("/healthz", (context) => unkept(context).json({ ok: true }));
  app.get("/readyz", (context) => {
    const { ok } = health();
    return unkept(context).json({ ok }, ok ? 200 : 503);
  });
  app.get("/metrics", (context) => {
    if (metrics === null) return context.notFound();
    // Behind a proxy everybody comes from this machine; proxies say for whom they ask.
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
  app.get("/v1/models", (context) => programs.models(context));
  app.get("/v1/models/*", (context) => programs.model(context));
  if (webRoot !== null) app.get("*", (context) => page(context, webRoot));
  app.notFound((context) => {
    // A browser looks for an icon; whoever shows a token or sends something meant a path that is not there.
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

/** One folder deep at most and no leading dots: such a path cannot leave the root. */
const servedPath = /^\/(?:assets\/)?[A-Za-z0-9_-][A-Za-z0-9._-]*$/;

async function page(context: Context, webRoot: string): Promise<Response> {
  const path = context.req.path === "/" ? "/index.html" : context.req.path;
  const type = contentTypes[extname(path)];
  if (type === undefined || !servedPath.test(path)) return context.notFound();
  let bytes: Buffer<ArrayBuffer>;
  try {
    bytes = await readFile(join(webRoot, path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return missing(context, path);
    throw error;
  }
  context.header("content-type", type);
  // Assets carry a hash of their content in their names.
  context.header(
    "cache-control",
    path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-cache",
  );
  return context.body(bytes);
}

function missing(context: Context, path: string): Response | Promise<Response> {
  if (path !== "/index.html") return context.notFound();
  return context.text("The web page is not built: run `pnpm --filter @parley/web build`.\n", 503);
}
