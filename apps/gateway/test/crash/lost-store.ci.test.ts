// A store that is gone, emptied, exchanged or locked by another program: nobody is told that a message is
// safe when it is not, and whoever runs the gateway is told what to do.
import { existsSync, renameSync, rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { lacks, program, redisServer } from "@parley/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { controlClient } from "../e2e/control-client.ts";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { parley } from "../e2e/operator.ts";
import { answerTo } from "./said.ts";
import { stage, type Stage } from "./stage.ts";
import { freeze } from "./store-look.ts";
import { usedHome, type UsedHome } from "./used-home.ts";

let used: UsedHome;
let at: Stage;
beforeAll(async () => {
  used = await usedHome();
});
afterAll(() => used.remove());
afterEach(async () => {
  await cleanUp();
  await at.close();
});

/** A stage on a home that was used, and has stopped. */
async function usedOnce(): Promise<{ readonly home: string; readonly file: string }> {
  const home = await used.copy();
  at = await stage({ home });
  return { home, file: join(home, "state.db") };
}

/** A daemon that runs and has answered; its state.db. */
async function answeredOnce(): Promise<string> {
  at = await stage();
  await at.start();
  at.says("telegram");
  await at.quiet("telegram");
  return join(at.daemon.home, "state.db");
}

async function refusal(): Promise<string> {
  return at.start().then(
    () => "it started",
    (cause: unknown) => String(cause),
  );
}

describe("state.db", () => {
  test.each([
    ["missing", (file: string) => ["", "-wal", "-shm"].forEach((end) => rmSync(file + end, { force: true }))],
    ["empty", (file: string) => truncateSync(file)],
  ])(
    "that is %s at the start is no fresh start: refused with what to do, and nothing is made",
    async (what, harm) => {
      const { home, file } = await usedOnce();
      harm(file);
      const words = new RegExp(
        `exited with 78[\\s\\S]*state\\.db is ${what}[\\s\\S]*parley restore[\\s\\S]*remove .*store\\.json`,
      );
      expect(await refusal()).toMatch(words);
      if (what === "missing") expect(await refusal()).toMatch(words);
      expect(existsSync(file)).toBe(what === "empty");
      expect((await parley(home, "sessions")).err).toMatch(/store\.json/);
      // A person says so: everything begins anew.
      rmSync(join(home, "store.json"));
      await at.start();
      await at.end();
    },
  );

  test("that is removed while it is in use ends the daemon before it acknowledges more; with a backup the message is answered", async () => {
    const file = await answeredOnce();
    const { home, exited } = at.daemon;
    const copy = join(home, "copy.db");
    expect((await parley(home, "backup", copy)).exitCode).toBe(0);
    rmSync(file);
    at.says("telegram");
    expect(await exited).toBe(1);
    expect(at.daemon.log()).toMatch(/state\.db was removed while Parley was running/);
    expect(await refusal()).toMatch(/exited with 78[\s\S]*state\.db is missing/);
    expect((await parley(home, "restore", copy)).exitCode).toBe(0);
    await at.start();
    await at.quiet("telegram");
    expect(await at.end()).toMatchObject({ openRows: 0, openDeliveries: 0 });
  });

  test("of another store is refused, until a person restores it", async () => {
    const { home, file } = await usedOnce();
    renameSync(file, join(home, "first.db"));
    rmSync(join(home, "store.json"));
    await at.start();
    await at.end();
    renameSync(join(home, "first.db"), file);
    expect(await refusal()).toMatch(/exited with 78[\s\S]*is another store than before/);
    renameSync(file, join(home, "first.db"));
    expect((await parley(home, "restore", join(home, "first.db"))).exitCode).toBe(0);
    await at.start();
    await at.end();
  });

  test("that another program has locked keeps nobody waiting who does not need it: what is said is answered once it is let go", async () => {
    await answeredOnce();
    const ready = async (): Promise<number> => (await fetch(`${at.daemon.url}/readyz`)).status;
    const thaw = freeze(at.daemon.home);
    at.says("telegram");
    // Each was answered only between two waits of five seconds, when the loop waited for the lock.
    for (let n = 0; n < 30; n += 1) await (await fetch(`${at.daemon.url}/healthz`)).text();
    await eventually(async () => (await ready()) === 503, 30_000, "the trouble");
    expect(at.daemon.log()).toContain("locked by another process");
    thaw();
    await at.quiet("telegram");
    await eventually(async () => (await ready()) === 200, 30_000, "that it is ready again");
    await at.end();
  });
});

describe.skipIf(lacks(program("redis-server")))("a Redis that is emptied", () => {
  test("acknowledges nothing more, the status says why, and the next start is refused; it goes on when the data is back", async () => {
    const redis = await redisServer();
    at = await stage({ config: { store: { driver: "redis", redis: { url: redis.url } } } });
    at.w.models.reply((call) => answerTo(call));
    try {
      await at.start();
      at.says("telegram");
      await at.quiet("telegram");
      const identity = (await redis.command("GET", "{parley}:identity")).split("\r\n")[1] ?? "";
      const client = await controlClient(at.daemon);
      await redis.command("FLUSHALL");
      at.says("telegram");
      await eventually(
        async () => {
          const { state, reasons } = (await client.call("status")) as { state: string; reasons: string[] };
          return state === "degraded" && reasons.join().includes("it was emptied, or exchanged");
        },
        20_000,
        "the reason in the status",
      );
      await expect(client.call("chat.send", { text: "hi", idempotencyKey: "k" })).rejects.toMatchObject({
        code: "unavailable",
      });
      client.close();
      await at.kill();
      expect(await refusal()).toMatch(/exited with 78[\s\S]*Redis at .* is empty[\s\S]*store\.json/);
      await redis.command("SET", "{parley}:identity", identity);
      await at.start();
      await at.quiet("telegram");
      expect(at.texts("telegram")).toEqual(["re m1", "re m2"]);
      expect(await at.daemon.stop()).toBe(0);
    } finally {
      await redis.close();
    }
  });
});
