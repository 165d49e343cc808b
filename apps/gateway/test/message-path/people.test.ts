// What is stored of one person, forgotten and handed out: after it no byte of theirs is anywhere below the state folder, and others have what they had.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { loadConfig } from "@parley/config";
import { memoryEngine } from "@parley/memory";
import { silentLog, type Inbound } from "@parley/protocol";
import { exportPerson } from "../../src/people/export-person.ts";
import { peopleStored } from "../../src/people/forget-person.ts";
import type { Asked, Answer } from "./scripted-model.ts";
import { stage, type Stage, type StageOptions } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

const zed = "777000123";
const inGroup = {
  address: { channel: "telegram", account: "default", kind: "group", peer: "g1" },
  sender: { id: zed, name: "Zebedee Quux", isBot: false },
} satisfies Partial<Inbound>;
const olgaInGroup = { address: inGroup.address } satisfies Partial<Inbound>;
const mediaName = `${"ab".repeat(32)}.png`;
/** Nothing with one of these is left. */
const traces = [zed, "Zebedee", "Quux", "mauve submarine", "pelican recipe", "velvet hammock", "tin whistle"];

/** "NAME {args}" is called; everything else is repeated, with the speaker's words in it. */
function script({ messages, text, users }: Asked): Answer {
  const call = /^(write) (\{.*\})$/m.exec(users.at(-1) ?? "");
  const lastUser = messages.findLastIndex(({ role }) => role === "user");
  const called = messages.slice(lastUser).some(({ role }) => role === "tool");
  if (call !== null && !called)
    return { calls: { name: call[1] ?? "", args: JSON.parse(call[2] ?? "{}") as never } };
  return `I heard: ${text.split("\n").at(-1)}`;
}

async function begin(config: object = {}, more: Partial<StageOptions> = {}): Promise<void> {
  s = await stage({
    catalogue: true,
    ...more,
    config: { commands: { ownerAllowFrom: ["telegram:olga", `telegram:${zed}`] }, ...config },
    ...("channels" in config
      ? {}
      : { telegram: { groupPolicy: "open", groups: { "*": { requireMention: false } } } }),
  });
  s.model.answers(script);
}

async function people(config: object = {}) {
  const readFile = async (): Promise<string> => JSON.stringify(config);
  const loaded = await loadConfig({ env: {}, home: s.home, readFile });
  const memory = memoryEngine({ clock: s.clock });
  return peopleStored({
    config: loaded.config,
    store: s.store(),
    memory,
    home: s.home,
    clock: s.clock,
    log: silentLog,
  });
}

async function withTraces(): Promise<readonly string[]> {
  const files = await readdir(s.home, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const file of files) {
    if (!file.isFile()) continue;
    const path = join(file.parentPath, file.name);
    const bytes = await readFile(path);
    for (const trace of traces)
      if (bytes.includes(trace)) found.push(`${path.slice(s.home.length)}: ${trace}`);
  }
  return found;
}

