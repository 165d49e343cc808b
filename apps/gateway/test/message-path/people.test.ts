// What is stored of one person, forgotten and handed out: after it no byte of theirs is anywhere below the state folder, and others have what they had.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { exportPerson } from "../../src/people/export-person.ts";
import { begin, inGroup, lived, mediaName, olgaInGroup, people, withTraces, zed } from "./life-of-zebedee.ts";
import type { Stage } from "./stage.ts";

let s: Stage;
afterEach(() => s.close());

test("shows first, then removes every byte of theirs and nothing of the others", async () => {
  s = await begin();
  await lived(s);
  expect(await withTraces(s)).not.toEqual([]);
  const { forget } = await people(s);
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
  expect(await withTraces(s)).toEqual([]);

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
  s = await begin();
  s.model.answers(() => ({ afterMs: 60_000, says: ["late"] }));
  s.person(zed).says("my mauve submarine is slow");
  await s.until(() => s.model.open() > 0, "a call of the model");
  const { forget } = await people(s);
  expect((await forget(`telegram:${zed}`, false)).busy).not.toEqual([]);
  await expect(forget(`telegram:${zed}`, true)).rejects.toThrow(/still at work/);
  await s.person(zed).gets("late");
});

test("what somebody said in a group without meaning the agent holds nobody up, and goes", async () => {
  const telegram = { botToken: "1:x", dmPolicy: "open", allowFrom: ["*"], pacing: "off", streaming: "off" };
  const groups = { groupPolicy: "open", groups: { "*": { requireMention: true } } };
  s = await begin({ channels: { telegram: { ...telegram, ...groups } } });
  s.person(zed, { chat: "g1" }).says("my mauve submarine is not for you", inGroup);
  await s.until(async () => (await s.rows()).length > 0, "the message as context");
  const { forget } = await people(s);
  expect(await forget(`telegram:${zed}`, true)).toMatchObject({
    done: true,
    busy: [],
    counts: { messages: 1 },
  });
  expect(await withTraces(s)).toEqual([]);
});

test("a private session of several people loses theirs alone; where nobody else wrote, it goes whole", async () => {
  const shared = { session: { dmScope: "main" } };
  s = await begin(shared);
  await s.person(zed).says("my mauve submarine is here", { sender: inGroup.sender }).gets(/mauve/);
  const { forget } = await people(s, shared);
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
  expect(await withTraces(s)).toEqual([]);
  const said = JSON.stringify(await s.transcript("agent:main:main"));
  expect(said).toContain("the umbrella is mine");
});

test("hands out what it would remove, into a folder or a tar file, and never over something", async () => {
  s = await begin();
  await lived(s);
  const { look } = await people(s);
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
  s = await begin(linked, { second: "discord" });
  await s.person(zed).says("my mauve submarine again").gets(/mauve/);
  await s
    .person("4477", { on: s.loopback })
    .says("and the velvet hammock")
    .gets(/velvet/);
  const { forget } = await people(s, linked);
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
