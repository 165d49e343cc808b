// One update of a state folder runs at a time, whatever a process left that died.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
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
import { afterEach, beforeEach, expect, test } from "vitest";
import { aloneWithDatabase, isUpdating, lockUpdate } from "../src/update-lock.ts";

let home: string;
let file: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "parley-lock-"));
  file = join(home, "update.lock");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

test("a second update is told which process has the lock, until that gives it up", () => {
  expect(isUpdating(home)).toBe(false);
  const unlock = lockUpdate(home);
  expect(isUpdating(home)).toBe(true);
  expect(() => lockUpdate(home)).toThrow(`An update runs already (process ${process.pid}).`);
  unlock();
  expect([isUpdating(home), existsSync(file)]).toEqual([false, false]);
  lockUpdate(home)();
});

test("what gave the lock up gives up nobody else's, and a number of its own that is left holds nobody up", () => {
  const unlock = lockUpdate(home);
  unlock();
  const next = lockUpdate(home);
  unlock();
  expect([isUpdating(home), readFileSync(file, "utf8")]).toEqual([true, `${process.pid}\n`]);
  next();
  writeFileSync(file, String(process.pid));
  expect(isUpdating(home)).toBe(false);
  lockUpdate(home)();
});

test("of two that put a database in place the second waits, and goes on after a failure too", async () => {
  const did: string[] = [];
  const failing = aloneWithDatabase(home, async () => {
    did.push("first");
    throw new Error("torn");
  });
  await expect(failing).rejects.toThrow("torn");
  expect(await aloneWithDatabase(home, async () => did.push("second"))).toBe(2);
  expect(did).toEqual(["first", "second"]);
});

test("a lock that is made and has no number in it yet cannot be taken away", () => {
  const unlock = lockUpdate(home);
  writeFileSync(file, "");
  expect(() => lockUpdate(home)).toThrow("An update runs already.");
  unlock();
});

test("a lock of a process that was killed holds nobody up, though its number is another's by now", async () => {
  const module = join(import.meta.dirname, "../src/update-lock.ts");
  const script = `import { lockUpdate } from ${JSON.stringify(module)}; lockUpdate(${JSON.stringify(home)}); console.log("has it"); setInterval(() => {}, 1000);`;
  const child = spawn(
    process.execPath,
    ["--conditions", "development", "--input-type=module", "-e", script],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  await once(child.stdout, "data");
  expect(readFileSync(file, "utf8")).toBe(`${child.pid}\n`);
  expect(() => lockUpdate(home)).toThrow(`process ${child.pid}`);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(isUpdating(home)).toBe(false);
  writeFileSync(file, `${process.ppid}\n`);
  lockUpdate(home)();
});

test("a version that knows the file alone is waited for while its process is there", () => {
  writeFileSync(file, String(process.ppid));
  expect(isUpdating(home)).toBe(true);
  expect(() => lockUpdate(home)).toThrow(`process ${process.ppid}`);
  writeFileSync(file, "4194305");
  expect(isUpdating(home)).toBe(false);
  lockUpdate(home)();
});

test("its files are for their owner alone, in a home that is made so; a place that cannot be locked is told", async () => {
  const fresh = join(home, "new");
  const unlock = lockUpdate(fresh);
  await aloneWithDatabase(fresh, async () => {});
  const modes = ["", "update.guard", "restore.guard", "update.lock"].map(
    (name) => statSync(join(fresh, name)).mode & 0o777,
  );
  expect(modes).toEqual([0o700, 0o600, 0o600, 0o600]);
  unlock();
  chmodSync(join(fresh, "update.guard"), 0o644);
  lockUpdate(fresh)();
  expect(statSync(join(fresh, "update.guard")).mode & 0o777).toBe(0o600);
  mkdirSync(join(home, "update.guard"));
  expect(() => lockUpdate(home)).toThrow(
    expect.objectContaining({
      code: "unavailable",
      message: `${join(home, "update.guard")} cannot be locked: unable to open database file`,
    }) as Error,
  );
});

test.skipIf(process.getuid?.() !== 0)("what root writes belongs to whoever the home belongs to", () => {
  chownSync(home, 12_345, 12_346);
  const unlock = lockUpdate(home);
  const owners = ["update.guard", "update.lock"].map((name) => {
    const { uid, gid } = statSync(join(home, name));
    return [uid, gid];
  });
  unlock();
  expect(owners).toEqual([
    [12_345, 12_346],
    [12_345, 12_346],
  ]);
});
