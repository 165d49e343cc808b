// Backups on a schedule and by a passphrase: when they are made, how many stay, and that a changed or cut file is noticed.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { Config } from "@parley/config";
import { silentLog } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import { scheduledBackups } from "../../src/maintenance/scheduled-backups.ts";
import { isSealed, sealFile, unsealFile } from "../../src/maintenance/sealed-file.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "parley-backups-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
});

test("a sealed file opens with its passphrase alone, whatever its size, and holds nothing readable", () => {
  const at = (name: string): string => join(home, name);
  for (const bytes of [0, 5, 1 << 20, (1 << 20) + 1, 2_500_000]) {
    for (const name of ["plain", "sealed", "back"]) rmSync(at(name), { force: true });
    const plain = Buffer.alloc(bytes, "a purple giraffe, ");
    writeFileSync(at("plain"), plain);
    sealFile(at("plain"), at("sealed"), "correct horse", seededIds(1), 8);
    expect(statSync(at("sealed")).mode & 0o777).toBe(0o600);
    expect([isSealed(at("sealed")), isSealed(at("plain"))]).toEqual([true, false]);
    expect(readFileSync(at("sealed")).includes("giraffe")).toBe(false);
    unsealFile(at("sealed"), at("back"), "correct horse");
    expect(readFileSync(at("back")).equals(plain)).toBe(true);
  }
  expect(() => unsealFile(at("sealed"), at("other"), "wrong horse")).toThrow(/not its passphrase/);
  // One piece less is whole in itself, and noticed all the same.
  const whole = readFileSync(at("sealed"));
  truncateSync(at("sealed"), 33 + 2 * ((1 << 20) + 16));
  expect(() => unsealFile(at("sealed"), at("other"), "correct horse")).toThrow(/damaged or was cut off/);
  whole[whole.length - 1] = (whole.at(-1) ?? 0) ^ 1;
  writeFileSync(at("sealed"), whole);
  expect(() => unsealFile(at("sealed"), at("other"), "correct horse")).toThrow(/damaged or was cut off/);
  expect(readdirSync(home)).not.toContain("other");
});

test("a file that is not sealed or not opened leaves no file open and none behind", () => {
  const at = (name: string): string => join(home, name);
  const openFiles = (): number => readdirSync("/proc/self/fd").length;
  writeFileSync(at("plain"), "text");
  writeFileSync(at("stands"), "mine");
  writeFileSync(at("short"), "PARLEY-SEALED-1");
  sealFile(at("plain"), at("sealed"), "p", seededIds(1), 8);
  const before = openFiles();
  const seal = (from: string, to: string) => () => sealFile(at(from), at(to), "p", seededIds(1), 8);
  const unseal = (from: string, to: string) => () => unsealFile(at(from), at(to), "q");
  for (const [attempt, words] of [
    [seal("plain", "stands"), "EEXIST"],
    [seal("gone", "new"), "ENOENT"],
    [seal(".", "new"), "EISDIR"],
    [unseal("sealed", "stands"), "EEXIST"],
    [unseal("sealed", "new"), "not its passphrase"],
    [unseal("plain", "new"), "damaged or was cut off"],
    [unseal("sealed", "nowhere/new"), "ENOENT"],
    [() => isSealed(at(".")), "EISDIR"],
  ] as const) {
    expect(attempt).toThrow(words);
    expect([words, openFiles()]).toEqual([words, before]);
  }
  expect([isSealed(at("sealed")), isSealed(at("short"))]).toEqual([true, false]);
  expect(openFiles()).toBe(before);
  expect(readFileSync(at("stands"), "utf8")).toBe("mine");
  expect(readdirSync(home).toSorted()).toEqual(["plain", "sealed", "short", "stands"]);
});

test("a backup is made when the newest is old enough, over restarts, and the oldest go", async () => {
  const clock = virtualClock();
  const folder = join(home, "backups");
  let settings: Config["backup"] = { everyHours: 24, folder: "backups", keep: 2 };
  let fails = false;
  const run = () =>
    scheduledBackups({
      database: join(home, "state.db"),
      home,
      settings: () => settings,
      jobs: {
        async backup(_from, to) {
          if (fails) throw new Error("the disk is full");
          writeFileSync(to, "copy");
          return 4;
        },
      },
      clock,
      log: silentLog,
    });
  mkdirSync(folder);
  writeFileSync(join(folder, "mine.db"), "by hand");
  // A backup that was killed lies there unencrypted.
  writeFileSync(join(folder, "parley-2025-12-31T00-01-30Z.db.sealed.open"), "copy");
  let backups = run();
  expect(backups.lastAtMs()).toBeNull();
  await clock.advance(120_000);
  const [first] = readdirSync(folder).filter((name) => name.startsWith("parley-"));
  expect(first).toMatch(/^parley-2026-01-01T00-01-30Z\.db$/);
  expect(new Date(backups.lastAtMs() ?? 0).toISOString()).toBe("2026-01-01T00:01:30.000Z");
  backups.stop();
  backups = run();
  await clock.advance(12 * 3_600_000);
  expect(readdirSync(folder)).toHaveLength(2);
  await clock.advance(72 * 3_600_000);
  expect(readdirSync(folder).filter((name) => name !== "mine.db")).toHaveLength(2);
  expect(readdirSync(folder)).not.toContain(first);
  expect(readdirSync(folder)).toContain("mine.db");
  fails = true;
  await clock.advance(25 * 3_600_000);
  expect(backups.trouble()).toBe("the disk is full");
  fails = false;
  await clock.advance(600_000);
  expect(backups.trouble()).toBeNull();
  settings = { folder: "backups", keep: 2 };
  const before = readdirSync(folder);
  await clock.advance(100 * 3_600_000);
  expect(readdirSync(folder)).toEqual(before);
  backups.stop();
});
