// Wakers: hints within a process, and between processes through BullMQ on a real server.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { silentLog, systemClock, type SessionKey } from "@parley/protocol";
import { redisStore, type RedisStore, type Turn } from "@parley/store";
import { lacks, program, type RedisServer, redisServer, seededIds } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { bullNotifier, localNotifier, runLanes, type WorkNotifier } from "../src/index.ts";
import { hints, workNotifierContract } from "./contract.ts";

workNotifierContract({
  name: "local",
  async open(source) {
    const notifier = localNotifier(source);
    return { notifier, close: () => notifier.close() };
  },
});

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  let server: RedisServer;
  let prefixes = 0;
  beforeAll(async () => {
    server = await redisServer({ args: ["--appendfsync", "no"] });
  });
  afterAll(() => server.close());

  const open = (
    source: Parameters<typeof localNotifier>[0],
    keyPrefix: string,
    pools = ["main", "cron"],
  ): Promise<WorkNotifier> =>
    bullNotifier({ url: server.url, keyPrefix, pools, source, clock: systemClock(), log: silentLog });
  const ours = (): string => `wakers-${(prefixes += 1)}`;

  workNotifierContract({
    name: "bull",
    async open(source) {
      const notifier = await open(source, ours());
      return { notifier, close: () => notifier.close() };
    },
  });

  /** Two processes: the first gives hints and does no work, the second may hear them. */
  async function pair(pools?: readonly string[]) {
    const keyPrefix = ours();
    const first = hints();
    const [one, two] = [
      await open(first.source, keyPrefix, []),
      await open(hints().source, keyPrefix, [...(pools ?? ["main", "cron"])]),
    ];
    const heard: string[] = [];
    return {
      keyPrefix,
      first,
      one,
      two,
      heard,
      close: async () => void (await Promise.all([one.close(), two.close()])),
    };
  }

  test("a hint that nobody here takes reaches another process, under the names that BullMQ forbids too", async () => {
    const { first, two, heard, close } = await pair(["telegram:default", "main"]);
    two.onReady((pool) => heard.push(pool) > 0);
    first.give("telegram:default", "telegram:default:dm:1", 0);
    first.give("main", "agent:main:telegram:dm:1", 0);
    await vi.waitFor(() => expect(heard.toSorted()).toEqual(["main", "telegram:default"]), {
      timeout: 10_000,
    });
    await close();
  });

  test("a hint that reaches a process without a free slot goes on, to whoever has one by then", async () => {
    const { first, two, close } = await pair();
    let asked = 0;
    two.onReady(() => (asked += 1) > 1);
    first.give("main", "a", 0);
    await vi.waitFor(() => expect(asked).toBe(2), { timeout: 10_000 });
    await close();
  });

  test("a hint that is taken here is carried to nobody", async () => {
    const { keyPrefix, first, one, two, heard, close } = await pair();
    one.onReady(() => true);
    two.onReady((pool) => heard.push(pool) > 0);
    first.give("main", "a", 0);
    await wait(100);
    expect(heard).toEqual([]);
    expect(await server.command("KEYS", `{${keyPrefix}}:bull:*:de:*`)).toBe("*0\r\n");
    await close();
  });

  test("a hint for later comes when its time has come, also to the process that is left", async () => {
    const { first, one, two, heard, close } = await pair();
    one.onReady(() => true);
    two.onReady((pool) => heard.push(pool) > 0);
    const dueAtMs = Date.now() + 300;
    first.give("cron", "a", dueAtMs);
    await one.close();
    await vi.waitFor(() => expect(heard).toEqual(["cron"]), { timeout: 10_000 });
    expect(Date.now()).toBeGreaterThanOrEqual(dueAtMs);
    await close();
  });

  test("hints for one lane that come while one is told are told once more, and all leave no keys that grow", async () => {
    const { keyPrefix, first, two, heard, close } = await pair();
    two.onReady((pool) => heard.push(pool) > 0);
    const keys = async (): Promise<number> =>
      Number(/^\*(\d+)/.exec(await server.command("KEYS", `{${keyPrefix}}:bull:*`))?.[1]);
    first.give("main", "a", 0);
    await vi.waitFor(() => expect(heard.length).toBeGreaterThan(0), { timeout: 10_000 });
    const before = await keys();
    for (let n = 0; n < 200; n += 1) first.give("main", `lane-${n % 20}`, 0);
    await vi.waitFor(() => expect(heard.length).toBeGreaterThanOrEqual(21), { timeout: 10_000 });
    await vi.waitFor(async () => expect(await keys()).toBeLessThanOrEqual(before), { timeout: 10_000 });
    // BullMQ tells its dashboards what happened: that much of it is kept, not ten thousand lines a queue.
    expect(await server.command("HGET", `{${keyPrefix}}:bull:main:meta`, "opts.maxLenEvents")).toBe(
      "$3\r\n100\r\n",
    );
    await close();
  });

  test("a pool may be served for a while, and again; those of the process are heard all along", async () => {
    const { first, two, heard, close } = await pair(["main"]);
    two.onReady((pool) => heard.push(pool) > 0);
    const hears = (pool: string, lane: string): Promise<void> =>
      vi.waitFor(
        () => {
          first.give(pool, lane, 0);
          expect(heard).toContain(pool);
        },
        { timeout: 10_000, interval: 50 },
      );
    const [stop, stopOwn] = [two.serve("telegram:led"), two.serve("main")];
    await hears("telegram:led", "a");
    stop();
    stopOwn();
    await hears("main", "b");
    // Served again, it is heard again.
    two.serve("telegram:led");
    heard.length = 0;
    await hears("telegram:led", "c");
    await close();
    two.serve("telegram:late")();
  });

  test("no hint names the lane, and so no person, in what the server writes down", async () => {
    const { first, one, two, close } = await pair();
    one.onReady(() => false);
    two.onReady(() => false);
    first.give("main", "agent:main:telegram:dm:777000123", Date.now() + 60_000);
    first.give("main", "agent:main:telegram:dm:777000123", 0);
    const dir = (await server.command("CONFIG", "GET", "dir")).split("\r\n").at(-2) ?? "";
    const written = (): string =>
      readdirSync(join(dir, "appendonlydir"))
        .map((name) => readFileSync(join(dir, "appendonlydir", name), "latin1"))
        .join("");
    await vi.waitFor(() => expect(written()).toContain("delayed"), { timeout: 10_000 });
    expect(written()).not.toContain("777000123");
    await close();
  });

  test("a server that goes away takes hints with it, and carries them again when it is back", async () => {
    const own = await redisServer();
    const source = hints();
    const options = { url: own.url, keyPrefix: "w", pools: ["main"], clock: systemClock(), log: silentLog };
    const [one, two] = [
      await bullNotifier({ ...options, source: source.source }),
      await bullNotifier({ ...options, source: hints().source }),
    ];
    const heard: string[] = [];
    one.onReady(() => false);
    two.onReady((pool) => heard.push(pool) > 0);
    await own.kill();
    source.give("main", "a", 0);
    await own.start();
    await vi.waitFor(
      () => {
        source.give("main", "b", 0);
        expect(heard.length).toBeGreaterThan(0);
      },
      { timeout: 15_000, interval: 50 },
    );
    await own.kill();
    // A process must be able to end although Redis is gone.
    await Promise.all([one.close(), two.close()]);
    await own.close();
  });

  test("work whose every hint was lost is done all the same", async () => {
    const keyPrefix = ours();
    const store: RedisStore = await redisStore({
      url: server.url,
      keyPrefix,
      bootId: "b",
      log: silentLog,
      acceptDataLoss: true,
    });
    const notifier = await open(() => () => {}, keyPrefix);
    const done: string[] = [];
    const runner = runLanes<Turn>({
      lanes: store.turns,
      pool: "main",
      holder: "b",
      concurrency: 2,
      leaseMs: 5_000,
      maxRows: 5,
      clock: systemClock(),
      ids: seededIds(1),
      log: silentLog,
      onReady: notifier.onReady,
      async work(turn) {
        await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
        done.push(turn.lane);
        return { settled: true };
      },
      bury: async () => {},
    });
    await wait(50);
    const row = {
      pool: "main",
      conversation: "c" as Turn["conversation"],
      authority: "a",
      as: { kind: "work" as const },
      payload: "{}",
    };
    await store.inbox.accept(["1", "2", "3"].map((id) => ({ ...row, id, lane: `lane-${id}` as SessionKey })));
    await vi.waitFor(() => expect(done.toSorted()).toEqual(["lane-1", "lane-2", "lane-3"]), {
      timeout: 10_000,
    });
    await runner.drain(1000);
    await notifier.close();
    await store.close();
  });
});
