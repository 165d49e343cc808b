// What an import tells and leaves alone: dry runs, folders of workspace files, mistakes in the source, and
// what a person already has or took away.
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { loadConfig } from "@parley/config";
import { isFault, systemClock, systemIds } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { importOpenclaw } from "../../src/import/import-openclaw.ts";
import type { ImportReport } from "../../src/import/report.ts";
import { readTranscript } from "../../src/import/transcript.ts";
import { openclawHome, secrets } from "./openclaw-home.ts";

async function folder(prefix: string): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), prefix));
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function source(telegram: object = {}, port = 0): Promise<string> {
  const made = await openclawHome({ telegram, port });
  onTestFinished(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function imported(
  from: string,
  home: string,
  apply = false,
  evenIfRunning = false,
): Promise<ImportReport> {
  const env = { PARLEY_HOME: home };
  return importOpenclaw({ folder: from, apply, evenIfRunning, env, clock: systemClock(), ids: systemIds() });
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!isFault(error)) throw error ?? new Error("it was not refused");
  return error.message;
}

test("a dry run writes nothing, tells every key and prints no secret", async () => {
  const home = join(await folder("parley-"), "home");
  const report = await imported(await source({ streamMode: "off" }), home);
  expect(existsSync(home)).toBe(false);
  expect(report).toMatchObject({ applied: false, changes: true });
  const fates = new Map(report.met.map((met) => [met.name, met]));
  expect(fates.get("channels.telegram.streamMode")).toMatchObject({
    fate: "changed",
    to: "channels.telegram.streaming",
  });
  expect(fates.get("channels.telegram.botToken")).toMatchObject({ fate: "changed" });
  expect(fates.get("agents.defaults.model.primary")).toMatchObject({ fate: "carried" });
  expect(fates.get("gateway.mode")).toMatchObject({ fate: "unknown" });
  for (const value of Object.values(secrets)) expect(JSON.stringify(report)).not.toContain(value);
});

test("a folder of AGENTS.md and SOUL.md alone fills the workspace, and a file of one's own stays", async () => {
  const [from, home] = [await folder("files-"), await folder("parley-")];
  await writeFile(join(from, "AGENTS.md"), "rules");
  await writeFile(join(from, "SOUL.md"), "soul");
  expect((await imported(from, home, true)).changes).toBe(true);
  expect(await readFile(join(home, "workspace/SOUL.md"), "utf8")).toBe("soul");
  await writeFile(join(home, "workspace/SOUL.md"), "my own");
  await rm(join(home, "workspace/AGENTS.md"));
  const again = await imported(from, home, true);
  expect(again.changes).toBe(false);
  expect(again.met.map(({ fate, why }) => [fate, why])).toEqual([
    ["there", "it was carried before and removed since"],
    ["there", "it was carried before and changed since"],
  ]);
  expect(await readFile(join(home, "workspace/SOUL.md"), "utf8")).toBe("my own");
});

test("a workspace that is not there, or is a link, is told and the rest is carried", async () => {
  const from = await source();
  const [home, elsewhere] = [await folder("parley-"), await folder("elsewhere-")];
  const workspace = join(from, "workspace");
  await rm(workspace, { recursive: true });
  const missing = await imported(from, home);
  expect(missing.met.find(({ name }) => name === workspace)).toMatchObject({
    fate: "refused",
    why: expect.stringContaining("is not there") as string,
  });
  await writeFile(join(elsewhere, "SOUL.md"), "kind\n");
  await symlink(elsewhere, workspace);
  const linked = await imported(from, home);
  expect(linked.met.find(({ name }) => name === workspace)).toMatchObject({
    fate: "refused",
    why: expect.stringContaining("a link") as string,
  });
  expect(linked.met.filter(({ name }) => name.endsWith("SOUL.md"))).toEqual([]);
  expect(linked.changes).toBe(true);
});

test("what the config says already stays, and its comments too", async () => {
  const home = await folder("parley-");
  await writeFile(join(home, "parley.json5"), '{ // mine\n  session: { dmScope: "per-peer" } }\n');
  const report = await imported(await source(), home, true);
  expect(report.met.find(({ name }) => name === "session.dmScope")).toMatchObject({ fate: "refused" });
  expect(report.todo.join("\n")).toContain("session.dmScope");
  const text = await readFile(join(home, "parley.json5"), "utf8");
  expect(text).toContain("// mine");
  expect(text).toContain("per-peer");
  expect(text).not.toContain(secrets.bot);
  expect((await readFile(join(home, "secrets/channels-telegram-botToken"), "utf8")).trim()).toBe(secrets.bot);
});

test("one owner is known where one person was let in, and none where there are several", async () => {
  const home = join(await folder("parley-"), "home");
  const owners = ({ met }: ImportReport): string[] =>
    met.filter(({ what }) => what === "owner").map(({ name }) => name);
  expect(owners(await imported(await source(), home))).toEqual(["telegram:4242"]);
  const two = await imported(await source({ allowFrom: ["tg:7"] }), home);
  expect(owners(two)).toEqual([]);
  expect(two.todo.join("\n")).toContain("commands.ownerAllowFrom");
});

test("mistakes of the source are told with their place, and nothing is written", async () => {
  const home = join(await folder("parley-"), "home");
  expect(await refusal(imported("/nowhere/at/all", home, true))).toContain(
    "there is no folder /nowhere/at/all",
  );
  expect(await refusal(imported(await folder("empty-"), home, true))).toContain(
    "neither openclaw.json nor AGENTS.md",
  );
  const torn = await source();
  await writeFile(join(torn, "openclaw.json"), "{\n  agents: {\n    defaults: ,\n");
  expect(await refusal(imported(torn, home, true))).toMatch(/openclaw\.json:3:\d+ not valid JSON5/);
  expect(existsSync(home)).toBe(false);
});

test("an import is refused while something listens where OpenClaw's gateway does", async () => {
  const home = join(await folder("parley-"), "home");
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const from = await source({}, (server.address() as AddressInfo).port);
  try {
    expect(await refusal(imported(from, home, true))).toContain("openclaw gateway stop");
    expect(existsSync(home)).toBe(false);
    expect((await imported(from, home)).todo[0]).toContain("Stop OpenClaw's gateway");
  } finally {
    server.close();
  }
});

test("a transcript keeps its branch, its summary and whole pairs of calls and results", () => {
  const line = (id: string, parentId: string | null, message: object): string =>
    JSON.stringify({ type: "message", id, parentId, timestamp: 1, message });
  const call = (id: string): object => ({
    role: "assistant",
    content: [{ type: "toolCall", id, name: "read", arguments: {} }],
  });
  const { entries, left } = readTranscript(
    [
      line("1", null, { role: "user", content: "old" }),
      line("2", "1", { role: "user", content: "kept" }),
      JSON.stringify({
        type: "compaction",
        id: "3",
        parentId: "2",
        summary: "they met",
        firstKeptEntryId: "2",
      }),
      line("4", "3", call("lost")),
      line("5", "4", call("found")),
      line("6", "5", { role: "toolResult", toolCallId: "found", content: [{ type: "text", text: "it" }] }),
      "{torn",
    ].join("\n"),
    "s.jsonl",
  );
  expect(entries.map(({ type }) => type)).toEqual(["user", "user", "summary", "assistant", "toolResult"]);
  expect(entries[2]).toMatchObject({ text: "they met", throughSeq: 1 });
  expect(left).toEqual(["1 line that is no JSON (s.jsonl:7: mend it before --apply, or go on without)"]);
});

test("the whole report of a home: what is carried, changed, left, and what a person has to do", async () => {
  const home = await folder("parley-");
  await writeFile(
    join(home, "parley.json5"),
    '{ session: { dmScope: "per-peer" }, cron: { timezone: "Europe/Berlin" } }\n',
  );
  const from = await source({ allowFrom: ["tg:7", "@name", "discord:8", 9] });
  for (const [channel, entries] of [
    ["discord", ["123456789012345678", "0", "user:5"]],
    ["whatsapp", ["+49123"]],
  ] as const)
    await writeFile(
      join(from, `credentials/${channel}-allowFrom.json`),
      JSON.stringify({ allowFrom: entries }),
    );
  const { met, todo } = await importOpenclaw({
    folder: from,
    apply: false,
    evenIfRunning: false,
    env: { PARLEY_HOME: home },
    clock: virtualClock({ startMs: Date.UTC(2026, 0, 5, 12) }),
    ids: systemIds(),
  });
  const lines = met.map(
    ({ what, name, fate, to, why }) => `${fate} ${what} ${name} -> ${to ?? ""}: ${why ?? ""}`,
  );
  const text = [...lines.toSorted(), ...todo.map((each) => `To do: ${each}`)].join("\n");
  const steady = text.replaceAll(from, "<from>").replaceAll(home, "<home>");
  await expect(`${steady}\n`).toMatchFileSnapshot("../tables/import.txt");
});

test("a home that was copied from elsewhere brings the workspace that lies in it, without links, pipes and what is far too large", async () => {
  const [from, home] = [await folder("copied-"), await folder("parley-")];
  await mkdir(join(from, "workspace/memory"), { recursive: true });
  const config = { agents: { defaults: { workspace: "~/.openclaw/workspace" } } };
  await writeFile(join(from, "openclaw.json"), JSON.stringify(config));
  await writeFile(join(from, "workspace/SOUL.md"), "soul");
  await symlink("/etc", join(from, "workspace/memory/etc"));
  // Sparse: it takes no room.
  await writeFile(join(from, "workspace/huge.md"), "");
  await truncate(join(from, "workspace/huge.md"), 3_000_000_000);
  const report = await imported(from, home, true);
  expect(await readFile(join(home, "workspace/SOUL.md"), "utf8")).toBe("soul");
  const refused = report.met.flatMap(({ what, fate, why }) =>
    what === "file" && fate === "refused" ? [why] : [],
  );
  expect(refused.toSorted((a = "", b = "") => a.localeCompare(b))).toEqual([
    "it has 3000 MB: copy it by hand, if it is wanted",
    "it is a link or no file, which is not followed",
  ]);
  expect((await imported(from, home, true)).changes).toBe(false);
});

test("what an import leaves: the config, secrets for its user alone, files, and in the store whom it let in, what is planned and what was said", async () => {
  const home = join(await folder("parley-"), "home");
  const from = await source({ allowFrom: ["tg:7", "8"] });
  const config = join(from, "openclaw.json");
  const text = (await readFile(config, "utf8")).replace(/^.*\n/, "");
  await writeFile(
    config,
    JSON.stringify({ ...JSON.parse(text), commands: { ownerAllowFrom: ["telegram:8", "telegram:7"] } }),
  );
  const run = () =>
    importOpenclaw({
      folder: from,
      apply: true,
      evenIfRunning: false,
      env: { PARLEY_HOME: home },
      clock: virtualClock({ startMs: Date.UTC(2026, 0, 5, 12) }),
      ids: seededIds(1),
    });
  const fates = ({ met }: ImportReport): readonly string[] =>
    met
      .filter(({ what }) => what === "person" || what === "job" || what === "session")
      .map(({ what, name, fate }) => `${what} ${name} ${fate}`);
  const first = await run();
  expect([first.applied, first.changes]).toEqual([true, true]);
  const left: string[] = [];
  for (const entry of await readdir(home, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(home.length + 1);
    if (!entry.isFile() || /^(?:state\.db|daemon\.)|store\.json$/.test(name)) continue;
    left.push(`${name} ${((await stat(path)).mode & 0o777).toString(8)}\n${await readFile(path, "utf8")}`);
  }
  const db = new DatabaseSync(join(home, "state.db"), { readOnly: true });
  const rows = (sql: string): readonly string[] =>
    db
      .prepare(sql)
      .all()
      .map((row) => Object.values(row).join(" "));
  const stored = [
    ...rows("select key, value from cells order by key"),
    ...rows("select lane, seq, body from entries order by lane, seq"),
  ];
  db.close();
  const steady = [...left.toSorted(), ...stored]
    .join("\n")
    .replaceAll(from, "<from>")
    .replaceAll(home, "<home>");
  await expect(`${steady}\n`).toMatchFileSnapshot("../tables/import-left.txt");
  const again = await run();
  expect(again.changes).toBe(false);
  const carried = fates(first).filter((fate) => !fate.endsWith("refused"));
  const there = carried.map((fate) => fate.replace(/ \w+$/, " there"));
  expect(fates(again).filter((fate) => !fate.endsWith("refused"))).toEqual(there);
  // Also where nobody remembers the first import: what is there is found.
  await rm(join(home, "imported.json"));
  const anew = await run();
  expect([anew.changes, fates(anew).filter((fate) => !fate.endsWith("refused"))]).toEqual([false, there]);
});

test("each agent's files go into its own workspace here, whatever letters its id has and whichever is the usual one", async () => {
  const [from, home] = [await folder("agents-"), join(await folder("parley-"), "home")];
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(join(from, path, ".."), { recursive: true });
    await writeFile(join(from, path), text);
  };
  await write(
    "openclaw.json",
    JSON.stringify({
      agents: {
        list: [
          { id: "helper", subagents: { allowAgents: ["Main", "*"] } },
          { id: "Main", default: true },
          { id: "third", workspace: join(from, "own") },
        ],
      },
      bindings: [
        { agentId: "Helper", match: { channel: "telegram" } },
        { agentId: "third", match: { channel: "discord" } },
      ],
      hooks: {
        token: "a-token-of-all-the-hooks-0123456789",
        allowedAgentIds: ["Helper"],
        mappings: [{ match: { path: "tea" }, action: "wake", agentId: "Helper", textTemplate: "tea" }],
      },
      tools: { agentToAgent: { enabled: true, allow: ["Third", "*"] } },
    }),
  );
  for (const [path, soul] of [
    ["workspace-helper", "helps"],
    ["workspace", "usual"],
    ["own", "third"],
  ] as const)
    await write(`${path}/SOUL.md`, soul);
  const { met } = await imported(from, home, true);
  expect(
    met.flatMap(({ what, name, fate, to }) =>
      what === "file" && fate === "carried"
        ? [[name.slice(from.length + 1), to?.slice(home.length + 1)]]
        : [],
    ),
  ).toEqual([
    // Here the first one of the list has the usual folder.
    ["workspace/SOUL.md", "workspace-main/SOUL.md"],
    ["workspace-helper/SOUL.md", "workspace/SOUL.md"],
    ["own/SOUL.md", "workspace-third/SOUL.md"],
  ]);
  expect(met.filter(({ name, fate }) => name.startsWith("agents") && fate === "refused")).toEqual([]);
  expect(met.find(({ name }) => name === "agents.list[1].id")).toMatchObject({
    fate: "changed",
    why: "ids of agents have small letters here",
  });
  const { config } = await loadConfig({ env: { PARLEY_HOME: home } });
  expect(config.agents.list.map(({ id }) => id)).toEqual(["helper", "main", "third"]);
  expect(config.bindings).toMatchObject([{ agentId: "helper" }, { agentId: "third" }]);
  expect([
    config.hooks.allowedAgentIds,
    config.hooks.mappings.map(({ agentId }) => agentId),
    config.tools.agentToAgent.allow,
    config.agents.list[0]?.subagents,
  ]).toEqual([["helper"], ["helper"], ["third", "*"], { allowAgents: ["main", "*"] }]);
});
