// What a daemon tells of itself and of its machine: to systemd, in the file that is read while it accepts
// nobody, in its state, and of its config file at the start.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Fault } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { settleConfigFile } from "../../src/daemon/config-file.ts";
import { troubleAround } from "../../src/daemon/machine-trouble.ts";
import { systemdNotify } from "../../src/daemon/notify.ts";
import { reloading } from "../../src/daemon/reloading.ts";
import { keepStatusFile, outOfFiles } from "../../src/daemon/status-file.ts";
import { saidLog } from "./said-log.ts";

let home: string;
beforeEach(() => void (home = mkdtempSync(join(tmpdir(), "parley-around-"))));
afterEach(() => rmSync(home, { recursive: true, force: true }));

test("the status file has the newest status whole, every ten seconds, stays at trouble, and goes with the daemon", async () => {
  const clock = virtualClock({ startMs: 1_000 });
  const { log, said } = saidLog();
  const file = join(home, "status.json");
  let status: unknown = { words: "long ".repeat(100) };
  let isAway = false;
  const stop = keepStatusFile({
    home,
    status: async () => {
      if (isAway) throw new Fault("unavailable", "away");
      return status as never;
    },
    clock,
    log,
  });
  const read = (): unknown => JSON.parse(readFileSync(file, "utf8"));
  await clock.advance(0);
  expect(read()).toEqual({ atMs: 1_000, status });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  status = { words: "short" };
  await clock.advance(9_999);
  expect(read()).toMatchObject({ atMs: 1_000 });
  await clock.advance(1);
  expect(read()).toEqual({ atMs: 11_000, status });
  isAway = true;
  await clock.advance(10_000);
  expect(read()).toMatchObject({ atMs: 11_000 });
  expect(said).toMatchObject([["debug", "the status could not be written down", {}]]);
  isAway = false;
  await clock.advance(10_000);
  expect(read()).toMatchObject({ atMs: 31_000 });
  stop();
  expect([existsSync(file), clock.armed()]).toEqual([false, 0]);
  expect(outOfFiles()).toBe(false);
});

test("a status that comes after the end is written nowhere", async () => {
  const clock = virtualClock();
  const { log, said } = saidLog();
  let tell: (status: never) => void = () => {};
  const stop = keepStatusFile({ home, status: () => new Promise((resolve) => (tell = resolve)), clock, log });
  await clock.advance(0);
  stop();
  tell({} as never);
  await clock.advance(20_000);
  expect([said, clock.armed(), existsSync(join(home, "status.json"))]).toEqual([[], 0, false]);
});

test("systemd's own program tells its socket the state; without a socket nobody is told, and a missing program is said", async () => {
  const { log, said } = saidLog();
  systemdNotify({ PATH: home }, log)("READY=1");
  systemdNotify({ PATH: home, NOTIFY_SOCKET: "" }, log)("READY=1");
  systemdNotify({ PATH: home, NOTIFY_SOCKET: "/s" }, log)("STOPPING=1");
  await vi.waitFor(() =>
    expect(said).toMatchObject([["warn", "could not notify systemd", { state: "STOPPING=1" }]]),
  );
  const told = join(home, "told");
  writeFileSync(join(home, "systemd-notify"), `#!/bin/sh\necho "$NOTIFY_SOCKET $* $SECRET" >> ${told}\n`);
  chmodSync(join(home, "systemd-notify"), 0o755);
  systemdNotify({ PATH: home, NOTIFY_SOCKET: "/s", SECRET: "x" }, log)("WATCHDOG=1");
  await vi.waitFor(() => expect(readFileSync(told, "utf8")).toBe("/s WATCHDOG=1 \n"));
});

test("the state tells a clock that cannot be right, and each agent whose folder cannot be used", async () => {
  mkdirSync(join(home, "good"));
  writeFileSync(join(home, "file"), "");
  const agents = [
    { id: "one", workspace: join(home, "file") },
    { id: "two", workspace: join(home, "good") },
    { id: "three", workspace: join(home, "file") },
  ] as never;
  const words = (id: string): string =>
    `agent ${id} cannot work: ${join(home, "file")} is a file, not a folder`;
  expect(await troubleAround(agents, virtualClock())).toEqual([words("one"), words("three")]);
  const [clock, ...rest] = await troubleAround(agents, virtualClock({ startMs: 0 }));
  expect([clock, rest.length]).toEqual([expect.stringContaining("clock says 1970-01-01"), 2]);
  expect(await troubleAround([], virtualClock())).toEqual([]);
});

test("each warning about the config file is said with its place; one that is in order stays as it is", async () => {
  const { log, said } = saidLog();
  const path = join(home, "parley.json5");
  writeFileSync(path, "{ // mine\n}");
  const warnings = ["a", "b"].map((key) => ({ path: key, message: `${key} is odd`, fix: "mend it" }));
  await settleConfigFile({ path, warnings: warnings as never }, log);
  expect(said).toMatchObject([
    ["warn", expect.stringMatching(/parley\.json5.*a is odd/), {}],
    ["warn", expect.stringMatching(/parley\.json5.*b is odd/), {}],
  ]);
  expect(readFileSync(path, "utf8")).toBe("{ // mine\n}");
});

test("before the daemon has begun it reads no config again, and its state is that of the start", async () => {
  const clock = virtualClock({ startMs: 7 });
  const configs = reloading(clock);
  await clock.advance(100);
  await expect(configs.reload("x")).rejects.toMatchObject({ code: "unavailable" });
  expect([configs.state(), configs.counts()]).toEqual([
    { takenAtMs: 7, problems: [], restartNeeded: [] },
    { taken: 0, refused: 0 },
  ]);
  await configs.stop();
});
