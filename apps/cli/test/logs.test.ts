// The log as an operator reads it: the last lines over rotations, what is asked for alone, and what is added
// while one looks.
import { appendFileSync, mkdirSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { runCommandLine } from "../src/index.ts";
import { parley, stateFolder } from "./fake-gateway.ts";

const entry = (n: number, level = 30): string =>
  JSON.stringify({ level, time: "2026-01-01T00:00:00Z", row: `r${n}`, msg: `m${n}` });

/** A state folder with a log of lines 1 to 5, cut into an older and a newer file. */
function withLog(): { readonly home: string; readonly newest: string } {
  const home = stateFolder("{ broken");
  mkdirSync(join(home, "logs"));
  const [older, newest] = [join(home, "logs/parley.1.log"), join(home, "logs/parley.log")];
  writeFileSync(older, [entry(1), entry(2, 50), entry(3)].map((each) => `${each}\n`).join(""));
  utimesSync(older, 1, 1);
  writeFileSync(newest, [entry(4), entry(5, 40)].map((each) => `${each}\n`).join(""));
  return { home, newest };
}

test("the last lines, oldest first, over files, by level and by text; with a broken config and no gateway", async () => {
  const { home } = withLog();
  const shown = async (...flags: readonly string[]): Promise<readonly string[]> =>
    [...(await parley(home, ["logs", ...flags])).out.matchAll(/"msg":"(\w+)"/g)].map(([, msg = ""]) => msg);
  expect(await shown()).toEqual(["m1", "m2", "m3", "m4", "m5"]);
  expect(await shown("-n", "3")).toEqual(["m3", "m4", "m5"]);
  expect(await shown("--level", "warn")).toEqual(["m2", "m5"]);
  expect(await shown("--grep", '"r3"')).toEqual(["m3"]);
  expect((await parley(home, ["logs", "-n", "x"])).exitCode).toBe(2);
});

test("lines longer than a read, and letters across its edge, come whole", async () => {
  const { home, newest } = withLog();
  const long = "ä".repeat(200_000);
  appendFileSync(newest, `${JSON.stringify({ level: 30, msg: long })}\n${entry(6)}\n`);
  const { out } = await parley(home, ["logs", "-n", "2"]);
  expect(out.split("\n").map((each) => each.length)).toEqual([
    JSON.stringify({ level: 30, msg: long }).length,
    entry(6).length,
    0,
  ]);
});

test("--follow shows what is added, over a rotation, until nobody reads any more", async () => {
  const { home, newest } = withLog();
  const out = new PassThrough();
  let text = "";
  const until = (words: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => void (text.includes(words) && resolve());
      out.on("data", look);
      look();
    });
  out.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const running = runCommandLine(["logs", "--follow", "-n", "1"], {
    env: { PARLEY_HOME: home },
    input: new PassThrough(),
    out,
    err: new PassThrough(),
  });
  await until("m5");
  appendFileSync(newest, `${entry(6)}\n`);
  await until("m6");
  appendFileSync(newest, `${entry(7)}\n${entry(8).slice(0, 20)}`);
  await until("m7");
  // What a rotation cuts off is no part of the next file.
  appendFileSync(newest, `${entry(8).slice(20)}\n{"level":30,"msg":"cut`);
  renameSync(newest, join(home, "logs/parley.2.log"));
  writeFileSync(newest, `${entry(9)}\n`);
  await until("m9");
  out.end();
  expect(await running).toBe(0);
  expect(text).toBe([5, 6, 7, 8, 9].map((n) => `${n === 5 ? entry(5, 40) : entry(n)}\n`).join(""));
});

test("no log is said to be none", async () => {
  const { exitCode, err } = await parley(stateFolder(null), ["logs"]);
  expect([exitCode, err]).toEqual([1, expect.stringContaining("no gateway has written one yet")]);
});

test("what nobody sees, or what turns a line around, is written out: told on a terminal, as the same JSON elsewhere; --json has the file's own", async () => {
  const hostile = "Eve\u202Eabc\u200B\u2066";
  const text = JSON.stringify({
    level: 30,
    time: "2026-01-01T00:00:00.000Z",
    sender: hostile,
    msg: `${hostile}\nFORGED`,
  });
  const { home, newest } = withLog();
  writeFileSync(newest, `${text}\na crash ${hostile}\n`);
  const { out } = await parley(home, ["logs", "-n", "2"]);
  expect(out).not.toMatch(/\p{Cf}/u);
  expect(JSON.parse(out.split("\n")[0] ?? "")).toEqual(JSON.parse(text));
  expect((await parley(home, ["logs", "-n", "2", "--json"])).out).toBe(`${text}\na crash ${hostile}\n`);
});

