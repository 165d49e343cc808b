// What an operator counts on in the lists: the newest first, the limit kept from the newest end, nothing
// twice, and open told from waiting.
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { gatewayMetrics, type GatewayMetrics } from "../../src/metrics/gateway-metrics.ts";
import type { SessionKey } from "@parley/protocol";
import { noneUsed, type UsageRow } from "@parley/runner";
import { sessionMethods } from "../../src/operator/sessions/sessions.ts";
import { usageMethods } from "../../src/operator/agent/usage.ts";
import { operateFixture, rowId, type OperateFixture } from "./operate-fixture.ts";

async function dead(at: OperateFixture, ...ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    await at.clock.advance(1_000);
    await at.accept(id);
    const turn = await at.take();
    await at.store.turns.commit(turn, turn.id, { outcome: "dead", reason: `bug ${id}`, entries: [] });
  }
}

/** Posts `count` texts for the cause and brings each part to the state of its place. */
async function delivered(
  at: OperateFixture,
  cause: string,
  ...ends: readonly ("sent" | "failed" | "ambiguous" | "waits")[]
): Promise<void> {
  await at.clock.advance(1_000);
  const delivery = `${cause}/0`;
  const parcel = await at.deliver(delivery, cause, ...ends.map((end, n) => `${cause} ${n} ${end}`));
  for (const [part, to] of ends.entries()) {
    if (to === "waits") continue;
    await at.store.outbox.record(parcel, [{ delivery, part, to: "sending", attempt: 1 }]);
    const how = to === "sent" ? { to, receipt: `{"messageId":"${cause}"}` } : { to, reason: "why not" };
    await at.store.outbox.record(parcel, [{ delivery, part, ...how } as never]);
  }
  await at.store.outbox.release(parcel, { afterMs: 0, reason: "done" });
}

test("dead messages: the newest first, as many as asked, without what was answered, dropped or retried", async () => {
  const at = await operateFixture();
  await dead(at, "1", "2");
  await at.accept("alive");
  const turn = await at.take();
  await at.store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
  await dead(at, "3", "4", "5");
  const list = async (limit?: number): Promise<readonly string[]> =>
    (await at.methods["dead.list"](limit === undefined ? {} : { limit })).rows.map(
      ({ id, reason }) => `${id} ${reason}`,
    );
  const named = (...ids: readonly string[]): readonly string[] => ids.map((id) => `${rowId(id)} bug ${id}`);
  expect(await list()).toEqual(named("5", "4", "3", "2", "1"));
  expect(await list(2)).toEqual(named("5", "4"));
  await at.methods["dead.drop"]({ id: rowId("4") });
  await at.methods["dead.retry"]({ id: rowId("1") });
  expect(await list(9)).toEqual(named("5", "3", "2"));
  await expect(at.methods["dead.retry"]({ id: rowId("alive") })).rejects.toThrow("it is answered");
  await expect(at.methods["dead.drop"]({ id: rowId("alive") })).rejects.toThrow("it is answered");
});

test("deliveries: trouble and what waits in one list, the newest first; the limit keeps the newest of both", async () => {
  const at = await operateFixture();
  await delivered(at, "a", "sent");
  await delivered(at, "b", "failed");
  await delivered(at, "c", "sent", "ambiguous");
  await delivered(at, "d", "sent");
  await delivered(at, "e", "failed", "failed");
  await delivered(at, "f", "waits");
  await delivered(at, "g", "waits", "waits");
  const list = async (params: object): Promise<readonly string[]> =>
    (await at.methods["outbox.list"](params)).deliveries.map(({ cause, state }) => `${cause} ${state}`);
  expect(await list({})).toEqual(["g waiting", "f waiting", "e failed", "c ambiguous", "b failed"]);
  expect(await list({ limit: 3 })).toEqual(["g waiting", "f waiting", "e failed"]);
  expect(await list({ troubled: true })).toEqual(["e failed", "c ambiguous", "b failed"]);
  expect(await list({ troubled: true, limit: 2 })).toEqual(["e failed", "c ambiguous"]);
});

