// The reader of the config after the start: what is taken up, refused and counted, and what its state says.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "@parley/config";
import { Fault, type Log, silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { reloader } from "../src/reload/reloader.ts";

async function fixture(text: string) {
  const home = mkdtempSync(join(tmpdir(), "parley-reload-"));
  const path = join(home, "parley.json5");
  const write = (next: string): void => writeFileSync(path, next);
  write(text);
  const env = { PARLEY_HOME: home };
  const clock = virtualClock();
  const lines: string[] = [];
  const told: unknown[] = [];
  const say = (fields: unknown, words: string): void => {
    lines.push(words);
    told.push([words, fields]);
  };
  const log: Log = { ...silentLog, info: say, warn: say, error: say };
  const taken: number[] = [];
  let fails: Error | null = null;
  let answers: readonly string[] = [];
  const loaded = await loadConfig({ env, home });
  // Changed between the start's reading and the watch: taken up at once, and nothing else happens unasked
  // then.
  write(text.replace(/}\s*$/, ", logging: { level: 'debug' } }"));
  const made = reloader({
    loaded,
    env,
    takeUp: async (_before, after) => {
      if (fails !== null) throw fails;
      taken.push(after.gateway.port);
      return { changed: ["gateway.port"], restarted: ["telegram:a"], restartNeeded: answers };
    },
    clock,
    log,
  });
  onTestFinished(async () => {
    await made.stop();
    rmSync(home, { recursive: true });
  });
  while (made.counts().taken === 0) await new Promise((resolve) => setTimeout(resolve, 2));
  return {
    ...made,
    path,
    clock,
    write,
    taken,
    lines,
    told,
    fail: (error: Error | null) => (fails = error),
    needs: (keys: readonly string[]) => (answers = keys),
  };
}

const port = (n: number): string => `{ gateway: { port: ${n} } }`;

test("what is taken and refused is counted one by one, the same file is neither, and the last good config stays", async () => {
  const { reload, counts, state, clock, write, taken, lines, fail } = await fixture(port(1));
  const startMs = clock.now();
  write(port(1));
  await reload("test");
  const outcomes: string[] = [];
  const seen: (readonly [number, number])[] = [];
  const look = async (): Promise<void> => {
    // Without the timers, so that the watch of the file keeps out of it.
    clock.jumpWall(1_000);
    outcomes.push((await reload("test")).outcome);
    seen.push([counts().taken - 2, counts().refused]);
  };
  await look();
  expect(state()).toEqual({ takenAtMs: startMs, problems: [], restartNeeded: [] });
  write(port(2));
  await look();
  expect(state()).toMatchObject({ takenAtMs: startMs + 2_000, restartNeeded: ["gateway.port"] });
  write("{ gateway: { prot: 3 } }");
  await look();
  await look();
  expect(state().problems).toEqual([expect.stringMatching(/parley\.json5:1:.*gateway\.prot/)]);
  expect(lines.filter((words) => words.includes("was refused"))).toHaveLength(1);
  write("");
  await look();
  expect(state().problems).toEqual([expect.stringContaining("empty or gone")]);
  write(port(2));
  await look();
  expect(state()).toMatchObject({ takenAtMs: startMs + 2_000, problems: [] });
  write(port(4));
  fail(new Fault("invalid", "it cannot be"));
  await look();
  expect(state().problems).toEqual([expect.stringContaining("it cannot be")]);
  fail(null);
  await look();
  write(port(1));
  await look();
  expect(state()).toMatchObject({ takenAtMs: startMs + 9_000, problems: [], restartNeeded: [] });
  expect(outcomes).toEqual([
    "unchanged",
    "taken",
    "refused",
    "refused",
    "refused",
    "unchanged",
    "refused",
    "taken",
    "taken",
  ]);
  expect(seen).toEqual([
    [0, 0],
    [1, 0],
    [1, 1],
    [1, 2],
    [1, 3],
    [1, 3],
    [1, 4],
    [2, 4],
    [3, 4],
  ]);
  expect(taken).toEqual([1, 1, 2, 4, 1]);
});

test("a file that is gone or cannot be read is refused once something was in it, and is taken up when it is back, with its warnings", async () => {
  const { reload, write, path, told, state } = await fixture(port(1));
  rmSync(path);
  expect(await reload("gone")).toMatchObject({
    outcome: "refused",
    problems: [expect.stringMatching(/the file is empty or gone.*Write \{\} into it to mean every default/)],
  });
  mkdirSync(path);
  told.length = 0;
  await reload("a folder");
  expect(told).toMatchObject([
    [
      expect.stringContaining("was refused"),
      {
        problems: [
          `${path} cannot be read: EISDIR: illegal operation on a directory, read. Put a file of text there`,
        ],
      },
    ],
  ]);
  rmSync(path, { recursive: true });
  write("{ configVersion: 999, gateway: { port: 7 } }");
  told.length = 0;
  expect(await reload("written")).toMatchObject({ outcome: "taken" });
  expect(state().problems).toEqual([]);
  expect(told.map((line) => (line as readonly string[])[0])).toEqual([
    expect.stringMatching(/^\S+parley\.json5:1:\d+ configVersion: the file is of version 999/),
    "the config was taken up",
  ]);
});

test("one that is stopped takes up nothing more, and counts nothing", async () => {
  const { reload, stop, counts, write, taken } = await fixture(port(1));
  await stop();
  write(port(2));
  expect(await reload("test")).toMatchObject({ outcome: "refused", problems: ["the gateway is stopping"] });
  expect([taken, counts()]).toEqual([[1], { taken: 1, refused: 0 }]);
});

test("each reload answers whole, and the log has its cause, what it changed, what needs a restart and why one was refused", async () => {
  const { reload, write, told, fail, needs, path } = await fixture(port(1));
  write(port(1));
  await reload("test");
  told.length = 0;
  needs(["gateway.port"]);
  write(`{ gateway: { port: 2 }, agents: { defaults: { model: { primary: "rehearsal/rehearsal" } } } }`);
  const taken = { changed: ["gateway.port"], restarted: ["telegram:a"], restartNeeded: ["gateway.port"] };
  expect(await reload("by hand")).toEqual({ outcome: "taken", ...taken, problems: [] });
  expect(told).toEqual([
    ["the config was taken up", { cause: "by hand", ...taken }],
    ["these keys need a restart", { keys: ["gateway.port"] }],
  ]);
  told.length = 0;
  const rest = { changed: [], restarted: [], restartNeeded: ["gateway.port"] };
  expect(await reload("again")).toEqual({ outcome: "unchanged", ...rest, problems: [] });
  write(port(3));
  const boom = new Error("boom");
  fail(boom);
  const words = `${path}: it could not be taken up; the log says why`;
  expect(await reload("x")).toEqual({ outcome: "refused", ...rest, problems: [words] });
  // Another reason is said again, of as many lines.
  fail(new Fault("invalid", "no workspace"));
  await reload("y");
  fail(null);
  write(`{ gateway: { port: 2 }, agents: { defaults: { model: { primary: "rehearsal/rehearsal" } } } }`);
  await reload("z");
  expect(told).toEqual([
    ["the config was read again; nothing changed", { cause: "again" }],
    [expect.stringContaining("was refused"), { cause: "x", problems: [words], error: boom }],
    [expect.stringContaining("was refused"), { cause: "y", problems: [`${path}: no workspace`] }],
    ["the config is in order again; nothing changed", { cause: "z" }],
  ]);
});
