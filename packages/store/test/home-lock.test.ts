// One daemon per home, over real processes: the second is refused by pid, and a killed one leaves no lock
// behind.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lockHome } from "../src/index.ts";
import { tempDir } from "./open-sqlite.ts";

// Nothing here holds what the lock returned, and the collector has run: the home is locked all the same.
const holder = `
  import { lockHome } from ${JSON.stringify(new URL("../src/index.ts", import.meta.url).href)};
  lockHome(process.argv[1], process.pid);
  gc();
  console.log("locked");
  setInterval(() => {}, 1000);
`;

async function holding(dir: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--expose-gc", "--input-type=module", "-e", holder, dir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return child;
}

test("a second lock is refused with the pid of the first, and is free once that one was killed", async () => {
  const dir = tempDir();
  const child = await holding(dir);
  expect(() => lockHome(dir, process.pid)).toThrow(`process ${child.pid}`);
  expect(() => lockHome(dir, process.pid)).toThrow(dir);
  child.kill("SIGKILL");
  await once(child, "exit");
  const lock = lockHome(dir, process.pid);
  lock.release();
  rmSync(dir, { recursive: true });
});

test("a lock is refused within one process too, and released once and for all", () => {
  const dir = tempDir();
  const lock = lockHome(dir, 41);
  expect(() => lockHome(dir, 42)).toThrow("process 41");
  lock.release();
  lock.release();
  lockHome(dir, 43).release();
  rmSync(dir, { recursive: true });
});

test("a lock makes its folder private, names its holder to others, and says what keeps it from being made", () => {
  const dir = tempDir();
  const home = join(dir, "deep", "home");
  const lock = lockHome(home, 41);
  const pidFile = join(home, "daemon.pid");
  expect([
    statSync(home).mode & 0o777,
    statSync(pidFile).mode & 0o777,
    readFileSync(pidFile, "utf8"),
  ]).toEqual([0o700, 0o600, "41\n"]);
  const next = "stop that one first, or set PARLEY_HOME to another folder";
  expect(() => lockHome(home, 42)).toThrow(`${home} is in use by another Parley (process 41): ${next}`);
  for (const spoil of [() => writeFileSync(pidFile, " \n"), () => rmSync(pidFile)]) {
    spoil();
    expect(() => lockHome(home, 42)).toThrow(`(process of unknown id): ${next}`);
  }
  lock.release();
  rmSync(join(home, "daemon.lock"));
  mkdirSync(join(home, "daemon.lock"));
  expect(() => lockHome(home, 43)).toThrow(`${join(home, "daemon.lock")} cannot be opened for writing`);
  rmSync(dir, { recursive: true });
});
