// Canvases as whoever has a link gets them, in virtual time: how long a viewer waits for news, how often one
// may press, and every refusal whole.
import { Readable } from "node:stream";
import { guestRole } from "@parley/channels";
import {
  canvasPolicy,
  Fault,
  systemIds,
  withBridge,
  type ConversationKey,
  type Inbound,
} from "@parley/protocol";
import { canvasId, canvasLink } from "@parley/runner";
import { virtualClock } from "@parley/testkit";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import { canvasPages } from "../../src/api/canvas-pages.ts";
import { memoryStore } from "../receive/store.ts";

const session = "agent:main:telegram:dm:42";
const id = canvasId(session);
const dm = "telegram:default:dm:42" as ConversationKey;
const web = "web:default:dm:web-1" as ConversationKey;

async function world() {
  const clock = virtualClock({ startMs: 1_700_000_000_000 });
  const { cells, close } = await memoryStore(clock);
  onTestFinished(close);
  const received: Inbound[] = [];
  const wrong: unknown[] = [];
  const noted: unknown[] = [];
  const closing = new AbortController();
  let open = true;
  let isMuch = false;
  let refused: readonly string[] = [];
  const handle = canvasPages({
    cells,
    receive: (async (events: readonly Inbound[]) => {
      received.push(...events);
      return { refused };
    }) as never,
    isOpen: () => open,
    attempts: {
      wrong: async (...what: readonly unknown[]) => {
        wrong.push(what);
        return isMuch
          ? new Fault("rate_limited", "told otherwise", { retryAfterMs: 1_500 })
          : new Fault("denied", "told otherwise");
      },
    } as never,
    remoteOf: () => ({ address: "10.0.0.9", origin: null }),
    refusals: { note: (...what: readonly unknown[]) => void noted.push(what) } as never,
    closing: closing.signal,
    clock,
    ids: systemIds(),
  });
  const app = new Hono<never>().all("*", handle as never);
  const send = async (
    method: string,
    path: string,
    body: unknown = "",
    headers: object = {},
    signal?: AbortSignal,
  ) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await app.request(path, { method, headers: { ...headers }, signal: signal ?? null }, {
      incoming: Object.assign(Readable.from([Buffer.from(text)]), { url: path }),
    } as never);
    const said = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    expect(response.headers.get("cache-control")).toBe("no-store");
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(said) : said };
  };
  const shows = async (change: object = {}, page: object | null = {}) => {
    const canvas = { v: 1, id, session, agent: "main", title: "Shop", version: 1, shown: true, atMs: 1 };
    await cells.put(`canvas:${id}`, JSON.stringify({ ...canvas, ...change }), {});
    const { version } = { ...canvas, ...change };
    const written = { html: "<h1>Shop</h1>", scripts: [], ...page };
    if (page !== null) await cells.put(`canvas-page:${id}:${version}`, JSON.stringify(written), {});
  };
  await shows();
  const opened = async (to: ConversationKey | null) => {
    const { path, cell } = canvasLink(systemIds(), id, to);
    await cells.put(cell.key, cell.value ?? "", {});
    const { body } = await send("POST", "/canvas/open", { code: path.slice(path.indexOf("#") + 1) });
    expect(Object.keys(body).toSorted()).toEqual(["page", "token"]);
    const { token, page } = body as { readonly token: string; readonly page: string };
    return { page, by: { authorization: `Bearer ${token}` } };
  };
  return {
    clock,
    cells,
    received,
    wrong,
    noted,
    closing,
    send,
    shows,
    opened,
    shut: () => (open = false),
    tooMany: () => (isMuch = true),
    refuse: (ids: readonly string[]) => (refused = ids),
  };
}

test("a viewer without news waits 25 seconds, hears a change within one, and nothing longer than the gateway runs", async () => {
  const { clock, closing, send, shows, opened } = await world();
  const { by } = await opened(dm);
  const first = { shown: true, title: "Shop", version: 1, scripts: [], presses: true, mark: "1.0" };
  expect((await send("GET", "/canvas/state", "", by)).body).toEqual(first);
  const ask = (seen: string) => {
    const startMs = clock.now();
    let tookMs: number | null = null;
    const answer = send("GET", `/canvas/state?seen=${seen}`, "", by);
    void answer.then(() => (tookMs = clock.now() - startMs));
    return { answer, took: () => tookMs };
  };
  const waits = ask("1.0");
  for (let seconds = 0; seconds < 24; seconds += 1) await clock.advance(1_000);
  expect(waits.took()).toBeNull();
  await clock.advance(1_000);
  expect((await waits.answer).body).toEqual(first);
  expect(waits.took()).toBe(25_000);

  // A clock on the wall that is set ahead shortens no wait.
  const patient = ask("1.0");
  await clock.advance(1_000);
  clock.jumpWall(600_000);
  await clock.advance(23_000);
  expect(patient.took()).toBeNull();
  await clock.advance(1_000);
  expect((await patient.answer).status).toBe(200);

  const hears = ask("1.0");
  await clock.advance(2_500);
  await shows({ title: "Shop 2" }, { scripts: ["a()", "b()"] });
  await clock.advance(500);
  expect((await hears.answer).body).toEqual({
    ...first,
    title: "Shop 2",
    scripts: ["a()", "b()"],
    mark: "1.2",
  });
  expect(hears.took()).toBe(3_000);
  await shows({ shown: false });
  expect((await ask("1.2").answer).body).toEqual({ shown: false, mark: "hidden", presses: false });
  // A canvas whose page is gone shows nothing either.
  await shows({ version: 7 }, null);
  expect((await ask("").answer).body).toEqual({ shown: false, mark: "hidden", presses: false });
  const last = ask("hidden");
  await clock.advance(0);
  closing.abort();
  await clock.advance(1_000);
  expect((await last.answer).status).toBe(200);
  expect(clock.armed()).toBe(0);
});

