// The canvases that an operator sees, and links that only show: over a real store.
import { seededIds } from "@parley/testkit";
import { canvasId, canvasView, openCanvasLink } from "@parley/runner";
import { expect, test } from "vitest";
import { canvasMethods } from "../../src/operator/sessions/canvases.ts";
import { operateFixture } from "./operate-fixture.ts";

const session = "agent:main:telegram:dm:7";

async function setUp(gateway: object = { port: 18_789 }) {
  const { store, clock } = await operateFixture();
  const ids = seededIds(1);
  const methods = canvasMethods({ store, ids, configNow: () => ({ gateway }) } as never);
  async function shows(of: string, atMs: number, more: object = {}) {
    const id = canvasId(of);
    const canvas = {
      v: 1,
      id,
      session: of,
      agent: "main",
      title: of,
      version: 1,
      shown: true,
      atMs,
      ...more,
    };
    await store.cells.put(`canvas:${id}`, JSON.stringify(canvas), {});
  }
  const link = (key: string) =>
    methods["canvas.link"]({ key }).catch(
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );
  return { store, clock, ids, methods, shows, link };
}

test("are listed newest first, also hidden ones, without what only the store needs", async () => {
  const { methods, shows } = await setUp();
  await shows("agent:main:main", 1);
  await shows(session, 3);
  await shows("agent:main:telegram:dm:8", 2, { shown: false, version: 4 });
  const { canvases } = await methods["canvas.list"]();
  expect(canvases.map(({ session: of, version, shown }) => [of, version, shown])).toEqual([
    [session, 1, true],
    ["agent:main:telegram:dm:8", 4, false],
    ["agent:main:main", 1, true],
  ]);
  expect(canvases[1]).toEqual({
    id: canvasId("agent:main:telegram:dm:8"),
    session: "agent:main:telegram:dm:8",
    agent: "main",
    title: "agent:main:telegram:dm:8",
    version: 4,
    shown: false,
    atMs: 2,
  });
});

test("a link shows one session's canvas, once, for a day, and sends nothing", async () => {
  const { store, clock, ids, shows, link } = await setUp();
  await shows(session, 1);
  const made = [await link(session), await link(session)] as { path: string; url: string }[];
  const codes = made.map(({ path }) => path.slice(path.indexOf("#") + 1));
  expect(made[0]).toEqual({
    path: `canvas.html#${codes[0]}`,
    url: `http://127.0.0.1:18789/canvas.html#${codes[0]}`,
  });
  const opened = await openCanvasLink(store.cells, ids, codes[0] ?? "");
  expect(opened).toMatchObject({ id: canvasId(session), to: null });
  expect(await canvasView(store.cells, opened?.token ?? "")).toMatchObject({
    id: canvasId(session),
    to: null,
  });
  expect(await openCanvasLink(store.cells, ids, codes[0] ?? "")).toBeNull();
  await clock.advance(86_400_000);
  expect(await openCanvasLink(store.cells, ids, codes[1] ?? "")).toBeNull();
});

test.each([
  [{ port: 0 }, null],
  [{ port: 0, publicUrl: "https://a.example" }, "https://a.example/"],
  [{ port: 1, publicUrl: "https://a.example/p" }, "https://a.example/p/"],
  [{ port: 1, publicUrl: "https://a.example/p/" }, "https://a.example/p/"],
])("behind %j a link begins with %s", async (gateway, base) => {
  const { shows, link } = await setUp(gateway);
  await shows(session, 1);
  const { path, url } = (await link(session)) as { path: string; url: string | null };
  expect(url).toBe(base === null ? null : base + path);
});

test("where none is shown there is no link", async () => {
  const { shows, link } = await setUp();
  const none = `missing: no canvas is shown in ${session}; "parley canvas list" shows where one is`;
  expect(await link(session)).toBe(none);
  await shows(session, 1, { shown: false });
  expect(await link(session)).toBe(none);
});
