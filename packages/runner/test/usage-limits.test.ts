// What a turn's usage counts for, how much a day's cell names, and which cap refuses the next call: each
// one token or cent before it and at it, with whose it is, what runs meanwhile and what was read a minute
// ago.
import type { Config } from "@parley/config";
import type { Model, ModelEvent } from "@parley/models";
import {
  formatRowPayload,
  noUsage,
  silentLog,
  type ConversationKey,
  type LogFields,
  type SessionKey,
  type Usage,
} from "@parley/protocol";
import type { CellWrite, SqliteStore, Turn } from "@parley/store";
import { answerTable, directMessage, groupMessage, virtualClock } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { spendBeside } from "../src/usage/beside-turn.ts";
import { resetIn, spendLimits } from "../src/usage/spend-limits.ts";
import { wasToldOfLimit } from "../src/usage/told-once.ts";
import { addUsed, noneUsed, sumOf, usageLog, usedBy, type Used } from "../src/usage/usage-log.ts";
import { memoryStore } from "./store.ts";

let store: SqliteStore | undefined;
afterEach(async () => {
  await store?.close();
  store = undefined;
});

const tokens = (inputTokens: number, more: Partial<Usage> = {}): Usage => ({
  ...noUsage,
  inputTokens,
  ...more,
});
const said = (model: string, usage: Usage) =>
  ({ type: "assistant", content: [], model, stop: "stop", usage, atMs: 0 }) as const;

describe("a turn's usage", () => {
  test("counts for the models that answered, the rest for the one that was asked, and the turn for the first", () => {
    const user = { type: "user", content: [], rows: [], atMs: 0 } as const;
    const all: Usage = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 4, cacheWriteTokens: 8 };
    const ends: { readonly [what: string]: Parameters<typeof usedBy>[0] } = {
      nothing: { entries: [], usage: noUsage },
      "words of people": { entries: [user], usage: noUsage },
      "no answer": { entries: [], usage: all },
      "one without a price": { entries: [said("a/one", all)], usage: all },
      "one with a price": {
        entries: [said("a/one", { ...all, costUsd: 0.5 })],
        usage: { ...all, costUsd: 0.5 },
      },
      "two in turns and a summary": {
        entries: [
          said("b/two", tokens(5)),
          user,
          said("a/one", tokens(7, { costUsd: 1 })),
          said("b/two", tokens(3)),
        ],
        usage: tokens(20, { costUsd: 1.5 }),
      },
      "answers above the sum, of which nothing is taken away": {
        entries: [said("a/one", { ...all, costUsd: 2 })],
        usage: { ...noUsage, costUsd: 1 },
      },
      "a price alone": { entries: [], usage: tokens(0, { costUsd: 0.25 }) },
    };
    const used = (priced: boolean): string =>
      answerTable(Object.keys(ends), (what) => {
        const models = usedBy(
          ends[what] ?? { entries: [], usage: noUsage },
          priced ? { id: "a/asked", priced } : { id: "a/asked" },
        );
        const figures = [...models].map(([model, each]) => [model, ...Object.values(each)]);
        return [...figures, ["sum", ...Object.values(sumOf(models))]];
      });
    expect(Object.keys(noneUsed)).toEqual([
      "turns",
      "inputTokens",
      "outputTokens",
      "cacheReadTokens",
      "cacheWriteTokens",
      "costUsd",
      "unpricedTokens",
    ]);
    expect(used(false)).toMatchInlineSnapshot(`
      ""nothing"
        [["sum",0,0,0,0,0,0,0]]
      "words of people"
        [["sum",0,0,0,0,0,0,0]]
      "no answer"
        [["a/asked",1,1,2,4,8,0,15],["sum",1,1,2,4,8,0,15]]
      "one without a price"
        [["a/one",1,1,2,4,8,0,15],["sum",1,1,2,4,8,0,15]]
      "one with a price"
        [["a/one",1,1,2,4,8,0.5,0],["sum",1,1,2,4,8,0.5,0]]
      "two in turns and a summary"
        [["b/two",1,8,0,0,0,0,8],["a/one",0,7,0,0,0,1,0],["a/asked",0,5,0,0,0,0.5,0],["sum",1,20,0,0,0,1.5,8]]
      "answers above the sum, of which nothing is taken away"
        [["a/one",1,1,2,4,8,2,0],["sum",1,1,2,4,8,2,0]]
      "a price alone"
        [["a/asked",1,0,0,0,0,0.25,0],["sum",1,0,0,0,0,0.25,0]]
      "
    `);
    expect(used(true)).toMatchInlineSnapshot(`
      ""nothing"
        [["sum",0,0,0,0,0,0,0]]
      "words of people"
        [["sum",0,0,0,0,0,0,0]]
      "no answer"
        [["a/asked",1,1,2,4,8,0,0],["sum",1,1,2,4,8,0,0]]
      "one without a price"
        [["a/one",1,1,2,4,8,0,15],["sum",1,1,2,4,8,0,15]]
      "one with a price"
        [["a/one",1,1,2,4,8,0.5,0],["sum",1,1,2,4,8,0.5,0]]
      "two in turns and a summary"
        [["b/two",1,8,0,0,0,0,8],["a/one",0,7,0,0,0,1,0],["a/asked",0,5,0,0,0,0.5,0],["sum",1,20,0,0,0,1.5,8]]
      "answers above the sum, of which nothing is taken away"
        [["a/one",1,1,2,4,8,2,0],["sum",1,1,2,4,8,2,0]]
      "a price alone"
        [["a/asked",1,0,0,0,0,0.25,0],["sum",1,0,0,0,0,0.25,0]]
      "
    `);
  });
});