test("a viewer that left is waited for no longer, and two hundred wait at once: one more is answered as it is", async () => {
  const { clock, send, opened } = await world();
  const { by } = await opened(dm);
  const leaves = new AbortController();
  let left = false;
  const leaving = send("GET", "/canvas/state?seen=1.0", "", by, leaves.signal);
  void leaving.finally(() => (left = true));
  await clock.advance(1_000);
  leaves.abort();
  expect(left).toBe(false);
  await clock.advance(1_000);
  await leaving;
  let answers = 0;
  const wait = () =>
    send("GET", "/canvas/state?seen=1.0", "", by).then(({ body }) => {
      answers += 1;
      return body as { readonly mark: string };
    });
  const waiting = Array.from({ length: 200 }, wait);
  await clock.advance(5_000);
  expect(answers).toBe(0);
  expect((await wait()).mark).toBe("1.0");
  await clock.advance(20_000);
  await Promise.all(waiting);
  expect([answers, clock.armed()]).toEqual([201, 0]);
});

test("what is pressed is a message in the place of its link, from the web without its person's rights", async () => {
  const { clock, received, send, opened, refuse } = await world();
  const pressed = { key: "press-01", value: { n: 1 } };
  const taken = { status: 202, body: { ok: true } };
  expect(await send("POST", "/canvas/event", pressed, (await opened(dm)).by)).toMatchObject(taken);
  expect(await send("POST", "/canvas/event", pressed, (await opened(web)).by)).toMatchObject(taken);
  const said = (channel: string, peer: string, roles: object = {}) => ({
    id: `${channel}:default:canvas:${id}:press-01`,
    channel,
    account: "default",
    address: { channel, account: "default", kind: "dm", peer },
    sender: { id: peer, name: peer, isBot: false, ...roles },
    messageId: `canvas:${id}:press-01`,
    kind: "message",
    text: 'Pressed in the canvas "Shop": {"n":1}',
    attachments: [],
    mentions: [],
    addressed: true,
    atMs: clock.now(),
  });
  expect(received).toEqual([said("telegram", "42"), said("web", "web-1", { roles: [guestRole] })]);
  refuse([`telegram:default:canvas:${id}:press-01`]);
  expect(await send("POST", "/canvas/event", pressed, (await opened(dm)).by)).toMatchObject({
    status: 403,
    body: { error: "you may not write to this agent" },
  });
  expect((await send("POST", "/canvas/event", pressed, (await opened(web)).by)).status).toBe(202);
});

test("sixty presses a minute are taken of each place; a minute after the first the next one is", async () => {
  const { clock, send, opened } = await world();
  const [here, there] = [await opened(dm), await opened(web)];
  const press = async (n: number, by: object) =>
    (await send("POST", "/canvas/event", { key: `press-${1_000 + n}`, value: n }, by)).status;
  for (let n = 0; n < 60; n += 1) {
    expect(await press(n, here.by)).toBe(202);
    await clock.advance(100);
  }
  expect([await press(60, here.by), await press(61, there.by)]).toEqual([429, 202]);
  // Another link to the same place has no presses of its own.
  expect(await press(62, (await opened(dm)).by)).toBe(429);
  await clock.advance(54_000);
  expect(await press(63, here.by)).toBe(429);
  await clock.advance(1);
  expect([await press(64, here.by), await press(65, here.by)]).toEqual([202, 429]);
});

