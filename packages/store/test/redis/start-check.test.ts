// What a Redis must be before anything is trusted to it, and that each refusal names the line to change.
import { silentLog } from "@parley/protocol";
import { lacks, program, redisServer } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { redisStore } from "../../src/index.ts";
import { checkServer } from "../../src/redis/start-check.ts";
import { redisOptions } from "./open-redis.ts";

describe.skipIf(lacks(program("redis-server")))("a real server", () => {
  test.each([
    [["--maxmemory-policy", "allkeys-lru"], "invalid", /allkeys-lru.*"maxmemory-policy noeviction"/],
    [["--appendonly", "no"], "invalid", /append-only file is off.*"appendonly yes"/],
    [["--appendfsync", "no"], "invalid", /appendfsync is no.*"appendfsync everysec"/],
    [["--cluster-enabled", "yes"], "unsupported", /is a cluster.*"cluster-enabled no"/],
    [["--requirepass", "pw"], "invalid", /wants a password: set store\.redis\.url/],
    [["--replicaof", "127.0.0.1", "1"], "invalid", /replica/],
  ] as const)("with %s is refused", async (args, code, message) => {
    const server = await redisServer({ args });
    try {
      await expect(redisStore(redisOptions(server))).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message),
      });
    } finally {
      await server.close();
    }
  });

  test("without the database of the address is refused, not used in another one", async () => {
    const server = await redisServer();
    const store = redisStore({ ...redisOptions(server), url: `${server.url}?db=99` });
    await expect(store).rejects.toMatchObject({
      code: "invalid",
      message: expect.stringContaining("no database 99") as unknown,
    });
    await server.close();
  });

  test("that may forget is taken with a warning when the operator says so", async () => {
    const server = await redisServer({ args: ["--maxmemory-policy", "volatile-lru", "--appendonly", "no"] });
    const warnings: string[] = [];
    const log = { ...silentLog, warn: (_: unknown, text: string) => void warnings.push(text) };
    const store = await redisStore(redisOptions(server, { acceptDataLoss: true, log }));
    expect(await store.check()).toEqual({ ok: true });
    expect(warnings).toEqual([
      expect.stringContaining("maxmemory-policy noeviction"),
      expect.stringContaining("appendonly yes"),
    ]);
    await store.close();
    await server.close();
  });

  test("that is changed while a gateway runs is told, with the line to change, until it is changed back", async () => {
    const server = await redisServer();
    const store = await redisStore(redisOptions(server));
    await server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-lru");
    await server.command("CONFIG", "SET", "appendonly", "no");
    const danger: unknown = expect.stringMatching(
      /allkeys-lru.*"maxmemory-policy noeviction".*"appendonly yes"/,
    );
    expect(await store.check()).toEqual({ ok: true, danger });
    await server.command("CONFIG", "SET", "maxmemory-policy", "noeviction");
    await server.command("CONFIG", "SET", "appendonly", "yes");
    expect(await store.check()).toEqual({ ok: true });
    await store.close();
    await server.close();
  });

  test("that forbids CONFIG is judged by what it tells", async () => {
    const server = await redisServer({ args: ["--rename-command", "CONFIG", ""] });
    const store = await redisStore(redisOptions(server));
    expect(await store.check()).toEqual({ ok: true });
    await store.close();
    await server.close();
  });
});

test.each([
  ["6.0.16", false],
  ["5.0.7", false],
  ["6.2.0", true],
  ["7.0.15", true],
  ["10.1.0", true],
])("version %s is taken: %s", async (version, taken) => {
  const sections: { readonly [name: string]: readonly (readonly [string, string])[] } = {
    server: [["redis_version", version]],
    memory: [["maxmemory_policy", "noeviction"]],
    persistence: [["aof_enabled", "1"]],
  };
  const server = {
    place: "there",
    info: async (name: string) => new Map(sections[name] ?? []),
    setting: async () => null,
  };
  const checking = checkServer(server, { log: silentLog });
  if (taken) await checking;
  else
    await expect(checking).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("6.2 or newer"),
    });
});

test("an address that is none is refused by name", async () => {
  await expect(
    redisStore({ url: "not an address", keyPrefix: "p", bootId: "b", log: silentLog }),
  ).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringContaining("store.redis.url"),
  });
});
