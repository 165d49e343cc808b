// The canvas tool's calls: pages of a session, one after the other, what people are told of them, and links
// from outside that work once.
import { formatRowPayload, parseContent, type ConversationKey, type SessionKey } from "@parley/protocol";
import type { CellWrite, SqliteStore } from "@parley/store";
import { directMessage, seededIds, virtualClock, type VirtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { canvasLink, canvasOfTicket, canvasView, openCanvasLink } from "../src/canvas/canvas-links.ts";
import { canvasPort } from "../src/canvas/canvas-port.ts";
import { memoryStore } from "./store.ts";

const dm = "telegram:work:dm:5" as ConversationKey;
const day = 86_400_000;
let clock: VirtualClock;
let store: SqliteStore;
const ids = seededIds(3);
beforeEach(async () => {
  clock = virtualClock();
  store = await memoryStore(clock);
  onTestFinished(() => store.close());
});

const scopeOf = (more: object = {}) =>
  ({
    turn: "t1",
    callId: "c1",
    agent: "main",
    session: "agent:main:telegram:dm:5" as SessionKey,
    conversation: dm,
    ...more,
  }) as never;
const scope = scopeOf();

function portOf({
  publicUrl,
  rows = [],
  enabled = true,
}: {
  readonly publicUrl?: string;
  readonly rows?: readonly object[];
  readonly enabled?: boolean;
} = {}) {
  const port = canvasPort({
    config: { canvas: { enabled }, gateway: { publicUrl } },
    cells: store.cells,
    inbox: { find: async (what: unknown) => (expect(what).toEqual({ turn: "t1", limit: 200 }), rows) },
    redaction: { secrets: ["hunter2-secret"], stateDirs: [], workspaces: [] },
    clock,
    ids,
  } as never);
  const keep = async (cells: readonly CellWrite[] = []): Promise<void> => {
    for (const { key, value, ttlMs, expect: version } of cells)
      if (value === null) await store.cells.remove(key);
      else
        await store.cells.put(key, value, {
          ...(ttlMs === undefined ? {} : { ttlMs }),
          ...(version === undefined ? {} : { expect: version }),
        });
  };
  return {
    port,
    async present(request: object, of = scope, picture: object | null = null) {
      const drawn: string[] = [];
      const draw = async (html: string) => (drawn.push(html), picture);
      const done = await port.present(of, { html: "<p>1", draw, ...request } as never);
      await keep(done.effects?.cells);
      const [delivery] = done.effects?.deliveries ?? [];
      const content = parseContent(delivery?.parts[0]?.content ?? "");
      return { text: done.text, drawn, delivery, parts: content.kind === "reply" ? content.parts : [] };
    },
    async update(request: object) {
      const done = await port.update(scope, { html: "<p>2", ...request } as never);
      await keep(done.effects?.cells);
      return done.text;
    },
    async hide() {
      const done = await port.hide(scope);
      await keep(done.effects?.cells);
      return done.text;
    },
    async script(script: string) {
      const { cells } = await port.scripted(scope, script);
      await keep(cells);
    },
  };
}
const file = { path: "/p.png", mediaType: "image/png", bytes: 1, name: "p.png" };

test("a page is told of with a picture, a link or both, in the conversation, and a secret in it is hidden", async () => {
  const linked = portOf({ publicUrl: "https://gate.example" });
  const first = await linked.present({ title: "My *page*", html: "<p>hunter2-secret" });
  expect([first.text, first.drawn[0]?.includes("hunter2")]).toEqual([
    "Version 1 is shown: a link goes out here by itself.",
    false,
  ]);
  expect(first.delivery).toMatchObject({ id: "canvas:t1:c1", pool: "telegram:work", lane: dm, cause: "t1" });
  const url = expect.stringMatching(/^https:\/\/gate\.example\/canvas\.html#[\w]{32}$/);
  expect(first.parts).toEqual([
    { kind: "text", markdown: "🖼 **My \\*page\\***", buttons: [[{ label: "Open", url }]] },
  ]);
  const second = await portOf({ publicUrl: "https://gate.example/p/" }).present({}, scope, file);
  expect(second.text).toBe("Version 2 is shown: a picture and a link goes out here by itself.");
  expect(second.parts).toMatchObject([
    { kind: "media", media: "image", files: [file] },
    {
      markdown: "🖼 **My \\*page\\***",
      buttons: [[{ url: expect.stringMatching(/^https:\/\/gate\.example\/p\/canvas\.html#/) }]],
    },
  ]);
  const third = await portOf().present({ title: "hunter2-secret" }, scope, file);
  expect(third.text).toBe(
    "Version 3 is shown: a picture goes out here by itself. gateway.publicUrl is not set, so there is no link.",
  );
  expect(JSON.stringify(third.parts)).not.toMatch(/hunter2|Open/);
  await expect(portOf().present({})).rejects.toMatchObject({ code: "unsupported" });
  // The console shows it beside the chat: no picture is drawn.
  const web = await portOf().present(
    { title: " " },
    scopeOf({ conversation: "web:default:dm:p1", session: "agent:main:web:dm:p1" }),
  );
  expect([web.drawn, web.text]).toEqual([[], "Version 1 is shown: a link goes out here by itself."]);
  expect(web.parts).toMatchObject([
    { markdown: "🖼 **Canvas**", buttons: [[{ url: expect.stringMatching(/^canvas\.html#/) }]] },
  ]);
});

test("a page is shown only where people read along", async () => {
  const unseen = {
    payload: formatRowPayload({
      v: 1,
      inbound: directMessage(),
      owner: true,
      internal: { kind: "schedule", id: "j", turn: "", unseen: true },
    }),
  };
  const denied = {
    code: "denied",
    message: "nobody reads this turn's conversation, so nobody could see a canvas",
  };
  await expect(portOf({ publicUrl: "https://x", rows: [unseen] }).present({})).rejects.toMatchObject(denied);
  await expect(
    portOf({ publicUrl: "https://x" }).present({}, scopeOf({ conversation: "hook:default:dm:main%2Fci" })),
  ).rejects.toMatchObject(denied);
  expect([portOf().port.unavailable(), portOf({ enabled: false }).port.unavailable()]).toEqual([
    null,
    "canvas.enabled is false",
  ]);
});

test("a page is updated in its place, run scripts in, hidden and shown anew, with its title and its number", async () => {
  const of = portOf({ publicUrl: "https://x" });
  const missing = { code: "missing", message: "no canvas is shown here: present one" };
  await expect(of.update({})).rejects.toMatchObject(missing);
  await expect(of.port.shown(scope)).rejects.toMatchObject(missing);
  await of.present({ title: "Page" });
  await of.script("one()");
  await of.script("two('hunter2-secret')");
  expect(await of.port.shown(scope)).toEqual({
    title: "Page",
    version: 1,
    html: "<p>1",
    scripts: ["one()", expect.stringMatching(/^two\('(?!hunter2)/)],
  });
  await clock.advance(1_000);
  expect(await of.update({})).toBe("Version 2 is in its place; whoever has it open sees it.");
  await of.update({ title: "New" });
  expect(await of.port.shown(scope)).toEqual({ title: "New", version: 3, html: "<p>2", scripts: [] });
  expect(await of.hide()).toBe("It is hidden.");
  for (const call of [of.hide, () => of.update({}), () => of.script("x"), () => of.port.shown(scope)])
    await expect(call()).rejects.toMatchObject(missing);
  expect((await of.present({})).text).toMatch(/^Version 4 /);
  expect((await of.port.shown(scope)).title).toBe("New");
});

test("a hundred scripts run in one page, and the next page takes as many again", async () => {
  const of = portOf({ publicUrl: "https://x" });
  await of.present({});
  for (let n = 0; n < 100; n += 1) await of.script(`s${n}`);
  await expect(of.script("more")).rejects.toMatchObject({
    code: "invalid",
    message: "100 scripts ran in this page: update it with a new one",
  });
  expect((await of.port.shown(scope)).scripts.at(-1)).toBe("s99");
  await of.update({});
  await of.script("first");
  expect((await of.port.shown(scope)).scripts).toEqual(["first"]);
});

test("a link works once within a day, its view a week, and one of a group is nobody's", async () => {
  const made = async (conversation: string | null) => {
    const { path, cell } = canvasLink(ids, "canvas1", conversation as ConversationKey | null);
    await store.cells.put(cell.key, cell.value ?? "", { ttlMs: cell.ttlMs ?? 0 });
    expect(JSON.stringify(cell)).not.toContain(path.split("#")[1]);
    return path.split("#")[1] ?? "";
  };
  const code = await made(dm);
  await clock.advance(day - 1);
  const view = await openCanvasLink(store.cells, ids, code);
  if (view === null) throw new Error("the link does not work");
  const { token, ...seen } = view;
  expect(seen).toEqual({ id: "canvas1", to: dm, ticket: expect.stringMatching(/^\w{32}$/) });
  expect(token).not.toBe(seen.ticket);
  expect(await openCanvasLink(store.cells, ids, code)).toBeNull();
  expect(await openCanvasLink(store.cells, ids, "nonsense")).toBeNull();
  await clock.advance(7 * day - 1);
  expect([await canvasView(store.cells, token), await canvasOfTicket(store.cells, seen.ticket)]).toEqual([
    seen,
    "canvas1",
  ]);
  expect([await canvasView(store.cells, seen.ticket), await canvasOfTicket(store.cells, token)]).toEqual([
    null,
    null,
  ]);
  await clock.advance(1);
  expect([await canvasView(store.cells, token), await canvasOfTicket(store.cells, seen.ticket)]).toEqual([
    null,
    null,
  ]);
  const old = await made(dm);
  await clock.advance(day);
  expect(await openCanvasLink(store.cells, ids, old)).toBeNull();
  for (const shared of ["telegram:work:group:-1", null])
    expect((await openCanvasLink(store.cells, ids, await made(shared)))?.to).toBeNull();
});

test("of two who open one link at once, one sees it, and the other leaves nothing behind", async () => {
  const { path, cell } = canvasLink(ids, "canvas1", dm);
  await store.cells.put(cell.key, cell.value ?? "", {});
  const code = path.split("#")[1] ?? "";
  const opened = await Promise.all([
    openCanvasLink(store.cells, ids, code),
    openCanvasLink(store.cells, ids, code),
  ]);
  expect(opened.filter((view) => view !== null)).toHaveLength(1);
  expect([
    (await store.cells.list("canvas-view:", 10)).length,
    (await store.cells.list("canvas-ticket:", 10)).length,
  ]).toEqual([1, 1]);
});