test("sessions of one agent are not those of another whose name begins alike, and the limit counts only these", async () => {
  const at = await operateFixture();
  for (const key of ["agent:a:main", "agent:ab:main", "agent:a:telegram:dm:7", "agent:ab:web:dm:1"]) {
    await at.clock.advance(1_000);
    await at.store.sessions.open(key as SessionKey);
  }
  const config = { agents: { list: [] } } as never;
  const methods = sessionMethods({
    config,
    store: at.store,
    modelCatalog: { find: () => Promise.reject(new Error("no model is looked up")) },
    talk: { drop: () => Promise.reject(new Error("nothing is forgotten")) },
    heard: {} as never,
    clock: at.clock,
  });
  const list = async (params: object): Promise<readonly string[]> =>
    (await methods["sessions.list"](params)).sessions.map(({ key }) => key);
  expect(await list({ agent: "a" })).toEqual(["agent:a:telegram:dm:7", "agent:a:main"]);
  expect(await list({ agent: "a", limit: 2 })).toEqual(["agent:a:telegram:dm:7", "agent:a:main"]);
  expect(await list({ agent: "a", prefix: "agent:a:t" })).toEqual(["agent:a:telegram:dm:7"]);
  expect(await list({ agent: "a", prefix: "agent:ab:" })).toEqual([]);
  expect(await list({ prefix: "agent:ab:", limit: 1 })).toEqual(["agent:ab:web:dm:1"]);
  expect(await list({ sinceMs: at.clock.now() - 1_000 })).toEqual([
    "agent:ab:web:dm:1",
    "agent:a:telegram:dm:7",
  ]);
  // Words are looked for in all of them, whatever the limit of those that are told.
  await at.store.sessions.patch("agent:a:main" as SessionKey, { name: "Garden" });
  expect(await list({ find: " TELEgram:dm ", limit: 1 })).toEqual(["agent:a:telegram:dm:7"]);
  expect(await list({ find: "gard" })).toEqual(["agent:a:main"]);
  expect(await list({ find: "main", agent: "ab" })).toEqual(["agent:ab:main"]);
  expect(await list({ find: "main", limit: 1 })).toHaveLength(1);
  expect(await list({ find: "nothing of the kind" })).toEqual([]);
});

test("what was used: days in their order, everything else the costliest first, equal costs by what was read and written", async () => {
  const at = await operateFixture();
  const row = (day: string, agent: string, costUsd: number, inputTokens: number): UsageRow => ({
    ...noneUsed,
    day,
    session: "agent:main:main" as SessionKey,
    agent,
    channel: "telegram:default",
    person: "telegram:7",
    model: "m",
    turns: 1,
    costUsd,
    inputTokens,
  });
  const rows = [
    row("2026-01-02", "b", 0.5, 1),
    row("2026-01-03", "a", 0.1, 50),
    row("2026-01-01", "c", 0.1, 70),
    row("2026-01-02", "d", 3, 0),
  ];
  const { usage } = usageMethods({
    usage: { timeZone: "UTC", rows: async () => rows } as never,
    ledger: { states: async () => [] } as never,
    clock: at.clock,
  });
  const names = async (by: "day" | "agent"): Promise<readonly string[]> =>
    (await usage({ by })).rows.map(({ name, turns }) => `${name} ${turns}`);
  expect(await names("day")).toEqual(["2026-01-01 1", "2026-01-02 2", "2026-01-03 1"]);
  expect(await names("agent")).toEqual(["d 1", "b 1", "c 1", "a 1"]);
  const { from, through, total } = await usage({ days: 3 });
  const dayMs = 86_400_000;
  const day = (agoMs: number): string => new Date(at.clock.now() - agoMs).toISOString().slice(0, 10);
  expect([from, through, total.turns]).toEqual([day(2 * dayMs), day(0), 4]);
});

