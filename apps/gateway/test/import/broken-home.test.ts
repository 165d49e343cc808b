// An import of a home in which something is broken, leads elsewhere or is written as older versions did:
// the rest is carried, and what is not stands in the report with its place.
import { appendFile, mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isFault, systemClock, systemIds } from "@parley/protocol";
import { expect, onTestFinished, test } from "vitest";
import { importOpenclaw } from "../../src/import/import-openclaw.ts";
import type { ImportReport } from "../../src/import/report.ts";
import { readTranscript } from "../../src/import/transcript.ts";
import { alice, openclawHome } from "./openclaw-home.ts";

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "broken-"));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function source(): Promise<string> {
  const made = await openclawHome();
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

function imported(from: string, home: string, apply = false): Promise<ImportReport> {
  const env = { PARLEY_HOME: home };
  return importOpenclaw({
    folder: from,
    apply,
    evenIfRunning: false,
    env,
    clock: systemClock(),
    ids: systemIds(),
  });
}

function names({ met }: ImportReport, what: string, ...fates: string[]): string[] {
  return met.filter((each) => each.what === what && fates.includes(each.fate)).map(({ name }) => name);
}

test("files that are broken are told with line and column, and everything else is carried", async () => {
  const [from, home] = [await source(), await folder()];
  const broken = [
    "cron/jobs.json",
    "agents/main/sessions/sessions.json",
    "agents/main/agent/auth-profiles.json",
    "credentials/telegram-allowFrom.json",
  ].map((name) => join(from, name));
  for (const path of broken) await writeFile(path, '{\n  "jobs": [,\n');
  const dry = await imported(from, home);
  const report = await imported(from, home, true);
  expect(report.met).toEqual(dry.met);
  expect(names(report, "file", "refused")).toEqual(
    expect.arrayContaining(broken.map((path) => `${path}:2:12`)),
  );
  const why = report.met.find(({ name }) => name.startsWith(join(from, "cron")))?.why;
  expect(why).toContain("Mend it there and import again");
  expect(report.met.find(({ name }) => name.endsWith("s-main.jsonl"))?.why).toContain(
    "sessions.json beside it",
  );
  expect(await readFile(join(home, "workspace/SOUL.md"), "utf8")).toBe("You are Molty.\n");
  // The list that cannot be read may hold others than the one whom the config names.
  expect(names(report, "owner", "carried")).toEqual([]);
  await writeFile(join(from, "credentials/telegram-allowFrom.json"), JSON.stringify([alice, `tg:${alice}`]));
  const mended = await imported(from, home, true);
  expect(names(mended, "person", "carried")).toEqual([`telegram:default:${alice}`]);
});

test("what stands before a broken line of a transcript stays in the conversation", () => {
  const line = (id: string, parentId: string | null, content: string): string =>
    JSON.stringify({ type: "message", id, parentId, message: { role: "user", content } });
  const lines = [line("1", null, "first"), '{"type":"message","id":"2",', line("3", "2", "third")];
  const { entries, left } = readTranscript(lines.join("\r\n"), "s.jsonl");
  expect(entries.map((entry) => (entry.type === "user" ? entry.content : null))).toEqual([
    [{ type: "text", text: "first" }],
    [{ type: "text", text: "third" }],
  ]);
  expect(left).toEqual(["1 line that is no JSON (s.jsonl:2: mend it before --apply, or go on without)"]);
});

test("links that lead out of the source or nowhere, and what is no file, are told and not followed", async () => {
  const [from, home, elsewhere] = [await source(), await folder(), await folder()];
  await rename(join(from, "agents/main/sessions"), join(elsewhere, "sessions"));
  await symlink(join(elsewhere, "sessions"), join(from, "agents/main/sessions"));
  await rm(join(from, "cron/jobs.json"));
  await mkdir(join(from, "cron/jobs.json"));
  await rm(join(from, "agents/main/agent/auth-profiles.json"));
  await symlink("auth-profiles.json", join(from, "agents/main/agent/auth-profiles.json"));
  await writeFile(join(from, "agents/.DS_Store"), "of the Finder");
  const report = await imported(from, home, true);
  const why = new Map(report.met.map((met) => [met.name, met.why]));
  expect(why.get(join(from, "agents/main/sessions"))).toContain("leads out of the source");
  expect(why.get(join(from, "cron/jobs.json"))).toBe("it is no file");
  expect(why.get(join(from, "agents/main/agent/auth-profiles.json"))).toBe("it is a link that leads nowhere");
  expect(names(report, "session", "carried", "changed")).toEqual([]);
  expect(names(report, "person", "carried")).toEqual([`telegram:default:${alice}`]);
});

test("a config that includes itself is told with the file, before anything is written", async () => {
  const [from, home] = [await folder(), join(await folder(), "home")];
  await writeFile(join(from, "openclaw.json"), '{ agents: { $include: "./agents.json5" } }');
  await writeFile(join(from, "agents.json5"), '{ $include: ["./openclaw.json", "./agents.json5"] }');
  const error = await imported(from, home, true).catch((thrown: unknown) => thrown);
  expect(isFault(error) ? error.message : error).toContain("which includes this file");
});

test("the home of an older version, without agents' folders, is carried under the same keys", async () => {
  const [from, home] = [await folder(), await folder()];
  await mkdir(join(from, "sessions"));
  await mkdir(join(from, "agent"));
  const config = {
    agent: { model: "anthropic/claude-x", workspace: join(from, "clawd"), thinkingDefault: "low" },
    telegram: { token: "777000:AAimported-bot-token-of-the-fixture", dm: { allowFrom: [alice] } },
    routing: { groupChat: { historyLimit: 20 }, allowFrom: ["+491"] },
    session: { mainKey: "home", idleMinutes: 90 },
  };
  await mkdir(join(from, "clawd"));
  await writeFile(join(from, "clawd/SOUL.md"), "old soul\n");
  await writeFile(join(from, "clawdbot.json"), JSON.stringify(config));
  const key = { type: "api_key", provider: "anthropic", key: "sk-old" };
  await writeFile(
    join(from, "agent/auth-profiles.json"),
    JSON.stringify({ profiles: { "anthropic:x": key } }),
  );
  const said = (id: string, content: string): Promise<void> =>
    appendFile(
      join(from, `sessions/${id}.jsonl`),
      `${JSON.stringify({ message: { role: "user", content }, type: "message" })}\n`,
    );
  await said("s1", "hello");
  await said("s2", "older words");
  await said("s3-topic-7", "in a topic");
  const listed = {
    home: { sessionId: "s1", updatedAt: 2 },
    "agent:main:main": { sessionId: "s2", updatedAt: 1 },
    "telegram:group:-1007:topic:7": { sessionId: "s3", lastAccountId: "work" },
  };
  await writeFile(join(from, "sessions/sessions.json"), JSON.stringify(listed));
  const report = await imported(from, home, true);
  const keys = new Map(report.met.map(({ name, to, fate }) => [name, `${fate} ${to ?? ""}`.trim()]));
  expect(keys.get("agent.model")).toBe("changed agents.defaults.model");
  expect(keys.get("agent.workspace")).toBe("changed");
  expect(keys.get("telegram.dm.allowFrom")).toBe("changed channels.telegram.allowFrom");
  expect(keys.get("routing.allowFrom")).toBe("refused");
  expect(keys.get("home")).toBe("carried agent:main:main");
  expect(keys.get("telegram:group:-1007:topic:7")).toBe(
    "carried agent:main:telegram:work:group:-1007:topic:7",
  );
  expect(report.met.find(({ name }) => name === "agent:main:main")?.why).toContain(
    "a newer conversation, home",
  );
  expect(names(report, "owner", "carried")).toEqual([`telegram:${alice}`]);
  expect(await readFile(join(home, "workspace/SOUL.md"), "utf8")).toBe("old soul\n");
  expect(await readFile(join(home, "secrets/models-providers-anthropic-apiKey"), "utf8")).toBe("sk-old\n");
  expect((await imported(from, home, true)).changes).toBe(false);
});

test("a workspace that is the home itself brings notes, not keys, and never Parley's own folder", async () => {
  const from = await folder();
  const home = join(from, "parley");
  await mkdir(join(from, "credentials"));
  await writeFile(join(from, "openclaw.json"), JSON.stringify({ agents: { defaults: { workspace: from } } }));
  await writeFile(join(from, "credentials/telegram-allowFrom.json"), JSON.stringify([alice]));
  await writeFile(join(from, ".env"), "A_KEY=secret\n");
  await writeFile(join(from, "SOUL.md"), "soul\n");
  await imported(from, home, true);
  const again = await imported(from, home, true);
  expect(again.changes).toBe(false);
  const carried = names(again, "file", "there", "carried", "changed");
  expect(carried).toEqual([join(from, "SOUL.md")]);
});
