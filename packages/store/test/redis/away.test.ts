// A Redis that goes away: calls fail at once and say so, nothing is told to be stored that is not, and all
// goes on by itself.
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isFault, silentLog } from "@parley/protocol";
import { lacks, program, type RedisServer, redisServer } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { redisStore, type RedisStore, type Turn } from "../../src/index.ts";
import { testClock } from "../clock.ts";
import { delivery, ids, isIdle, row, takeDeliveryBatch, takeTurn, want, wantOut } from "../subject.ts";
import { redisOptions, untilBack } from "./open-redis.ts";

const unavailable = { code: "unavailable" };

describe.skipIf(lacks(program("redis-server")))("a server that goes away", () => {
  let server: RedisServer;
  let store: RedisStore;
  const lines: string[] = [];
  const log = {
    ...silentLog,
    info: (_: object, words: string) => void lines.push(`info ${words}`),
    warn: (_: object, words: string) => void lines.push(`warn ${words}`),
  };
  beforeEach(async () => {
    server = await redisServer();
    lines.length = 0;
    store = await redisStore(redisOptions(server, { log }));
  });
  afterEach(async () => {
    await store.close();
    await server.close();
  });

  test("refuses at once what it cannot store, and takes it when it is back, with all that it had", async () => {
    await store.inbox.accept([row("1")]);
    await server.kill();
    await expect(store.inbox.accept([row("2")])).rejects.toMatchObject(unavailable);
    await expect(store.turns.take(want)).rejects.toMatchObject(unavailable);
    expect(await store.check()).toMatchObject({ ok: false, reason: expect.stringContaining("Redis at") });
    await server.start();
    await untilBack(store);
    await store.inbox.accept([row("2")]);
    expect(ids((await takeTurn(store)).rows)).toEqual(["1", "2"]);
    expect(await store.check()).toEqual({ ok: true });
    // Each is told once, however often it was tried.
    expect(lines).toEqual(["warn Redis is away: nothing is accepted until it is back", "info Redis is back"]);
  });

  test("a start without a server is refused with what to do", async () => {
    await server.kill();
    const starting = redisStore(redisOptions(server));
    await expect(starting).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining("start it, or correct store.redis.url"),
    });
  });

  test("a start whose server goes at any of its words may be tried again", async () => {
    for (let words = 1; ; words += 1) {
      const cut = await cutAfter(server, words);
      const opened = await redisStore({ ...redisOptions(server), url: cut.url }).catch(
        (error: unknown) => error,
      );
      if (!(opened instanceof Error)) await (opened as RedisStore).close();
      await cut.close();
      if (!(opened instanceof Error)) {
        // At least INFO, SELECT, what the check of the server asks, and the identity.
        expect(words).toBeGreaterThan(7);
        return;
      }
      expect({ words, opened }).toMatchObject({ words, opened: unavailable });
    }
  });

  test("calls under way when the connection breaks are told; what they did stands, and asking again does nothing more", async () => {
    // The scripts are run by the server, but their answers are cut off.
    server.signal("SIGSTOP");
    const calls = [
      store.inbox.accept([row("1")]),
      store.cells.put("k", "v", {}),
      store.inbox.stop(row("1").lane, { rows: "all", reason: "stop" }),
    ].map((call) =>
      call.then(
        () => "done",
        (error: unknown) => (isFault(error) ? error.code : error),
      ),
    );
    await wait(20);
    await server.kill();
    expect(await Promise.all(calls)).toEqual(["unavailable", "ambiguous", "ambiguous"]);
    await server.start();
    await untilBack(store);
    await store.inbox.accept([row("1")]);
    expect(await store.inbox.find({ limit: 9 })).toHaveLength(1);
  });

  test("a take whose answer was lost is found by the next one, without a strike and without waiting for its lease", async () => {
    await store.inbox.accept([row("1")]);
    await store.outbox.post([delivery("d")]);
    await cutOff(server, () => [store.turns.take(want), store.outbox.take(wantOut)]);
    await untilBack(store);
    const turn = await takeTurn(store);
    expect(turn).toMatchObject({ attempt: 1, rows: { length: 1 } });
    expect(await store.turns.extend(turn, 1000)).toBe(0);
    const parcel = await takeDeliveryBatch(store);
    await store.outbox.record(parcel, [{ delivery: "d", part: 0, to: "sending", attempt: 1 }]);
    expect(isIdle(await store.turns.take(want))).toBe(true);
  });

  test("a lost take is found by one caller only", async () => {
    await store.inbox.accept([row("1")]);
    await cutOff(server, () => [store.turns.take(want)]);
    await untilBack(store);
    const taken = await Promise.all([store.turns.take(want), store.turns.take(want), store.turns.take(want)]);
    expect(taken.filter((each) => !isIdle(each))).toHaveLength(1);
  });

  test("another holder does not find it: it waits for the lease to end", async () => {
    // How long the server is away is not known, so the time of the leases does not pass by itself.
    const clock = testClock();
    const timed = await redisStore(redisOptions(server, { clock }));
    await timed.inbox.accept([row("1")]);
    await cutOff(server, () => [timed.turns.take({ ...want, leaseMs: 600 })]);
    await untilBack(timed);
    clock.advance(599);
    expect(isIdle(await timed.turns.take({ ...want, holder: "w2" }))).toBe(true);
    clock.advance(1);
    expect((await takeTurn(timed, { holder: "w2" })).attempt).toBe(2);
    await timed.close();
  });

  test("connections that are killed come back", async () => {
    await server.command("CLIENT", "KILL", "TYPE", "normal");
    await untilBack(store);
    await store.inbox.accept([row("1")]);
    const turn: Turn = await takeTurn(store);
    expect(turn.rows).toHaveLength(1);
  });

  test("a full server refuses changes and keeps what it has", async () => {
    await store.inbox.accept([row("1")]);
    await server.command("CONFIG", "SET", "maxmemory", "1mb");
    await expect(store.inbox.accept([row("2")])).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining("is full"),
    });
    await server.command("CONFIG", "SET", "maxmemory", "0");
    expect(await store.inbox.accept([row("2")])).toMatchObject([{ verdict: "queued" }]);
    expect(ids((await takeTurn(store)).rows)).toEqual(["1", "2"]);
  });
});

