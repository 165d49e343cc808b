// What the writes of a canvas leave in the store: versions, scripts in order, and nothing of other sessions.
import type { Cell, CellWrite } from "@parley/store";
import { expect, test } from "vitest";
import {
  allCanvases,
  canvasId,
  canvasOf,
  forgetCanvas,
  hiding,
  pageOf,
  scripting,
  showing,
  type Canvas,
} from "../src/canvas/canvas-store.ts";

const session = "agent:main:web:dm:p1";
const canvas = (version: number, more: Partial<Canvas> = {}): Canvas => ({
  v: 1,
  id: canvasId(session),
  session,
  agent: "main",
  title: `page ${version}`,
  version,
  shown: true,
  atMs: version * 10,
  ...more,
});

function cellsOf() {
  const kept = new Map<string, Cell>();
  let versions = 0;
  return {
    kept,
    get: async (key: string) => kept.get(key) ?? null,
    list: async (prefix: string, limit: number) =>
      [...kept.values()].filter(({ key }) => key.startsWith(prefix)).slice(0, limit),
    remove: async (key: string) => kept.delete(key),
    /** As one transaction: all writes, or none where a version is another. */
    write(writes: readonly CellWrite[]): boolean {
      const fits = writes.every(
        ({ key, expect: version }) => version === undefined || (kept.get(key)?.version ?? 0) === version,
      );
      if (!fits) return false;
      for (const { key, value } of writes)
        if (value === null || value === undefined) kept.delete(key);
        else kept.set(key, { key, value, version: (versions += 1), expiresAtMs: null });
      return true;
    },
  };
}

test("the newest page is shown, four older ones are kept, and two writers of one version are one", async () => {
  const cells = cellsOf();
  const { id } = canvas(1);
  for (let version = 1; version <= 7; version += 1) {
    const before = await canvasOf(cells, id);
    const writes = showing(before, canvas(version), { html: `<p>${version}`, scripts: [] });
    expect(writes.map(({ ttlMs, value }) => value === null || ttlMs === 30 * 86_400_000)).not.toContain(
      false,
    );
    expect([cells.write(writes), cells.write(writes)]).toEqual([true, false]);
  }
  expect((await canvasOf(cells, id))?.canvas).toEqual(canvas(7));
  const pages = [1, 2, 3, 4, 5, 6, 7].map((version) => pageOf(cells, { id, version }));
  expect((await Promise.all(pages)).map((page) => page?.html ?? null)).toEqual([
    null,
    null,
    ...[3, 4, 5, 6, 7].map((version) => `<p>${version}`),
  ]);
});

test("scripts follow in their order, hiding keeps the page, and both say when", async () => {
  const cells = cellsOf();
  cells.write(showing(null, canvas(1), { html: "<p>", scripts: [] }));
  const kept = async () => (await canvasOf(cells, canvasId(session))) ?? expect.fail("no canvas");
  const page = async () => (await pageOf(cells, canvas(1))) ?? expect.fail("no page");
  for (const [script, atMs] of [
    ["a()", 11],
    ["b()", 12],
  ] as const)
    cells.write(scripting(await kept(), await page(), script, atMs));
  expect([await page(), (await kept()).canvas]).toEqual([
    { html: "<p>", scripts: ["a()", "b()"] },
    canvas(1, { atMs: 12 }),
  ]);
  cells.write(hiding(await kept(), 13));
  expect([await page(), (await kept()).canvas]).toEqual([
    { html: "<p>", scripts: ["a()", "b()"] },
    canvas(1, { atMs: 13, shown: false }),
  ]);
});

test("all are listed, the newest first, and a session's goes with its pages and no other's", async () => {
  const cells = cellsOf();
  const others = ["agent:main:main", "agent:two:main"].map((key, nth) =>
    canvas(2, { id: canvasId(key), session: key, atMs: [5, 99][nth] ?? 0 }),
  );
  for (const each of [canvas(2), ...others])
    cells.write(showing(null, each, { html: each.session, scripts: [] }));
  expect((await allCanvases(cells)).map(({ atMs }) => atMs)).toEqual([99, 20, 5]);
  await forgetCanvas(cells, session);
  expect((await allCanvases(cells)).map(({ session: of }) => of)).toEqual([
    "agent:two:main",
    "agent:main:main",
  ]);
  expect([...cells.kept.keys()].filter((key) => key.startsWith("canvas-page:"))).toHaveLength(2);
});
