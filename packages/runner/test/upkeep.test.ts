// Two owners, or two processes, who decide about the same proposal of the notes' upkeep: one of them is first, and
// nothing is done twice or remembered of what did not happen. Real notes, a real store, time that stands still.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { noRedaction } from "@parley/agent";
import { memoryEngine } from "@parley/memory";
import { silentLog } from "@parley/protocol";
import { sqliteStore, type Cells } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { noteUpkeep } from "../src/memory/upkeep.ts";

const dayMs = 86_400_000;
const note = "memory/2026-01-01.md";
const olga = { person: "telegram:olga", name: "Olga", owner: true };
const ann = { person: "telegram:ann", name: "Ann", owner: true };
const dm = { channel: "telegram", account: "default", kind: "dm", peer: "olga" } as const;
const merge = {
  kind: "merge",
  lines: [`${note}#L1`, `${note}#L2`],
  text: "The ferry to Hven leaves at nine.",
  why: "the same",
} as const;

async function setUp() {
  const workspace = await mkdtemp(join(tmpdir(), "parley-upkeep-"));
  onTestFinished(() => rm(workspace, { recursive: true, force: true }));
  await mkdir(join(workspace, "memory"));
  await writeFile(
    join(workspace, note),
    "- Ferry to Hven leaves at nine.\n- The ferry to Hven leaves at nine\n- It rained\n",
  );
  const clock = virtualClock();
  const store = await sqliteStore({
    path: ":memory:",
    clock,
    log: silentLog,
    bootId: "boot",
    onFatal: (error: unknown): never => {
      throw error;
    },
  });
  onTestFinished(() => store.close());
  /** A process of its own over the same store; `meanwhile` runs once, after the first read of a proposal. */
  function process(meanwhile?: () => Promise<unknown>) {
    let left = meanwhile;
    const cells: Cells = {
      ...store.cells,
      async get(key) {
        const cell = await store.cells.get(key);
        if (!key.startsWith("memory-proposal:") || left === undefined) return cell;
        const now = left;
        left = undefined;
        await now();
        return cell;
      },
    };
    return noteUpkeep({
      machine: { home: workspace, memory: { engine: memoryEngine({ clock }) } as never },
      config: {
        agents: {
          list: [{ id: "main", workspace, memorySearch: { embedder: null, sources: [] } }],
          defaults: { userTimezone: "UTC" },
        },
      } as never,
      cells,
      outbox: store.outbox,
      owners: async () => [olga.person],
      ownersAt: async () => [dm],
      redaction: noRedaction,
      clock,
      log: silentLog,
    });
  }
  async function propose(call = "c1", changes: readonly object[] = [merge]) {
    const scope = { agent: "main", session: "agent:main:cron:memory-upkeep-main", turn: "t1", callId: call };
    const { text, effects } = await process().propose(scope as never, changes as never, 100_000);
    for (const { key, value, ttlMs } of effects?.cells ?? [])
      await store.cells.put(key, value ?? "", ttlMs === undefined ? {} : { ttlMs });
    await store.outbox.post(effects?.deliveries ?? []);
    return { text, id: /Proposed as (\w+)/.exec(text)?.[1] ?? "none" };
  }
  const count = async (prefix: string) => (await store.cells.list(prefix, 100)).length;
  return { clock, store, process, propose, count, read: () => readFile(join(workspace, note), "utf8") };
}
const said = (work: Promise<string>): Promise<string> =>
  work.catch(({ code, message }: { code: string; message: string }) => `${code}: ${message}`);
const busy = "conflict: somebody else decides about it just now";

test("what another owner accepts while one refuses is written, and counts as refused nowhere", async () => {
  const { process, propose, count, read } = await setUp();
  const { id } = await propose();
  const other = process();
  expect(await said(process(() => other.accept(id, ann)).refuse(id, olga))).toBe(busy);
  expect(await read()).toContain("The ferry to Hven leaves at nine.");
  expect(await count("memory-refused:")).toBe(0);
  expect((await other.list()).map(({ state, by }) => [state, by?.name])).toEqual([["accepted", "Ann"]]);
  expect(await said(process().refuse(id, olga))).toMatch(/^conflict: this was decided before: /);
});

