// What is known of sub-agents, over ends that come while one is killed and over more than a store lists at once.
import { expect, test } from "vitest";
import type { SessionKey } from "@parley/protocol";
import type { Cell, Cells } from "@parley/store";
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
