// Serves canvases to whoever has a link: a code is traded for a token once, the page comes under a policy of
// its own, and what is pressed in it becomes a message of the link's person, by the same way as any other.
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { guestRole, type Receive } from "@parley/channels";
import { type ApiCallers, bearerToken, pathOf, readBody, TooLarge } from "@parley/control";
import {
  canvasMessage,
  canvasPolicy,
  parseConversationKey,
  sleep,
  withBridge,
  type Clock,
  type Ids,
  type Inbound,
} from "@parley/protocol";
import {
  canvasOf,
  canvasOfTicket,
  canvasView,
  openCanvasLink,
  pageOf,
  type CanvasView,
} from "@parley/runner";
import type { Cells } from "@parley/store";
import { z } from "zod";
import { jsonDepth } from "./hook-body.ts";

export interface CanvasPagesOptions extends Pick<
  ApiCallers,
  "attempts" | "remoteOf" | "refusals" | "closing"
> {
  readonly cells: Cells;
  readonly receive: Receive;
  /** False while the gateway takes no work. */
  readonly isOpen: () => boolean;
  readonly clock: Clock;
  readonly ids: Ids;
}

type In = Context<{ Bindings: HttpBindings }>;

const bodyBytes = 16_384;
const sentChars = 4_000;
const mostDepth = 100;
const openBody = z.object({ code: z.string().min(1).max(128) });
const eventBody = z.object({ key: z.string().regex(/^[\w-]{8,64}$/), value: z.json() });
/** A viewer asks again after this long without news. */
const waitMs = 25_000;
const lookEveryMs = 1_000;
const mostEventsAMinute = 60;
const mostWaiting = 200;

