// Backups on a schedule and by a passphrase: when they are made, how many stay, and that a changed or cut
// file is noticed.
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
import { silentLog, type Log } from "@parley/protocol";
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

/** What is made of these settings; the folder, the calls and the log are at hand. */
function scheduled(
  settings: Config["backup"],
  more: { readonly database?: null; readonly startMs?: number } = {},
) {
  const clock = virtualClock(more.startMs === undefined ? {} : { startMs: more.startMs });
  const calls: string[] = [];
  const logged: string[] = [];
  const line =
    (level: string) =>
    (fields: object, message: string): void =>
      void logged.push(`${level}: ${message} ${JSON.stringify(fields)}`);
  const log: Log = { ...silentLog, info: line("info"), error: line("error") };
  let failure: Error | null = null;
  let waits: Promise<void> = Promise.resolve();
  const backups = scheduledBackups({
    database: more.database === null ? null : join(home, "state.db"),
    home,
    settings: () => settings,
    jobs: {
      async backup(from, to, passphrase) {
        calls.push(`${from.replace(home, "~")} ${to.replace(home, "~")} ${passphrase ?? "open"}`);
        await waits;
        if (failure !== null) throw failure;
        writeFileSync(to, "copy");
        return 4;
      },
    },
    clock,
    log,
  });
  onTestFinished(() => {
    backups.stop();
    expect(clock.armed()).toBe(0);
  });
  return {
    clock,
    backups,
    calls,
    logged: (): readonly string[] => logged.splice(0).map((each) => each.replaceAll(home, "~")),
    fails: (how: Error | null) => void (failure = how),
    holds: (how: Promise<void>) => void (waits = how),
  };
}

test("a backup by a passphrase is sealed with it and called so; a folder elsewhere is taken as it is", async () => {
  const folder = join(home, "elsewhere");
  const passphrase = { reveal: () => "correct horse" } as NonNullable<Config["backup"]["passphrase"]>;
  const { clock, backups, calls, logged } = scheduled({ everyHours: 6, folder, keep: 3, passphrase });
  await clock.advance(89_999);
  expect([calls, backups.everyMs()]).toEqual([[], 6 * 3_600_000]);
  await clock.advance(1);
  const name = "parley-2026-01-01T00-01-30Z.db.sealed";
  expect(calls).toEqual([`~/state.db ~/elsewhere/${name} correct horse`]);
  expect(logged()).toEqual([
    `info: a backup was made ${JSON.stringify({ path: `~/elsewhere/${name}`, bytes: 4 })}`,
  ]);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  // The next one is made at the first look at which the newest is six hours old.
  await clock.advance(6 * 3_600_000 - 1);
  expect(calls).toHaveLength(1);
  await clock.advance(1);
  expect(calls).toHaveLength(2);
});

test("the newest by their names are kept, whatever order the folder has, and no one else's file is counted", async () => {
  const folder = join(home, "backups");
  mkdirSync(folder);
  const names = ["2025-12-30T10", "2025-12-01T23", "2025-12-31T01", "2025-11-30T23"];
  for (const [n, name] of names.entries())
    writeFileSync(join(folder, `parley-${name}-00-00Z.db${n % 2 === 0 ? "" : ".sealed"}`), "old");
  for (const name of [
    "parley-2025-10-01T00-00-00Z.db.bak",
    "parley-x.db",
    "my-parley-2025-10-01T00-00-00Z.db",
  ])
    writeFileSync(join(folder, name), "mine");
  for (const end of ["open", "partial", "sealed.open.partial", "sealed.open.partial-wal"])
    writeFileSync(join(folder, `parley-2025-09-01T00-00-00Z.db.${end}`), "left");
  const { clock, backups } = scheduled({ everyHours: 1, folder: "backups", keep: 3 });
  expect(new Date(backups.lastAtMs() ?? 0).toISOString()).toBe("2025-12-31T01:00:00.000Z");
  await clock.advance(90_000);
  expect(readdirSync(folder).toSorted()).toEqual([
    "my-parley-2025-10-01T00-00-00Z.db",
    "parley-2025-10-01T00-00-00Z.db.bak",
    "parley-2025-12-30T10-00-00Z.db",
    "parley-2025-12-31T01-00-00Z.db",
    "parley-2026-01-01T00-01-30Z.db",
    "parley-x.db",
  ]);
});

test("one that was made by a clock ahead does not put the next one off", async () => {
  mkdirSync(join(home, "backups"));
  writeFileSync(join(home, "backups", "parley-2027-01-01T00-00-00Z.db"), "ahead");
  const { clock, calls } = scheduled({ everyHours: 24, folder: "backups", keep: 5 });
  await clock.advance(90_000);
  expect(calls).toHaveLength(1);
});

test("a failure is told and tried again at the next look; one that a stop brings is none", async () => {
  const { clock, backups, calls, logged, fails, holds } = scheduled({
    everyHours: 24,
    folder: "backups",
    keep: 5,
  });
  fails(new Error("the disk is full"));
  await clock.advance(90_000);
  expect(backups.trouble()).toBe("the disk is full");
  expect(logged().map((each) => each.split(" {")[0])).toEqual([
    "error: the scheduled backup could not be made; it is tried again",
  ]);
  fails(null);
  await clock.advance(299_999);
  expect(calls).toHaveLength(1);
  await clock.advance(1);
  expect([calls.length, backups.trouble()]).toEqual([2, null]);
  let ends = (): void => {};
  holds(new Promise((resolve) => (ends = resolve)));
  fails(new Error("the gateway stops"));
  await clock.advance(25 * 3_600_000);
  logged();
  backups.stop();
  ends();
  await clock.advance(1);
  expect([backups.trouble(), logged(), clock.armed()]).toEqual([null, [], 0]);
});

test("where another server keeps the data, or none are wanted, none are made and nobody expects one", async () => {
  for (const made of [
    scheduled({ everyHours: 1, folder: "backups", keep: 5 }, { database: null }),
    scheduled({ folder: "backups", keep: 5 }),
  ]) {
    await made.clock.advance(7_200_000);
    expect([made.calls, made.backups.everyMs(), made.backups.lastAtMs(), made.backups.trouble()]).toEqual([
      [],
      null,
      null,
      null,
    ]);
  }
});
