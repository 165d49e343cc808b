// What age takes of transcripts and files, in virtual time; never what is open, young, or somebody's own.
import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadConfig, type Config } from "@parley/config";
import type { Clock } from "@parley/protocol";
import { applyRetentionRegularly } from "../../src/daemon/periodic-work.ts";
import { oldTalk, removeTalk, type OldTalk } from "../../src/maintenance/old-talk.ts";
import { retention } from "../../src/maintenance/retention.ts";
import { threadIndex } from "../../src/operator/sessions/thread-index.ts";
import { virtualClock } from "@parley/testkit";
import { saidLog } from "../daemon/said-log.ts";
import { stage, type Stage } from "../message-path/stage.ts";

const dayMs = 86_400_000;

async function configIn(home: string, more: object): Promise<Config> {
  const path = join(home, "retention.json5");
  writeFileSync(
    path,
    JSON.stringify({
      models: {
        providers: { fake: { api: "openai-completions", baseUrl: "http://127.0.0.1:1/v1", apiKey: "k" } },
      },
      agents: { defaults: { model: { primary: "fake/m1" }, workspace: join(home, "work") } },
      ...more,
    }),
  );
  return (await loadConfig({ env: { PARLEY_HOME: home, PARLEY_CONFIG: path } })).config;
}

async function staged(options: Parameters<typeof stage>[0] = {}): Promise<Stage> {
  const at = await stage(options);
  onTestFinished(() => at.close());
  return at;
}

const dm = (name: string): string => `agent:main:telegram:dm:${name}`;

/** So long after now; nothing has to happen meanwhile. */
const later = ({ clock }: Stage, ms: number): Clock => ({
  now: () => clock.now() + ms,
  mono: clock.mono,
  after: clock.after,
});

async function counts(
  at: Stage,
  config: Config,
  write: boolean,
  laterMs = 0,
): Promise<{ readonly [rule: string]: number | null }> {
  const clock = later(at, laterMs);
  const rules = await retention({
    config,
    store: { ...at.store(), sweep: async () => false },
    home: at.home,
    clock,
  }).run(write);
  return Object.fromEntries(rules.map(({ name, count }) => [name, count]));
}

test("transcripts stay for good unless the config says otherwise", async () => {
  const at = await staged();
  await at.person("ann").says("hello").gets("re: hello");
  expect((await counts(at, await configIn(at.home, {}), true, 400 * dayMs))["transcripts"]).toBe(0);
  expect(await at.transcript(dm("ann"))).toHaveLength(2);
});

test("conversations whose last words are too old go, and what is younger stays", async () => {
  const at = await staged();
  const config = await configIn(at.home, { retention: { transcripts: { days: 30 } } });
  const [ann, ben] = [at.person("ann"), at.person("ben")];
  await ann.says("old").gets("re: old");
  await ben.says("before").gets("re: before");
  await ann.says("/new").gets(/./);
  await at.pass(60_000);
  await ann.says("young").gets("re: young");
  const laterMs = 30 * dayMs - 30_000;
  const before = (await at.transcript(dm("ann"), 1)).length + (await at.transcript(dm("ben"))).length;
  expect(before).toBeGreaterThanOrEqual(4);
  expect((await counts(at, config, false, laterMs))["transcripts"]).toBe(before);
  expect(await at.transcript(dm("ann"), 1)).not.toEqual([]);
  expect((await counts(at, config, true, laterMs))["transcripts"]).toBe(before);
  expect(await at.transcript(dm("ann"), 1)).toEqual([]);
  expect(await at.transcript(dm("ben"))).toEqual([]);
  expect(JSON.stringify(await at.transcript(dm("ann")))).toContain("young");
  expect((await counts(at, config, true, laterMs))["transcripts"]).toBe(0);
  await ben.says("again").gets("re: again");
  expect(at.model.asked.at(-1)?.users.join("\n")).not.toContain("before");
});

