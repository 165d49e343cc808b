// The jobs on the database file, as the child does them: what each answers, and what it leaves on the disk.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { silentLog, type Log, Fault } from "@parley/protocol";
import { sqliteStore } from "@parley/store";
import { seededIds, virtualClock } from "@parley/testkit";
import { databaseJob } from "../../src/maintenance/database-job.ts";
import { databaseJobs } from "../../src/maintenance/database-jobs.ts";
import { fullCheck } from "../../src/maintenance/full-check.ts";
import { isSealed, unsealFile } from "../../src/maintenance/sealed-file.ts";

let home: string;
let database: string;
beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), "parley-jobs-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  database = join(home, "state.db");
  const options = {
    path: database,
    clock: virtualClock(),
    log: silentLog,
    bootId: "boot",
    onFatal: () => {},
  };
  await (await sqliteStore(options)).close();
});
const at = (name: string): string => join(home, name);
let asked = 0;
const job = (...args: readonly string[]) =>
  databaseJob(args, async () => ((asked += 1), "correct horse"), seededIds(1));
const bytes = (name: string): number => statSync(at(name)).size;

test("each answers with its findings and its size, and only a seal asks for the passphrase", async () => {
  asked = 0;
  expect(await job("check", database)).toEqual({ ok: true, findings: [], bytes: bytes("state.db") });
  expect(await job("schema", database)).toEqual({ ok: true, findings: [], bytes: bytes("state.db") });
  expect(await job("rehearse", database, at("scratch"))).toEqual({
    ok: true,
    findings: [],
    bytes: bytes("state.db"),
  });
  expect(await job("backup", database, at("open.db"))).toEqual({
    ok: true,
    findings: [],
    bytes: bytes("open.db"),
  });
  expect(asked).toBe(0);
  expect(await job("seal", database, at("sealed.db"))).toEqual({
    ok: true,
    findings: [],
    bytes: bytes("sealed.db"),
  });
  expect(asked).toBe(1);
  const left = readdirSync(home).filter((name) => !name.startsWith("state.db-"));
  expect(left.toSorted()).toEqual(["open.db", "sealed.db", "state.db"]);
  expect([isSealed(at("open.db")), isSealed(at("sealed.db"))]).toEqual([false, true]);
  unsealFile(at("sealed.db"), at("again.db"), "correct horse");
  expect(readFileSync(at("again.db")).subarray(0, 15).toString()).toBe("SQLite format 3");
  expect(await job("check", at("again.db"))).toMatchObject({ ok: true, findings: [] });
});

test("what goes wrong is answered with its code and its words, and leaves nothing behind", async () => {
  writeFileSync(at("there.db"), "mine");
  writeFileSync(at("junk.db"), "no database ".repeat(1_000));
  // A killed one left its open copy, which the next one does not need.
  writeFileSync(at("sealed.db.open"), "left");
  const answers = [
    await job("backup", database, at("there.db")),
    await job("seal", database, at("there.db")),
    await job("seal", at("junk.db"), at("sealed.db")),
    await job("check", at("junk.db")),
    await job("schema", at("none.db")),
  ];
  const none = (code: string, words: string) => ({
    ok: false,
    code,
    message: expect.stringContaining(words) as string,
  });
  expect(answers).toEqual([
    none("conflict", "there.db exists already: choose another name for the backup"),
    none("conflict", "there.db exists already: choose another name for the backup"),
    none("invalid", "junk.db is damaged"),
    none("invalid", "junk.db is damaged"),
    none("unavailable", "none.db cannot be opened"),
  ]);
  expect(readFileSync(at("there.db"), "utf8")).toBe("mine");
  expect(readdirSync(home).toSorted()).toEqual(["junk.db", "state.db", "there.db"]);
});

test("a passphrase that does not come is an error of the program, and no backup", async () => {
  const answer = await databaseJob(
    ["seal", database, at("sealed.db")],
    () => Promise.reject(new TypeError("no input")),
    seededIds(1),
  );
  expect(answer).toEqual({ ok: false, code: "internal", message: "no input" });
  expect([existsSync(at("sealed.db")), existsSync(at("sealed.db.open"))]).toEqual([false, false]);
});

