// `parley status` when most is needed: the store is away, or the process can open no more files. Through the
// real command line.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { lacks, program, programPath, redisServer } from "@parley/testkit";
import type { MethodResult } from "@parley/protocol";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { cleanUp, eventually } from "./daemon.ts";
import { findableGateway, parley } from "./operator.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

type Status = MethodResult<"status">;

describe.skipIf(lacks(program("redis-server")))("a store that is away", () => {
  test("keeps no right token out: the channels, the model and why it is degraded are told", async () => {
    const redis = await redisServer();
    onTestFinished(() => redis.close());
    const store = { store: { driver: "redis", redis: { url: redis.url } } };
    const daemon = await w.start({ config: { ...store, ...(await findableGateway()) } });
    await eventually(async () => (await parley(daemon.home, "status")).exitCode === 0, 20_000, "all is well");
    await redis.close();
    const found = await eventually(
      async () => {
        const { out } = await parley(daemon.home, "--json", "status");
        const status = JSON.parse(out) as Status;
        return status.state === "degraded" ? status : undefined;
      },
      20_000,
      "the trouble to be seen",
    );
    expect(found).toMatchObject({ pid: daemon.pid, model: "fake/m1" });
    expect(found.channels.map(({ channel }) => channel).toSorted()).toEqual(["telegram", "web"]);
    expect(found.reasons.join()).toMatch(/the store does not work/);
    const { out, exitCode } = await parley(daemon.home, "status");
    expect(exitCode).toBe(1);
    expect(out).toMatch(/^Channel {3}telegram:default {2}/m);
  });
});

const prlimit = program("prlimit");

describe.skipIf(lacks(prlimit))("a process that can open no more files", () => {
  test("is told from what it wrote down: the channels, and that it takes no connection", async () => {
    const daemon = await w.start({ config: await findableGateway() });
    await eventually(() => existsSync(join(daemon.home, "status.json")), 10_000, "the file");
    await eventually(async () => (await parley(daemon.home, "status")).exitCode === 0, 20_000, "all is well");
    // Below what it has open: no number is left for another one.
    const limit = (most: number): unknown =>
      execFileSync(programPath(prlimit), ["--pid", String(daemon.pid), `--nofile=${most}:`]);
    limit(10);
    const said = await eventually(
      async () => {
        const ran = await parley(daemon.home, "status");
        return ran.out.includes("can open no more files") ? ran : undefined;
      },
      30_000,
      "the reason",
    );
    expect(said.exitCode).toBe(1);
    expect(said.err).toMatch(
      /^The gateway .* does not answer[\s\S]*process \d+ runs\. This is what it wrote down \d+ seconds ago/,
    );
    expect(said.out).toMatch(/^Channel {3}telegram:default {2}/m);
    limit(1_024);
    await eventually(
      async () => (await parley(daemon.home, "status")).exitCode === 0,
      30_000,
      "all is well again",
    );
    expect(await daemon.stop()).toBe(0);
    expect(existsSync(join(daemon.home, "status.json"))).toBe(false);
  });
});
