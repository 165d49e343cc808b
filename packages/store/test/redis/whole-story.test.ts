// Every key of the store after each verb, but its identity. A wanted change:
// `vitest run --project @parley/store whole-story -u`.
import { lacks, program, type RedisServer, redisServer } from "@parley/testkit";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { redisStore } from "../../src/index.ts";
import { testClock } from "../clock.ts";
import { fieldsOf, steady, type Stored, wholeStory } from "../whole-story.ts";
import { redisOptions } from "./open-redis.ts";

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  let server: RedisServer;
  let redis: Redis;
  beforeAll(async () => {
    server = await redisServer({ args: ["--appendfsync", "everysec"] });
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.close();
  });

  /** A member that is JSON itself is shown in one order of its fields. */
  const plain = (member: string): string => (member.startsWith("{") ? steady(JSON.parse(member)) : member);

  /** No key becomes another sort of thing. */
  const types = new Map<string, string>();

  async function fieldsOfKey(name: string): Promise<Map<string, string>> {
    const fields = new Map<string, string>();
    const type = types.get(name) ?? (await redis.type(name));
    types.set(name, type);
    switch (type) {
      case "hash":
        return fieldsOf(await redis.hgetall(name), "", fields);
      case "list":
        return fieldsOf(await redis.lrange(name, 0, -1), "", fields);
      case "set":
        for (const member of await redis.smembers(name)) fields.set(member, "in");
        return fields;
      case "zset": {
        const list = await redis.zrange(name, "0", "-1", "WITHSCORES");
        for (let n = 0; n < list.length; n += 2) fields.set(plain(list[n] ?? ""), list[n + 1] ?? "");
        return fields;
      }
      default:
        return fieldsOf(await redis.get(name), "", fields);
    }
  }

  test("what each verb answers and leaves on Redis", async () => {
    const clock = testClock();
    const store = await redisStore(
      redisOptions(server, { clock, keyPrefix: "story", node: "n1", acceptDataLoss: true }),
    );
    const stored = async (): Promise<Stored> => {
      // Boots alone leave by the server's own time.
      const names = (await redis.keys("{story}:*")).filter((name) => name !== "{story}:identity");
      const found = names.toSorted().map(async (name): Promise<[string, Map<string, string>]> => {
        const fields = await fieldsOfKey(name);
        const leftMs = name.includes("boot") ? await redis.pttl(name) : -1;
        if (leftMs >= 0) fields.set("leaves after", `${Math.ceil(leftMs / 3_600_000)} h`);
        return [name.slice("{story}:".length), fields];
      });
      return new Map(await Promise.all(found));
    };
    const { answers, left } = await wholeStory({ store, clock, stored });
    await expect(answers).toMatchFileSnapshot("../tables/answers.txt");
    await expect(left).toMatchFileSnapshot("../tables/redis-keys.txt");
  });
});
