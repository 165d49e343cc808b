// What the stores make of errors of SQLite and Redis: which may pass, which end the process, and what a
// person reads.
import { expect, test } from "vitest";
import { Fault } from "@parley/protocol";
import { callFault, openFault as redisOpenFault } from "../src/redis/failure.ts";
import { lostTakes } from "../src/redis/lost-takes.ts";
import { isFatal, isPassing, lostFault, openFault, troubleOf, verbFault } from "../src/sqlite/failure.ts";

/** An error as node:sqlite throws it; the second byte of a code says more than the first. */
const sqlite = (code: number): Error =>
  Object.assign(new Error("words of SQLite"), { code: "ERR_SQLITE_ERROR", errcode: code + (3 << 8) });
const told = (fault: unknown): string =>
  fault instanceof Fault ? `${fault.code}: ${fault.message}` : "as it is";

const full =
  "unavailable: the disk is full: nothing was stored; free some space and Parley goes on by itself";
const locked = "unavailable: the database is locked by another process: nothing was stored";
const closed = "unavailable: the database cannot be written: check its permissions and the file system";
const damaged =
  "invalid: /s.db is damaged or not a database (words of SQLite): restore a backup with `parley restore <file>`, which keeps this file aside; nothing was changed";

test.each([
  [
    5,
    "busy",
    "passes",
    locked,
    "unavailable: /s.db is locked by another process: stop that process, then start again",
  ],
  [
    6,
    "busy",
    "passes",
    locked,
    "unavailable: /s.db is locked by another process: stop that process, then start again",
  ],
  [
    8,
    "unreadable",
    "",
    closed,
    "unavailable: /s.db cannot be opened for writing: check that the folder exists and that this user owns it",
  ],
  [
    10,
    "io",
    "fatal",
    "as it is",
    "unavailable: /s.db cannot be read, the disk reports an I/O error: check the disk, then start again",
  ],
  [11, "damaged", "fatal", "as it is", damaged],
  [
    13,
    "full",
    "passes",
    full,
    "unavailable: /s.db cannot be opened, the disk is full: free some space, then start again",
  ],
  [
    14,
    "unreadable",
    "",
    closed,
    "unavailable: /s.db cannot be opened for writing: check that the folder exists and that this user owns it",
  ],
  [26, "foreign", "fatal", "as it is", damaged],
  [1, "other", "", "as it is", "as it is"],
])("SQLite's error %d is %s", (code, trouble, fate, verb, opening) => {
  const error = sqlite(code);
  const fates = [isFatal(error) ? "fatal" : "", isPassing(error) ? "passes" : ""].join("");
  expect([troubleOf(error), fates, told(verbFault(error)), told(openFault("/s.db", error))]).toEqual([
    trouble,
    fate,
    verb,
    opening,
  ]);
});

test("what SQLite did not throw is nobody's trouble and passes as it is; a lost commit may have been done", () => {
  for (const error of [
    new TypeError("x"),
    new Fault("conflict", "x"),
    "x",
    Object.assign(new Error(), { errcode: "5" }),
  ])
    expect([
      troubleOf(error),
      isFatal(error),
      isPassing(error),
      verbFault(error),
      openFault("/s", error),
    ]).toEqual([null, false, false, error, error]);
  const lost = lostFault(sqlite(10));
  expect(told(lost)).toBe(
    "ambiguous: the database failed while writing: restart Parley and look at `parley status`",
  );
  expect(lost.cause).toMatchObject({ message: "words of SQLite" });
});

const reply = (message: string): Error => Object.assign(new Error(message), { name: "ReplyError" });

