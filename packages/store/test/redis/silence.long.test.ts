// A server that says nothing, as one behind a broken network: given up in seconds, not for ever.
import { lacks, program, redisServer } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { redisStore } from "../../src/index.ts";
import { row } from "../subject.ts";
import { redisOptions, untilBack } from "./open-redis.ts";

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  test("a call is given up after five seconds, and the server is found again", async () => {
    const server = await redisServer();
    const store = await redisStore(redisOptions(server));
    server.signal("SIGSTOP");
    await expect(store.inbox.accept([row("1")])).rejects.toMatchObject({ code: "unavailable" });
    server.signal("SIGCONT");
    await untilBack(store);
    // The silent server had the call in its buffer: it may be stored by now.
    await store.inbox.accept([row("1")]);
    expect(await store.inbox.find({ limit: 9 })).toHaveLength(1);
    await store.close();
    await server.close();
  });
});
