// The same of a store in Redis: what would go and what is handed out are what they are of the file, and after
// it no key, no value and no file of the server has a byte of that person.
import { readdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { silentLog } from "@parley/protocol";
import { moveBetween, redisStore, type RedisStore } from "@parley/store";
import { lacks, program, redisServer, type RedisServer } from "@parley/testkit";
import { exportPerson } from "../../src/people/export-person.ts";
import { begin, lived, olgaInGroup, people, traces, withTraces, zed } from "./life-of-zebedee.ts";
import type { Stage } from "./stage.ts";

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  let server: RedisServer;
  let s: Stage;
  let store: RedisStore;
  beforeAll(async () => {
    // Every command is slow enough for the list of slow ones, and the dump is readable.
    server = await redisServer({ args: ["--slowlog-log-slower-than", "0", "--rdbcompression", "no"] });
  });
  afterAll(() => server.close());
  afterEach(async () => {
    await store.close();
    await s.close();
  });

  /** What the file holds, in Redis. */
  async function moved(keyPrefix: string): Promise<RedisStore> {
    const database = join(s.home, "copy.db");
    const db = new DatabaseSync(join(s.home, "state.db"));
    db.exec(`vacuum into '${database}'`);
    db.close();
    const redis = { url: server.url, keyPrefix, acceptDataLoss: false };
    const { clock } = s;
    await moveBetween({ to: "redis", database, redis, fresh: keyPrefix, clock, log: silentLog });
    return redisStore({ ...redis, log: silentLog, bootId: "operator", clock });
  }

  function folder(answer: string): string {
    return answer.split("\r\n").at(-2) ?? "";
  }

  /**
   * Where one of their words stands on the server: keys and values in a dump, the append-only file, the list
   * of slow commands.
   */
  async function onServer(): Promise<readonly string[]> {
    await server.command("SAVE");
    const dir = folder(await server.command("CONFIG", "GET", "dir"));
    const places = readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry): readonly [string, Buffer] => [
        entry.name,
        readFileSync(join(entry.parentPath, entry.name)),
      ]);
    const slow = Buffer.from(await server.command("SLOWLOG", "GET", "1000"));
    return [...places, ["slowlog", slow] as const].flatMap(([name, bytes]) =>
      traces.filter((trace) => bytes.includes(trace)).map((trace) => `${name}: ${trace}`),
    );
  }

  test("removes every byte of theirs from the server, and nothing of the others", async () => {
    s = await begin();
    await lived(s);
    store = await moved("forget");
    expect(await onServer()).not.toEqual([]);
    const onFile = await (await people(s)).forget(`telegram:${zed}`, false);
    const { forget } = await people(s, {}, store);
    const plan = await forget(`telegram:${zed}`, false);
    expect({ ...plan, notes: [] }).toEqual({ ...onFile, notes: [] });
    expect((await forget(`telegram:${zed}`, true)).counts).toEqual(plan.counts);
    await expect.poll(onServer, { timeout: 20_000 }).toEqual([]);
    expect((await withTraces(s)).filter((each) => !/^\/(?:state|copy)\.db/.test(each))).toEqual([]);

    const key = `agent:main:telegram:group:${olgaInGroup.address.peer}` as never;
    const told = JSON.stringify(await store.sessions.transcript(key, { limit: 99 }));
    expect(told).toContain("good morning everybody");
    expect(told).toContain("lend it to me");
    expect(await store.cells.get("mcp-pins:x")).not.toBeNull();
    expect((await store.cells.list("person-forgotten:", 10)).length).toBe(1);
    expect(await forget(`telegram:${zed}`, false)).toMatchObject({ counts: {}, rewritten: 0, sessions: [] });
    while (await store.sweep(100));
  });

  test("hands out what it hands out of the file", async () => {
    s = await begin();
    await lived(s);
    store = await moved("export");
    const ports = { home: s.home, clock: s.clock };
    const [file, redis] = [join(s.home, "of-file"), join(s.home, "of-redis")];
    await exportPerson(await (await people(s)).look(`telegram:${zed}`), file, ports);
    await exportPerson(await (await people(s, {}, store)).look(`telegram:${zed}`), redis, ports);
    const document = async (of: string): Promise<unknown> =>
      sorted(JSON.parse(await readFile(join(of, "person.json"), "utf8")));
    expect(await document(redis)).toEqual(await document(file));
  });
});

/** The two stores keep some things in another order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value))
    return value.map(sorted).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, each]) => [name, sorted(each)] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );
}
