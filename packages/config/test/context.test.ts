import { describe, expect, test } from "vitest";
import { loadText, problemsOf } from "./load-text.ts";

describe("context keys", () => {
  test("without a word the seeds' numbers hold", async () => {
    const { contextPruning, compaction, startupContext, contextLimits } = (await loadText(null)).config.agents
      .defaults;
    expect(contextPruning).toEqual({
      mode: "cache-ttl",
      ttlMs: 300_000,
      keepLastAssistants: 3,
      softTrimRatio: 0.3,
      hardClearRatio: 0.5,
      minPrunableToolChars: 50_000,
      softTrim: { maxChars: 4_000, headChars: 1_500, tailChars: 1_500 },
      hardClear: { enabled: true, placeholder: "[Old tool result content cleared]" },
      tools: { allow: [], deny: [] },
    });
    expect(compaction).toMatchObject({
      reserveTokensFloor: 20_000,
      keepRecentTokens: 20_000,
      identifierPolicy: "strict",
    });
    expect(compaction.postCompactionSections).toEqual(["Session Startup", "Red Lines"]);
    expect(startupContext).toEqual({
      enabled: true,
      dailyMemoryDays: 2,
      maxFileChars: 1_200,
      maxTotalChars: 2_800,
    });
    expect(contextLimits).toEqual({ toolResultMaxChars: 8_192, postCompactionMaxChars: 1_800 });
  });

  test("a time to live is read with its unit", async () => {
    for (const [ttl, ttlMs] of [
      ["90s", 90_000],
      ["1h", 3_600_000],
      ["0m", 0],
    ] as const) {
      const { config } = await loadText(
        JSON.stringify({ agents: { defaults: { contextPruning: { ttl } } } }),
      );
      expect(config.agents.defaults.contextPruning.ttlMs).toBe(ttlMs);
    }
    const [problem] = await problemsOf('{ agents: { defaults: { contextPruning: { ttl: "soon" } } } }');
    expect(problem?.message).toContain('"5m"');
  });

  test("an agent's own limits stand in place of the defaults, one by one", async () => {
    const { config } = await loadText(
      "{ agents: { defaults: { contextLimits: { toolResultMaxChars: 4000 } }, list: [{ id: 'main' }, { id: 'ops', contextLimits: { postCompactionMaxChars: 100 } }] } }",
    );
    expect(config.agents.list.map((agent) => agent.contextLimits)).toEqual([
      { toolResultMaxChars: 4_000, postCompactionMaxChars: 1_800 },
      { toolResultMaxChars: 4_000, postCompactionMaxChars: 100 },
    ]);
  });

  test("an agent's own spend and reasoning stand whole in place of the defaults, and of neither there is nothing", async () => {
    const of = async (defaults: string): Promise<unknown> => {
      const list = "[{ id: 'main' }, { id: 'ops', spend: { dayTokens: 5 }, reasoningDefault: 'on' }]";
      const { config } = await loadText(`{ agents: { defaults: { ${defaults} }, list: ${list} } }`);
      return config.agents.list.map(({ spend, reasoningDefault }) => [spend, reasoningDefault]);
    };
    const own = [{ dayTokens: 5 }, "on"];
    expect(await of("spend: { dayUsd: 1, monthUsd: 9 }, reasoningDefault: 'stream'")).toEqual([
      [{ dayUsd: 1, monthUsd: 9 }, "stream"],
      own,
    ]);
    expect(await of("")).toEqual([[undefined, undefined], own]);
  });
});