/** A way to the server that hears so many commands and is gone before it passes the last of them on. */
async function cutAfter(
  server: RedisServer,
  commands: number,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "parley-cut-"));
  const url = join(folder, "way.sock");
  let heard = 0;
  const way = createServer((client) => {
    if (heard >= commands) return void client.destroy();
    const real = createConnection(server.url);
    real.on("error", () => client.destroy()).on("close", () => client.destroy());
    client.on("error", () => real.destroy()).on("close", () => real.destroy());
    real.pipe(client);
    client.on("data", (chunk: Buffer) => {
      heard += chunk.toString().split(/\*\d+\r\n\$/).length - 1;
      if (heard >= commands) client.destroy();
      else real.write(chunk);
    });
  });
  await once(way.listen(url), "listening");
  return {
    url,
    async close() {
      way.close();
      await once(way, "close");
      rmSync(folder, { recursive: true });
    },
  };
}

/** Runs calls whose effects are durable but whose answers never arrive. */
async function cutOff(server: RedisServer, calls: () => readonly Promise<unknown>[]): Promise<void> {
  await server.command("CONFIG", "SET", "client-output-buffer-limit", "normal 1 1 0");
  const ended = calls().map((call) =>
    call.then(
      () => false,
      () => true,
    ),
  );
  expect(await Promise.all(ended)).not.toContain(false);
  await server.command("CONFIG", "SET", "client-output-buffer-limit", "normal 0 0 0");
}
