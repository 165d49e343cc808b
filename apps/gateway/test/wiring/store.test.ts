// Which store a config opens, what is remembered of it outside of it, and what is refused before it is used.
import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { secret } from "@parley/config";
import { silentLog } from "@parley/protocol";
import { silentBus } from "@parley/queue";
import { moveCell, sqliteStore } from "@parley/store";
import { seededIds, virtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { forgetStore, rememberedStore, rememberStore } from "../../src/wiring/store-memory.ts";
import { databaseFile, redisOf, wireBus, wireStore } from "../../src/wiring/store.ts";

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "parley-store-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
});
const record = (): Promise<string> => readFile(join(home, "store.json"), "utf8").catch(() => "none");
const sqlite = { store: { driver: "sqlite" } } as never;
const redis = (more: object = {}) =>
  ({
    store: {
      driver: "redis",
      redis: { url: secret("redis://127.0.0.1:1"), keyPrefix: "p", acceptDataLoss: false, ...more },
    },
  }) as never;

const open = (config: never, exclusive = true) =>
  wireStore({
    config,
    home,
    exclusive,
    bootId: "boot",
    onFatal: () => undefined,
    clock: virtualClock(),
    log: silentLog,
  });

test("what is remembered is by driver, written when it changes, and tells how to come back", async () => {
  expect(rememberedStore(home, "sqlite")).toEqual({});
  forgetStore(home, "sqlite");
  expect(await record()).toBe("none");
  rememberStore(home, "sqlite", "one");
  rememberStore(home, "redis", "two");
  expect(JSON.parse(await record())).toEqual({ sqlite: "one", redis: "two" });
  expect((await stat(join(home, "store.json"))).mode & 0o777).toBe(0o600);
  const advice = (driver: "sqlite" | "redis") => rememberedStore(home, driver).expected;
  expect(advice("sqlite")).toEqual({
    identity: "one",
    advice: `put a backup in its place with \`parley restore <file>\`, or, to go on with what is there now, remove ${join(home, "store.json")} and start again`,
  });
  expect(advice("redis")).toMatchObject({
    identity: "two",
    advice: expect.stringMatching(/^bring its data back/),
  });
  // The same again writes nothing: a full disk must not stop a start.
  await rm(join(home, "store.json"));
  await writeFile(join(home, "store.json"), '{"sqlite":"one"} ');
  rememberStore(home, "sqlite", "one");
  expect(await record()).toBe('{"sqlite":"one"} ');
  rememberStore(home, "sqlite", "other");
  forgetStore(home, "redis");
  expect(await record()).toBe('{"sqlite":"other"}\n');
  forgetStore(home, "sqlite");
  expect(rememberedStore(home, "sqlite")).toEqual({});
  for (const broken of ["", "[]", '{"sqlite":""}', '{"sqlite":1}']) {
    await writeFile(join(home, "store.json"), broken);
    expect(() => rememberedStore(home, "redis")).toThrow(
      /store\.json cannot be read.*Remove it if that store is there/,
    );
  }
});

test("the daemon remembers its database and refuses another; an operator's look remembers nothing", async () => {
  expect([databaseFile(sqlite, "/h"), databaseFile(redis(), "/h")]).toEqual(["/h/state.db", null]);
  await (await open(sqlite, false)).close();
  expect(await record()).toBe("none");
  const first = await open(sqlite);
  const { file, unclean } = first;
  expect([JSON.parse(await record()), file, unclean, await first.freeLeases({} as never)]).toEqual([
    { sqlite: expect.any(String) },
    join(home, "state.db"),
    false,
    0,
  ]);
  await first.close();
  await rm(join(home, "state.db"));
  await expect(open(sqlite)).rejects.toThrow(/parley restore <file>/);
});

test("half a copy is refused, and its database is closed again", async () => {
  const first = await open(sqlite);
  await first.cells.put(moveCell, "half", {});
  await first.close();
  await expect(open(sqlite)).rejects.toThrow("run `parley migrate --to sqlite` again");
  const next = await sqliteStore({
    path: join(home, "state.db"),
    exclusive: true,
    bootId: "next",
    onFatal: () => undefined,
    clock: virtualClock(),
    log: silentLog,
  });
  expect(next.unclean).toBe(false);
  await next.close();
});

test("a Redis is refused before it is called where its address or a file of it is missing", async () => {
  const without = { store: { driver: "redis" } } as never;
  await expect(open(without)).rejects.toThrow("store.redis.url is missing");
  await expect(redisOf({ store: { driver: "sqlite" } } as never)).rejects.toThrow(
    "store.redis.url is missing: say where",
  );
  const pem = async (name: string) => {
    await writeFile(join(home, name), name);
    return join(home, name);
  };
  const tls = { caFile: await pem("ca"), certFile: await pem("cert"), keyFile: await pem("key") };
  expect(await redisOf(redis({ tls }))).toEqual({
    url: "redis://127.0.0.1:1",
    tls: { ca: "ca", cert: "cert", key: "key" },
    keyPrefix: "p",
    acceptDataLoss: false,
  });
  expect(await redisOf(redis({ tls: {} }))).toMatchObject({ tls: {} });
  expect(await redisOf(redis())).not.toHaveProperty("tls");
  for (const name of ["caFile", "certFile", "keyFile"])
    await expect(open(redis({ tls: { ...tls, [name]: "/none" } }))).rejects.toThrow(
      `store.redis.tls.${name}: /none cannot be read (ENOENT`,
    );
});

test("a process with a database of its own has no bus to others, also where a Redis stands in the config", async () => {
  const both = {
    store: { driver: "sqlite", redis: { url: secret("redis://127.0.0.1:1"), keyPrefix: "p" } },
  } as never;
  expect(await wireBus(both, seededIds(1), silentLog)).toBe(silentBus);
});