test("what another owner refuses while one accepts changes no note, and is not proposed again", async () => {
  const { process, propose, count, read } = await setUp();
  const before = await read();
  const { id } = await propose();
  const other = process();
  expect(await said(process(() => other.refuse(id, ann)).accept(id, olga))).toBe(busy);
  expect([await read(), await count("memory-refused:")]).toEqual([before, 1]);
  expect((await propose("c2")).text).toMatch(/an owner has refused a change of these lines/);
  expect(await said(process().accept(id, olga))).toMatch(/^conflict: this was decided before: /);
});

test("a press that comes again says what became of it, to whoever decided; two who accept at once write once", async () => {
  const { process, propose, store, read } = await setUp();
  const { id } = await propose();
  const other = process();
  expect(await said(process(() => other.accept(id, ann)).accept(id, olga))).toBe(busy);
  const words = await said(process().accept(` ${id.toUpperCase()} `, ann));
  expect(words).toContain("Ann");
  expect(await said(process().accept(id, olga))).toMatch(/^conflict: this was decided before: /);
  expect((await read()).match(/ferry/gi)).toHaveLength(1);
  const settled = (await store.outbox.find({ limit: 20 })).length;
  await process().heal();
  expect((await store.outbox.find({ limit: 20 })).length).toBe(settled);
  expect(await said(process().accept(id, { ...ann, owner: false }))).toMatch(/^denied: /);
  expect(await said(process().accept("none", ann))).toBe('missing: there is no proposal "none"');
});

test("what a process left when it died is done by the next: the notes of what was accepted, the marks of what was refused", async () => {
  const { clock, process, propose, store, count, read } = await setUp();
  const { id } = await propose();
  await process().refuse(id, olga);
  for (const { key } of await store.cells.list("memory-refused:", 9)) await store.cells.remove(key);
  await clock.advance(dayMs - 1);
  await process().heal();
  expect(await count("memory-refused:")).toBe(1);
  for (const { key } of await store.cells.list("memory-refused:", 9)) await store.cells.remove(key);
  const again = await propose("c2");
  const [kept] = await store.cells.list(`memory-proposal:${again.id}`, 1);
  const accepting = {
    ...JSON.parse(kept?.value ?? "{}"),
    state: "accepting",
    chosen: [0],
    by: { person: olga.person, name: "Olga" },
  };
  await store.cells.put(`memory-proposal:${again.id}`, JSON.stringify(accepting), {});
  await process().heal();
  expect((await read()).match(/ferry/gi)).toHaveLength(1);
  expect((await process().list())[0]).toMatchObject({ id: again.id, state: "accepted" });
});

test("a proposal is open for a week, to the millisecond, and then nobody decides about it", async () => {
  const { clock, process, propose, read } = await setUp();
  const before = await read();
  const { id } = await propose();
  const waits = "waits for an owner already";
  await clock.advance(7 * dayMs - 1);
  expect((await propose("c2")).text).toContain(waits);
  expect((await process().list()).map(({ state }) => state)).toEqual(["open"]);
  await clock.advance(1);
  expect(await said(process().accept(id, olga))).toMatch(/^conflict: this was decided before: /);
  expect((await process().list()).map(({ state }) => state)).toEqual(["expired"]);
  expect(await read()).toBe(before);
  expect((await propose("c3")).text).toMatch(/^Proposed as/);
});

test("of several changes only those that are named by their numbers are made; a line is in one change alone", async () => {
  const { process, propose, read } = await setUp();
  const { text, id } = await propose("c1", [
    merge,
    { ...merge, text: "Another." },
    { ...merge, lines: [`${note}#L1`] },
  ]);
  expect(text).toContain("1 changes");
  expect(text).toContain("another change of this proposal has one of them");
  expect(text).toContain("name two or more lines of one group");
  for (const number of [0, 2])
    expect(await said(process().accept(id, olga, [number]))).toBe(
      `invalid: there is no change ${number}: there are 1`,
    );
  await process().accept(id, olga, [1, 1]);
  expect((await read()).match(/ferry/gi)).toHaveLength(1);
});
