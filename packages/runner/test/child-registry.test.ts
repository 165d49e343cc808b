// What is known of sub-agents, over ends that come while one is killed and over more than a store lists at
// once.
import { formatRowPayload, type SessionKey } from "@parley/protocol";
import { directMessage, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import type { Cell, Cells } from "@parley/store";
import { endingChild } from "../src/sessions/child-ending.ts";
import { childRegistry, endedChild, newChild, type Child } from "../src/sessions/child-registry.ts";

const parent = "agent:main:telegram:dm:olga" as SessionKey;

function childNamed(id: string): Child {
  return {
    v: 1,
    id,
    session: `agent:main:subagent:${id}`,
    parent,
    turn: `${parent}#1`,
    label: id,
    task: "dig",
    mode: "run",
    model: null,
    startedAtMs: 0,
    asker: { session: parent, pool: "main", epoch: 1, reply: "push", hops: 0 },
    runs: 1,
    killed: false,
    end: null,
  };
}

const task = {
  kind: "task",
  id: "aaaaaaaaaaaa-1",
  turn: "t",
  asker: childNamed("a").asker,
  run: { label: "l" },
};

function cellsOf(children: readonly Child[]) {
  const kept = new Map<string, Cell>();
  let version = 0;
  const put: Cells["put"] = async (key, value, { expect: expected }) => {
    if (expected !== undefined && (kept.get(key)?.version ?? 0) !== expected) return null;
    const cell = { key, value, version: ++version, expiresAtMs: null };
    kept.set(key, cell);
    return cell;
  };
  for (const child of children) {
    const { key, value } = newChild(child);
    void put(key, value ?? "", {});
  }
  const get: Cells["get"] = async (key) => kept.get(key) ?? null;
  const list: Cells["list"] = async (prefix, limit) =>
    [...kept.values()]
      .filter(({ key }) => key.startsWith(prefix))
      .toSorted((a, b) => (a.key < b.key ? -1 : 1))
      .slice(0, limit);
  return { get, put, list };
}

test("a child that ends while it is killed keeps its end", async () => {
  const child = childNamed("aaaaaaaaaaaa-1");
  const cells = cellsOf([child]);
  const seen = childRegistry(cells);
  const end = { state: "answered", text: "dug", reason: null, tokens: 1 } as const;
  let ended = false;
  const racing = childRegistry({
    ...cells,
    async put(key, value, how) {
      if (!ended) {
        ended = true;
        const written = endedChild(child, end, 5);
        await cells.put(written.key, written.value ?? "", {});
      }
      return cells.put(key, value, how);
    },
  });
  await racing.kill(child);
  expect(await seen.get(child.id)).toMatchObject({ killed: false, end: { state: "answered" } });
});

test("all children are found, however many there are", async () => {
  const many = Array.from({ length: 2_345 }, (_, nth) =>
    childNamed(
      `${((nth * 2_654_435_761) % 2 ** 32).toString(16).padStart(12, "0").split("").toReversed().join("")}-1`,
    ),
  );
  const found = await childRegistry(cellsOf(many)).below(parent);
  expect(new Set(found.map(({ id }) => id)).size).toBe(2_345);
});

test("a run goes on while a sub-agent of its own works, or a row of it waits; a kill, and an end that is not well, end it at once", async () => {
  const child = childNamed("aaaaaaaaaaaa-1");
  const below = { ...childNamed("bbbbbbbbbbbb-1"), parent: child.session };
  const end = (state: "answered" | "failed") => ({ state, text: "dug", reason: null, tokens: 1 }) as const;
  const over = { ...end("answered"), atMs: 1 };
  const work = {
    conversation: "telegram:default:dm:7",
    payload: formatRowPayload({ v: 1, inbound: directMessage(), owner: true, internal: task } as never),
  };
  const ends = async (
    state: "answered" | "failed",
    children: readonly Child[],
    waiting: readonly object[] = [],
  ) => {
    const { cells } = await endingChild(
      [work as never],
      end(state),
      child.session as SessionKey,
      {
        children: childRegistry(cellsOf(children)),
        inbox: { find: async ({ id }: { id?: string }) => (id === undefined ? waiting : []) },
        threads: { threadsOf: () => [] },
        sessions: { open: async () => ({ epoch: 1 }) },
        placeOf: () => null,
        clock: virtualClock(),
      } as never,
    );
    return cells.length === 1;
  };
  expect([
    await ends("answered", [child]),
    await ends("answered", [child, below]),
    await ends("answered", [child, { ...below, end: over }]),
    await ends("answered", [child, { ...below, parent: below.session }]),
    await ends("answered", [child], [work]),
    await ends("failed", [child, below], [work]),
    await ends("answered", [{ ...child, killed: true }, below], [work]),
    await ends("answered", [{ ...child, end: over }]),
  ]).toEqual([true, false, true, true, false, true, true, false]);
});
