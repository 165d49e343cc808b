// The scale-out driver keeps the contract, on a real server.
import { lacks, program, type RedisServer, redisServer } from "@parley/testkit";
import { afterAll, beforeAll, describe } from "vitest";
import { storeContract } from "../contract.ts";
import { openRedis } from "./open-redis.ts";

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await redisServer();
  });
  afterAll(() => server.close());

  storeContract({ name: "redis", open: (handles) => openRedis(server, handles) });
});