/** Talks in private and in a group, notes, a pairing, a picture and a log. */
async function lived(): Promise<void> {
  await mkdir(join(s.home, "workspace"), { recursive: true });
  const zeb = s.person(zed);
  const name = { sender: inGroup.sender };
  await zeb.says("my mauve submarine is secret", name).gets(/mauve submarine/);
  await zeb
    .says('write {"path":"memory/shared/all.md","content":"- The pelican recipe is with thyme.\\n"}', name)
    .gets(/I heard/);
  const olga = s.person("olga", { chat: "g1" });
  await olga.says("good morning everybody", olgaInGroup).gets(/good morning/);
  const zebThere = s.person(zed, { chat: "g1" });
  await zebThere.says("the velvet hammock is mine", inGroup).gets(/good morning/, /velvet hammock/);
  await olga
    .says("what about the tin whistle?", {
      ...olgaInGroup,
      replyTo: {
        messageId: "m9",
        text: "the velvet hammock is mine",
        sender: "Zebedee Quux",
        toBot: false,
      },
      text: "Zebedee Quux, lend it to me",
    })
    .gets(/velvet hammock/, /lend it to me/);
  const { cells } = s.store();
  await cells.put(
    `paired:telegram:default:${zed}`,
    JSON.stringify({
      channel: "telegram",
      account: "default",
      senderId: zed,
      senderName: "Zebedee Quux",
      atMs: 1,
    }),
    {},
  );
  await cells.put("mcp-pins:x", JSON.stringify({ approvedBy: "telegram:olga" }), {});
  const files = {
    "logs/parley.log": [
      JSON.stringify({ msg: "received", rows: [`telegram:default:${zed}-1`] }),
      JSON.stringify({ msg: "received", rows: ["telegram:default:olga-1"] }),
      "",
    ].join("\n"),
    [`media/${mediaName}`]: "tin whistle",
    [`workspace/memory/people/telegram-${zed}/likes.md`]: "- likes the tin whistle\n",
    "workspace/memory/shared/other.md": "- The umbrella is in the hall.\n",
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(s.home, path)), { recursive: true });
    await writeFile(join(s.home, path), text);
  }
  const key = `agent:main:telegram:dm:${zed}` as never;
  await s.store().sessions.patch(key, { picture: mediaName });
}

test("shows first, then removes every byte of theirs and nothing of the others", async () => {
  await begin();
  await lived();
  expect(await withTraces()).not.toEqual([]);
  const { forget } = await people();
  const before = await readFile(join(s.home, "workspace/memory/shared/all.md"), "utf8");
  const plan = await forget(`telegram:${zed}`, false);
  expect(plan).toMatchObject({
    done: false,
    busy: [],
    ids: [`telegram:${zed}`],
    sessions: [`agent:main:telegram:dm:${zed}`],
    shared: ["agent:main:telegram:group:g1"],
    names: ["Zebedee Quux"],
    counts: { pairings: 1, "files of messages": 1, "lines of the log": 1, sessions: 1 },
  });
  expect(await readFile(join(s.home, "workspace/memory/shared/all.md"), "utf8")).toBe(before);
  expect((await s.transcript(`agent:main:telegram:dm:${zed}`)).length).toBeGreaterThan(3);

  const done = await forget(`telegram:${zed}`, true);
  expect(done.counts).toEqual(plan.counts);
  expect(await withTraces()).toEqual([]);

  // The others have what they had.
  const group = await s.transcript("agent:main:telegram:group:g1");
  const told = JSON.stringify(group);
  expect(told).toContain("good morning everybody");
  expect(told).toContain("lend it to me");
  expect(told).toContain("[removed]");
  expect(await readFile(join(s.home, "workspace/memory/shared/other.md"), "utf8")).toContain("umbrella");
  expect(await readFile(join(s.home, "logs/parley.log"), "utf8")).toContain("olga-1");
  expect(await s.store().cells.get("mcp-pins:x")).not.toBeNull();
  expect((await s.store().cells.list("person-forgotten:", 10)).length).toBe(1);

  // A second time there is nothing, and the person may come again as a stranger.
  expect(await forget(`telegram:${zed}`, false)).toMatchObject({ counts: {}, rewritten: 0, sessions: [] });
  await s
    .person(zed, { chat: zed })
    .says("hello again")
    .gets(/mauve/, /I heard/, /hello again/);
  const olga = s.person("olga", { chat: "g1" });
  olga.says("still here", { ...olgaInGroup, id: "telegram:default:later", messageId: "later" });
  await s.until(() => olga.sees().some((text) => text.includes("still here")), "an answer in the group");
});

