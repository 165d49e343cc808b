// When a watched file counts as changed: real files, virtual time. A folder that is not there yet sends no
// events, so its files are only looked at; the last tests use the events of the system.
import { mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { saidLog } from "./daemon/said-log.ts";
import { watchFiles, type FileWatcher } from "../src/reload/watch-files.ts";

let home: string;
let watcher: FileWatcher | null = null;
/** Runs while a look is under way. */
let meanwhile: () => void = () => undefined;
beforeEach(async () => void (home = await mkdtemp(join(tmpdir(), "parley-watch-"))));
afterEach(async () => {
  meanwhile = () => undefined;
  watcher?.stop();
  await rm(home, { recursive: true, force: true });
});

/** Until no look at a file is under way in this process. */
async function settle(): Promise<void> {
  meanwhile();
  const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
  do await turn();
  while (process.getActiveResourcesInfo().some((name) => name.startsWith("FSReq")));
  await turn();
}

function watching(...names: readonly string[]) {
  const clock = virtualClock({ settle });
  const paths = (given: readonly string[]) => given.map((name) => join(home, name));
  let changes = 0;
  const made = watchFiles({
    files: paths(names),
    onChange: () => void (changes += 1),
    clock,
    log: silentLog,
  });
  watcher = made;
  return {
    clock,
    stop: made.stop,
    watch: (...given: readonly string[]) => made.watch(paths(given)),
    changes: async (afterMs = 0) => {
      await clock.advance(afterMs);
      await settle();
      return changes;
    },
    /** Waits in real time for an event of the system, which shows as a second timer. */
    hears: () => expect.poll(() => clock.armed()).toBe(2),
  };
}
const write = (name: string, text: string): void => writeFileSync(join(home, name), text);
/** Writes with the same time as always. */
function writeAt(name: string, text: string, atS = 1_000): void {
  write(name, text);
  utimesSync(join(home, name), atS, atS);
}

test("files count as changed at the start, and again once they were left alone", async () => {
  const { changes, clock } = watching("sub/a.json");
  expect(await changes()).toBe(1);
  mkdirSync(join(home, "sub"));
  write("sub/a.json", "1");
  expect(await changes(1_999)).toBe(1);
  expect(await changes(1)).toBe(1);
  // It is still being written.
  write("sub/a.json", "12");
  expect(await changes(150)).toBe(1);
  expect(await changes(149)).toBe(1);
  expect(await changes(1)).toBe(2);
  expect(await changes(20_000)).toBe(2);
  expect(clock.armed()).toBe(1);
});

test("size, time, the file itself and its end each are a change; what is put back while it settles is none", async () => {
  mkdirSync(join(home, "there"));
  const { changes, watch } = watching("sub/a.json");
  const once = 2_150;
  expect(await changes()).toBe(1);
  mkdirSync(join(home, "sub"));
  writeAt("sub/a.json", "1");
  expect(await changes(once)).toBe(2);
  writeAt("sub/a.json", "22");
  expect(await changes(once)).toBe(3);
  writeAt("sub/a.json", "33", 1_001);
  expect(await changes(once)).toBe(4);
  writeAt("there/b.json", "44", 1_001);
  renameSync(join(home, "there/b.json"), join(home, "sub/a.json"));
  expect(await changes(once)).toBe(5);
  writeAt("sub/a.json", "555", 1_001);
  await changes(1_450);
  writeAt("sub/a.json", "44", 1_001);
  expect(await changes(20_000)).toBe(5);
  rmSync(join(home, "sub/a.json"));
  expect(await changes(once)).toBe(6);
  writeAt("sub/a.json", "44", 1_001);
  watch("sub/a.json", "sub/c.json");
  expect(await changes(once)).toBe(7);
  // The last one of several is watched, too.
  writeAt("sub/c.json", "c");
  expect(await changes(once)).toBe(8);
});

test("other files are looked at from now on, told of once, and those before no longer; the same ones change nothing", async () => {
  const { changes, watch } = watching("sub/a.json", "sub/b.json");
  expect(await changes()).toBe(1);
  watch("sub/b.json", "sub/a.json", "sub/b.json");
  expect(await changes(5_000)).toBe(1);
  watch("sub/b.json");
  expect(await changes(5_000)).toBe(2);
  mkdirSync(join(home, "sub"));
  writeAt("sub/a.json", "1");
  expect(await changes(5_000)).toBe(2);
  // One for another is as many.
  watch("sub/a.json");
  watch("sub/b.json");
  watch("sub/c.json");
  expect(await changes(5_000)).toBe(3);
  writeAt("sub/c.json", "1");
  expect(await changes(5_000)).toBe(4);
});

test("stopped, it tells nothing more and leaves no timer: before its first look, while a file settles, and for others", async () => {
  const early = watching("sub/a.json");
  early.stop();
  early.watch("sub/b.json");
  expect([await early.changes(5_000), early.clock.armed()]).toEqual([0, 0]);

  const { changes, stop, watch, clock } = watching("sub/a.json");
  expect(await changes()).toBe(1);
  mkdirSync(join(home, "sub"));
  write("sub/a.json", "1");
  await changes(2_000);
  expect(clock.armed()).toBe(2);
  stop();
  expect(clock.armed()).toBe(0);
  watch("sub/c.json");
  write("sub/a.json", "1 more");
  expect([await changes(20_000), clock.armed()]).toEqual([1, 0]);

  const looking = watching("later/a.json");
  expect(await looking.changes()).toBe(1);
  mkdirSync(join(home, "later"));
  write("later/a.json", "another");
  meanwhile = () => {
    if (looking.clock.mono() < 2_000) return;
    looking.stop();
    meanwhile = () => undefined;
  };
  expect([await looking.changes(2_000), looking.clock.armed()]).toEqual([1, 0]);
});

test("an event of the system tells sooner: of a file, of a link that moves above it, and in the folder of other files", async () => {
  for (const name of ["v1", "v2", "v3", "else"]) mkdirSync(join(home, name));
  for (const name of ["v1", "v2", "v3"]) write(`${name}/a.json`, name);
  symlinkSync("v1", join(home, "..data"));
  symlinkSync("..data/a.json", join(home, "a.json"));
  const { changes, watch, hears } = watching("a.json");
  expect(await changes()).toBe(1);
  symlinkSync("v2", join(home, "..tmp"));
  renameSync(join(home, "..tmp"), join(home, "..data"));
  await hears();
  expect(await changes(150)).toBe(2);
  watch("else/b.json");
  expect(await changes()).toBe(3);
  write("else/b.json", "b");
  await hears();
  expect(await changes(150)).toBe(4);
});

test("a folder that cannot be watched is told, and its files are looked at all the same", async () => {
  const clock = virtualClock({ settle });
  const { log, said } = saidLog();
  const folder = join(home, "later");
  let changes = 0;
  watcher = watchFiles({ files: [join(folder, "a.json")], onChange: () => void (changes += 1), clock, log });
  await clock.advance(0);
  await settle();
  expect([changes, said]).toEqual([
    1,
    [
      [
        "debug",
        "a folder cannot be watched; its files are looked at",
        { folder, error: expect.objectContaining({ code: "ENOENT" }) as object },
      ],
    ],
  ]);
  mkdirSync(folder);
  writeFileSync(join(folder, "a.json"), "1");
  await clock.advance(2_150);
  await settle();
  expect(changes).toBe(2);
});
