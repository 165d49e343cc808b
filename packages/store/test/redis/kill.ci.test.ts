// The scale-out driver under kill -9: of the processes that use it, and of the server itself. PARLEY_LONG=1
// makes it long.
import { rmSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { silentLog } from "@parley/protocol";
import { lacks, program, redisServer } from "@parley/testkit";
import { describe, test } from "vitest";
import { redisStore } from "../../src/index.ts";
import { judge, killLoop } from "../kill/loop.ts";
import { tempDir } from "../open-sqlite.ts";

const kills = process.env["PARLEY_LONG"] === "1" ? 60 : 3;

describe.skipIf(lacks(program("redis-server")))("on a real server", () => {
  test(
    "killed processes and a killed server lose nothing, answer once, in order, and flag what may show twice",
    {
      timeout: 300_000,
    },
    async () => {
      const dir = tempDir();
      const server = await redisServer();
      const restart = async (): Promise<void> => {
        await server.kill();
        await server.start();
      };
      try {
        await killLoop({ dir, store: `redis:${server.url}#kill`, kills, also: restart });
        // No lock proves the dead processes dead: their leases of 300 ms end by time.
        await wait(400);
        const store = await redisStore({ url: server.url, keyPrefix: "kill", bootId: "end", log: silentLog });
        await judge(dir, store);
        await store.close();
      } finally {
        await server.close();
        rmSync(dir, { recursive: true });
      }
    },
  );
});