test.each([["went on"], ["began anew"]])(
  "a conversation that %s between the look and the taking keeps all its words",
  async (how) => {
    const at = await staged();
    const ann = at.person("ann");
    await ann.says("old").gets("re: old");
    await at.pass(60_000);
    const found: OldTalk[] = [];
    for await (const old of oldTalk(at.store(), at.clock.now() - 30_000)) found.push(old);
    expect(found).toEqual([expect.objectContaining({ key: dm("ann"), before: null })]);
    if (how === "began anew") await ann.says("/new").gets(/./);
    await ann.says("young").gets("re: young");
    const taken = await Promise.all(found.map((old) => removeTalk(at.store(), old, at.clock.now())));
    expect(taken).toEqual([0]);
    expect(JSON.stringify(await at.transcript(dm("ann")))).toContain("young");
    expect(JSON.stringify(await at.transcript(dm("ann"), 1))).toContain("old");
  },
);

test("transcripts of a job that ran once go by cron.sessionRetention, though no run follows, and nothing else does", async () => {
  const at = await staged();
  await at.person("ann").says("hello").gets("re: hello");
  const { job } = await at
    .core()
    .schedules.add(
      { name: "once", schedule: { kind: "at", at: "1m" }, message: "look", delivery: { kind: "none" } },
      {
        agent: "main",
        kind: "operator",
        sender: null,
        isOwner: true,
        conversation: null,
        session: null,
        turn: null,
        authority: "owner",
        tools: null,
      },
    )
    .then((made) => ({ job: made.id }));
  await at.pass(120_000);
  const own = `agent:main:cron:${job}`;
  const left = (await at.transcript(own)).length;
  expect(left).toBeGreaterThan(0);
  const config = await configIn(at.home, {});
  const run = (laterMs: number) =>
    retention({
      config,
      store: { ...at.store(), sweep: async () => false },
      home: at.home,
      clock: later(at, laterMs),
    }).runUsual();
  expect((await run(dayMs / 2)).map(({ name, count }) => [name, count])).toEqual([["jobs", 0]]);
  expect((await run(dayMs + 60_000)).map(({ name, count }) => [name, count])).toEqual([["jobs", left]]);
  expect(await at.transcript(own)).toEqual([]);
  expect(await at.transcript(dm("ann"))).toHaveLength(2);
});

test("what was shown is what goes: files that only old words name stay for the next time, and runs of jobs count once", async () => {
  const at = await staged();
  const config = await configIn(at.home, { retention: { transcripts: { days: 2 } }, media: { keepDays: 3 } });
  const name = `${"ab".repeat(32)}.png`;
  await at.person("ann").says(`look at ${name}`).gets(/re: /);
  const owner = { agent: "main", kind: "operator", sender: null, isOwner: true } as const;
  const none = { conversation: null, session: null, turn: null, authority: "owner", tools: null } as const;
  await at
    .core()
    .schedules.add(
      { name: "once", schedule: { kind: "at", at: "1m" }, message: "x", delivery: { kind: "none" } },
      { ...owner, ...none },
    );
  await at.pass(120_000);
  const path = join(at.home, "media", name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, "x");
  utimesSync(path, at.clock.now() / 1_000, at.clock.now() / 1_000);
  const shown = await counts(at, config, false, 6 * dayMs);
  expect(shown).toMatchObject({ transcripts: 2, media: 0 });
  expect(shown["jobs"]).toBeGreaterThan(0);
  expect(await counts(at, config, true, 6 * dayMs)).toEqual(shown);
  expect(existsSync(path)).toBe(true);
});

test("a pinned conversation and what its words name stay; its pin off, they go", async () => {
  const at = await staged({ second: "web" });
  const config = await configIn(at.home, {
    retention: { transcripts: { days: 2 }, results: { days: 2 } },
  });
  const ann = at.person("web-ann", { on: at.loopback });
  const named = "0123456789ab-call_1.txt";
  await ann.says(`it is in .parley/results/${named}`).gets(/re: /);
  const key = (await at.store().sessions.list({ limit: 9 }))[0]?.key ?? "";
  const results = join(at.home, "work/.parley/results");
  mkdirSync(results, { recursive: true });
  const lastMs = at.clock.now() / 1_000;
  for (const file of [named, "0123456789ab-call_2.txt"]) {
    writeFileSync(join(results, file), "x");
    utimesSync(join(results, file), lastMs, lastMs);
  }
  const threads = threadIndex(at.store().cells, "default");
  await threads.set("web-ann", "", { pinned: true });
  expect(await counts(at, config, true, 5 * dayMs)).toMatchObject({ transcripts: 0, results: 1 });
  expect(readdirSync(results)).toEqual([named]);
  expect(await at.transcript(key)).toHaveLength(2);
  await threads.set("web-ann", "", { pinned: false });
  expect(await counts(at, config, true, 5 * dayMs)).toMatchObject({ transcripts: 2, results: 1 });
});

