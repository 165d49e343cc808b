// Kills the processes of the scale-out driver, and the server itself, on a server of its own.
import { rmSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { silentLog } from "@parley/protocol";
import { redisServer } from "@parley/testkit";
import { redisStore } from "../../src/index.ts";
import { judge, killLoop } from "../kill/loop.ts";
import { tempDir } from "../open-sqlite.ts";

export async function killOnRedis(kills: number): Promise<void> {
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
}
