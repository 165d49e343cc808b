import { loopback, type Channel, type ChannelHealth } from "@parley/channels";
import { silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { checkStoreRegularly, sweepRegularly } from "../src/daemon/periodic-work.ts";
import { gatewayState, type Phase } from "../src/gateway-state.ts";
import { modelTrouble } from "@parley/runner";

const healths: ChannelHealth["state"][] = ["starting", "ok", "degraded", "down", "stopped"];
const phases: Phase[] = ["starting", "running", "draining", "safe-mode"];

function channel(account: string, state: ChannelHealth["state"]): Channel {
  return { ...loopback({ account, clock: virtualClock() }), health: () => ({ state, reason: "because" }) };
}

describe("ready means that the daemon runs, however a channel is", () => {
  test.for(phases.flatMap((phase) => healths.map((health) => [phase, health] as const)))(
    "phase %s, a channel that is %s",
    ([phase, health]) => {
      const state = gatewayState({ check: () => Promise.reject(new Error("not asked")) }, () => [
        channel("a", "ok"),
        channel("b", health),
      ]);
      state.enter(phase);
      expect(state.ready()).toEqual({ ok: phase === "running" });
    },
  );
});

describe("the truth table of docs/operations.md", () => {
  const rows = [
    ["starting", "ok", true, 503],
    ["running", "ok", true, 200],
    ["running", "starting", true, 200],
    ["running", "down", true, 200],
    ["running", "ok", false, 503],
    ["safe-mode", "ok", true, 503],
    ["draining", "ok", true, 503],
  ] as const;

  test.for(rows)(
    "phase %s, a channel that is %s, a store that takes writes: %s",
    async ([phase, health, storeOk, expected]) => {
      const check = async () =>
        storeOk ? ({ ok: true } as const) : ({ ok: false, reason: "read-only" } as const);
      const state = gatewayState({ check }, () => [channel("a", health)]);
      state.enter(phase);
      await state.look();
      expect(state.ready().ok ? 200 : 503).toBe(expected);
      expect(state.store()).toBe(storeOk);
    },
  );

  test("the log hears once that the store takes no writes, why, and that it does again", async () => {
    let reason: string | null = null;
    const check = async () => (reason === null ? ({ ok: true } as const) : ({ ok: false, reason } as const));
    const state = gatewayState({ check }, () => []);
    const said: string[] = [];
    const say = (fields: object, words: string): void => void said.push(`${words} ${JSON.stringify(fields)}`);
    const clock = virtualClock();
    const stop = checkStoreRegularly(state, clock, { ...silentLog, error: say, info: say });
    for (const now of [null, "the disk is full", "the disk is full", "read-only", null, null]) {
      reason = now;
      await clock.advance(10_000);
    }
    stop();
    expect(said).toEqual([
      'the store takes no writes: nothing is acknowledged until it does {"reason":"the disk is full"}',
      'the store takes no writes: nothing is acknowledged until it does {"reason":"read-only"}',
      "the store takes writes again {}",
    ]);
    expect(clock.armed()).toBe(0);
  });

  test("the store is looked at as soon as there is time, then every ten seconds after the last answer, until the end", async () => {
    const clock = virtualClock();
    const looks: number[] = [];
    let answer = (): void => {};
    const state = {
      look: () => {
        looks.push(clock.mono());
        return new Promise<null>((resolve) => (answer = () => resolve(null)));
      },
    };
    const stop = checkStoreRegularly(state, clock, silentLog);
    expect(looks).toEqual([]);
    await clock.advance(3_000);
    answer();
    await clock.advance(9_999);
    expect(looks).toHaveLength(1);
    await clock.advance(1);
    expect(looks).toHaveLength(2);
    stop();
    answer();
    await clock.advance(20_000);
    expect([looks.length, clock.armed()]).toEqual([2, 0]);
  });

  test("a config that was refused keeps nobody from being ready, and shows in the report", async () => {
    let refused: readonly string[] = ["parley.json5:3:5 gatway: unknown key"];
    const state = gatewayState(
      { check: async () => ({ ok: true }) },
      () => [channel("a", "ok")],
      () => null,
      () => refused,
    );
    state.enter("running");
    expect(state.ready().ok).toBe(true);
    expect((await state.report()).state).toBe("degraded");
    refused = [];
    expect(await state.report()).toEqual({ state: "ok", reasons: [] });
  });
});

test("a channel that only opens is no trouble, and with trouble beside it it is named as well", async () => {
  let store: { readonly ok: true } | { readonly ok: false; readonly reason: string } = { ok: true };
  const state = gatewayState({ check: async () => store }, () => [
    channel("a", "ok"),
    channel("b", "starting"),
  ]);
  state.enter("running");
  expect(await state.report()).toEqual({ state: "starting", reasons: ["loopback:b is starting: because"] });
  store = { ok: false, reason: "read-only" };
  expect((await state.report()).state).toBe("degraded");
});

test("why it is in a phase is told as long as the phase lasts", async () => {
  const state = gatewayState({ check: async () => ({ ok: true }) }, () => []);
  state.enter("safe-mode", "it died three times");
  expect((await state.report()).reasons).toContain("it died three times");
  state.enter("running");
  expect((await state.report()).reasons).toEqual([]);
});

test("the report names each channel that does not hear, and heals with it", async () => {
  let health: ChannelHealth["state"] = "down";
  const state = gatewayState({ check: async () => ({ ok: true }) }, () => [
    channel("a", "ok"),
    channel("b", health),
  ]);
  expect(await state.report()).toEqual({ state: "starting", reasons: ["loopback:b is down: because"] });
  state.enter("running");
  expect(await state.report()).toEqual({ state: "degraded", reasons: ["loopback:b is down: because"] });
  health = "stopped";
  expect((await state.report()).reasons).toEqual(["loopback:b is stopped: because"]);
  state.enter("draining");
  expect(await state.report()).toEqual({ state: "draining", reasons: [] });
  state.enter("running");
  health = "ok";
  expect(await state.report()).toEqual({ state: "ok", reasons: [] });
});

test("a model that waits for a person is told with what to do, and takes no channel out of service", async () => {
  let refused = true;
  const words = (): readonly string[] =>
    refused ? [modelTrouble({ model: "openai/gpt-5", kind: "auth" })] : [];
  const state = gatewayState(
    { check: async () => ({ ok: true }) },
    () => [channel("a", "ok")],
    () => null,
    () => [],
    words,
  );
  state.enter("running");
  const report = await state.report();
  expect(report.state).toBe("degraded");
  expect(report.reasons.join()).toMatch(
    /openai\/gpt-5 .* refuses the key\. Set models\.providers\.openai\.apiKey/,
  );
  expect(state.ready().ok).toBe(true);
  refused = false;
  expect(await state.report()).toEqual({ state: "ok", reasons: [] });
});

test("every trouble is told, in the order of what it keeps from working; a channel that could not start by what it failed of", async () => {
  const bare = {
    ...loopback({ account: "b", clock: virtualClock() }),
    health: () => ({ state: "down" as const }),
  };
  const other = { ...bare, account: "c" };
  let checked: Awaited<ReturnType<Parameters<typeof gatewayState>[0]["check"]>> = {
    ok: true,
    danger: "the disk forgets",
  };
  const state = gatewayState(
    { check: async () => checked },
    () => [channel("a", "degraded"), bare, other],
    () => "the database is damaged",
    () => ["line 1", "line 2"],
    () => ["a turn is buried"],
    () => true,
    async () => ["the clock is wrong"],
  );
  state.channelFailed(bare, new Error("a wrong token"));
  state.channelFailed(other, "no");
  state.enter("safe-mode", "three crashes");
  const refused = "the config file was refused, the last good one is in force: line";
  const rest = [
    "the database is damaged",
    "this process can open no more files and takes no connection: raise its limit (LimitNOFILE, ulimit -n), or end what holds them",
    `${refused} 1`,
    `${refused} 2`,
    "a turn is buried",
    "the clock is wrong",
    "loopback:a is degraded: because",
    "loopback:b is down: a wrong token",
    "loopback:c is down: no",
  ];
  expect(await state.report()).toEqual({
    state: "safe-mode",
    reasons: ["three crashes", "the store may forget: the disk forgets", ...rest],
  });
  checked = { ok: false, reason: "read-only" };
  expect(state.store()).toBe(true);
  expect((await state.report()).reasons).toEqual([
    "three crashes",
    "the store does not work: read-only",
    ...rest,
  ]);
  expect([state.store(), state.phase(), state.hears(bare), state.hears(channel("a", "ok"))]).toEqual([
    false,
    "safe-mode",
    true,
    false,
  ]);
});

test("a check that fails is trouble with its words, and heals", async () => {
  let fails = true;
  const check = async () => {
    if (fails) throw new Error("away");
    return { ok: true } as const;
  };
  const state = gatewayState({ check }, () => []);
  state.enter("running");
  expect([await state.look(), state.ready()]).toEqual(["away", { ok: false }]);
  expect(await state.report()).toEqual({ state: "degraded", reasons: ["the store does not work: away"] });
  fails = false;
  expect([await state.look(), state.ready()]).toEqual([null, { ok: true }]);
});

test("what is past its time is swept every minute, in slices with a pause while there is more; a failure waits for the next minute", async () => {
  const clock = virtualClock();
  const swept: (readonly [number, number])[] = [];
  const answers: (boolean | Error)[] = [true, true, false, new Error("away"), true, false];
  const said: unknown[] = [];
  const stop = sweepRegularly(
    {
      sweep: async (rows: number) => {
        swept.push([clock.mono(), rows]);
        const answer = answers.shift() ?? false;
        if (answer instanceof Error) throw answer;
        return answer;
      },
    } as never,
    clock,
    { ...silentLog, warn: (fields, words) => void said.push([words, fields]) },
  );
  await clock.advance(240_200);
  expect(swept).toEqual([
    [60_000, 500],
    [60_100, 500],
    [60_200, 500],
    [120_200, 500],
    [180_200, 500],
    [180_300, 500],
  ]);
  expect(said).toEqual([["retention failed, trying again later", { error: new Error("away") }]]);
  stop();
  await clock.advance(240_000);
  expect([swept.length, clock.armed()]).toEqual([6, 0]);
  // One that is under way when it stops arms nothing, however it ends.
  for (const end of [async () => true, () => Promise.reject(new Error("away"))]) {
    let go = (): void => {};
    const late = sweepRegularly(
      { sweep: () => new Promise<boolean>((resolve) => (go = () => resolve(end()))) } as never,
      clock,
      silentLog,
    );
    await clock.advance(60_000);
    late();
    go();
    await clock.advance(1_000);
    expect(clock.armed()).toBe(0);
  }
});