test("a session that is at work is not touched", async () => {
  const at = await staged();
  const config = await configIn(at.home, { retention: { transcripts: { days: 1 } } });
  const ann = at.person("ann");
  await ann.says("first").gets("re: first");
  at.model.answers(() => ({ afterMs: 120_000, says: ["late"] }));
  ann.says("work");
  await at.pass(60_000);
  expect((await counts(at, config, true, 3 * dayMs))["transcripts"]).toBe(0);
  expect(await at.transcript(dm("ann"))).toHaveLength(2);
  await ann.gets("late");
  expect((await counts(at, config, true, 3 * dayMs))["transcripts"]).toBe(4);
});

test("files past their time go; the newest backup, what is ours not, and what lies behind a link stay", async () => {
  const at = await staged();
  const config = await configIn(at.home, {
    retention: { results: { days: 7 }, logs: { days: 7 }, backups: { days: 7 } },
  });
  const write = (path: string, days: number): void => {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, "x".repeat(1_000));
    utimesSync(path, (at.clock.now() - days * dayMs) / 1_000, (at.clock.now() - days * dayMs) / 1_000);
  };
  const results = join(at.home, "work/.parley/results");
  write(join(results, "0123456789ab-call_1.txt"), 8);
  write(join(results, "0123456789ab-call_2.txt"), 6);
  write(join(results, "mine.txt"), 80);
  write(join(at.home, "mine.txt"), 80);
  symlinkSync(join(at.home, "mine.txt"), join(results, "0123456789ab-link.txt"));
  write(join(at.home, "logs/parley.log"), 80);
  write(join(at.home, "logs/parley.1.log"), 8);
  write(join(at.home, "backups/parley-2026-01-01T00-00-00Z.db"), 20);
  write(join(at.home, "backups/parley-2026-01-02T00-00-00Z.db.sealed"), 19);
  write(join(at.home, "backups/by-hand.db"), 80);
  const expected = { results: 1, logs: 1, backups: 1, media: 0 };
  expect(await counts(at, config, false)).toMatchObject(expected);
  expect(existsSync(join(at.home, "logs/parley.1.log"))).toBe(true);
  expect(await counts(at, config, true)).toMatchObject(expected);
  expect(await counts(at, config, true)).toMatchObject({ results: 0, logs: 0, backups: 0 });
  expect(readdirSync(results).toSorted()).toEqual([
    "0123456789ab-call_2.txt",
    "0123456789ab-link.txt",
    "mine.txt",
  ]);
  expect(readdirSync(join(at.home, "logs"))).toEqual(["parley.log"]);
  expect(readdirSync(join(at.home, "backups")).toSorted()).toEqual([
    "by-hand.db",
    "parley-2026-01-02T00-00-00Z.db.sealed",
  ]);
});

