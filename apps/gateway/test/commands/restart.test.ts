// Who may restart from a chat, when the daemon begins, and whom it tells once it is back: one store, several
// nodes.
import { silentLog, version } from "@parley/protocol";
import { directMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { chatRestart, restart } from "../../src/commands/decide/restart.ts";
import { operateFixture } from "../operator/operate-fixture.ts";

const begins = "I restart: what runs may end first, the rest goes on afterwards. I say here when I am back.";

async function setUp() {
  const { store, clock } = await operateFixture();
  let begun = 0;
  let trouble: string | null = null;
  const restarting = { trouble: async () => trouble, begin: () => void (begun += 1) };
  const on = (node: string, more: object = { restarting }) =>
    chatRestart({ ...more, cells: store.cells, outbox: store.outbox, node, clock, log: silentLog } as never);
  const told = async () =>
    (await store.outbox.find({ limit: 9 }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map(({ id, lane, cause, parts }) => [
        id,
        lane,
        cause,
        parts.map(({ content }) => JSON.parse(content).parts[0].markdown as string),
      ]);
  return { clock, on, told, begun: () => begun, fails: (why: string | null) => (trouble = why) };
}
const by = (id: string, peer = "7") => directMessage({ id, sender: { id: peer } });

test("it begins a moment after the answer, once for each request, and not for one that is over", async () => {
  const { clock, on, begun } = await setUp();
  const here = on("a");
  expect(await here.ask(by("u1"))).toBe(begins);
  await clock.advance(199);
  expect(begun()).toBe(0);
  await clock.advance(1);
  expect(begun()).toBe(1);
  expect(await here.ask(by("u1"))).toBe(begins);
  await clock.advance(1_000);
  expect(begun()).toBe(1);
  await on("a").restarted();
  expect(await here.ask(by("u1"))).toBeNull();
  expect(await here.ask(by("u2"))).toBe(begins);
  await clock.advance(200);
  expect(begun()).toBe(2);
});

test("each chat that asked hears of it once, in its own place, from the node that it asked, within a day", async () => {
  const { clock, on, told } = await setUp();
  await on("a").ask(by("u1", "7"));
  await on("a").ask(by("u2", "8"));
  await on("a:b").ask(by("u3", "9"));
  await on("a").restarted();
  await on("a").restarted();
  const back = [`I am back: Parley ${version}.`];
  const mine = [
    ["restarted:u1", "telegram:default:dm:7", "u1", back],
    ["restarted:u2", "telegram:default:dm:8", "u2", back],
  ];
  expect(await told()).toEqual(mine);
  await clock.advance(86_400_000);
  await on("a:b").restarted();
  expect(await told()).toEqual(mine);
});

test("where it would not come up again, or can only be stopped, nothing begins and nothing is told later", async () => {
  const { clock, on, told, begun, fails } = await setUp();
  fails("gateway.prot: no such key");
  expect(await on("a").ask(by("u1"))).toBe(
    "I do not restart: I would not come up again (gateway.prot: no such key).",
  );
  expect(await on("a", {}).ask(by("u2"))).toBe("I can only be stopped, and started again by hand.");
  await clock.advance(1_000);
  await on("a").restarted();
  expect([begun(), await told()]).toEqual([0, []]);
  // Mended, the same message works.
  fails(null);
  expect(await on("a").ask(by("u1"))).toBe(begins);
});

test("only an owner's word reaches the daemon", async () => {
  const daemon = { restart: async ({ id }: { id: string }) => `asked by ${id}` };
  const run = (owner: boolean) => restart.run({ inbound: by("u1"), owner } as never, { daemon } as never);
  expect([await run(true), await run(false)]).toEqual(["asked by u1", null]);
});
