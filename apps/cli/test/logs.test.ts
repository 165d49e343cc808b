// The log as an operator reads it: the last lines over rotations, what is asked for alone, and what is added while one looks.
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
  appendFileSync(newest, `${entry(8).slice(20)}\n`);
  renameSync(newest, join(home, "logs/parley.2.log"));
  writeFileSync(newest, `${entry(9)}\n`);
  await until("m9");
  out.end();
  expect(await running).toBe(0);
  expect([...text.matchAll(/"msg":"(\w+)"/g)].map(([, msg]) => msg)).toEqual(["m5", "m6", "m7", "m8", "m9"]);
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
