// What is stored of one person, forgotten and handed out: after it no byte of theirs is anywhere below the
// state folder, and others have what they had.
import { existsSync } from "node:fs";
import { appendFile, mkdir, open, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { importLedger } from "../../src/import/ledger.ts";
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

test("what Parley did in their name takes its own name from nobody, and the output of their commands goes", async () => {
  s = await begin();
  await lived(s);
  const spawn = 'sessions_spawn {"task":"think of the mauve submarine"}';
  await s
    .person(zed)
    .says(spawn, { sender: inGroup.sender, id: "telegram:default:spawn", messageId: "spawn" })
    .gets(/mauve/, /I heard/, /I heard/, /I heard/);
  const output = ".parley/exec/mwth6nlx-vpngkdrw.log";
  const others = ".parley/exec/mwth6nlx-aaaaaaaa.log";
  const [turn] = (await s.rows()).filter(({ lane }) => lane.endsWith(`:dm:${zed}`)).map((row) => row.turn);
  for (const [name, text, by] of [
    ["vpngkdrw", "velvet hammock", turn],
    ["aaaaaaaa", "wind", "agent:main:telegram:dm:olga#1"],
  ] as const) {
    const log = `.parley/exec/mwth6nlx-${name}.log`;
    await s.store().cells.put(`command:n:${name}`, JSON.stringify({ id: name, turn: by, log }), {});
    await mkdir(join(s.home, "workspace/.parley/exec"), { recursive: true });
    await writeFile(join(s.home, "workspace", log), text);
  }
  const { forget } = await people(s);
  const done = await forget(`telegram:${zed}`, true);
  expect(done.names).toEqual(["Zebedee Quux"]);
  expect(done.shared).toEqual(["agent:main:telegram:group:g1"]);
  expect(existsSync(join(s.home, "workspace", output))).toBe(false);
  expect(existsSync(join(s.home, "workspace", others))).toBe(true);
  expect(await withTraces(s)).toEqual([]);
});

test("what another's command goes on saying is not lost: their words are blotted out where they stand", async () => {
  s = await begin();
  await lived(s);
  const path = join(s.home, "workspace/.parley/exec/mwth6nlx-cccccccc.log");
  await mkdir(dirname(path), { recursive: true });
  const command = await open(path, "a");
  // No text in the middle, and words that end in letters of several bytes.
  await command.writeFile(`first \u00fc telegram:${zed} \n`);
  await command.writeFile(Buffer.from([0xff, 0xfe, 0x0a]));
  await command.writeFile(`again ${zed}\n`);
  const { forget } = await people(s);
  const size = (await stat(path)).size;
  expect((await forget(`telegram:${zed}`, false)).counts).toMatchObject({ "kept results": 1 });
  await forget(`telegram:${zed}`, true);
  expect((await stat(path)).size).toBe(size);
  await command.writeFile("what came later\n");
  await command.close();
  const said = await readFile(path);
  expect(said.toString("latin1").replaceAll("*", "")).toBe(
    Buffer.from("first \u00fc  \n").toString("latin1") + "\u00ff\u00fe\nagain \nwhat came later\n",
  );
  expect(await withTraces(s)).toEqual([]);
});

test("what imports remember names them no more, and still the next import does not bring them back", async () => {
  s = await begin();
  await lived(s);
  const session = `agent:main:telegram:dm:${zed}`;
  const before = importLedger(s.home);
  await before.add("person", [`telegram:default:${zed}`, "telegram:default:5"]);
  await before.add("session", [session, "agent:main:telegram:dm:5"]);
  const { forget } = await people(s);
  const plan = await forget(`telegram:${zed}`, false);
  expect(plan.counts).toMatchObject({ "records of imports": 2 });
  expect(plan.notes.join()).not.toContain("imported.json");
  expect((await forget(`telegram:${zed}`, true)).notes.join()).not.toContain("imported.json");
  expect(await withTraces(s)).toEqual([]);
  const after = importLedger(s.home);
  expect(after.has("person", `telegram:default:${zed}`)).toBe(true);
  await after.add("session", [session, "agent:main:main"]);
  // A short id stands in other numbers: it is looked for where ids stand.
  await forget("telegram:5", true);
  const text = await readFile(join(s.home, "imported.json"), "utf8");
  expect((JSON.parse(text) as { carried: unknown }).carried).toEqual(["session agent:main:main"]);
  const last = importLedger(s.home);
  expect(["5", zed].map((id) => last.has("person", `telegram:default:${id}`))).toEqual([true, true]);
  expect(last.has("session", session)).toBe(true);
  expect(last.has("person", "telegram:default:6")).toBe(false);
});

test("a file of notes that somebody else named them in is told, before and after what was theirs is cut out of it", async () => {
  s = await begin();
  await lived(s);
  const path = join(s.home, "workspace/memory/shared/all.md");
  await appendFile(path, `- ask telegram:${zed} about the hall\n`);
  const { forget } = await people(s);
  expect((await forget(`telegram:${zed}`, false)).notes).toContain(
    `${path} would still name them: it is yours to change`,
  );
  const done = await forget(`telegram:${zed}`, true);
  expect(done.notes).toContain(`${path} names them: it is yours to change`);
  expect(await readFile(path, "utf8")).toBe(`- ask telegram:${zed} about the hall\n`);
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
  await expect(await s.trace()).toMatchFileSnapshot("traces/person-removed.txt");
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