test("each level shows itself and what is worse, a crash's words always, and limits are told", async () => {
  const { home, newest } = withLog();
  const entries = [entry(1, 20), entry(2, 30), entry(3, 40), entry(4, 50), "a crash", ""];
  writeFileSync(newest, entries.join("\n"));
  writeFileSync(join(home, "logs/parley.0.log.gz"), `${entry(7)}\n`);
  writeFileSync(join(home, "logs/notes.txt"), `${entry(8)}\n`);
  const shown = async (...flags: readonly string[]): Promise<string> =>
    (await parley(home, ["logs", ...flags])).out
      .replaceAll(/\{.*"msg":"(\w+)"\}/g, "$1")
      .replaceAll("\n", " ");
  expect([
    await shown("-n", "5", "--level", "debug"),
    await shown("-n", "5", "--level", "info"),
    await shown("-n", "5", "--level", "warn"),
    await shown("-n", "4", "--level", "error"),
    await shown("-n", "0"),
    await shown("-n", "100000"),
    await shown("--grep", "crash"),
  ]).toEqual([
    "m1 m2 m3 m4 a crash ",
    "m3 m2 m3 m4 a crash ",
    "m2 m3 m4 a crash ",
    "m2 m4 a crash ",
    "",
    "m1 m2 m3 m1 m2 m3 m4 a crash ",
    "a crash ",
  ]);
  const refused = async (...flags: readonly string[]) => {
    const { exitCode, err } = await parley(home, ["logs", ...flags]);
    return [exitCode, err.trim()];
  };
  expect([
    await refused("-n", "100001"),
    await refused("-n", "-1"),
    await refused("-n", "1.5"),
    await refused("--level", "trace"),
  ]).toEqual([
    [2, '--lines takes a number up to 100000, not "100001"'],
    [2, '--lines takes a number up to 100000, not "-1"'],
    [2, '--lines takes a number up to 100000, not "1.5"'],
    [2, "--level is one of: debug, info, warn, error"],
  ]);
});

test("on a terminal a line is told in words, with the colour of its level and its facts", async () => {
  const { home, newest } = withLog();
  const facts = { row: "r1", count: 2, of: ["a"], nothing: null };
  const lines = [20, 30, 40, 50, 35].map((level) =>
    JSON.stringify({ level, time: "12:00", ...facts, msg: `m${level}` }),
  );
  writeFileSync(newest, [...lines, "a crash", ""].join("\n"));
  const out = Object.assign(new PassThrough(), { isTTY: true, columns: 200 });
  let text = "";
  out.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const run = { env: { PARLEY_HOME: home, TERM: "xterm" }, input: new PassThrough(), err: new PassThrough() };
  await runCommandLine(["logs", "-n", "6"], { ...run, out });
  expect(text.replaceAll("\u001B[", "^").split("\n")).toMatchInlineSnapshot(`
    [
      "^2m12:00^0m ^2mdebug^0m m20 ^2mrow=r1 count=2 of=["a"] nothing=null^0m",
      "^2m12:00^0m ^2minfo ^0m m30 ^2mrow=r1 count=2 of=["a"] nothing=null^0m",
      "^2m12:00^0m ^33mwarn ^0m m40 ^2mrow=r1 count=2 of=["a"] nothing=null^0m",
      "^2m12:00^0m ^31merror^0m m50 ^2mrow=r1 count=2 of=["a"] nothing=null^0m",
      "^2m12:00^0m ^2mlog  ^0m m35 ^2mrow=r1 count=2 of=["a"] nothing=null^0m",
      "a crash",
      "",
    ]
  `);
});

test("a file that is cut to nothing in place is followed from its beginning", async () => {
  const { home, newest } = withLog();
  const out = new PassThrough();
  let text = "";
  const until = (words: string): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => void (text.includes(words) && resolve());
      out.on("data", look);
      look();
    });
  out.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
  const running = runCommandLine(["logs", "--follow", "-n", "1", "--level", "warn"], {
    env: { PARLEY_HOME: home },
    input: new PassThrough(),
    out,
    err: new PassThrough(),
  });
  await until("m5");
  writeFileSync(newest, `${entry(6, 50)}\n`);
  await until("m6");
  appendFileSync(newest, `${entry(7)}\n${entry(8, 40)}\n`);
  await until("m8");
  out.end();
  expect(await running).toBe(0);
  expect([...text.matchAll(/"msg":"(\w+)"/g)].map(([, msg]) => msg)).toEqual(["m5", "m6", "m8"]);
});

test("a log folder that cannot be read is told, and one that is not there yet is followed from its first line", async () => {
  const home = stateFolder(null);
  writeFileSync(join(home, "logs"), "");
  const { exitCode, err } = await parley(home, ["logs"]);
  expect([exitCode, err]).toEqual([
    1,
    `${join(home, "logs")} cannot be read: ENOTDIR: not a directory, scandir '${join(home, "logs")}'. Run this as the user of the daemon.\n`,
  ]);
  const fresh = stateFolder(null);
  const out = new PassThrough();
  let text = "";
  const seen = Promise.withResolvers<void>();
  out.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (text.includes("m2")) seen.resolve();
  });
  const env = { PARLEY_HOME: fresh };
  const input = new PassThrough();
  const running = runCommandLine(["logs", "-f", "--json"], { env, input, out, err: new PassThrough() });
  mkdirSync(join(fresh, "logs"));
  writeFileSync(join(fresh, "logs/parley.log"), `${entry(1)}\n${entry(2)}\n`);
  await seen.promise;
  out.destroy();
  expect([await running, text]).toEqual([0, `${entry(1)}\n${entry(2)}\n`]);
});

test("of lines over many reads the last ones come, each once and in their order", async () => {
  const { home, newest } = withLog();
  const lines = Array.from({ length: 3_000 }, (_, n) => entry(n + 10));
  writeFileSync(newest, lines.map((each) => `${each}\n`).join(""));
  expect((await parley(home, ["logs", "-n", "2500", "--json"])).out).toBe(
    lines
      .slice(500)
      .map((each) => `${each}\n`)
      .join(""),
  );
});