const session = "agent:main:telegram:dm:5" as SessionKey;
const one = { channel: "telegram:default", person: "telegram:5" };
const usedTokens = (inputTokens: number, costUsd = 0): Used => ({
  ...noneUsed,
  inputTokens,
  costUsd,
  turns: 1,
});

describe("the cell of a day", () => {
  test("names two hundred of persons and models, adds what it knows, and sums up all others", async () => {
    const clock = virtualClock();
    const { cells } = (store = await memoryStore(clock));
    const log = usageLog(cells, "UTC", clock);
    const write = async (models: ReadonlyMap<string, Used>, person = "telegram:5"): Promise<CellWrite> => {
      const cell = await log.note({ session, channel: "telegram:default", person, models });
      if (cell === null) throw new Error("nothing to write");
      await cells.put(cell.key, cell.value ?? "", {});
      return cell;
    };
    expect(await log.note({ session, ...one, models: new Map() })).toBeNull();
    const names = Array.from({ length: 199 }, (_, nth) => `m/${nth}`);
    await write(new Map(names.map((name) => [name, usedTokens(1)])));
    // The two hundredth has its line; the one after it has none, and what stands there goes on.
    const last = await write(
      new Map([
        ["m/199", usedTokens(10)],
        ["m/200", usedTokens(20)],
        ["m/201", usedTokens(30)],
        ["m/0", usedTokens(40)],
      ]),
    );
    await write(new Map([["m/0", usedTokens(50)]]), "telegram:6");
    expect({ ...last, value: "" }).toEqual({
      key: `usage/2026-01-01/${session}`,
      value: "",
      ttlMs: 64 * 86_400_000,
    });
    const rows = await log.ofSession(session, ["2026-01-01"]);
    expect(rows.filter(({ inputTokens }) => inputTokens > 1)).toEqual([
      { ...usedTokens(41), turns: 2, ...one, model: "m/0", day: "2026-01-01", session, agent: "main" },
      { ...usedTokens(10), ...one, model: "m/199", day: "2026-01-01", session, agent: "main" },
      {
        ...usedTokens(100),
        turns: 3,
        channel: "others",
        person: "others",
        model: "others",
        day: "2026-01-01",
        session,
        agent: "main",
      },
    ]);
    expect(rows).toHaveLength(201);
  });

  test("is that of the zone's day, and a list gives the days asked for, sessions and what was spent beside them", async () => {
    const clock = virtualClock({ startMs: Date.parse("2026-03-01T22:59:59Z") });
    const { cells } = (store = await memoryStore(clock));
    const log = usageLog(cells, "Europe/Berlin", clock);
    const put = async (of: SessionKey, beside: boolean, inputTokens: number): Promise<void> => {
      const cell = await log.note({
        session: of,
        ...one,
        beside,
        models: new Map([["m/a", usedTokens(inputTokens)]]),
      });
      if (cell !== null) await cells.put(cell.key, cell.value ?? "", {});
    };
    const other = "agent:main:telegram:dm:50" as SessionKey;
    expect(log.today()).toBe("2026-03-01");
    await put(session, false, 1);
    await clock.advance(1_000);
    expect(log.today()).toBe("2026-03-02");
    await put(session, false, 2);
    await put(session, true, 4);
    await put(other, false, 8);
    const read = async (days: readonly string[]) =>
      (await log.rows(days)).map((row) => [row.day, row.session, row.inputTokens]);
    expect(await read(["2026-03-02", "2026-03-01", "2026-02-28"])).toEqual([
      ["2026-03-02", session, 2],
      ["2026-03-02", session, 4],
      ["2026-03-02", other, 8],
      ["2026-03-01", session, 1],
    ]);
    const own = await log.ofSession(session, ["2026-03-01", "2026-03-02"]);
    expect(own.map(({ day, inputTokens }) => [day, inputTokens])).toEqual([
      ["2026-03-01", 1],
      ["2026-03-02", 2],
      ["2026-03-02", 4],
    ]);
  });
});

