// What is used, by session, agent, channel, person and model, over crashes; and caps on it.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { recentDays } from "@parley/protocol";
import { addUsed, noneUsed, tokensOf, usageLog, type UsageRow, resetIn } from "@parley/runner";
import { usageMethods } from "../../src/operator/agent/usage.ts";
import { labConfig, labModels, type Lab } from "./lab-models.ts";
import { stage, type Stage } from "./stage.ts";
import { waitTool } from "./wait-tool.ts";

let s: Stage;
let lab: Lab;
beforeEach(() => {
  lab = labModels();
});
afterEach(() => s?.close());

const withSpend = (spend: object, more: object = {}) => ({
  ...labConfig,
  agents: {
    defaults: { ...labConfig.agents.defaults, model: "lab/deep", userTimezone: "UTC", spend, ...more },
  },
});
const rows = (): Promise<readonly UsageRow[]> => {
  const book = usageLog(s.store().cells, "UTC", s.clock);
  return book.rows(recentDays(s.clock.now(), "UTC", 5));
};

describe("usage", () => {
  test("is counted for each session, person and model, with what has no price told apart", async () => {
    s = await stage({ config: withSpend({}), models: lab.models });
    const alice = s.person("alice");
    await alice.says("a").gets("re: a");
    await s.person("bob").says("b").gets("re: b");
    await alice.says("/model lab/plain").gets(/plain/);
    await alice.says("c").gets("re: c");
    const found = await rows();
    const brief = found.map(({ person, model, channel, turns, costUsd, unpricedTokens }) => ({
      person,
      model,
      channel,
      turns,
      costUsd,
      unpricedTokens,
    }));
    const common = { channel: "telegram:default", turns: 1 };
    expect(brief.toSorted((a, b) => (a.person + a.model < b.person + b.model ? -1 : 1))).toEqual([
      { ...common, person: "telegram:alice", model: "lab/deep", costUsd: 0.4, unpricedTokens: 0 },
      { ...common, person: "telegram:alice", model: "lab/plain", costUsd: 0, unpricedTokens: 1_100 },
      { ...common, person: "telegram:bob", model: "lab/deep", costUsd: 0.4, unpricedTokens: 0 },
    ]);
    await alice
      .says("/usage")
      .gets(
        /^Today: 2\.0k tokens in, 200 out, \$0\.40, 2 turns\n30 days: .*\nOf these 1\.1k tokens have no known price and are in no dollars\.$/,
      );
    for (const word of ["full", "tokens", "off"])
      await alice.says(`/usage ${word}`).gets(/^There is no line under my answers to set\./);
    await alice.says("/usage cost").gets(/^Today: 2\.0k tokens/);
    await expect(await s.trace()).toMatchFileSnapshot("traces/spend.txt");
  });

  test("is told to operators by whatever they ask for, with what is left of the caps", async () => {
    s = await stage({ config: withSpend({ dayUsd: 5 }), models: lab.models });
    await s.person("alice").says("a").gets("re: a");
    await s.person("bob").says("b").gets("re: b");
    const core = s.core();
    const { usage } = usageMethods({ usage: core.usage, ledger: core.ledger, clock: s.clock });
    const byPerson = await usage({ by: "person", days: 7 });
    expect(byPerson.rows.map(({ name, turns, costUsd }) => [name, turns, costUsd])).toEqual([
      ["telegram:alice", 1, 0.4],
      ["telegram:bob", 1, 0.4],
    ]);
    expect(byPerson.caps).toMatchObject([{ agent: "main", over: "day", unit: "usd", used: 0.8, most: 5 }]);
    for (const by of ["session", "agent", "channel", "model", "day"] as const) {
      const { rows: found, total } = await usage({ by });
      expect(found.reduce((sum, { turns }) => sum + turns, 0)).toBe(2);
      expect(total.inputTokens).toBe(2_000);
    }
  });

  test("is exact over a kill between two calls of a turn, and counts what a stopped turn used", async () => {
    const tool = waitTool(() => s.clock, 60_000);
    s = await stage({ config: withSpend({}), models: lab.models, tools: [tool.tool] });
    lab.script = ({ text }) => (text === "talk" ? { says: "re: talk" } : { says: "done", tool: "wait" });
    const alice = s.person("alice");
    alice.says("work");
    await s.until(() => tool.starts() === 1, "the tool's start");
    await s.kill();
    await s.start();
    await alice.gets(/done/);
    alice.says("work");
    await s.until(() => tool.starts() === 2, "the tool's start");
    await alice.says("/stop").gets("Stopped.");
    await s.until(() => s.pools().turnsRunning() === 0, "the end of the turn");
    await alice.says("talk").gets("re: talk");
    const sum = (await rows()).reduce(addUsed, noneUsed);
    // Two calls, one, one.
    expect({ tokens: tokensOf(sum), turns: sum.turns }).toEqual({ tokens: 4 * 1_100, turns: 3 });
    expect(sum.costUsd).toBeCloseTo(1.6);
  });
});