test.each([
  [
    "OOM command not allowed",
    "is full: raise maxmemory in redis.conf, or free some memory; Parley goes on by itself",
    false,
  ],
  [
    "MISCONF Redis is configured",
    "cannot write to its disk and refuses changes: free some space there; Parley goes on by itself",
    false,
  ],
  ["LOADING Redis is loading", "is still loading its data", false],
  ["BUSY Redis is busy", "is busy with another program's script", false],
  ["READONLY You can't write", "is a replica: Parley needs the primary", false],
  ["MASTERDOWN Link with MASTER", "is a replica whose primary is away", false],
  ["NOREPLICAS Not enough", "has too few replicas and refuses changes", false],
  ["NOAUTH Authentication", "wants a password: set store.redis.url to redis://user:password@host:port", true],
  ["WRONGPASS invalid", "does not take this user and password: check store.redis.url", true],
  [
    "NOPERM this user",
    "does not let this user do what Parley needs: see the line for a user of its own in docs/redis.md",
    true,
  ],
])("Redis' answer %j changed nothing, and is told", (message, words, forGood) => {
  const error = reply(message);
  for (const fate of ["unsent", "repeatable", "unknown"] as const)
    expect(told(callFault("host:1", fate, error))).toBe(`unavailable: Redis at host:1 ${words}`);
  expect(told(redisOpenFault("host:1", error))).toBe(
    `${forGood ? "invalid" : "unavailable"}: Redis at host:1 ${words}`,
  );
});

test("an answer that nobody expects is a bug, and passes as it is", () => {
  const error = reply("ERR user_script:12: attempt to index a nil value");
  expect(callFault("host:1", "repeatable", error)).toBe(error);
});

const broken = Object.assign(new Error("Reached the max retries"), { name: "MaxRetriesPerRequestError" });
const unsent = new Error("Stream isn't writeable and enableOfflineQueue options is false");
const again = "; Parley goes on by itself when it is back";
test.each([
  [
    "unsent",
    new Error("connect ECONNREFUSED"),
    `unavailable: Redis at host:1 cannot be reached (connect ECONNREFUSED)${again}`,
  ],
  ["unsent", null, `unavailable: Redis at host:1 cannot be reached${again}`],
  ["unsent", new Error(""), `unavailable: Redis at host:1 cannot be reached${again}`],
  ["repeatable", broken, `unavailable: Redis at host:1 cannot be reached (the connection broke)${again}`],
  [
    "unknown",
    broken,
    "ambiguous: Redis at host:1 went away before it answered: it may or may not have stored this",
  ],
  ["unknown", unsent, `unavailable: Redis at host:1 cannot be reached (${unsent.message})${again}`],
] as const)("a call that is %s when the connection breaks with %s", (fate, error, words) => {
  expect(told(callFault("host:1", fate, error))).toBe(words);
});

test("a Redis that is not there is named with the setting that names it", () => {
  expect(told(redisOpenFault("host:1", new Error("connect ECONNREFUSED")))).toBe(
    "unavailable: Redis at host:1 cannot be reached (connect ECONNREFUSED): start it, or correct store.redis.url",
  );
});

test("lost takes are named to the next of their pool and holder, until one that was found or none had anything", () => {
  const lost = lostTakes("h");
  const [first, second, third] = [lost.ask("main", "w1"), lost.ask("main", "w1"), lost.ask("main", "w2")];
  expect([first, second.ask, third.ask]).toEqual([{ ask: "h#1", lost: [] }, "h#2", "h#3"]);
  for (const { ask } of [first, second]) lost.lose("main", "w1", ask);
  lost.lose("main", "w2", third.ask);
  lost.lose("cron", "w1", "h#9");
  const named = (pool: string, holder: string) => lost.ask(pool, holder).lost;
  expect([named("main", "w1"), named("main", "w2"), named("cron", "w1"), named("cron", "w2")]).toEqual([
    ["h#1", "h#2"],
    ["h#3"],
    ["h#9"],
    [],
  ]);
  lost.settle("main", "w1", ["h#1", "h#2"], "h#1");
  expect(named("main", "w1")).toEqual(["h#2"]);
  // Lost while it was asked: that one is not answered by it.
  lost.lose("main", "w1", "h#10");
  lost.settle("main", "w1", ["h#2"], null);
  expect([named("main", "w1"), named("main", "w2")]).toEqual([["h#10"], ["h#3"]]);
  for (let n = 0; n < 100; n += 1) lost.lose("main", "w1", `n${n}`);
  expect([named("main", "w1").length, named("main", "w1")[0], named("main", "w1").at(-1)]).toEqual([
    64,
    "n36",
    "n99",
  ]);
});