test("when a limit is over is said in hours up to two days, then in days begun, over leap days, years and clock changes", () => {
  const instants = [
    "2026-11-29T00:00:00Z",
    "2026-11-29T00:01:00Z",
    "2026-11-28T23:59:00Z",
    "2026-11-30T23:59:00Z",
    "2026-12-31T12:00:00Z",
    "2028-02-28T12:00:00Z",
    "2026-03-29T00:30:00Z",
    "2026-10-24T22:30:00Z",
    "2026-10-31T22:59:30Z",
  ];
  const told = (zone: string) =>
    answerTable(instants, (instant) => [
      resetIn("day", zone, Date.parse(instant)),
      resetIn("month", zone, Date.parse(instant)),
    ]);
  expect([told("UTC"), told("Europe/Berlin")].join("\n")).toMatchInlineSnapshot(`
    ""2026-11-29T00:00:00Z"
      ["at midnight (UTC), in 24 h 0 min","on 2026-12-01 at 00:00 (UTC), in 2 days"]
    "2026-11-29T00:01:00Z"
      ["at midnight (UTC), in 23 h 59 min","on 2026-12-01 at 00:00 (UTC), in 47 h 59 min"]
    "2026-11-28T23:59:00Z"
      ["at midnight (UTC), in 0 h 1 min","on 2026-12-01 at 00:00 (UTC), in 3 days"]
    "2026-11-30T23:59:00Z"
      ["at midnight (UTC), in 0 h 1 min","on 2026-12-01 at 00:00 (UTC), in 0 h 1 min"]
    "2026-12-31T12:00:00Z"
      ["at midnight (UTC), in 12 h 0 min","on 2027-01-01 at 00:00 (UTC), in 12 h 0 min"]
    "2028-02-28T12:00:00Z"
      ["at midnight (UTC), in 12 h 0 min","on 2028-03-01 at 00:00 (UTC), in 36 h 0 min"]
    "2026-03-29T00:30:00Z"
      ["at midnight (UTC), in 23 h 30 min","on 2026-04-01 at 00:00 (UTC), in 3 days"]
    "2026-10-24T22:30:00Z"
      ["at midnight (UTC), in 1 h 30 min","on 2026-11-01 at 00:00 (UTC), in 8 days"]
    "2026-10-31T22:59:30Z"
      ["at midnight (UTC), in 1 h 1 min","on 2026-11-01 at 00:00 (UTC), in 1 h 1 min"]

    "2026-11-29T00:00:00Z"
      ["at midnight (Europe/Berlin), in 23 h 0 min","on 2026-12-01 at 00:00 (Europe/Berlin), in 47 h 0 min"]
    "2026-11-29T00:01:00Z"
      ["at midnight (Europe/Berlin), in 22 h 59 min","on 2026-12-01 at 00:00 (Europe/Berlin), in 46 h 59 min"]
    "2026-11-28T23:59:00Z"
      ["at midnight (Europe/Berlin), in 23 h 1 min","on 2026-12-01 at 00:00 (Europe/Berlin), in 47 h 1 min"]
    "2026-11-30T23:59:00Z"
      ["at midnight (Europe/Berlin), in 23 h 1 min","on 2027-01-01 at 00:00 (Europe/Berlin), in 31 days"]
    "2026-12-31T12:00:00Z"
      ["at midnight (Europe/Berlin), in 11 h 0 min","on 2027-01-01 at 00:00 (Europe/Berlin), in 11 h 0 min"]
    "2028-02-28T12:00:00Z"
      ["at midnight (Europe/Berlin), in 11 h 0 min","on 2028-03-01 at 00:00 (Europe/Berlin), in 35 h 0 min"]
    "2026-03-29T00:30:00Z"
      ["at midnight (Europe/Berlin), in 21 h 30 min","on 2026-04-01 at 00:00 (Europe/Berlin), in 3 days"]
    "2026-10-24T22:30:00Z"
      ["at midnight (Europe/Berlin), in 24 h 30 min","on 2026-11-01 at 00:00 (Europe/Berlin), in 8 days"]
    "2026-10-31T22:59:30Z"
      ["at midnight (Europe/Berlin), in 0 h 1 min","on 2026-11-01 at 00:00 (Europe/Berlin), in 0 h 1 min"]
    "
  `);
});