describe("a cap", () => {
  test("of the day refuses the next call, says when it resets, and is over the next day", async () => {
    // The clock begins at 0:00 UTC.
    s = await stage({ config: withSpend({ dayUsd: 1 }, { userTimezone: "Etc/GMT+1" }), models: lab.models });
    const alice = s.person("alice");
    for (const text of ["a", "b", "c"]) await alice.says(text).gets(`re: ${text}`);
    await alice
      .says("d")
      .gets(
        /^⚠️ Today's spending limit is reached, so I cannot answer now\. It resets at midnight \(Etc\/GMT\+1\), in \d+ h \d+ min\.$/,
      );
    expect(lab.calls).toHaveLength(3);
    expect((await s.rows()).map(({ outcome }) => outcome)[0]).toBe("refused");
    // Also for others, also after a restart.
    await s.kill();
    await s.start();
    await s
      .person("bob")
      .says("e")
      .gets(/spending limit/);
    await alice.says("/compact").gets(/spending limit/);
    await s.pass(3_600_000);
    await alice.says("f").gets(/f$/);
  });

  test("of a month counts earlier days; of tokens counts what has no price", async () => {
    s = await stage({
      config: withSpend({ monthTokens: 2_000 }, { model: "lab/plain" }),
      models: lab.models,
    });
    const alice = s.person("alice");
    await alice.says("a").gets("re: a");
    await alice.says("b").gets("re: b");
    await alice
      .says("c")
      .gets(
        /^⚠️ This month's spending limit is reached, so I cannot answer now\. It resets on \d{4}-\d\d-01 at 00:00 \(UTC\), in /,
      );
  });

  test("is met in the middle of a turn, and the agent's own counts in place of the defaults'", async () => {
    const tool = waitTool(() => s.clock, 10);
    const config = withSpend({ dayTokens: 1_000_000 });
    s = await stage({
      config: {
        ...config,
        agents: { ...config.agents, list: [{ id: "main", spend: { dayTokens: 1_000 } }] },
      },
      models: lab.models,
      tools: [tool.tool],
    });
    lab.script = () => ({ tool: "wait" });
    await s
      .person("alice")
      .says("work")
      .gets(/spending limit/);
    expect(lab.calls).toHaveLength(1);
    const kinds = (await s.transcript("agent:main:telegram:dm:alice")).map(({ type }) => type);
    expect(kinds).toEqual(["user", "assistant", "toolResult"]);
    await expect(await s.trace()).toMatchFileSnapshot("traces/cap-in-turn.txt");
  });

  test("says its end in the zone of the agent", () => {
    const atMs = Date.parse("2026-11-30T22:30:00Z");
    expect(resetIn("day", "Europe/Berlin", atMs)).toBe("at midnight (Europe/Berlin), in 0 h 30 min");
    expect(resetIn("month", "UTC", atMs)).toBe("on 2026-12-01 at 00:00 (UTC), in 1 h 30 min");
    expect(resetIn("month", "UTC", Date.parse("2026-11-02T12:00:00Z"))).toBe(
      "on 2026-12-01 at 00:00 (UTC), in 29 days",
    );
  });
});
