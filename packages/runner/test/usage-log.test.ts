// What a session uses beside its turns is counted, whatever is written in between.
import { expect, test } from "vitest";
import { noUsage, type SessionKey } from "@parley/protocol";
import type { Cell, Cells, CellWrite } from "@parley/store";
import { usageLog, usedBy, type Used } from "../src/usage/usage-log.ts";

const session = "agent:main:telegram:dm:olga" as SessionKey;

function memory(): Cells {
  const kept = new Map<string, Cell>();
  let version = 0;
  return {
    async put(key, value, { expect: expected }) {
      if (expected !== undefined && (kept.get(key)?.version ?? 0) !== expected) return null;
      const cell = { key, value, version: ++version, expiresAtMs: null };
      kept.set(key, cell);
      return cell;
    },
    get: async (key) => kept.get(key) ?? null,
    list: async (prefix) => [...kept.values()].filter(({ key }) => key.startsWith(prefix)),
    remove: async (key) => kept.delete(key),
    touch: async () => true,
  };
}

test("a side question that ends while a turn commits is counted, and so is one of another process", async () => {
  const cells = memory();
  const log = usageLog(cells, "UTC", { now: () => 0 });
  const spent = (inputTokens: number, beside: boolean) =>
    log.note({
      session,
      channel: "telegram:default",
      person: "telegram:olga",
      beside,
      models: usedBy({ entries: [], usage: { ...noUsage, inputTokens } }, { id: "a/b" }),
    });
  const put = async (cell: CellWrite | null) =>
    cell !== null &&
    (await cells.put(
      cell.key,
      cell.value ?? "",
      cell.expect === undefined ? {} : { expect: cell.expect },
    )) !== null;

  const turn = await spent(100, false);
  const [one, two] = [await spent(10, true), await spent(1, true)];
  expect(await put(one)).toBe(true);
  expect(await put(turn)).toBe(true);
  // The second was computed before the first was written, so it is noted again.
  expect(await put(two)).toBe(false);
  expect(await put(await spent(1, true))).toBe(true);

  const total = (rows: readonly { readonly inputTokens: number }[]): number =>
    rows.reduce((sum, { inputTokens }) => sum + inputTokens, 0);
  expect(total(await log.ofSession(session, [log.today()]))).toBe(111);
  const all = await log.rows([log.today()]);
  expect(total(all)).toBe(111);
  expect(new Set(all.map((row) => row.session))).toEqual(new Set([session]));
});

test("a person on two accounts, and another model, have lines of their own, and each figure is added to its own", async () => {
  const cells = memory();
  const log = usageLog(cells, "UTC", { now: () => 0 });
  const used = (by: number): Used => ({
    turns: by,
    inputTokens: by * 2,
    outputTokens: by * 4,
    cacheReadTokens: by * 8,
    cacheWriteTokens: by * 16,
    costUsd: by * 32,
    unpricedTokens: by * 64,
  });
  const olga = { channel: "telegram:default", person: "telegram:olga" };
  const work = { channel: "telegram:work", person: "telegram:olga" };
  const note = async (who: typeof olga, models: readonly (readonly [string, Used])[], beside?: boolean) => {
    const of = { session, ...who, ...(beside === undefined ? {} : { beside }), models: new Map(models) };
    const cell = await log.note(of);
    if (cell === null) throw new Error("nothing to write");
    await cells.put(cell.key, cell.value ?? "", {});
    return cell;
  };
  await note(olga, [["a/one", used(1)]]);
  await note(work, [["a/one", used(10)]]);
  const last = await note(olga, [
    ["a/two", used(100)],
    ["a/one", used(1_000)],
  ]);
  expect(last.expect).toBeUndefined();
  const first = await note(olga, [["a/one", used(5)]], true);
  const next = await note(olga, [["a/one", used(6)]], true);
  expect([first.key, first.expect, next.expect]).toEqual([`usage/1970-01-01/${session}/beside`, 0, 4]);
  const at = { day: "1970-01-01", session, agent: "main" };
  const rows = [
    { ...olga, model: "a/one", ...used(1_001), ...at },
    { ...work, model: "a/one", ...used(10), ...at },
    { ...olga, model: "a/two", ...used(100), ...at },
    { ...olga, model: "a/one", ...used(11), ...at },
  ];
  expect([await log.rows(["1970-01-01"]), await log.ofSession(session, ["1970-01-01"])]).toEqual([
    rows,
    rows,
  ]);
});