test("is refused while something of theirs is at work, and changes nothing", async () => {
  await begin();
  s.model.answers(() => ({ afterMs: 60_000, says: ["late"] }));
  s.person(zed).says("my mauve submarine is slow");
  await s.until(() => s.model.open() > 0, "a call of the model");
  const { forget } = await people();
  expect((await forget(`telegram:${zed}`, false)).busy).not.toEqual([]);
  await expect(forget(`telegram:${zed}`, true)).rejects.toThrow(/still at work/);
  await s.person(zed).gets("late");
});

test("a private session of several people loses theirs alone; where nobody else wrote, it goes whole", async () => {
  const shared = { session: { dmScope: "main" } };
  await begin(shared);
  await s.person(zed).says("my mauve submarine is here", { sender: inGroup.sender }).gets(/mauve/);
  const { forget } = await people(shared);
  expect((await forget(`telegram:${zed}`, false)).sessions).toEqual(["agent:main:main"]);
  await s
    .person("olga")
    .says("the umbrella is mine")
    .gets(/umbrella/);
  // Five days later the rows are gone; the transcript says who wrote what.
  const db = new DatabaseSync(join(s.home, "state.db"));
  db.exec("update rows set ended = 1; update turns set ended = 1; update deliveries set done = 1");
  db.close();
  while (await s.store().sweep(1_000));
  const done = await forget(`telegram:${zed}`, true);
  expect(done).toMatchObject({ sessions: [], shared: ["agent:main:main"] });
  expect(await withTraces()).toEqual([]);
  const said = JSON.stringify(await s.transcript("agent:main:main"));
  expect(said).toContain("the umbrella is mine");
});

test("hands out what it would remove, into a folder or a tar file, and never over something", async () => {
  await begin();
  await lived();
  const { look } = await people();
  const ports = { home: s.home, clock: s.clock };
  const to = join(s.home, "out");
  const told = await exportPerson(await look(`telegram:${zed}`), to, ports);
  expect(told.counts).toMatchObject({ sessions: 1, media: 1, notes: 2 });
  const document = JSON.parse(await readFile(join(to, "person.json"), "utf8")) as { [name: string]: unknown };
  expect(JSON.stringify(document["transcripts"])).toContain("mauve submarine");
  expect(JSON.stringify(document["saidInSharedPlaces"])).toContain("velvet hammock");
  expect(JSON.stringify(document)).not.toContain("good morning everybody");
  expect(await readFile(join(to, "media", mediaName), "utf8")).toBe("tin whistle");
  await expect(exportPerson(await look(`telegram:${zed}`), to, ports)).rejects.toThrow(/there already/);
  await exportPerson(await look(`telegram:${zed}`), `${to}.tar`, ports);
  const tar = await readFile(`${to}.tar`);
  expect(tar.length % 512).toBe(0);
  expect(tar.subarray(0, 11).toString()).toBe("person.json");
  expect(tar.subarray(257, 262).toString()).toBe("ustar");
});

test("a name of session.identityLinks is all of that person's accounts; a text without an id is nobody", async () => {
  const open = { dmPolicy: "open", allowFrom: ["*"], pacing: "off", streaming: "off" };
  const linked = {
    channels: { telegram: { botToken: "1:x", ...open }, discord: { token: "x", ...open } },
    session: { dmScope: "per-peer", identityLinks: { zeb: [`telegram:${zed}`, "discord:4477"] } },
  };
  await begin(linked, { second: "discord" });
  await s.person(zed).says("my mauve submarine again").gets(/mauve/);
  await s
    .person("4477", { on: s.loopback })
    .says("and the velvet hammock")
    .gets(/velvet/);
  const { forget } = await people(linked);
  const plan = await forget("zeb", false);
  expect(plan).toMatchObject({
    ids: [`telegram:${zed}`, "discord:4477"],
    sessions: ["agent:main:dm:zeb"],
  });
  expect((await forget(`telegram:${zed}`, false)).counts).toEqual(plan.counts);
  await forget("zeb", true);
  expect((await s.rows()).length).toBe(0);
  await expect(forget("nobody", false)).rejects.toThrow(/names nobody/);
});
