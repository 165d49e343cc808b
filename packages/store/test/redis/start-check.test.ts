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
    const lines: string[] = [];
    const log = { ...silentLog, warn: (_: object, words: string) => void lines.push(words) };
    const store = await redisStore(redisOptions(server, { log }));
    expect(await store.check()).toEqual({ ok: true });
    expect(lines).toEqual([]);
    await store.redact?.(() => null);
    expect(lines).toEqual(["Redis' own files keep what was overwritten until it writes them anew"]);
    await store.close();
    await server.close();
  });
});

/** What is refused, and what is logged with its place, of a server that says so. */
async function checked(
  said: { readonly [section: string]: { readonly [name: string]: string } },
  fsync: string | null,
) {
  const lines: string[] = [];
  const log = {
    ...silentLog,
    info: (fields: object, words: string) => void lines.push(`info ${JSON.stringify(fields)} ${words}`),
    warn: (fields: object, words: string) => void lines.push(`warn ${JSON.stringify(fields)} ${words}`),
  };
  const sound = {
    server: { redis_version: "7.4.1", redis_mode: "standalone" },
    replication: { role: "master" },
    cluster: { cluster_enabled: "0" },
    memory: { maxmemory_policy: "noeviction" },
    persistence: { aof_enabled: "1" },
  };
  const sections: { readonly [name: string]: object } = { ...sound, ...said };
  const server = {
    place: "there",
    info: async (name: string) => new Map(Object.entries(sections[name] ?? {})),
    setting: async () => fsync,
  };
  const refused = async (acceptDataLoss: boolean): Promise<string> =>
    checkServer(server, { log, acceptDataLoss }).then(
      () => "taken",
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );
  const strict = await refused(false);
  const strictly = lines.splice(0);
  return { strict, strictly, loose: await refused(true), loosely: lines };
}

test("what a server says of itself decides alone, each of its words, and each danger is told with its line", async () => {
  const cluster =
    'unsupported: Redis at there is a cluster: Parley needs one primary. Set "cluster-enabled no" in redis.conf';
  const taken = { strict: "taken", strictly: [], loose: "taken", loosely: [] };
  expect(await checked({}, "always")).toEqual(taken);
  expect(await checked({ memory: {} }, null)).toEqual(taken);
  const second =
    'info {"redis":"there"} Redis writes to its disk once a second ("appendfsync everysec"): a power cut may lose the last second';
  expect(await checked({}, "everysec")).toEqual({ ...taken, strictly: [second], loosely: [second] });
  for (const said of [
    { server: { redis_version: "7.0.0", redis_mode: "cluster" } },
    { cluster: { cluster_enabled: "1" } },
  ])
    expect(await checked(said, "always")).toEqual({ ...taken, strict: cluster, loose: cluster });
  const replica = "invalid: Redis at there is a replica: let store.redis.url name its primary";
  expect(await checked({ replication: { role: "slave" } }, "always")).toMatchObject({
    strict: replica,
    loose: replica,
  });
  const older = "unsupported: Redis at there is version 6.1.99: Parley needs 6.2 or newer";
  expect(await checked({ server: { redis_version: "6.1.99" } }, "always")).toMatchObject({
    strict: older,
    loose: older,
  });
  const policy =
    'Redis at there throws keys away when its memory is full (maxmemory-policy is volatile-lru). Set "maxmemory-policy noeviction" in redis.conf';
  const off =
    'Redis at there forgets what it stored when it dies (the append-only file is off). Set "appendonly yes" in redis.conf';
  const said = { memory: { maxmemory_policy: "volatile-lru" }, persistence: { aof_enabled: "0" } };
  expect(await checked(said, "no")).toEqual({
    strict: `invalid: ${policy}; store.redis.acceptDataLoss: true starts all the same`,
    strictly: [],
    loose: "taken",
    loosely: [`warn {"redis":"there"} ${policy}`, `warn {"redis":"there"} ${off}`],
  });
  expect((await checked({}, "no")).strict).toBe(
    'invalid: Redis at there leaves it to the system when to write to the disk (appendfsync is no). Set "appendfsync everysec" in redis.conf; store.redis.acceptDataLoss: true starts all the same',
  );
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

test("a Redis is named by its host and port or its socket, and never with the password", async () => {
  const told = async (url: string): Promise<string> =>
    redisStore({ url, keyPrefix: "p", bootId: "b", log: silentLog }).then(
      () => "opened",
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );
  const refused = (place: string, why: string): string =>
    `unavailable: Redis at ${place} cannot be reached (${why}): start it, or correct store.redis.url`;
  expect(await told("redis://user:secret@127.0.0.1:1/3")).toBe(
    refused("127.0.0.1:1", "connect ECONNREFUSED 127.0.0.1:1"),
  );
  expect(await told("/nowhere/redis.sock")).toBe(
    refused("/nowhere/redis.sock", "connect ENOENT /nowhere/redis.sock"),
  );
  expect(await told("not an address")).toBe(
    "invalid: store.redis.url is no address: write redis://host:6379, rediss:// for TLS, or the path of a socket",
  );
});
