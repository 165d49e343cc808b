// Which files age, size and number take, to the millisecond and the byte; and which stay in any case.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { oldFiles, removeFiles, type OldFiles } from "../../src/maintenance/old-files.ts";

const nowMs = 1_800_000_000_000;

/** Files of ten bytes by name, with their age in milliseconds. */
function folderOf(ages: { readonly [name: string]: number }): string {
  const folder = mkdtempSync(join(tmpdir(), "parley-old-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, ageMs] of Object.entries(ages)) {
    writeFileSync(join(folder, name), "0123456789");
    utimesSync(join(folder, name), (nowMs - ageMs) / 1_000, (nowMs - ageMs) / 1_000);
  }
  return folder;
}

const all = /^[a-z]$/;
/** The oldest has the last letter, so that no order of names helps. */
const five = { e: 9_000, d: 7_000, c: 5_000, b: 3_000, a: 1_000 };

test.each<[string, Omit<OldFiles, "folder" | "names">, string]>([
  ["nothing is asked for", {}, ""],
  ["one is a millisecond too old", { keepMs: 8_999 }, "e"],
  ["one is just as old as it may be", { keepMs: 9_000 }, ""],
  ["all are too old", { keepMs: 0 }, "edcba"],
  ["three fill the size to the byte", { maxBytes: 30 }, "ed"],
  ["they are one byte over the size", { maxBytes: 29 }, "edc"],
  ["there are more than two", { most: 2 }, "edc"],
  ["there are as many as there may be", { most: 5 }, ""],
  ["there may be none", { most: 0 }, "edcba"],
  ["some are needed still", { maxBytes: 0, neededMs: 5_001 }, "ed"],
  ["one is needed to the millisecond", { maxBytes: 0, neededMs: 5_000 }, "edc"],
  ["the newest two stay", { keepMs: 0, keepNewest: 2 }, "edc"],
  ["more stay than there are", { keepMs: 0, keepNewest: 6 }, ""],
  ["age takes more than size", { keepMs: 4_000, maxBytes: 40 }, "edc"],
  ["size takes more than age", { keepMs: 8_000, maxBytes: 20 }, "edc"],
])("of five files, when %s", async (_what, rule, gone) => {
  const found = await oldFiles({ folder: folderOf(five), names: all, ...rule }, nowMs);
  expect(found.map(({ path, bytes }) => `${basename(path)}${bytes}`).join("")).toBe(
    gone.replace(/./g, "$&10"),
  );
});

test("what is in use stays and its size counts, the next oldest go in its place; it is asked of all, and only where one would go", async () => {
  const asked: string[] = [];
  const inUse = async (names: ReadonlySet<string>) => {
    asked.push([...names].toSorted().join(""));
    return new Set(["e", "c"]);
  };
  const rule = { folder: folderOf(five), names: all, inUse };
  const gone = async (more: object) =>
    (await oldFiles({ ...rule, ...more }, nowMs)).map(({ path }) => basename(path)).join("");
  expect([await gone({ maxBytes: 30 }), asked.splice(0)]).toEqual(["db", ["abcde"]]);
  expect([await gone({ keepMs: 4_000 }), asked.splice(0)]).toEqual(["d", ["abcde"]]);
  expect([await gone({ most: 2, keepNewest: 3 }), asked.splice(0)]).toEqual(["db", ["abcde"]]);
  expect([await gone({ maxBytes: 50 }), asked]).toEqual(["", []]);
});

test("folders, links and other names are nobody's old files; those that are go alone", async () => {
  const folder = folderOf({ a: 9_000, b: 9_000, other: 9_000 });
  mkdirSync(join(folder, "c"));
  symlinkSync(join(folder, "other"), join(folder, "d"));
  const found = await oldFiles({ folder, names: all, keepMs: 1 }, nowMs);
  expect(found.map(({ path }) => basename(path)).toSorted()).toEqual(["a", "b"]);
  rmSync(join(folder, "a"));
  await removeFiles(found);
  expect(readdirSync(folder).toSorted()).toEqual(["c", "d", "other"]);
});

test("a folder that is not there, or is a file, has none", async () => {
  const folder = folderOf({ a: 1 });
  for (const name of ["none", "a", "a/b"])
    expect(await oldFiles({ folder: join(folder, name), names: all, keepMs: 0 }, nowMs)).toEqual([]);
});
