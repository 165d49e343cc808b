// Newer OpenClaw homes keep conversations, pairings, schedules and keys in SQLite files: an import carries
// the same as from the files of older ones, and writes nothing beside them.
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdCompressSync } from "node:zlib";
import { systemClock, systemIds } from "@parley/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { importOpenclaw } from "../../src/import/import-openclaw.ts";
import { readJobs } from "../../src/import/jobs.ts";
import { withKeys } from "../../src/import/keys.ts";
import type { ImportReport } from "../../src/import/report.ts";
import { storedSessions, storedTranscript } from "../../src/import/source-databases.ts";
import { readSource } from "../../src/import/source.ts";
import { translate } from "../../src/import/translate.ts";
import { openclawHome } from "./openclaw-home.ts";

type Layout = "2026.7" | "2026.9" | "cold";

async function source(): Promise<string> {
  const made = await openclawHome();
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function freshHome(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "parley-"));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

function imported(folder: string, home: string, apply = true): Promise<ImportReport> {
  const env = { PARLEY_HOME: home };
  const [clock, ids] = [systemClock(), systemIds()];
  return importOpenclaw({ folder, apply, evenIfRunning: false, env, clock, ids });
}

const sessionsOf = "agents/main/sessions";
const agentFile = "agents/main/agent/openclaw-agent.sqlite";
const sharedFile = "state/openclaw.sqlite";

/** Moves what the files say into databases, as newer versions do at their first start. */
async function moveIntoDatabases(from: string, layout: Layout): Promise<void> {
  const json = async (name: string): Promise<unknown> =>
    JSON.parse(await readFile(join(from, name), "utf8")) as unknown;
  const made = (name: string): DatabaseSync => {
    const db = new DatabaseSync(join(from, name));
    db.exec("pragma journal_mode = wal");
    return db;
  };
  const agent = made(agentFile);
  const [list, id] =
    layout === "2026.7" ? ["session_entries", "session_id"] : ["session_nodes", "current_session_id"];
  agent.exec(`create table ${list} (session_key text primary key, ${id} text not null,
      entry_json text not null, updated_at integer not null) strict;
    create table auth_profile_store (store_key text primary key, store_json text not null) strict;
    create table transcript_events (session_id text not null, seq integer not null, event_json text,
      created_at integer not null${layout === "2026.7" ? "" : ", event_zstd blob"}, primary key (session_id, seq)) strict;
    create table session_transcript_cold_archives (session_id text primary key, storage text not null,
      archive_blob blob) strict`);
  const sessions = (await json(`${sessionsOf}/sessions.json`)) as { [key: string]: { sessionId: string } };
  for (const [key, entry] of Object.entries(sessions)) {
    agent
      .prepare(`insert into ${list} values (?, ?, ?, ?)`)
      .run(key, entry.sessionId, JSON.stringify(entry), 1_767_000_000_000);
    const text = await readFile(join(from, sessionsOf, `${entry.sessionId}.jsonl`), "utf8").catch(() => "");
    if (layout === "cold" && text !== "")
      agent
        .prepare("insert into session_transcript_cold_archives values (?, 'sqlite', ?)")
        .run(entry.sessionId, zstdCompressSync(text));
    else
      // Written in another order than they follow each other.
      for (const [seq, line] of [...text.split("\n").entries()].toReversed())
        if (line !== "")
          if (layout === "2026.9" && seq % 2 === 1)
            agent
              .prepare("insert into transcript_events values (?, ?, null, 0, ?)")
              .run(entry.sessionId, seq, zstdCompressSync(overLines(line)));
          else
            agent
              .prepare(
                "insert into transcript_events (session_id, seq, event_json, created_at) values (?, ?, ?, 0)",
              )
              .run(entry.sessionId, seq, line);
  }
  const profiles = await readFile(join(from, "agents/main/agent/auth-profiles.json"), "utf8");
  agent.prepare("insert into auth_profile_store values ('primary', ?)").run(profiles);
  agent.close();
  await mkdir(join(from, "state"));
  const shared = made(sharedFile);
  shared.exec(`create table channel_pairing_allow_entries (channel_key text, account_id text, entry text,
      sort_order integer, updated_at integer);
    create table cron_jobs (store_key text, job_id text, job_json text, state_json text)`);
  const { allowFrom } = (await json("credentials/telegram-allowFrom.json")) as { allowFrom: string[] };
  for (const person of allowFrom)
    shared
      .prepare("insert into channel_pairing_allow_entries values ('telegram', 'default', ?, 0, 0)")
      .run(person);
  const { jobs } = (await json("cron/jobs.json")) as { jobs: { id: string }[] };
  for (const job of jobs)
    shared
      .prepare("insert into cron_jobs values ('/elsewhere/cron/jobs.json', ?, ?, '{}')")
      .run(job.id, JSON.stringify(job));
  shared.close();
  for (const name of [sessionsOf, "credentials", "cron", "agents/main/agent/auth-profiles.json"])
    await rm(join(from, name), { recursive: true });
}