test("what was used is summed under each name that it can be asked by, over thirty days of the zone and by agent where nothing is said", async () => {
  // Half past eleven in the evening of the tenth in UTC is the eleventh in Berlin.
  const clock = virtualClock({ startMs: Date.UTC(2026, 2, 10, 23, 30) });
  const row = (n: number, names: object): UsageRow => ({
    day: `2026-03-0${n}`,
    session: `agent:a${n}:main` as SessionKey,
    agent: `a${n}`,
    channel: `c${n}`,
    person: `p${n}`,
    model: `m${n}`,
    turns: n,
    inputTokens: 10 * n,
    outputTokens: 100 * n,
    cacheReadTokens: 1_000 * n,
    cacheWriteTokens: 10_000 * n,
    costUsd: 0.5 * n,
    unpricedTokens: 7 * n,
    ...names,
  });
  const rows = [row(1, {}), row(2, {}), row(4, { person: "p1", channel: "c2", model: "m1" })];
  const asked: (readonly string[])[] = [];
  const used = { turns: 0, inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const state = { ...used, costUsd: 1, unpricedTokens: 5, inputTokens: 4, outputTokens: 3 };
  const { usage } = usageMethods({
    usage: {
      timeZone: "Europe/Berlin",
      rows: async (days: readonly string[]) => (asked.push(days), rows),
    } as never,
    ledger: {
      states: async () => [{ agent: "a", day: state, month: state, caps: { dayUsd: 3, monthTokens: 40 } }],
    } as never,
    clock,
  });
  const sum = (n: number) => ({
    turns: n,
    inputTokens: 10 * n,
    outputTokens: 100 * n,
    cacheReadTokens: 1_000 * n,
    cacheWriteTokens: 10_000 * n,
    costUsd: 0.5 * n,
    unpricedTokens: 7 * n,
  });
  expect(await usage({})).toEqual({
    from: "2026-02-10",
    through: "2026-03-11",
    timeZone: "Europe/Berlin",
    rows: [
      { name: "a4", ...sum(4) },
      { name: "a2", ...sum(2) },
      { name: "a1", ...sum(1) },
    ],
    total: sum(7),
    caps: [
      {
        agent: "a",
        over: "day",
        unit: "usd",
        most: 3,
        used: 1,
        resets: "at midnight (Europe/Berlin), in 23 h 30 min",
      },
      {
        agent: "a",
        over: "month",
        unit: "tokens",
        most: 40,
        used: 7,
        resets: "on 2026-04-01 at 00:00 (Europe/Berlin), in 21 days",
      },
    ],
  });
  expect([asked[0]?.length, asked[0]?.[0], asked[0]?.at(-1)]).toEqual([30, "2026-03-11", "2026-02-10"]);
  const names = async (by: "session" | "agent" | "channel" | "person" | "model" | "day") =>
    (await usage({ by, days: 1 })).rows.map(({ name, turns }) => `${name} ${turns}`);
  expect([
    await names("session"),
    await names("agent"),
    await names("channel"),
    await names("person"),
    await names("model"),
    await names("day"),
  ]).toEqual([
    ["agent:a4:main 4", "agent:a2:main 2", "agent:a1:main 1"],
    ["a4 4", "a2 2", "a1 1"],
    ["c2 6", "c1 1"],
    ["p1 5", "p2 2"],
    ["m1 5", "m2 2"],
    ["2026-03-01 1", "2026-03-02 2", "2026-03-04 4"],
  ]);
  expect(asked.at(-1)).toEqual(["2026-03-11"]);
});

test("what is left of each limit, of dollars and tokens, of the day and of the month, for each agent", async () => {
  const at = await operateFixture();
  const used = (costUsd: number, inputTokens: number) => ({ ...noneUsed, costUsd, inputTokens });
  const state = { day: used(1, 10), month: used(2, 20) };
  const { usage } = usageMethods({
    usage: { timeZone: "UTC", rows: async () => [] } as never,
    ledger: {
      states: async () => [
        { agent: "a", ...state, caps: { dayUsd: 3, dayTokens: 30, monthUsd: 4, monthTokens: 40 } },
        { agent: "b", ...state, caps: { monthTokens: 50 } },
      ],
    } as never,
    clock: at.clock,
  });
  expect((await usage({})).caps.map(({ resets: _resets, ...cap }) => Object.values(cap))).toEqual([
    ["a", "day", "usd", 3, 1],
    ["a", "day", "tokens", 30, 10],
    ["a", "month", "usd", 4, 2],
    ["a", "month", "tokens", 40, 20],
    ["b", "month", "tokens", 50, 20],
  ]);
});

test("the page of numbers says what the lists show, by pool and account", async () => {
  const at = await operateFixture();
  await dead(at, "1", "2", "3");
  await delivered(at, "a", "sent");
  await delivered(at, "b", "failed", "failed");
  await delivered(at, "c", "waits");
  const metrics = gatewayMetrics(at.clock);
  const counted = metrics.store(at.store);
  metrics.watch({
    store: at.store,
    channels: () => [],
    state: { phase: () => "draining", ready: () => ({ ok: false }), store: () => true },
    turnsRunning: () => 3,
    deliveriesRunning: () => 4,
    backups: { everyMs: () => null, trouble: () => null, lastAtMs: () => null },
    stableMoves: () => new Map([["skills", 5]]),
    proposals: async () => [],
    heartbeats: () => new Map([["quiet-hours", 9]]),
    slots: () => ({
      fired: 10,
      skipped: { overlap: 11, spend: 0 },
      missed: { window: 0, policy: 12 },
      lateSeconds: 1.5,
      mostLateSeconds: 1,
    }),
    connections: () => 6,
    devices: { connected: async () => 13, counts: new Map([["ok", 14]]) },
    pushes: { counts: new Map([["gone", 15]]) },
    reloads: () => ({ taken: 7, refused: 8 }),
    configTrouble: () => true,
    version: "1.2.3",
  });
  const early = await lines(metrics);
  expect(early).toMatchObject({
    parley_dead_messages: 3,
    parley_troubled_deliveries: 1,
    'parley_deliveries_waiting{pool="telegram:default"}': 1,
    parley_turns_running: 3,
    parley_deliveries_running: 4,
    'parley_prompt_stable_moves_total{section="skills"}': 5,
    'parley_cron_slots_total{result="fired",reason=""}': 10,
    'parley_cron_slots_total{result="skipped",reason="overlap"}': 11,
    'parley_cron_slots_total{result="missed",reason="policy"}': 12,
    parley_cron_late_seconds_total: 1.5,
    parley_cron_running: 0,
    'parley_heartbeats_total{result="quiet-hours"}': 9,
    parley_control_connections: 6,
    'parley_config_reloads_total{result="taken"}': 7,
    'parley_config_reloads_total{result="refused"}': 8,
    parley_config_ok: 0,
    parley_ready: 0,
    parley_store_up: 1,
    'parley_phase{phase="draining"}': 1,
    'parley_phase{phase="running"}': 0,
    'parley_build_info{version="1.2.3"}': 1,
  });

  // Two wait two seconds for their turn, which then works for forty, is given back and taken again.
  await at.accept("4");
  await at.accept("5");
  expect(await lines(metrics)).toMatchObject({
    'parley_messages_waiting{pool="main"}': 2,
    'parley_lanes{pool="main"}': 1,
  });
  await at.clock.advance(2_000);
  const want = { pool: "main", holder: "boot", leaseMs: 90_000, maxRows: 9 };
  const first = await counted.turns.take(want);
  if ("idle" in first) throw new Error("nothing to take");
  await at.clock.advance(40_000);
  await counted.turns.release(first, { afterMs: 0, reason: "a test", refund: false });
  const again = await counted.turns.take(want);
  if ("idle" in again) throw new Error("nothing to take again");
  await counted.turns.commit(again, again.id, { outcome: "answered", entries: [] });
  const late = await lines(metrics);
  expect(late).toMatchObject({
    'parley_turn_wait_seconds_count{pool="main"}': 1,
    'parley_turn_wait_seconds_sum{pool="main"}': 2,
    'parley_turn_duration_seconds_sum{outcome="answered"}': 40,
    'parley_turns_total{outcome="answered"}': 1,
  });
  expect(late['parley_messages_waiting{pool="main"}'] ?? 0).toBe(0);
  metrics.stop();
});

async function lines(metrics: Pick<GatewayMetrics, "text">): Promise<Record<string, number>> {
  const found = (await metrics.text()).split("\n").flatMap((line) => {
    const match = /^(\w+(?:\{.*\})?) (\S+)$/.exec(line);
    return match === null ? [] : [[match[1] ?? "", Number(match[2])] as const];
  });
  return Object.fromEntries(found);
}
