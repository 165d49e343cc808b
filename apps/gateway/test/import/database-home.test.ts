// Newer OpenClaw homes keep conversations, pairings, schedules and keys in SQLite files: an import carries
// the same as from the files of older ones, and writes nothing beside them.
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { zstdCompressSync } from "node:zlib";
import { systemClock, systemIds } from "@parley/protocol";
import { expect, onTestFinished, test } from "vitest";
import { importOpenclaw } from "../../src/import/import-openclaw.ts";
import type { ImportReport } from "../../src/import/report.ts";
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