const pageHeaders: { readonly [name: string]: string } = {
  "content-security-policy": canvasPolicy,
  "permissions-policy": "camera=(), microphone=(), geolocation=(), clipboard-read=(), display-capture=()",
  "x-dns-prefetch-control": "off",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

export function canvasPages(options: CanvasPagesOptions): (context: In) => Promise<Response> {
  const { cells, receive, isOpen, attempts, remoteOf, refusals, closing, clock, ids } = options;
  /** Times of the events of the last minute, by canvas and conversation. */
  const events = new Map<string, number[]>();
  let waiting = 0;

  async function viewOf(context: In): Promise<CanvasView | Response> {
    const token = bearerToken(context.req.header("authorization"));
    const say = "the link is no longer good: ask for another";
    if (token !== null) return (await canvasView(cells, token)) ?? wrong(context, say);
    // Whoever shows no token guesses none.
    const { incoming } = context.env;
    const { address } = remoteOf(incoming);
    refusals.note("no_credential", address, { address, path: pathOf(incoming) });
    return context.json({ error: say }, 401);
  }

  async function wrong(context: In, say: string): Promise<Response> {
    const { code, retryAfterMs } = await attempts.wrong(remoteOf(context.env.incoming), "wrong_token", say);
    if (retryAfterMs !== undefined) context.header("retry-after", String(Math.ceil(retryAfterMs / 1_000)));
    return context.json({ error: say }, code === "rate_limited" ? 429 : 401);
  }

  async function bodyOf<T>(context: In, schema: z.ZodType<T>): Promise<T | null> {
    try {
      const text = (await readBody(context.env.incoming, bodyBytes)).toString("utf8");
      // The check of a value goes down into it, and would find the end of the stack.
      return jsonDepth(text) > mostDepth ? null : (schema.safeParse(JSON.parse(text)).data ?? null);
    } catch (error) {
      if (error instanceof SyntaxError || error instanceof TooLarge) return null;
      throw error;
    }
  }

  async function stateOf(
    view: CanvasView,
  ): Promise<{ readonly mark: string; readonly shown: boolean; readonly [fact: string]: unknown }> {
    const kept = await canvasOf(cells, view.id);
    const page = kept === null || !kept.canvas.shown ? null : await pageOf(cells, kept.canvas);
    if (kept === null || page === null) return { shown: false, mark: "hidden", presses: false };
    const { title, version } = kept.canvas;
    const { scripts } = page;
    const presses = view.to !== null;
    return { shown: true, title, version, scripts, presses, mark: `${version}.${scripts.length}` };
  }

  async function open(context: In): Promise<Response> {
    const body = await bodyOf(context, openBody);
    if (body === null) return context.json({ error: 'a body {"code": "…"} is expected' }, 400);
    const view = await openCanvasLink(cells, ids, body.code);
    if (view === null) return wrong(context, "this link was used before, or is too old: ask for another");
    return context.json({ token: view.token, page: view.ticket });
  }

  /** Answers at once when the viewer's mark is old, else with the next change. */
  async function state(context: In): Promise<Response> {
    const view = await viewOf(context);
    if (view instanceof Response) return view;
    const seen = context.req.query("seen") ?? "";
    const untilMs = clock.mono() + waitMs;
    waiting += 1;
    try {
      for (;;) {
        const now = await stateOf(view);
        const isOver = clock.mono() >= untilMs || closing.aborted || waiting > mostWaiting;
        if (now.mark !== seen || isOver || context.req.raw.signal.aborted) return context.json(now);
        await sleep(clock, lookEveryMs);
      }
    } finally {
      waiting -= 1;
    }
  }

  async function page(context: In): Promise<Response> {
    // Outside of its frame nothing would keep the page from leading whoever looks at it elsewhere.
    const into = context.req.header("sec-fetch-dest");
    if (into !== undefined && into !== "iframe")
      return context.text("a canvas is shown in its viewer\n", 403);
    const id = await canvasOfTicket(cells, context.req.path.slice(context.req.path.lastIndexOf("/") + 1));
    const kept = id === null ? null : await canvasOf(cells, id);
    const found = kept === null || !kept.canvas.shown ? null : await pageOf(cells, kept.canvas);
    for (const [name, value] of Object.entries(pageHeaders)) context.header(name, value);
    return found === null ? context.text("nothing is shown\n", 404) : context.html(withBridge(found.html));
  }

  async function press(context: In): Promise<Response> {
    const view = await viewOf(context);
    if (view instanceof Response) return view;
    if (view.to === null)
      return context.json({ error: "this link only shows: it was sent where several people read" }, 403);
    const body = await bodyOf(context, eventBody);
    const text = body === null ? "" : JSON.stringify(body.value);
    if (body === null || text.length > sentChars)
      return context.json({ error: `{"key": "…", "value": …} of at most ${sentChars} characters` }, 400);
    if (!isOpen()) return context.json({ error: "the gateway takes no work now; try again" }, 503);
    if (!mayPress(`${view.id} ${view.to}`)) return context.json({ error: "too many at once" }, 429);
    const title = (await canvasOf(cells, view.id))?.canvas.title ?? "Canvas";
    const address = parseConversationKey(view.to);
    const said = `${canvasMessage}${view.id}:${body.key}`;
    const inbound: Inbound = {
      id: `${address.channel}:${address.account}:${said}`,
      channel: address.channel,
      account: address.account,
      address,
      // A page's rights come from its token, which a link does not carry.
      sender: {
        id: address.peer,
        name: address.peer,
        isBot: false,
        ...(address.channel === "web" ? { roles: [guestRole] } : {}),
      },
      messageId: said,
      kind: "message",
      text: `Pressed in the canvas ${JSON.stringify(title)}: ${text}`,
      attachments: [],
      mentions: [],
      addressed: true,
      atMs: clock.now(),
    };
    const taken = await receive([inbound]);
    if (taken?.refused.includes(inbound.id) === true)
      return context.json({ error: "you may not write to this agent" }, 403);
    return context.json({ ok: true }, 202);
  }

  function mayPress(who: string): boolean {
    const now = clock.now();
    for (const [key, times] of events) if ((times.at(-1) ?? 0) < now - 60_000) events.delete(key);
    const recent = (events.get(who) ?? []).filter((atMs) => atMs >= now - 60_000);
    if (recent.length >= mostEventsAMinute) return false;
    events.set(who, [...recent, now]);
    return true;
  }

  return async (context) => {
    const { method, path } = context.req;
    context.header("cache-control", "no-store");
    if (method === "POST" && path === "/canvas/open") return open(context);
    if (method === "GET" && path === "/canvas/state") return state(context);
    if (method === "POST" && path === "/canvas/event") return press(context);
    if (method === "GET" && /^\/canvas\/page\/[\w-]{8,64}$/.test(path)) return page(context);
    return context.json({ error: "there is no such page" }, 404);
  };
}
