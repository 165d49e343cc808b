// What is known of models without a config, a second time: sizes, prices and levels of thinking decide what
// is sent and what is shown as spent.
import { noUsage, thinkingLevels, type ThinkingLevel } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { cooldowns } from "../src/cooldown.ts";
import { knownModel, knownProvider } from "../src/known.ts";
import { priced } from "../src/price.ts";
import { defaultThinking, levelsOfEfforts, nearestThinking, thinkingLevelsOf } from "../src/thinking.ts";

test("every family has its sizes, its senses, its levels of thinking and its prices", () => {
  const ids =
    "claude-opus-4-1 claude-opus-4-5 claude-sonnet-4 claude-haiku-4-5 claude-3-haiku claude-opus-4-7 claude-opus-4-8 claude-sonnet-5 " +
    "claude-opus-5 claude-x gpt-5 gpt-5-mini gpt-5-nano gpt-5-codex gpt-5-pro gpt-5.9 gpt-5.1-codex gpt-5.1-codex-max gpt-5.2-codex " +
    "gpt-5.3-codex gpt-5.2 gpt-5.3 gpt-5.4 gpt-5.5 gpt-5.6 gpt-4.1 gpt-4.1-mini gpt-4.1-nano gpt-4o gpt-4o-mini gpt-oss o1 o3 o4-mini " +
    "gpt-image-1 gpt-image-1-mini gpt-image-1.5 gemini-2.5-flash-image " +
    "gemini-2.5-pro gemini-2.5-flash gemini-2.5-flash-lite gemini-3 deepseek deepseek-v4 glm-5 kimi-k2 nobody";
  const line = (id: string): string => {
    const { contextWindow, maxTokens, input, reasoning, thinking, cost } = knownModel(id);
    const price =
      cost === undefined ? "" : ` $${[cost.input, cost.output, cost.cacheRead, cost.cacheWrite].join("/")}`;
    const thinks = thinking === undefined ? (reasoning ? "thinks" : "-") : thinking.join(",");
    return `${id} ${contextWindow}/${maxTokens} ${input.join("+")} ${thinks}${price}`;
  };
  expect(ids.split(" ").map(line).join("\n")).toMatchInlineSnapshot(`
    "claude-opus-4-1 200000/32000 text+image thinks $15/75/1.5/18.75
    claude-opus-4-5 200000/64000 text+image thinks $5/25/0.5/6.25
    claude-sonnet-4 200000/64000 text+image thinks $3/15/0.3/3.75
    claude-haiku-4-5 200000/64000 text+image thinks $1/5/0.1/1.25
    claude-3-haiku 200000/4096 text+image - $0.25/1.25/0.025/0.3125
    claude-opus-4-7 200000/64000 text+image off,minimal,low,medium,high,xhigh
    claude-opus-4-8 200000/64000 text+image off,minimal,low,medium,high,xhigh
    claude-sonnet-5 200000/64000 text+image off,minimal,low,medium,high,xhigh
    claude-opus-5 200000/64000 text+image off,minimal,low,medium,high,xhigh
    claude-x 200000/64000 text+image thinks
    gpt-5 400000/128000 text+image thinks $1.25/10/0.125/1.25
    gpt-5-mini 400000/128000 text+image thinks $0.25/2/0.025/0.25
    gpt-5-nano 400000/128000 text+image thinks $0.05/0.4/0.005/0.05
    gpt-5-codex 400000/128000 text+image low,medium,high $1.25/10/0.125/1.25
    gpt-5-pro 400000/128000 text+image high
    gpt-5.9 400000/128000 text+image off,low,medium,high
    gpt-5.1-codex 400000/128000 text+image low,medium,high
    gpt-5.1-codex-max 400000/128000 text+image low,medium,high,xhigh
    gpt-5.2-codex 400000/128000 text+image low,medium,high,xhigh
    gpt-5.3-codex 400000/128000 text+image low,medium,high,xhigh
    gpt-5.2 400000/128000 text+image off,low,medium,high,xhigh
    gpt-5.3 400000/128000 text+image off,low,medium,high,xhigh
    gpt-5.4 400000/128000 text+image off,low,medium,high,xhigh
    gpt-5.5 400000/128000 text+image off,low,medium,high,xhigh
    gpt-5.6 400000/128000 text+image off,low,medium,high,xhigh
    gpt-4.1 1047576/32768 text+image - $2/8/0.5/2
    gpt-4.1-mini 1047576/32768 text+image - $0.4/1.6/0.1/0.4
    gpt-4.1-nano 1047576/32768 text+image - $0.1/0.4/0.025/0.1
    gpt-4o 128000/16384 text+image - $2.5/10/1.25/2.5
    gpt-4o-mini 128000/16384 text+image - $0.15/0.6/0.075/0.15
    gpt-oss 131072/8192 text low,medium,high
    o1 200000/100000 text+image low,medium,high
    o3 200000/100000 text+image low,medium,high
    o4-mini 200000/100000 text+image low,medium,high
    gpt-image-1 32000/8192 text+image - $5/40/1.25/5
    gpt-image-1-mini 32000/8192 text+image - $2/8/0.2/2
    gpt-image-1.5 32000/8192 text+image - $5/32/1.25/5
    gemini-2.5-flash-image 32768/32768 text+image - $0.3/30/0.075/0.3
    gemini-2.5-pro 1048576/65536 text+image thinks $1.25/10/0.31/1.25
    gemini-2.5-flash 1048576/65536 text+image thinks $0.3/2.5/0.075/0.3
    gemini-2.5-flash-lite 1048576/65536 text+image thinks $0.1/0.4/0.025/0.1
    gemini-3 1048576/65536 text+image thinks
    deepseek 128000/8192 text -
    deepseek-v4 128000/8192 text off,minimal,low,medium,high,xhigh
    glm-5 128000/8192 text off,low
    kimi-k2 256000/8192 text off,low
    nobody 128000/8192 text -"
  `);
  for (const id of ["gpt-5.2-codex-2026-01-01", "openai/gpt-5.2-codex", "proxy/openai/gpt-5.2-codex"])
    expect(knownModel(id)).toBe(knownModel("gpt-5.2-codex"));
});