/** The same event, written over several lines; one that is torn stays as it is. */
function overLines(line: string): string {
  try {
    return JSON.stringify(JSON.parse(line), null, 1).replaceAll("\n", "\r\n");
  } catch {
    return line;
  }
}

/** What became of the people, jobs, sessions and keys, whichever files they stood in. */
const carried = ({ met }: ImportReport): readonly string[] =>
  met
    .filter(({ what, name }) => what !== "file" && what !== "other" && !name.startsWith("auth-profiles"))
    .map(({ what, name, fate, to = "", why = "" }) => {
      // A torn line is named by its file, a past instant by the one of now.
      const words = why.replace(/\(.*:\d+: mend/, "(mend").replace(/after .* UTC/, "after now");
      return `${what} ${name} ${fate} ${to} ${words}`;
    })
    .toSorted();

function said(home: string): readonly string[] {
  const db = new DatabaseSync(join(home, "state.db"), { readOnly: true });
  try {
    return db
      .prepare("select body from entries order by lane, seq")
      .all()
      .map(({ body }) => String(body));
  } finally {
    db.close();
  }
}

async function filesIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder, { recursive: true })).toSorted();
}

test.each<Layout>(["2026.7", "2026.9", "cold"])(
  "a home of %s is carried as one of files is, and nothing is written beside it",
  async (layout) => {
    const [older, newer] = [await source(), await source()];
    const [one, other] = [await freshHome(), await freshHome()];
    const before = await imported(older, one);
    await moveIntoDatabases(newer, layout);
    const files = await filesIn(newer);
    const dry = await imported(newer, await freshHome(), false);
    const report = await imported(newer, other);
    expect(report.met.map(({ name, fate }) => [name, fate])).toEqual(
      dry.met.map(({ name, fate }) => [name, fate]),
    );
    const same = (text: string): string => text.replaceAll(newer, older).replaceAll(other, one);
    expect(carried(report).map(same)).toEqual(carried(before));
    expect(said(other).length).toBeGreaterThan(4);
    expect(said(other)).toEqual(said(one));
    expect(await readFile(join(other, "secrets/models-providers-anthropic-apiKey"), "utf8")).toBe(
      await readFile(join(one, "secrets/models-providers-anthropic-apiKey"), "utf8"),
    );
    expect(await filesIn(newer)).toEqual(files);
    expect((await imported(newer, other)).changes).toBe(false);
  },
);

test("what a gateway that was killed left in its log is carried too", async () => {
  const [from, home] = [await source(), await freshHome()];
  await moveIntoDatabases(from, "2026.9");
  const path = join(from, agentFile);
  const db = new DatabaseSync(path);
  db.prepare("insert into transcript_events values ('s-group', 9, ?, 0, null)").run(
    JSON.stringify({
      type: "message",
      id: "h",
      parentId: "g",
      message: { role: "user", content: "the last words" },
    }),
  );
  for (const ending of ["", "-wal"]) await copyFile(`${path}${ending}`, `${path}.kept${ending}`);
  db.close();
  for (const ending of ["", "-wal"]) await copyFile(`${path}.kept${ending}`, `${path}${ending}`);
  const log = await readFile(`${path}-wal`);
  expect(log.length).toBeGreaterThan(0);
  await imported(from, home);
  expect(said(home).join("\n")).toContain("the last words");
  expect(await readFile(`${path}-wal`)).toEqual(log);
});

