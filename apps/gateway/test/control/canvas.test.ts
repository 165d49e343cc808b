// Canvases over HTTP: links that work once, pages under a policy of their own, presses that are messages.
import { expect, test } from "vitest";
import { systemIds, type ConversationKey, type Inbound } from "@parley/protocol";
import { canvasId, canvasLink } from "@parley/runner";
import { startControl, type Fixture } from "./control-fixture.ts";

const session = "agent:main:telegram:dm:42";
const dm = "telegram:default:dm:42" as ConversationKey;
const group = "telegram:default:group:-5" as ConversationKey;
const id = canvasId(session);
const state = { v: 1, id, session, agent: "main", title: "Shop", version: 1, shown: true, atMs: 1 };

interface World {
  readonly control: Fixture;
  readonly received: Inbound[];
  link(to: ConversationKey | null): Promise<string>;
  post(path: string, body: unknown, token?: string): Promise<Response>;
  get(path: string, headers?: Record<string, string>): Promise<Response>;
  shows(change: object, page?: object): Promise<void>;
}

async function begin(): Promise<World> {
  const received: Inbound[] = [];
  const control = await startControl({
    receive: async (events) => {
      received.push(...(events as readonly Inbound[]));
      return { refused: [] };
    },
  });
  const { cells } = control.store;
  const url = `http://127.0.0.1:${control.server.port}`;
  const shows = async (change: object, page: object = {}): Promise<void> => {
    await cells.put(`canvas:${id}`, JSON.stringify({ ...state, ...change }), {});
    const version = "version" in change ? change.version : 1;
    const written = { html: "<h1>Shop</h1>", scripts: [], ...page };
    await cells.put(`canvas-page:${id}:${String(version)}`, JSON.stringify(written), {});
  };
  await shows({});
  return {
    control,
    received,
    shows,
    async link(to) {
      const { path, cell } = canvasLink(systemIds(), id, to);
      await cells.put(cell.key, cell.value ?? "", {});
      return path.slice(path.indexOf("#") + 1);
    },
    post: (path, body, token) =>
      fetch(url + path, {
        method: "POST",
        body: typeof body === "string" ? body : JSON.stringify(body),
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      }),
    get: (path, headers = {}) => fetch(url + path, { headers }),
  };
}

async function opened(w: World, to: ConversationKey | null): Promise<{ token: string; page: string }> {
  const answer = await w.post("/canvas/open", { code: await w.link(to) });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { token: string; page: string };
}

test("a code is traded once; a wrong, used or misspelt one is refused", async () => {
  const w = await begin();
  const code = await w.link(dm);
  const both = await Promise.all([w.post("/canvas/open", { code }), w.post("/canvas/open", { code })]);
  expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401]);
  expect((await w.post("/canvas/open", { code })).status).toBe(401);
  expect((await w.post("/canvas/open", { code: "x" })).status).toBe(401);
  for (const bad of ["", "{", "[]", '{"code":5}', `{"code":"${"x".repeat(20_000)}"}`])
    expect((await w.post("/canvas/open", bad)).status).toBe(400);
});

test("the page comes in a sandbox without a network, and only into its frame", async () => {
  const w = await begin();
  const { page } = await opened(w, dm);
  const answer = await w.get(`/canvas/page/${page}`, { "sec-fetch-dest": "iframe" });
  expect(answer.status).toBe(200);
  const policy = answer.headers.get("content-security-policy") ?? "";
  for (const rule of [
    "sandbox allow-scripts;",
    "default-src 'none'",
    "connect-src 'none'",
    "form-action 'none'",
  ])
    expect(policy).toContain(rule);
  expect(policy).not.toContain("allow-same-origin");
  expect(answer.headers.get("cache-control")).toBe("no-store");
  const html = await answer.text();
  expect(html).toContain("<h1>Shop</h1>");
  // The bridge stands before the page's own scripts.
  expect(html).toContain("parley-canvas-send");
  expect(html.indexOf("parley-canvas-send")).toBeLessThan(html.indexOf("<h1>"));
  expect((await w.get(`/canvas/page/${page}`, { "sec-fetch-dest": "document" })).status).toBe(403);
  expect((await w.get("/canvas/page/none-of-them")).status).toBe(404);
});

test("its ticket opens the page and nothing else", async () => {
  const w = await begin();
  const { page } = await opened(w, dm);
  expect((await w.get("/canvas/state", { authorization: `Bearer ${page}` })).status).toBe(401);
  const press = { key: "12345678", value: 1 };
  expect((await w.post("/canvas/event", press, page)).status).toBe(401);
  expect(w.received).toEqual([]);
});

test("a viewer is told of changes at once, and of a page that was hidden", async () => {
  const w = await begin();
  const { token, page } = await opened(w, dm);
  const headers = { authorization: `Bearer ${token}` };
  const first = (await (await w.get("/canvas/state", headers)).json()) as { mark: string };
  expect(first).toMatchObject({ shown: true, title: "Shop", version: 1, scripts: [], presses: true });
  await w.shows({ version: 2, title: "Shop 2" }, { scripts: ["go()"] });
  const next = await (await w.get(`/canvas/state?seen=${first.mark}`, headers)).json();
  expect(next).toMatchObject({ version: 2, title: "Shop 2", scripts: ["go()"] });
  await w.shows({ version: 2, shown: false });
  expect(await (await w.get(`/canvas/state?seen=2.1`, headers)).json()).toMatchObject({ shown: false });
  expect((await w.get(`/canvas/page/${page}`)).status).toBe(404);
});

test("a press is one message of the link's person, however often it is sent", async () => {
  const w = await begin();
  const { token } = await opened(w, dm);
  const press = { key: "press-0001", value: { event: "buy", fields: { n: "2" } } };
  for (let times = 0; times < 2; times += 1)
    expect((await w.post("/canvas/event", press, token)).status).toBe(202);
  expect(new Set(w.received.map((inbound) => inbound.id))).toEqual(
    new Set([`telegram:default:canvas:${id}:press-0001`]),
  );
  expect(w.received[0]).toMatchObject({
    kind: "message",
    sender: { id: "42" },
    address: { channel: "telegram", kind: "dm", peer: "42" },
    addressed: true,
    text: `Pressed in the canvas "Shop": {"event":"buy","fields":{"n":"2"}}`,
  });
});

test("what is no press, too much, or comes by a link for many is refused", async () => {
  const w = await begin();
  const { token } = await opened(w, dm);
  for (const bad of [{}, { key: "short", value: 1 }, { key: "press-0001" }, "{", "x".repeat(20_000)])
    expect((await w.post("/canvas/event", bad, token)).status).toBe(400);
  expect((await w.post("/canvas/event", { key: "press-0001", value: "x".repeat(5_000) }, token)).status).toBe(
    400,
  );
  const shared = await opened(w, group);
  expect((await w.post("/canvas/event", { key: "press-0001", value: 1 }, shared.token)).status).toBe(403);
  const looked = await opened(w, null);
  expect((await w.post("/canvas/event", { key: "press-0001", value: 1 }, looked.token)).status).toBe(403);
  expect(w.received).toEqual([]);
  for (let n = 0; n < 60; n += 1)
    expect((await w.post("/canvas/event", { key: `press-${1_000 + n}`, value: n }, token)).status).toBe(202);
  expect((await w.post("/canvas/event", { key: "press-9999", value: 1 }, token)).status).toBe(429);
});