test("the daemon does it by itself, by the config as it is now", async () => {
  const at = await staged();
  let config = await configIn(at.home, {});
  await at.person("ann").says("hello").gets("re: hello");
  const own = virtualClock({ settle: () => at.clock.advance(0) });
  const { log, said } = saidLog();
  const stop = applyRetentionRegularly({
    configNow: () => config,
    store: at.store(),
    home: at.home,
    clock: { ...own, now: () => at.clock.now() + 3 * dayMs },
    log,
  });
  // A starting daemon has more urgent work; two minutes later it looks, and an hour after each look.
  let looks = 0;
  const counted = (): Config => ((looks += 1), config);
  const other = applyRetentionRegularly({
    configNow: counted,
    store: at.store(),
    home: at.home,
    clock: { ...own, now: at.clock.now },
    log,
  });
  await own.advance(119_999);
  expect(looks).toBe(0);
  await own.advance(1);
  await expect.poll(() => own.armed()).toBe(2);
  await own.advance(3_599_999);
  expect(looks).toBe(1);
  await own.advance(1);
  expect(looks).toBe(2);
  other();
  expect(await at.transcript(dm("ann"))).toHaveLength(2);
  config = await configIn(at.home, { retention: { transcripts: { days: 2 } } });
  await own.advance(3_600_000);
  await expect.poll(() => at.transcript(dm("ann"))).toEqual([]);
  await expect
    .poll(() => said)
    .toEqual([["info", "what was past its time went", { what: "transcripts", count: 2, unit: "entries" }]]);
  stop();
  expect(own.armed()).toBe(0);
});

/** Every rule as an operator reads it, with what it would take. */
async function told(at: Stage, config: Config, write = false) {
  let sweeps = 0;
  const store = { ...at.store(), sweep: async () => (sweeps += 1) < 3 };
  const rules = await retention({ config, store, home: at.home, clock: at.clock }).run(write);
  return {
    rules: rules.map(({ name, keys, rule, count, unit, bytes }) => [name, keys, rule, count, unit, bytes]),
    sweeps,
  };
}

const fixed = [
  ["messages", [], "go 5 days after they ended; open ones stay", null, "messages, turns and answers", null],
  ["prompts", [], "the newest 500 of a session, go after 5 days", null, "prompts", null],
  ["events", [], "the newest 10000", null, "events", null],
  ["audit", [], "ten files of 10 MB", null, "files", null],
];
const results = "the newest 1000 of a workspace, and what 200 commands said";
const media = "go after 30 days; what a conversation still names stays";

test("each rule is told in words with its keys, what it would take and how large that is", async () => {
  const at = await staged();
  expect(await told(at, await configIn(at.home, {}))).toEqual({
    sweeps: 0,
    rules: [
      ["transcripts", ["retention.transcripts.days"], "kept for good", 0, "entries", null],
      ["jobs", ["cron.sessionRetention"], "go 24h after their run", 0, "entries", null],
      ["media", ["media.keepDays", "media.maxMegabytes"], `2048 MB together, ${media}`, 0, "files", 0],
      ["results", ["retention.results.days"], results, 0, "files", 0],
      [
        "logs",
        ["retention.logs.days", "logging.file.keep", "logging.file.maxMegabytes"],
        "5 older files of 10 MB",
        0,
        "files",
        0,
      ],
      ["backups", ["retention.backups.days", "backup.keep"], "the newest 7", 0, "files", 0],
      ...fixed,
    ],
  });
  const write = (path: string, days: number): void => {
    mkdirSync(join(path, ".."), { recursive: true });
    writeFileSync(path, "x".repeat(1_000));
    utimesSync(path, (at.clock.now() - days * dayMs) / 1_000, (at.clock.now() - days * dayMs) / 1_000);
  };
  const days = { days: 7 };
  const config = await configIn(at.home, {
    agents: {
      defaults: { model: { primary: "fake/m1" }, workspace: join(at.home, "work") },
      list: [{ id: "main" }, { id: "two", workspace: join(at.home, "two") }],
    },
    retention: { transcripts: { days: 90 }, results: days, logs: days, backups: days },
    backup: { folder: join(at.home, "elsewhere"), keep: 3 },
    logging: { file: { keep: 2, maxMegabytes: 1 } },
    media: { maxMegabytes: 5 },
  });
  for (const workspace of ["work", "two"]) {
    write(join(at.home, workspace, ".parley/results/0123456789ab-call.txt"), 8);
    write(join(at.home, workspace, ".parley/exec/m1k-abcdefgh.log"), 8);
    write(join(at.home, workspace, ".parley/exec/m1k-bbcdefgh.log"), 6);
    write(join(at.home, workspace, ".parley/exec/notes.log"), 80);
  }
  for (const name of [
    "parley.1.log",
    "parley-node.a-2.3.log",
    "parley-node.log",
    "other.1.log",
    "parley.1.log.gz",
  ])
    write(join(at.home, "logs", name), 8);
  write(join(at.home, "elsewhere/parley-2026-01-01T00-00-00Z.db"), 20);
  write(join(at.home, "elsewhere/parley-2026-01-02T00-00-00Z.db"), 19);
  write(join(at.home, "backups/parley-2026-01-02T00-00-00Z.db"), 19);
  write(join(at.home, "backups/parley-2026-01-03T00-00-00Z.db"), 19);
  const rules = [
    ["transcripts", ["retention.transcripts.days"], "go after 90 days", 0, "entries", null],
    ["jobs", ["cron.sessionRetention"], "go 24h after their run", 0, "entries", null],
    ["media", ["media.keepDays", "media.maxMegabytes"], `5 MB together, ${media}`, 0, "files", 0],
    ["results", ["retention.results.days"], `${results}, go after 7 days`, 4, "files", 4_000],
    [
      "logs",
      ["retention.logs.days", "logging.file.keep", "logging.file.maxMegabytes"],
      "2 older files of 1 MB, go after 7 days",
      2,
      "files",
      2_000,
    ],
    [
      "backups",
      ["retention.backups.days", "backup.keep"],
      "the newest 3, go after 7 days",
      1,
      "files",
      1_000,
    ],
    ...fixed,
  ];
  expect(await told(at, config)).toEqual({ rules, sweeps: 0 });
  expect(readdirSync(join(at.home, "two/.parley/exec"))).toHaveLength(3);
  const taking = told(at, config, true);
  await at.pass(10);
  expect(await taking).toEqual({ rules, sweeps: 3 });
  expect(readdirSync(join(at.home, "two/.parley/exec")).toSorted()).toEqual([
    "m1k-bbcdefgh.log",
    "notes.log",
  ]);
  expect(readdirSync(join(at.home, "logs")).toSorted()).toEqual([
    "other.1.log",
    "parley-node.log",
    "parley.1.log.gz",
  ]);
  expect(readdirSync(join(at.home, "backups"))).toHaveLength(2);
});

