// The whole page of metrics: every name with its help, each filled with numbers of its own. After a wanted
// change: `vitest run --project @parley/gateway metrics-page -u`.
import { existsSync, readFileSync } from "node:fs";
import { noUsage } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { metricRegistry } from "@parley/control";
import { textDelivery } from "@parley/delivery";
import { expect, onTestFinished, test } from "vitest";
import { registerGauges, registerProcessMetrics, type WatchedParts } from "../src/metrics/gauges.ts";
import { gatewayMetrics } from "../src/metrics/gateway-metrics.ts";
import { memoryStore } from "./receive/store.ts";

const lane = (pool: string, waiting: number, holder: string | null = null): object => ({
  pool,
  waiting,
  holder,
});
const channel = (account: string, health: object): object => ({
  name: "telegram",
  account,
  health: () => health,
});

/** What the store was asked for. */
const asked = new Set<string>();

/** As a daemon in full work looks: every number differs from the others. */
const parts = {
  store: {
    turns: {
      list: async (pool: string | undefined, limit: number) => {
        asked.add(`turns of ${pool ?? "all"}, ${limit}`);
        return pool === "cron"
          ? [lane("cron", 1, "boot"), lane("cron", 1)]
          : [lane("main", 3), lane("cron", 4), lane("main", 5)];
      },
    },
    outbox: {
      list: async (pool: string | undefined, limit: number) => {
        asked.add(`answers of ${pool ?? "all"}, ${limit}`);
        return [lane("telegram:default", 6), lane("discord:default", 7)];
      },
    },
    cells: { list: async () => [] },
    troubled: async () => ({ rows: 8, deliveries: 9 }),
  },
  channels: () => [
    channel("default", { state: "ok", lastInboundAtMs: 1_500 }),
    channel("work", { state: "down" }),
    channel("slow", { state: "degraded" }),
    channel("new", { state: "starting" }),
    channel("over", { state: "stopped" }),
  ],
  state: { phase: () => "draining", ready: () => ({ ok: true }), store: () => false },
  turnsRunning: () => 11,
  deliveriesRunning: () => 12,
  backups: { lastAtMs: () => 13_000, everyMs: () => 13_500, trouble: () => "no space" },
  stableMoves: () => new Map([["identity", 14]]),
  heartbeats: () => new Map([["sent", 15]]),
  slots: () => ({
    fired: 16,
    lateSeconds: 17.5,
    mostLateSeconds: 18,
    skipped: { busy: 19, off: 20 },
    missed: { window: 21, policy: 22 },
  }),
  connections: () => 23,
  devices: { connected: async () => 24, counts: new Map([["ok", 25]]) },
  pushes: { counts: new Map([["sent", 28]]) },
  proposals: async () => [{ state: "accepted" }, { state: "open" }, { state: "accepted" }],
  reloads: () => ({ taken: 26, refused: 27 }),
  configTrouble: () => true,
  version: "1.2.3",
} as unknown as WatchedParts;

/**
 * The metrics of a table: one that came since breaks no test, and is taken up where the table is made anew.
 */
function knownIn(table: string, page: string): string {
  const path = new URL(table, import.meta.url);
  const text = existsSync(path) ? readFileSync(path, "utf8") : null;
  const isKnown = (line: string): boolean =>
    text === null ||
    text.includes(`# TYPE ${/(?:^|HELP |TYPE )([a-z]\w*?)(?:_bucket|_sum|_count)?[ {]/.exec(line)?.[1]} `);
  return page.split("\n").filter(isKnown).join("\n");
}

test("says of each part what it is", async () => {
  const book = metricRegistry();
  registerGauges(book, parts);
  await expect(knownIn("tables/gauges.txt", await book.text())).toMatchFileSnapshot("tables/gauges.txt");
  expect([...asked].toSorted()).toEqual([
    "answers of all, 1000",
    "turns of all, 1000",
    "turns of cron, 1000",
    "turns of subagent, 1000",
  ]);
  const idle = metricRegistry();
  registerGauges(idle, {
    ...parts,
    backups: { lastAtMs: () => null, everyMs: () => null, trouble: () => null },
    configTrouble: () => false,
    state: { phase: () => "running", ready: () => ({ ok: false }), store: () => true },
  } as unknown as WatchedParts);
  const text = await idle.text();
  expect(text).not.toContain("\nparley_last_backup_timestamp_seconds");
  expect(text).not.toContain("\nparley_backup_interval_seconds");
  for (const line of [
    "parley_config_ok 1",
    "parley_ready 0",
    "parley_store_up 1",
    "parley_backup_ok 1",
    'parley_phase{phase="running"} 1',
  ])
    expect(text.split("\n")).toContain(line);
});

test("tells the loop's lateness in seconds, and zero where nothing was measured yet", async () => {
  const book = metricRegistry();
  let nanos = 2_500_000_000;
  let resets = 0;
  const lag = {
    enable: () => true,
    reset: () => (resets += 1),
    percentile: (of: number) => nanos + of,
    get mean() {
      return nanos + 1;
    },
    get max() {
      return nanos + 2;
    },
  };
  registerProcessMetrics(book, 5_000, lag as unknown as Parameters<typeof registerProcessMetrics>[2]);
  const lines = async (): Promise<readonly string[]> =>
    (await book.text()).split("\n").filter((line) => /^nodejs_eventloop|^process_start/.test(line));
  expect(await lines()).toEqual([
    "process_start_time_seconds 5",
    'nodejs_eventloop_lag_seconds{stat="mean"} 2.500000001',
    'nodejs_eventloop_lag_seconds{stat="p99"} 2.500000099',
    'nodejs_eventloop_lag_seconds{stat="max"} 2.500000002',
  ]);
  nanos = Number.NaN;
  expect((await lines()).slice(1).map((line) => line.split(" ")[1])).toEqual(["0", "0", "0"]);
  expect(resets).toBe(2);
});