interface Caps {
  readonly spend?: object;
  readonly person?: object;
  readonly place?: object;
  readonly owners?: boolean;
}

async function ledgerWith({ spend, person = {}, place = {}, owners = false }: Caps) {
  const clock = virtualClock({ startMs: Date.parse("2026-05-31T12:00:00Z") });
  const { cells } = (store = await memoryStore(clock));
  const lines: (readonly [LogFields, string])[] = [];
  const log = { ...silentLog, warn: (fields: LogFields, words: string) => void lines.push([fields, words]) };
  const config = {
    agents: {
      list: [
        { id: "main", ...(spend === undefined ? {} : { spend }) },
        { id: "free", spend: {} },
        { id: "none" },
      ],
    },
    limits: { person, place, owners },
  } as unknown as Config;
  const book = usageLog(cells, "UTC", clock);
  const limits = spendLimits({ config, book, clock, log: log as typeof silentLog });
  /** Spent by another process on a day, by 12:00 of it. */
  const before = async (day: string, used: Used, of = session, who = "telegram:5"): Promise<void> => {
    const then = usageLog(cells, "UTC", { now: () => Date.parse(`${day}T12:00:00Z`) });
    const cell = await then.note({
      session: of,
      channel: "telegram:default",
      person: who,
      models: new Map([["m/a", used]]),
    });
    if (cell !== null) await cells.put(cell.key, cell.value ?? "", {});
  };
  const turnOf = (id: string, lane = session, sender = "5", isOwner = false) => {
    const inbound = lane.includes(":group:")
      ? groupMessage({ sender: { id: sender }, address: { peer: "-100" } })
      : directMessage({ sender: { id: sender } });
    const payload = formatRowPayload({ v: 1, inbound, owner: isOwner });
    return {
      id,
      lane,
      conversation: (lane.includes(":group:")
        ? "telegram:default:group:-100"
        : "telegram:default:dm:5") as ConversationKey,
      rows: [{ payload }],
    } as unknown as Turn;
  };
  return { limits, before, turnOf, clock, lines, cells };
}

const ok = { ok: true };
const reset = {
  day: "It resets at midnight (UTC), in 12 h 0 min.",
  month: "It resets on 2026-06-01 at 00:00 (UTC), in 12 h 0 min.",
};