test("every provider has its API and its address, and only what runs at home needs no key", () => {
  const names = "anthropic openai google openrouter deepseek groq mistral ollama rehearsal".split(" ");
  const lines = names.map((name) => {
    const { api, baseUrl, keyless } = knownProvider(name) ?? { api: "", baseUrl: "" };
    return `${name} ${api} ${baseUrl}${keyless === true ? " keyless" : ""}`;
  });
  expect(lines.join("\n")).toMatchInlineSnapshot(`
    "anthropic anthropic-messages https://api.anthropic.com/v1
    openai openai-responses https://api.openai.com/v1
    google google-generative-ai https://generativelanguage.googleapis.com/v1beta
    openrouter openai-completions https://openrouter.ai/api/v1
    deepseek openai-completions https://api.deepseek.com/v1
    groq openai-completions https://api.groq.com/openai/v1
    mistral openai-completions https://api.mistral.ai/v1
    ollama ollama http://127.0.0.1:11434 keyless
    rehearsal rehearsal  keyless"
  `);
  expect(knownProvider("constructor")).toBeUndefined();
});

test("of the levels that a model accepts the nearest is taken, the lower of two, and thinking stays thinking", () => {
  const sets: readonly (readonly ThinkingLevel[])[] = [
    [],
    ["off"],
    ["high"],
    ["off", "low"],
    ["off", "high"],
    ["low", "high"],
    ["minimal", "medium"],
    ["high", "low", "off"],
    ["low", "medium", "high", "xhigh"],
    thinkingLevels,
  ];
  const lines = sets.map((thinking) => {
    const became = thinkingLevels.map((level) => nearestThinking({ thinking }, level));
    return `[${thinkingLevelsOf({ thinking }).join(" ")}] ${became.join(" ")}; by itself ${defaultThinking({ thinking, reasoning: true })}`;
  });
  expect(["asked: " + thinkingLevels.join(" "), ...lines].join("\n")).toMatchInlineSnapshot(`
    "asked: off minimal low medium high xhigh
    [off minimal low medium high] off minimal low medium high high; by itself medium
    [off] off off off off off off; by itself off
    [high] high high high high high high; by itself high
    [off low] off low low low low low; by itself low
    [off high] off high high high high high; by itself high
    [low high] low low low low high high; by itself low
    [minimal medium] minimal minimal minimal medium medium medium; by itself medium
    [off low high] off low low low high high; by itself low
    [low medium high xhigh] low low low medium high xhigh; by itself medium
    [off minimal low medium high xhigh] off minimal low medium high xhigh; by itself medium"
  `);
  expect(defaultThinking({ thinking: ["high"], reasoning: false })).toBe("off");
  expect(levelsOfEfforts(["max", "high", "none", "low"])).toEqual(["off", "low", "high"]);
});

test("a million tokens cost the price of their kind, and without a price of its own what is cached costs the input's", () => {
  const usage = {
    ...noUsage,
    inputTokens: 1e6,
    outputTokens: 2e6,
    cacheReadTokens: 3e6,
    cacheWriteTokens: 4e6,
  };
  expect(priced(usage, { input: 1, output: 10, cacheRead: 100, cacheWrite: 1_000 }).costUsd).toBe(4_321);
  expect(priced(usage, { input: 1, output: 10 }).costUsd).toBe(28);
  expect(priced(usage, undefined)).not.toHaveProperty("costUsd");
});

test("a model rests by the ladder, as long as its server asks, or until a person has mended it", async () => {
  const clock = virtualClock();
  const rests = cooldowns(clock);
  for (const restMs of [30_000, 60_000, 300_000, 300_000]) {
    rests.failed("a", "overloaded");
    expect(rests.leftMs("a")).toBe(restMs);
  }
  await clock.advance(299_999);
  expect(rests.leftMs("a")).toBe(1);
  await clock.advance(1);
  expect(rests.leftMs("a")).toBe(0);
  rests.failed("a", "rate_limited", 300_001);
  expect(rests.leftMs("a")).toBe(300_001);
  rests.succeeded("a");
  rests.failed("a", "timeout");
  expect([rests.leftMs("a"), rests.leftMs("b")]).toEqual([30_000, 0]);
  for (const kind of ["auth", "billing", "not_found"] as const) rests.failed(kind, kind);
  expect(rests.leftMs("not_found")).toBe(600_000);
  expect(rests.troubles().map(({ model }) => model)).toEqual(["auth", "billing", "not_found"]);
  rests.mended();
  expect([rests.leftMs("auth"), rests.leftMs("a"), rests.troubles()]).toEqual([0, 30_000, []]);
});