test("counts each thing under its own name", async () => {
  const clock = virtualClock();
  const metrics = gatewayMetrics(clock);
  metrics.refused("wrong_token");
  metrics.refused("wrong_token");
  metrics.egressRefused("a private address");
  metrics.hookRan("boot", "failed");
  metrics.spans("sent", 5);
  metrics.webhookCalled("deploy", "taken");
  const usage = {
    ...noUsage,
    inputTokens: 2,
    outputTokens: 3,
    cacheReadTokens: 4,
    cacheWriteTokens: 5,
    costUsd: 6,
  };
  const model = {
    id: "lab/deep",
    async *stream() {
      await clock.advance(300);
      yield { type: "discard" };
      yield { type: "text", delta: "a" };
      await clock.advance(300);
      yield { type: "text", delta: "b" };
      yield { type: "end", stop: "stop", usage, content: [] };
    },
  };
  const failing = {
    id: "lab/other",
    async *stream() {
      yield { type: "end", stop: "error", usage: noUsage, content: [], error: { kind: "auth", message: "" } };
    },
  };
  for (const each of [model, failing]) {
    const counted = await metrics
      .models({ get: async () => each } as unknown as Parameters<typeof metrics.models>[0])
      .get("x");
    for await (const _ of counted.stream(undefined as never, undefined as never));
  }
  const what = (await metrics.text()).replaceAll(/^(?:# \w+ )?(?:process|nodejs)_.*\n/gm, "");
  await expect(knownIn("tables/counters.txt", what)).toMatchFileSnapshot("tables/counters.txt");
});

test("counts rows by what was made of them, turns by how they ended and how long they took, and parts of answers by their account", async () => {
  const clock = virtualClock();
  const metrics = gatewayMetrics(clock);
  onTestFinished(metrics.stop);
  const inner = await memoryStore(clock);
  onTestFinished(inner.close);
  const store = metrics.store(inner);
  const row = (id: string, pool = "main", more: object = {}) =>
    ({
      id,
      pool,
      lane: `lane ${id}`,
      conversation: id,
      authority: "owner",
      as: { kind: "work" },
      payload: "{}",
      ...more,
    }) as never;
  const closed = (outcome: string) => ({ as: { kind: "closed", outcome, reason: "" } });
  await store.inbox.accept([
    row("a"),
    row("b", "cron"),
    row("c", "main", closed("refused")),
    row("d", "main", closed("commanded")),
    row("e", "main", closed("refused")),
  ]);
  await store.inbox.accept([row("a"), row("c", "main", closed("refused"))]);
  const take = async (pool: string, holder = "boot") => {
    const turn = await store.turns.take({ pool, holder, leaseMs: 600_000, maxRows: 9 });
    if ("idle" in turn) throw new Error("there is one");
    return turn;
  };
  await clock.advance(400);
  const main = await take("main");
  await clock.advance(3_000);
  const cron = await take("cron");
  await store.turns.commit(main, main.id, {
    outcome: "answered",
    entries: [],
    deliveries: [
      textDelivery("one", { channel: "telegram", account: "work", kind: "dm", peer: "1" }, "one", main.id),
    ],
  });
  await clock.advance(60_000);
  await store.turns.commit(cron, cron.id, { outcome: "dead", reason: "a bug", entries: [] });
  expect(await store.turns.take({ pool: "main", holder: "boot", leaseMs: 1, maxRows: 1 })).toHaveProperty(
    "idle",
  );
  const parcel = await store.outbox.take({
    pool: "telegram:work",
    holder: "boot",
    leaseMs: 600_000,
    maxRows: 9,
  });
  if ("idle" in parcel) throw new Error("there is one");
  const part = { delivery: "one", part: 0 };
  for (const change of [
    { ...part, to: "sending", attempt: 1 },
    { ...part, to: "queued", reason: "later" },
    { ...part, to: "sending", attempt: 2 },
    { ...part, to: "sent", receipt: '{"messageId":"1"}' },
  ])
    await store.outbox.record(parcel, [change as never]);
  const counted = async (): Promise<string> =>
    (await metrics.text())
      .split("\n")
      .filter((line) => /^parley_(?:events|turns?|delivery)_/.test(line))
      .join("\n");
  const before = await counted();
  await expect(before).toMatchFileSnapshot("tables/counted-store.txt");
  // How long a message waited is counted at the first begin alone: not where its process died, nor where a
  // turn is gone on with.
  await store.inbox.accept([row("f"), row("g", "cron")]);
  const waits = async () =>
    [...(await counted()).matchAll(/^parley_turn_wait_seconds_count\{pool="(\w+)"\} (\d+)$/gm)].map(
      ([, pool, count]) => `${pool} ${count}`,
    );
  const first = await take("main");
  await store.turns.checkpoint(first, 0, { steps: [{ kind: "result", body: "x" }] });
  await take("cron");
  const once = ["main 2", "cron 2"];
  expect(await waits()).toEqual(once);
  await clock.advance(600_001);
  expect([(await take("main")).attempt, await waits()]).toEqual([1, once]);
  expect([(await take("cron", "next boot")).attempt, await waits()]).toEqual([2, once]);
});
