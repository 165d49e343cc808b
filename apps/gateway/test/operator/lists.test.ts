// What an operator counts on in the lists: the newest first, the limit kept from the newest end, nothing twice, and
// open told from waiting.
import { expect, test } from "vitest";
import { gatewayMetrics, type GatewayMetrics } from "../../src/metrics/gateway-metrics.ts";
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
    stableMoves: () => new Map([["skills", 5]]),
    connections: () => 6,
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
