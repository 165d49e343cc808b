// What age takes of transcripts and files, in virtual time; never what is open, young, or somebody's own.
import { existsSync, mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { loadConfig, type Config } from "@parley/config";
import { silentLog, type Clock } from "@parley/protocol";
import { applyRetentionRegularly } from "../../src/daemon/periodic-work.ts";
import { oldTalk, removeTalk, type OldTalk } from "../../src/maintenance/old-talk.ts";
import { retention } from "../../src/maintenance/retention.ts";
import { threadIndex } from "../../src/operator/sessions/thread-index.ts";
import { virtualClock } from "@parley/testkit";
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
  const stop = applyRetentionRegularly({
    configNow: () => config,
    store: at.store(),
    home: at.home,
    clock: { ...own, now: () => at.clock.now() + 3 * dayMs },
    log: silentLog,
  });
  await own.advance(1_800_000);
  expect(await at.transcript(dm("ann"))).toHaveLength(2);
  config = await configIn(at.home, { retention: { transcripts: { days: 2 } } });
  await own.advance(3_600_000);
  await expect.poll(() => at.transcript(dm("ann"))).toEqual([]);
  stop();
});