test("a folder that is not there is told", async () => {
  const folder = at("closed");
  expect(await job("seal", database, join(folder, "sealed.db"))).toMatchObject({
    ok: false,
    code: "missing",
  });
  expect(readdirSync(home)).toEqual(["state.db"]);
});

test.each<[string, () => Promise<readonly string[]>, readonly string[]]>([
  ["a sound file", async () => [], ["info: the database passed the full check {}"]],
  [
    "a damaged one",
    async () => ["row 1", "row 2"],
    ['error: the database is damaged {"findings":["row 1","row 2"]}'],
  ],
  [
    "one that cannot be read",
    () => Promise.reject(new Fault("invalid", "no database")),
    ['warn: the full check of the database did not end {"error":{"name":"Fault","code":"invalid"}}'],
  ],
  ["a stop", () => Promise.reject(new Fault("aborted", "stops")), []],
])("the full check says in the log what it found of %s", async (_what, check, lines) => {
  const told: string[] = [];
  const line =
    (level: string) =>
    (fields: object, message: string): void => {
      const { path, ...rest } = fields as { path: string };
      expect(path).toBe("/s.db");
      told.push(`${level}: ${message} ${JSON.stringify(rest)}`);
    };
  const log: Log = { ...silentLog, info: line("info"), warn: line("warn"), error: line("error") };
  fullCheck({ check }, "/s.db", log);
  await new Promise((resolve) => setImmediate(resolve));
  expect(told).toEqual(lines);
});

test("the daemon's side of a job: what the helper is given and answers, what it dies of, and a stop that ends all of them", async () => {
  const program = at("helper.mjs");
  writeFileSync(
    program,
    `import { text } from "node:stream/consumers";
     const [, , mode, job, from, to] = process.argv;
     const say = (answer) => process.stdout.write(JSON.stringify(answer));
     if (job === "check" && from === "waits") setInterval(() => {}, 1_000);
     else if (job === "check" && from === "dies") process.exit(3);
     else if (job === "check" && from === "torn") process.stdout.write('{"ok":tr');
     else if (job === "check" && from === "bug") say({ ok: false, code: "internal", message: "a bug" });
     else if (job === "check" && from === "damaged") say({ ok: false, code: "invalid", message: "it is damaged" });
     else {
       const given = [mode, job, from, to ?? "-", await text(process.stdin), Object.keys(process.env).length, process.execArgv.join()];
       say({ ok: true, findings: given.map(String), bytes: job === "seal" ? 2 : 1 });
     }`,
  );
  const jobs = databaseJobs(program);
  const ended = (work: Promise<unknown>) =>
    work.then(
      (found) => found,
      (error: unknown) => [error instanceof Fault ? error.code : "no fault", (error as Error).message],
    );
  const answers = await Promise.all(
    [
      jobs.check("/a.db"),
      jobs.backup("/a.db", "/b.db"),
      jobs.backup("/a.db", "/b.db", "correct horse"),
      jobs.check("dies"),
      jobs.check("torn"),
      jobs.check("bug"),
      jobs.check("damaged"),
      databaseJobs(at("none.mjs")).check("/a.db"),
    ].map(ended),
  );
  expect(answers).toEqual([
    // Nothing of the gateway's environment: no secret of it is in the helper.
    ["--database-job", "check", "/a.db", "-", "", "0", "--disable-sigusr1"],
    1,
    2,
    ["unavailable", "the database job ended with 3"],
    ["unavailable", "the database job's answer cannot be read"],
    ["no fault", "a bug"],
    ["invalid", "it is damaged"],
    ["unavailable", "the database job ended with 1"],
  ]);
  const waiting = [jobs.check("waits"), jobs.backup("waits", "/b.db").then(() => "done")].map(ended);
  jobs.stop();
  expect(await Promise.all(waiting)).toEqual([
    ["aborted", "the gateway stops"],
    ["aborted", "the gateway stops"],
  ]);
});
