// An import that dies at any of its steps is run again and ends as one that never died, with the source
// untouched.
import { readFileSync } from "node:fs";
import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isFault, systemClock, systemIds, type Clock } from "@parley/protocol";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { importOpenclaw } from "../../src/import/import-openclaw.ts";
import { openclawHome } from "./openclaw-home.ts";

const { copyFile, rename } = files;
afterEach(() => {
  Object.assign(files, { copyFile, rename });
  syncBuiltinESMExports();
});

/** Dies before the step `at`; a copy dies half-way. Nothing that it does later takes effect. */
function dyingAt(at: number): { readonly clock: Clock; readonly steps: () => number } {
  let count = 0;
  const isDead = (): boolean => {
    count += 1;
    return count >= at;
  };
  const die = (): never => {
    throw new Error("killed");
  };
  Object.assign(files, {
    copyFile: async (from: string, to: string) => {
      if (!isDead()) return copyFile(from, to);
      if (count === at) await files.writeFile(to, readFileSync(from).subarray(0, 3));
      return die();
    },
    rename: (from: string, to: string) => (isDead() ? Promise.reject(new Error("killed")) : rename(from, to)),
  });
  syncBuiltinESMExports();
  const clock = systemClock();
  return { clock: { ...clock, now: () => (isDead() ? die() : clock.now()) }, steps: () => count };
}

async function contentsOf(folder: string): Promise<readonly string[]> {
  const found = await files.readdir(folder, { recursive: true, withFileTypes: true });
  const paths = found.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  return paths
    .filter((path) => !/state\.db|\.lock|store\.json|\.new$/.test(path))
    .toSorted()
    .map((path) => `${relative(folder, path)}: ${readFileSync(path, "utf8").replaceAll(folder, "<home>")}`);
}

/** What was said, who is let in, and what is planned. */
function rowsOf(home: string): readonly unknown[] {
  const db = new DatabaseSync(join(home, "state.db"), { readOnly: true });
  try {
    const entries = db.prepare("select lane, seq, body from entries order by lane, seq").all();
    return [...entries, ...db.prepare("select key from cells order by key").all()];
  } finally {
    db.close();
  }
}

async function fresh(prefix: string): Promise<string> {
  const made = await files.mkdtemp(join(tmpdir(), prefix));
  onTestFinished(() => files.rm(made, { recursive: true, force: true }));
  return made;
}

test("an import killed at any step and run again ends like one that was not killed", async () => {
  const source = await openclawHome({ port: 0 });
  onTestFinished(() => files.rm(source, { recursive: true, force: true }));
  const untouched = await contentsOf(source);
  const run = (home: string, clock: Clock) =>
    importOpenclaw({
      folder: source,
      apply: true,
      evenIfRunning: false,
      env: { PARLEY_HOME: home },
      clock,
      ids: systemIds(),
    });

  const whole = await fresh("parley-");
  const { clock, steps } = dyingAt(Number.POSITIVE_INFINITY);
  await run(whole, clock);
  const [wholeFiles, wholeRows, most] = [await contentsOf(whole), rowsOf(whole), steps()];
  expect(wholeRows.length).toBeGreaterThan(2);
  for (let at = 1; at <= most; at += 1) {
    const home = await fresh("parley-");
    const where = `killed at step ${at} of ${most}`;
    const died = await run(home, dyingAt(at).clock).then(
      () => null,
      (error: unknown) => error,
    );
    expect(died, where).toSatisfy((error) => isFault(error) || error instanceof Error);
    dyingAt(Number.POSITIVE_INFINITY);
    await run(home, systemClock());
    expect(await contentsOf(home), where).toEqual(wholeFiles);
    expect(rowsOf(home), where).toEqual(wholeRows);
    expect((await run(home, systemClock())).changes, where).toBe(false);
    await files.rm(home, { recursive: true, force: true });
  }
  expect(await contentsOf(source)).toEqual(untouched);
}, 300_000);