describe("a cap", () => {
  test.each([
    ["dayTokens", 10, [usedTokens(9), usedTokens(1)], "Today's spending limit", "day"],
    ["monthTokens", 10, [usedTokens(9), usedTokens(1)], "This month's spending limit", "month"],
    ["dayUsd", 2, [usedTokens(0, 1.99), usedTokens(0, 0.01)], "Today's spending limit", "day"],
    ["monthUsd", 2, [usedTokens(0, 1.99), usedTokens(0, 0.01)], "This month's spending limit", "month"],
  ] as const)(
    "of an agent, %s, lets in what is below it and refuses at it",
    async (name, most, [below, rest], what, over) => {
      const { limits, before, turnOf, clock } = await ledgerWith({ spend: { [name]: most } });
      await before("2026-05-31", below);
      const turn = limits.forTurn(turnOf("t1"));
      expect(await turn.mayCall(noUsage)).toEqual(ok);
      await before("2026-05-31", rest);
      await clock.advance(60_000);
      expect(await turn.mayCall(noUsage)).toEqual({
        ok: false,
        reason: `${what} is reached, so I cannot answer now. ${reset[over].replace("12 h 0 min", "11 h 59 min")}`,
      });
    },
  );

  test("of a day counts no other day, and of a month all its days and none of the month before", async () => {
    const day = await ledgerWith({ spend: { dayTokens: 10 } });
    for (const other of ["2026-05-30", "2026-05-01"]) await day.before(other, usedTokens(100));
    expect(await day.limits.forTurn(day.turnOf("t")).mayCall(noUsage)).toEqual(ok);
    await store?.close();
    const month = await ledgerWith({ spend: { monthTokens: 10 } });
    await month.before("2026-04-30", usedTokens(100));
    await month.before("2026-05-01", usedTokens(9));
    expect(await month.limits.forTurn(month.turnOf("t")).mayCall(noUsage)).toEqual(ok);
    await month.before("2026-05-30", usedTokens(1));
    await month.clock.advance(60_000);
    // Days before today are read once: what another process wrote into them is none of today's.
    expect(await month.limits.forTurn(month.turnOf("t")).mayCall(noUsage)).toEqual(ok);
    await month.before("2026-05-31", usedTokens(1));
    await month.clock.advance(60_000);
    expect(await month.limits.forTurn(month.turnOf("t")).mayCall(noUsage)).toMatchObject({ ok: false });
    // The next month begins anew, whatever the days before it were.
    await month.clock.advance(12 * 3_600_000);
    expect(await month.limits.forTurn(month.turnOf("t")).mayCall(noUsage)).toEqual(ok);
  });

  test("all kinds of tokens count, of every session of the agent and of its sub-agents, and no other agent's", async () => {
    const { limits, before, turnOf, clock } = await ledgerWith({ spend: { dayTokens: 15 } });
    const all = { ...noneUsed, inputTokens: 1, outputTokens: 2, cacheReadTokens: 4, cacheWriteTokens: 8 };
    await before("2026-05-31", usedTokens(100), "agent:none:main" as SessionKey);
    const { caps, day, month } = (await limits.states())[0] ?? {};
    expect([caps, day, month]).toEqual([{ dayTokens: 15 }, noneUsed, noneUsed]);
    expect(await limits.forTurn(turnOf("t")).mayCall(all)).toMatchObject({ ok: false });
    await before(
      "2026-05-31",
      { ...all, cacheWriteTokens: 7 },
      "agent:none:subagent:0123456789ab-1-main" as SessionKey,
    );
    await clock.advance(60_000);
    // A sub-agent's usage is that of the agent that spawned it.
    expect(await limits.states()).toEqual([
      {
        agent: "main",
        caps: { dayTokens: 15 },
        day: addUsed({ ...all, cacheWriteTokens: 7 }, { ...all, turns: 0 }),
        month: addUsed({ ...all, cacheWriteTokens: 7 }, { ...all, turns: 0 }),
      },
    ]);
  });

  test("of a person and of a place is told as such, the agent's before theirs and a month's before a day's; owners have none, unless the config says so", async () => {
    const group = "agent:main:telegram:group:-100" as SessionKey;
    const caps = { person: { turnsPerDay: 2 }, place: { dayTokens: 5 } };
    const { limits, before, turnOf, lines, clock } = await ledgerWith(caps);
    await before("2026-05-31", { ...usedTokens(4), turns: 1 }, group);
    expect(await limits.forTurn(turnOf("t", group)).mayCall(noUsage)).toEqual(ok);
    await before("2026-05-31", { ...usedTokens(1), turns: 1 }, group, "telegram:6");
    await clock.advance(60_000);
    expect(await limits.forTurn(turnOf("t", group)).mayCall(noUsage)).toEqual({
      ok: false,
      reason: `Today's limit for this chat is reached, so I cannot answer now. ${reset.day.replace("12 h 0", "11 h 59")}`,
    });
    expect(await limits.forTurn(turnOf("t")).mayCall(noUsage)).toEqual(ok);
    await before("2026-05-31", { ...usedTokens(1), turns: 1 });
    await clock.advance(60_000);
    expect(await limits.forTurn(turnOf("t", group)).mayCall(noUsage)).toEqual({
      ok: false,
      reason: `Today's limit for one person is reached, so I cannot answer now. ${reset.day.replace("12 h 0", "11 h 58")}`,
    });
    expect(await limits.forTurn(turnOf("t", session, "5", true)).mayCall(noUsage)).toEqual(ok);
    expect(await limits.forTurn(turnOf("t", session, "7")).mayCall(noUsage)).toEqual(ok);
    const [owners, theirs] = [turnOf("t", session, "5", true), turnOf("t")];
    const mixed = limits.forTurn({ ...theirs, rows: [...owners.rows, ...theirs.rows] });
    expect(await mixed.mayCall(noUsage)).toMatchObject({ ok: false });
    const nobodys = limits.forTurn({ ...theirs, lane: group, rows: [] });
    expect(await nobodys.mayCall(noUsage)).toMatchObject({ ok: false });
    expect(lines.map(([{ of, agent, over }, words]) => [of, agent, over, words])).toEqual([
      [`place ${group}`, undefined, "day", "a spending limit is reached: the model is not asked"],
      ["person telegram:5", undefined, "day", "a spending limit is reached: the model is not asked"],
      ["person telegram:5", undefined, "day", "a spending limit is reached: the model is not asked"],
      [`place ${group}`, undefined, "day", "a spending limit is reached: the model is not asked"],
    ]);
    await store?.close();
    const strict = await ledgerWith({ spend: { monthTokens: 5, dayTokens: 5 }, ...caps, owners: true });
    await strict.before("2026-05-31", { ...usedTokens(4), turns: 2 });
    const owner = strict.limits.forTurn(strict.turnOf("t", session, "5", true));
    expect(await owner.mayCall(noUsage)).toMatchObject({
      reason: expect.stringMatching(/^Today's limit for one person/) as string,
    });
    await strict.before("2026-05-31", usedTokens(1));
    await strict.clock.advance(60_000);
    expect(await owner.mayCall(noUsage)).toMatchObject({
      reason: expect.stringMatching(/^This month's spending limit/) as string,
    });
    const sums = (inputTokens: number, turns: number) => ({
      day: { ...noneUsed, inputTokens, turns },
      month: { ...noneUsed, inputTokens, turns },
    });
    expect(strict.lines.map(([fields]) => fields)).toEqual([
      { of: "person telegram:5", over: "day", caps: { turnsPerDay: 2 }, ...sums(4, 2) },
      { agent: "main", over: "month", caps: { monthTokens: 5, dayTokens: 5 }, ...sums(5, 3) },
    ]);
  });

  test.each(["dayUsd", "monthUsd", "dayTokens", "monthTokens", "turnsPerDay"] as const)(
    "of a person or a place, %s, holds alone, by the newest message's sender; whom it is about is told once in its day or month",
    async (name) => {
      const group = "agent:main:discord:channel:-100" as SessionKey;
      const spent = { ...noneUsed, turns: 3, inputTokens: 3, costUsd: 3 };
      const at = async (caps: Caps, most: number) => {
        await store?.close();
        const { limits, before, turnOf } = await ledgerWith(caps);
        await before("2026-05-31", spent, group, "telegram:6");
        const two = [turnOf("t", session, "5"), turnOf("t", session, "6")].flatMap(({ rows }) => rows);
        const of = async (rows: Turn["rows"], lane: SessionKey = session) => {
          const turn = limits.forTurn({ ...turnOf("t", lane), lane, rows });
          expect(turn.refusalKey()).toBeNull();
          const { ok: isOk } = await turn.mayCall(noUsage);
          return [isOk, turn.refusalKey()?.replace(/^limit-told:/, "") ?? null];
        };
        return [most, await of(two), await of(two.toReversed()), await of(two, group)];
      };
      const period = name.startsWith("month") ? "2026-05" : "2026-05-31";
      const person = `person telegram:6:${period}`;
      expect([await at({ person: { [name]: 3 } }, 3), await at({ person: { [name]: 4 } }, 4)]).toEqual([
        [3, [false, person], [true, null], [false, person]],
        [4, [true, null], [true, null], [true, null]],
      ]);
      if (name === "turnsPerDay") return;
      expect([await at({ place: { [name]: 3 } }, 3), await at({ spend: { [name]: 3 } }, 3)]).toEqual([
        [3, [true, null], [true, null], [false, `place ${group}:${period}`]],
        // Of the agent's own nobody alone is told.
        [3, [false, null], [false, null], [false, null]],
      ]);
    },
  );

  test("counts the dollars and all tokens of what runs, and a commit that came while the day was read", async () => {
    const { limits, turnOf, cells, clock } = await ledgerWith({ spend: { monthUsd: 2, dayTokens: 100 } });
    const [first, second] = [limits.forTurn(turnOf("t1")), limits.forTurn(turnOf("t2"))];
    const cost = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 4, cacheWriteTokens: 8, costUsd: 1.5 };
    expect(await first.mayCall(cost)).toEqual(ok);
    expect(await second.mayCall({ ...noUsage, costUsd: 0.4 })).toEqual(ok);
    expect((await limits.states()).map(({ day, month }) => [day, month])).toEqual([
      [
        { ...noneUsed, ...cost, costUsd: 1.9 },
        { ...noneUsed, ...cost, costUsd: 1.9 },
      ],
    ]);
    const end = { entries: [said("m/a", cost)], usage: cost };
    const [cell, ...more] = await first.note(end, { id: "m/a" });
    expect([cell?.key, more]).toEqual([`usage/2026-05-31/${session}`, []]);
    await clock.advance(60_000);
    const reading = second.mayCall({ ...noUsage, costUsd: 0.4 });
    first.committed();
    await cells.put(cell?.key ?? "", cell?.value ?? "", {});
    expect(await reading).toEqual(ok);
    expect((await limits.states()).map(({ day }) => [day.turns, day.costUsd])).toEqual([[1, 1.9]]);
    await clock.advance(60_000);
    expect((await limits.states()).map(({ day }) => [day.turns, day.costUsd])).toEqual([[1, 1.9]]);
    second.close();
    expect((await limits.states()).map(({ day }) => [day.turns, day.costUsd])).toEqual([[1, 1.5]]);
    // A turn whose end told nothing that costs writes nothing, and adds nothing.
    const idle = limits.forTurn(turnOf("t3"));
    expect(await idle.note({ entries: [], usage: noUsage }, { id: "m/a" })).toEqual([]);
    idle.committed();
    expect((await limits.states()).map(({ day }) => day.turns)).toEqual([1]);
  });

  test("counts what runs beside it at once, until it commits or is given up, and each thing once", async () => {
    const { limits, turnOf, cells } = await ledgerWith({ spend: { dayTokens: 10 } });
    const [first, second] = [limits.forTurn(turnOf("t1")), limits.forTurn(turnOf("t2"))];
    // Another agent's turn runs too, and pays for itself.
    await limits.forTurn(turnOf("t0", "agent:none:telegram:dm:5" as SessionKey)).mayCall(tokens(100));
    expect(await first.mayCall(tokens(6))).toEqual(ok);
    expect(await second.mayCall(tokens(3))).toEqual(ok);
    expect(await second.mayCall(tokens(4))).toMatchObject({ ok: false });
    second.close();
    expect(await first.mayCall(tokens(9))).toEqual(ok);
    const [cell] = await first.note({ entries: [said("m/a", tokens(9))], usage: tokens(9) }, { id: "m/a" });
    await cells.put(cell?.key ?? "", cell?.value ?? "", {});
    first.committed();
    first.committed();
    expect(
      (await limits.states()).map(({ day, month }) => [day.inputTokens, day.turns, month.inputTokens]),
    ).toEqual([[9, 1, 9]]);
    expect(await limits.forTurn(turnOf("t3")).mayCall(noUsage)).toEqual(ok);
    expect(await limits.forTurn(turnOf("t4")).mayCall(tokens(1))).toMatchObject({ ok: false });
  });

  test("is read again after a minute, not before", async () => {
    const { limits, before, turnOf, clock } = await ledgerWith({ spend: { dayTokens: 10 } });
    const turn = limits.forTurn(turnOf("t"));
    expect(await turn.mayCall(noUsage)).toEqual(ok);
    await before("2026-05-31", usedTokens(10));
    await clock.advance(59_999);
    expect(await turn.mayCall(noUsage)).toEqual(ok);
    await clock.advance(1);
    expect(await turn.mayCall(noUsage)).toMatchObject({ ok: false });
  });

  test("holds for a model that is asked beside the loop: each call counts for the next, and at the limit none is made", async () => {
    const { limits, turnOf } = await ledgerWith({ spend: { dayTokens: 10 } });
    const turn = limits.forTurn(turnOf("t"));
    let calls = 0;
    const model = {
      id: "m/a",
      async *stream(): AsyncGenerator<ModelEvent> {
        calls += 1;
        yield { type: "text", text: "x" } as unknown as ModelEvent;
        yield { type: "end", stop: "stop", usage: tokens(5), content: [] } as unknown as ModelEvent;
      },
    } as unknown as Model;
    const side = turn.sideModel(model);
    const ask = async (): Promise<ModelEvent | undefined> => {
      const events: ModelEvent[] = [];
      for await (const event of side.stream({} as never, new AbortController().signal)) events.push(event);
      return events.at(-1);
    };
    await turn.mayCall(noUsage);
    expect(await ask()).toMatchObject({ stop: "stop" });
    expect(await ask()).toMatchObject({ stop: "stop" });
    expect(await ask()).toEqual({
      type: "end",
      stop: "error",
      usage: noUsage,
      content: [],
      error: {
        kind: "refused",
        message: `Today's spending limit is reached, so I cannot answer now. ${reset.day}`,
      },
    });
    expect(calls).toBe(2);
    // Without a cap the model is the one that was given.
    expect(limits.forTurn(turnOf("t", "agent:none:main" as SessionKey)).sideModel(model)).toBe(model);
  });
});

test("what is spent beside a turn has a cell of its own, which is noted anew until it is stored, and counts at once", async () => {
  const { limits, turnOf, cells } = await ledgerWith({ spend: { dayTokens: 10 } });
  const turn = turnOf("t1");
  const inbox = { find: async (what: object) => (asked.push(what), turn.rows) };
  const asked: object[] = [];
  const scope = { turn: "t1", callId: "c1", session, conversation: turn.conversation } as never;
  const conditions: (number | undefined)[] = [];
  const busy = {
    put: async (key: string, value: string, how: { readonly expect?: number }) => {
      conditions.push(how.expect);
      // Another process is first, once.
      if (conditions.length === 1) {
        const theirs = { ...usedTokens(2), ...one, model: "m/b" };
        await cells.put(key, JSON.stringify({ v: 1, lines: [theirs] }), {});
      }
      return cells.put(key, value, how as never);
    },
  };
  const services = { ledger: limits, inbox, cells: busy } as never;
  const spend = (use: () => Usage): Promise<string> =>
    spendBeside(services, scope, async ({ used }) => (await used(use(), { id: "m/a" }), "done"));
  expect(await spend(() => tokens(7))).toBe("done");
  expect([asked, conditions[0], conditions.length]).toEqual([[{ turn: "t1", limit: 200 }], 0, 2]);
  const [cell, ...rest] = await cells.list("usage/", 9);
  expect([cell?.key, rest]).toEqual([`usage/2026-05-31/${session}/beside`, []]);
  expect((JSON.parse(cell?.value ?? "") as { lines: object[] }).lines).toMatchObject([
    { model: "m/b", inputTokens: 2 },
    { model: "m/a", inputTokens: 7, person: "telegram:5", channel: "telegram:default" },
  ]);
  expect((await limits.states())[0]?.day.inputTokens).toBe(7);
  // What a call that failed was about to use counts no more after it, and at the limit nothing is asked.
  const failed = spendBeside(services, scope, async () => Promise.reject(new Error("no")));
  await expect(failed).rejects.toThrow("no");
  const model = {
    id: "m/a",
    async *stream(): AsyncGenerator<ModelEvent> {
      yield { type: "end", stop: "stop", usage: tokens(2), content: [] };
    },
  } as unknown as Model;
  const seen: number[] = [];
  const gaveUp = spendBeside(services, scope, async ({ model: limited }) => {
    for await (const _event of limited(model).stream({} as never, new AbortController().signal));
    seen.push((await limits.states())[0]?.day.inputTokens ?? 0);
    throw new Error("gave up");
  });
  await expect(gaveUp).rejects.toThrow("gave up");
  expect([seen, (await limits.states())[0]?.day.inputTokens]).toEqual([[9], 7]);
  await spend(() => tokens(3));
  await expect(spend(() => tokens(1))).rejects.toMatchObject({
    code: "denied",
    message: `Today's spending limit is reached, so I cannot answer now. ${reset.day}`,
  });
});

test("who reached a limit is told once an hour, the first message also after a restart; programs and Parley's own turns always", async () => {
  const { cells, clock } = await ledgerWith({});
  const row = (id: string, more: object = {}) => ({
    id,
    payload: formatRowPayload({ v: 1, inbound: directMessage({ id }), owner: false, ...more } as never),
  });
  const told = (
    rows: readonly object[],
    {
      key = "limit-told:person telegram:5:2026-05-31" as string | null,
      stop = "capped",
      entries = [] as object[],
      channel = "telegram",
    } = {},
  ) =>
    wasToldOfLimit(
      { cells },
      {
        turn: { rows },
        address: { channel, account: "default", kind: "dm", peer: "5" },
        spending: { refusalKey: () => key },
      } as never,
      { stop, entries, usage: noUsage } as never,
    );
  expect([await told([row("a")]), await told([row("a"), row("b")]), await told([row("b")])]).toEqual([
    false,
    false,
    true,
  ]);
  for (const how of [
    { key: null },
    { stop: "stop" },
    { entries: [said("m/a", tokens(1))] },
    { channel: "api" },
    { key: "limit-told:person telegram:6:2026-05-31" },
  ])
    expect(await told([row("c")], how), JSON.stringify(how)).toBe(false);
  expect(await told([row("c")], { entries: [{ type: "user" }] })).toBe(true);
  expect(await told([])).toBe(false);
  const own = row("d", { internal: { kind: "task", id: "x", turn: "" } });
  expect(await told([row("c"), own])).toBe(false);
  await clock.advance(3_599_999);
  expect(await told([row("e")])).toBe(true);
  await clock.advance(1);
  expect([await told([row("e")]), await told([row("a")])]).toEqual([false, true]);
});