test("a database that is damaged, or of a form that is not known, is told with the way out; the rest is carried", async () => {
  const [from, home] = [await source(), await freshHome()];
  await mkdir(dirname(join(from, sharedFile)), { recursive: true });
  await writeFile(join(from, sharedFile), "no database at all".repeat(100));
  const strange = new DatabaseSync(join(from, agentFile));
  strange.exec("create table transcript_events (session_id, seq, event_json)");
  strange.close();
  const { met } = await imported(from, home);
  expect(met.find(({ name }) => name === join(from, sharedFile))).toMatchObject({
    fate: "refused",
    why: expect.stringMatching(/file is not a database; stop OpenClaw's gateway, .* doctor --fix/) as string,
  });
  expect(met.find(({ name }) => name === join(from, agentFile))?.why).toContain(
    "update OpenClaw to 2026.7.2",
  );
  // Who else was let in is not known, so that nobody is taken for the only one.
  expect(met.filter(({ what }) => what === "owner")).toEqual([]);
  expect(said(home).join("\n")).toContain("I will remember Zimt.");
});

/** A home of databases alone, as `fill` makes them. */
async function databases(fill: (at: (name: string) => DatabaseSync) => void) {
  const folder = await freshHome();
  for (const name of [agentFile, sharedFile]) await mkdir(dirname(join(folder, name)), { recursive: true });
  const open: DatabaseSync[] = [];
  fill((name) => {
    const db = new DatabaseSync(join(folder, name));
    open.push(db);
    return db;
  });
  for (const db of open) db.close();
  const from = readSource(folder);
  onTestFinished(from.databases.close);
  return from;
}

test("sessions of a database come by their names, with the time of their row where it has one, and each with its own words", async () => {
  const { folder, databases: read } = await databases((at) => {
    const db = at(agentFile);
    db.exec(`create table session_entries (session_key text, session_id text, entry_json text, updated_at integer);
      create table session_nodes (session_key text, current_session_id text, entry_json text, updated_at integer);
      insert into session_entries values ('older', 'o', '{}', 1);
      insert into session_nodes values ('b', 'two', '{"updatedAt":5,"x":1}', 0), ('a', 'one', '{"updatedAt":5}', 7),
        ('c', 'three', 'no json', 8), ('d', 'four', '[1]', 9), ('e', 'five', '{}', 0);
      create table transcript_events (session_id text, seq integer, event_json text);
      insert into transcript_events values ('two', 1, 'of two'), ('one', 10, 'tenth'), ('one', 9, 'ninth');
      create table session_transcript_cold_archives (session_id text, storage text, archive_blob blob)`);
    const archived = db.prepare("insert into session_transcript_cold_archives values (?, ?, ?)");
    archived.run("three", "file", zstdCompressSync("elsewhere"));
    archived.run("three", "sqlite", zstdCompressSync("cold"));
    archived.run("four", "file", zstdCompressSync("elsewhere"));
    archived.run("five", "sqlite", Buffer.from("no archive"));
    archived.run("one", "sqlite", zstdCompressSync("old"));
  });
  const path = join(folder, agentFile);
  expect(storedSessions(read, path)).toEqual([
    { name: "a", sessionId: "one", entry: { updatedAt: 7 } },
    { name: "b", sessionId: "two", entry: { updatedAt: 5, x: 1 } },
    { name: "c", sessionId: "three", entry: { updatedAt: 8 } },
    { name: "d", sessionId: "four", entry: { updatedAt: 9 } },
    { name: "e", sessionId: "five", entry: {} },
  ]);
  expect(
    ["one", "two", "three", "four", "five", "none"].map((id) => storedTranscript(read, path, id)),
  ).toEqual(["ninth\ntenth", "of two", "cold", "", "{broken", ""]);
  expect(read.told()).toEqual([]);
  // A table that lacks a column is told once, whoever asks.
  expect(read.rows(path, "select none from session_nodes")).toEqual([]);
  expect(read.rows(path, "select other from session_nodes")).toEqual([]);
  expect(read.told()).toHaveLength(1);
});

test("schedules of a database are those of this home; of others it may hold as well, only one that is alone counts", async () => {
  const jobsOf = async (homes: (folder: string) => readonly string[]) => {
    const path: string[] = [];
    const from = await databases((at) => {
      const db = at(sharedFile);
      const own = String(db.location()).slice(0, -sharedFile.length - 1);
      path.push(own);
      db.exec("create table cron_jobs (store_key text, job_id text, job_json text)");
      const insert = db.prepare("insert into cron_jobs values (?, ?, ?)");
      for (const [index, home] of homes(own).entries())
        for (const id of ["b", "a"])
          insert.run(
            home,
            `${id}${index}`,
            JSON.stringify({
              schedule: { kind: "every", everyMs: 3_600_000 },
              sessionTarget: "isolated",
              payload: { kind: "agentTurn", message: "go" },
            }),
          );
    });
    const { jobs, met } = readJobs(from, { nowMs: 0, zone: "UTC", agents: ["main"], home: () => null });
    return [
      jobs.map(({ id }) => id),
      met.flatMap(({ what, name, fate, why }) =>
        what === "other" ? [`${name.replaceAll(path[0] ?? "", "F")} ${fate}: ${why ?? ""}`] : [],
      ),
    ];
  };
  const other = "its schedules are of another home, as far as can be told";
  const own = (folder: string): string => join(folder, "cron", "jobs.json");
  expect(await jobsOf(() => ["/was/there"])).toEqual([["a0", "b0"], []]);
  expect(await jobsOf((folder) => ["/was/there", own(folder)])).toEqual([
    ["a1", "b1"],
    [`F/${sharedFile}: /was/there refused: ${other}`],
  ]);
  expect(await jobsOf(() => ["/one", "/two"])).toEqual([
    [],
    [`F/${sharedFile}: /one refused: ${other}`, `F/${sharedFile}: /two refused: ${other}`],
  ]);
});

test("keys of databases come after those of files, agent by agent, the shared ones last", async () => {
  const keys = (provider: string, key: string): string =>
    JSON.stringify({ profiles: { [`${provider}:x`]: { type: "api_key", provider, key } } });
  const from = await databases((at) => {
    for (const [name, store] of [
      [sharedFile, keys("openai", "shared")],
      [agentFile, keys("openai", "own")],
    ] as const) {
      const db = at(name);
      db.exec("create table auth_profile_store (store_key text, store_json text)");
      const insert = db.prepare("insert into auth_profile_store values (?, ?)");
      insert.run("b", keys("groq", `${name.slice(0, 5)} late`));
      insert.run("a", keys("groq", `${name.slice(0, 5)} early`));
      insert.run("c", store);
      insert.run("d", "no json");
    }
  });
  const { secrets, met } = withKeys(from, translate(from));
  expect([...secrets.values()]).toEqual(["agent early", "own"]);
  expect(met.map(({ name, why }) => `${name}: ${why}`)).toEqual([
    "auth-profiles main: groq:x: models.providers.groq has a key already",
    "auth-profiles shared: groq:x: models.providers.groq has a key already",
    "auth-profiles shared: groq:x: models.providers.groq has a key already",
    "auth-profiles shared: openai:x: models.providers.openai has a key already",
  ]);
});

test("what was copied to be read is gone when the import ends", async () => {
  const [from, copies] = [await source(), await freshHome()];
  await moveIntoDatabases(from, "2026.9");
  const db = new DatabaseSync(join(from, agentFile));
  db.exec("create table more (x)");
  vi.stubEnv("TMPDIR", copies);
  onTestFinished(() => void vi.unstubAllEnvs());
  const read = readSource(from).databases;
  expect(read.hasTable(join(from, agentFile), "more")).toBe(true);
  expect(await readdir(copies)).toHaveLength(1);
  read.close();
  db.close();
  expect(await readdir(copies)).toEqual([]);
});
