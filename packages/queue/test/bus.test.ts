// Words between processes: heard by all others, by nobody twice, lost while Redis is away and carried again
// when it is back.
import { silentLog, systemIds } from "@parley/protocol";
import { lacks, program, type RedisServer, redisServer } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { redisBus, silentBus } from "../src/index.ts";

test("a process that is alone tells nobody", async () => {
  const heard: string[] = [];
  silentBus.hear("topic", (body) => heard.push(body));
  silentBus.tell("topic", "hello");
  expect([silentBus.shared, heard]).toEqual([false, []]);
  await silentBus.close();
});

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await redisServer({ args: ["--appendfsync", "no"] });
  });
  afterAll(() => server.close());
  const open = (keyPrefix: string) =>
    redisBus({ url: server.url, keyPrefix, ids: systemIds(), log: silentLog });

  test("others of the same gateway hear a topic, who tells it does not; strange words are no words; also after Redis was killed", async () => {
    const [one, two, stranger] = await Promise.all([open("bus"), open("bus"), open("other")]);
    const heard: string[] = [];
    one.hear("topic", (body) => heard.push(`one: ${body}`));
    const stop = two.hear("topic", (body) => heard.push(`two: ${body}`));
    two.hear("topic", () => {
      throw new Error("not understood");
    });
    two.hear("else", (body) => heard.push(`two else: ${body}`));
    stranger.hear("topic", (body) => heard.push(`stranger: ${body}`));
    await vi.waitFor(
      () => {
        one.tell("else", "ready");
        expect(heard).toContain("two else: ready");
      },
      { timeout: 10_000 },
    );
    heard.length = 0;
    await server.command("PUBLISH", "{bus}:bus", "{nonsense");
    one.tell("topic", "a\n\u2028b");
    await vi.waitFor(() => expect(heard.filter((line) => line.includes(" a"))).toEqual(["two: a\n\u2028b"]), {
      timeout: 10_000,
    });
    await server.kill();
    one.tell("topic", "lost");
    await server.start();
    await vi.waitFor(
      () => {
        one.tell("topic", "back");
        expect(heard).toContain("two: back");
      },
      { timeout: 10_000 },
    );
    expect(heard).not.toContain("two: lost");
    stop();
    await Promise.all([one.close(), two.close(), stranger.close()]);
    one.tell("topic", "closed");
  });

  test("one that begins while Redis is away hears once it is there, and one that never hears ends quietly", async () => {
    await server.kill();
    const [early, unlucky] = await Promise.all([open("bus"), open("bus")]);
    const heard: string[] = [];
    early.hear("topic", (body) => heard.push(body));
    await unlucky.close();
    await server.start();
    const late = await open("bus");
    await vi.waitFor(
      () => {
        late.tell("topic", "hello");
        expect(heard).toContain("hello");
      },
      { timeout: 10_000 },
    );
    await Promise.all([early.close(), late.close()]);
  });
});