test("sessions of jobs of any agent go by the shorter of both ages, and by that of transcripts no other does", async () => {
  const at = await staged();
  const say = async (key: string, n: number): Promise<void> => {
    const row = { pool: "none", lane: key, conversation: "c", authority: "a", payload: "{}", id: `row-${n}` };
    await at.store().inbox.accept([{ ...row, as: { kind: "work" } } as never]);
    const turn = await at.store().turns.take({ pool: "none", holder: "me", leaseMs: 1_000, maxRows: 1 });
    if ("idle" in turn) throw new Error("a row waited");
    const entries = [JSON.stringify({ type: "user", text: "x", atMs: at.clock.now() })];
    await at.store().turns.commit(turn, turn.id, { outcome: "answered", entries });
  };
  const keys = ["agent:main:cron:one", "agent:two:cron:two", "agent:gone:cron:three", dm("ann")];
  for (const [n, key] of keys.entries()) await say(key, n);
  const agents = {
    defaults: { model: { primary: "fake/m1" }, workspace: join(at.home, "work") },
    list: [{ id: "main" }, { id: "two", workspace: join(at.home, "two") }],
  };
  const long = await configIn(at.home, { agents, cron: { sessionRetention: "10d" } });
  const short = await configIn(at.home, {
    agents,
    cron: { sessionRetention: "10d" },
    retention: { transcripts: { days: 2 } },
  });
  expect(await counts(at, long, false, 9 * dayMs)).toMatchObject({ transcripts: 0, jobs: 0 });
  expect(await counts(at, long, false, 10 * dayMs + 1)).toMatchObject({ transcripts: 0, jobs: 2 });
  expect(await counts(at, short, false, 2 * dayMs)).toMatchObject({ transcripts: 0, jobs: 0 });
  expect(await counts(at, short, false, 2 * dayMs + 1)).toMatchObject({ transcripts: 2, jobs: 2 });
});