test("every refusal is told whole, wrong links are counted, and nothing is received", async () => {
  const { send, opened, received, wrong, noted, shut, tooMany } = await world();
  const { by, page } = await opened(dm);
  const shown = async (...what: Parameters<typeof send>) => {
    const { status, body } = await send(...what);
    return [status, typeof body === "string" ? body : (body as { error: string }).error];
  };
  const press = { key: "press-01", value: 1 };
  const form = '{"key": "…", "value": …} of at most 4000 characters';
  const old = "the link is no longer good: ask for another";
  const used = "this link was used before, or is too old: ask for another";
  expect(await shown("POST", "/canvas/open", {})).toEqual([400, 'a body {"code": "…"} is expected']);
  expect(await shown("POST", "/canvas/open", { code: "x" })).toEqual([401, used]);
  expect(await shown("POST", "/canvas/open", { code: "x".repeat(128) })).toEqual([401, used]);
  expect((await shown("POST", "/canvas/open", { code: "x".repeat(129) }))[0]).toBe(400);
  const bad = { authorization: "Bearer x" };
  expect(await shown("POST", "/canvas/event", press, bad)).toEqual([401, old]);
  const from = { address: "10.0.0.9", origin: null };
  expect(wrong).toEqual([
    [from, "wrong_token", used],
    [from, "wrong_token", used],
    [from, "wrong_token", old],
  ]);
  tooMany();
  expect(await shown("GET", "/canvas/state", "", bad)).toEqual([429, old]);
  const slowed = await send("POST", "/canvas/open", { code: "x" });
  expect([slowed.status, slowed.headers.get("retry-after")]).toEqual([429, "2"]);
  // Whoever shows no token guesses none.
  expect(await shown("GET", "/canvas/state?seen=1")).toEqual([401, old]);
  expect([wrong.length, noted]).toEqual([
    5,
    [["no_credential", "10.0.0.9", { address: "10.0.0.9", path: "/canvas/state" }]],
  ]);
  const looks = await opened(null);
  expect((await send("GET", "/canvas/state", "", looks.by)).body).toMatchObject({ presses: false });
  expect(await shown("POST", "/canvas/event", press, looks.by)).toEqual([
    403,
    "this link only shows: it was sent where several people read",
  ]);
  for (const key of ["1234567", "x".repeat(65), "with space", "press-01\n"])
    expect(await shown("POST", "/canvas/event", { key, value: 1 }, by)).toEqual([400, form]);
  const deep = `{"key":"press-01","value":${"[".repeat(7_000)}${"]".repeat(7_000)}}`;
  for (const body of [{ ...press, value: "x".repeat(3_999) }, deep])
    expect(await shown("POST", "/canvas/event", body, by)).toEqual([400, form]);
  expect(await shown("GET", "/canvas/page/short")).toEqual([404, "there is no such page"]);
  for (const [method, path] of [
    ["GET", "/canvas/open"],
    ["POST", "/canvas/state"],
    ["GET", "/canvas/event"],
    ["POST", `/canvas/page/${page}`],
    ["GET", "/canvas"],
  ] as const)
    expect(await shown(method, path)).toEqual([404, "there is no such page"]);
  for (const into of ["document", "embed", "object", "frame", "empty"])
    expect(await shown("GET", `/canvas/page/${page}`, "", { "sec-fetch-dest": into })).toEqual([
      403,
      "a canvas is shown in its viewer\n",
    ]);
  expect((await send("GET", `/canvas/page/${page}`, "", { "sec-fetch-dest": "iframe" })).status).toBe(200);
  shut();
  expect(await shown("POST", "/canvas/event", press, by)).toEqual([
    503,
    "the gateway takes no work now; try again",
  ]);
  expect(received).toEqual([]);
});

test("the longest key and value are taken; the page has its policy also where nothing is shown", async () => {
  const { send, shows, opened, received } = await world();
  const { by, page } = await opened(dm);
  for (const key of ["12345678", "x".repeat(64)])
    expect((await send("POST", "/canvas/event", { key, value: "x".repeat(3_998) }, by)).status).toBe(202);
  expect(received).toHaveLength(2);
  // A body has sixteen kibibytes, spaces and all.
  const padded = (bytes: number) => `{"key":"12345678","value":1}`.padEnd(bytes);
  expect((await send("POST", "/canvas/event", padded(16_384), by)).status).toBe(202);
  expect((await send("POST", "/canvas/event", padded(16_385), by)).status).toBe(400);
  const policy = {
    "content-security-policy": canvasPolicy,
    "permissions-policy": "camera=(), microphone=(), geolocation=(), clipboard-read=(), display-capture=()",
    "x-dns-prefetch-control": "off",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
  };
  const shown = await send("GET", `/canvas/page/${page}`);
  expect(shown.body).toBe(withBridge("<h1>Shop</h1>"));
  expect([shown.status, Object.fromEntries(shown.headers)]).toMatchObject([
    200,
    { ...policy, "content-type": "text/html; charset=UTF-8" },
  ]);
  await shows({ shown: false });
  const hidden = await send("GET", `/canvas/page/${page}`);
  expect([hidden.status, hidden.body, Object.fromEntries(hidden.headers)]).toMatchObject([
    404,
    "nothing is shown\n",
    policy,
  ]);
});
