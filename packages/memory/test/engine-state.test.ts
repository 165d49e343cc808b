// What an engine keeps and lets go between questions: an index that breaks, passages that move, what was
// said, and what it tells of files and questions that are no use.
import { createHash } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test } from "vitest";
import { notes, plainSearch, type Notes } from "./notes.ts";

let n: Notes;
afterEach(() => n.close());
const search = (query: string, more: object = {}) =>
  n.engine.search(n.target, { ...plainSearch, minScore: 0, ...more, query });
const places = (answer: Awaited<ReturnType<typeof search>>): readonly string[] =>
  answer.hits.map(({ path, startLine, endLine }) => `${path}#${startLine}-${endLine}`);

test("an index that shows damage in reading is made anew, told once, and then kept", async () => {
  n = notes({ "MEMORY.md": "- tea\n" });
  await search("tea");
  // A change by another connection makes the engine read the pages again.
  const other = new DatabaseSync(n.target.indexPath);
  other.exec("INSERT INTO meta VALUES ('other', ''); PRAGMA wal_checkpoint(TRUNCATE)");
  other.close();
  const file = openSync(n.target.indexPath, "r+");
  const { size } = fstatSync(file);
  writeSync(file, Buffer.alloc(size - 4_096, 0xaa), 0, size - 4_096, 4_096);
  closeSync(file);
  const healed = await search("tea");
  expect([places(healed), healed.notes]).toEqual([
    ["MEMORY.md#1-1"],
    ["the index was damaged, and was built anew from the notes"],
  ]);
  expect((await search("tea")).notes).toEqual([]);
  expect(await n.engine.status(n.target)).toMatchObject({ files: 1, chunks: 1, notes: [] });
  // The last connection takes its log with it.
  n.engine.close();
  expect(existsSync(`${n.target.indexPath}-wal`)).toBe(false);
});

test("a passage that moved is found where it is now, and is the same passage", async () => {
  n = notes({ "MEMORY.md": "- tea\n", "USER.md": "- tea and milk\n" });
  const ids = (): unknown => {
    const db = new DatabaseSync(n.target.indexPath);
    const rows = db.prepare("SELECT id, first, last, text FROM chunks ORDER BY text").all();
    db.close();
    return rows.map((row) => ({ ...row }));
  };
  await search("tea");
  const [first, second] = ids() as readonly { readonly id: number }[];
  n.write("MEMORY.md", "\n\n\n- tea\n");
  expect(places(await search("tea")).toSorted()).toEqual(["MEMORY.md#4-4", "USER.md#1-1"]);
  expect(ids()).toEqual([
    { id: first?.id, first: 4, last: 4, text: "- tea" },
    { id: second?.id, first: 1, last: 1, text: "- tea and milk" },
  ]);
});

test("a question without words says so, one without scopes finds nothing and says nothing", async () => {
  n = notes({ "MEMORY.md": "- tea\n" });
  expect(await search("?!")).toEqual({
    hits: [],
    mode: "keyword",
    notes: ["the query has no words to look for"],
  });
  expect(await search("tea", { scopes: [] })).toEqual({ hits: [], mode: "keyword", notes: [] });
});

test("a score is half of how the words weigh and half of how many of them there are", async () => {
  n = notes({ "MEMORY.md": "- tea\n" });
  const scoreOf = async (query: string) => (await search(query)).hits.map(({ score }) => score);
  expect([
    await scoreOf("tea"),
    await scoreOf("tea quokka"),
    await scoreOf("tea quokka zeppelin umbrella"),
  ]).toEqual([[1], [0.75], [0.625]]);
});

test("a folder of notes that is a link is told with its reason, and no more once it is none", async () => {
  n = notes({ "MEMORY.md": "- tea\n", "elsewhere/a.md": "- tea\n" });
  const { workspace } = n.target;
  symlinkSync("elsewhere", join(workspace, "memory"));
  const problem = { path: "memory", reason: "it is a link; notes must lie in the workspace" };
  expect((await n.engine.status(n.target)).problems).toEqual([problem]);
  renameSync(join(workspace, "memory"), join(workspace, "link"));
  n.write("memory/b.md", "- tea\n");
  const { problems, files } = await n.engine.status(n.target);
  expect([problems, files]).toEqual([[], 2]);
});

test("what was said in one session leaves no byte when it goes, and the other's stays", async () => {
  n = notes();
  Object.assign(n.target, { talk: true });
  const said = (session: string, text: string) =>
    n.engine.takeTalk(n.target, {
      session,
      since: "1",
      afterSeq: 0,
      throughSeq: 2,
      turns: [{ turn: "t", heading: "2026-11-22", untrusted: null, lines: [{ seq: 2, text }] }],
    });
  const holds = (word: string): boolean =>
    readdirSync(dirname(n.target.indexPath)).some((name) =>
      readFileSync(join(dirname(n.target.indexPath), name)).includes(word),
    );
  await n.engine.dropTalk(n.target, "one");
  await said("one", "saffron");
  await said("two", "cardamom");
  expect(await n.engine.talks(n.target, ["two", "none", "one"])).toEqual([
    { session: "two", since: "1", throughSeq: 2 },
    { session: "one", since: "1", throughSeq: 2 },
  ]);
  await n.engine.dropTalk(n.target, "none");
  expect([holds("saffron"), holds("cardamom")]).toEqual([true, true]);
  await n.engine.dropTalk(n.target, "one");
  expect([holds("saffron"), holds("cardamom")]).toEqual([false, true]);
  expect(await n.engine.talks(n.target, ["one", "two"])).toEqual([
    { session: "two", since: "1", throughSeq: 2 },
  ]);
});

test("what is found in notes and in talk is told whole: where it stands, whose it is, and what was read before it was said", async () => {
  n = notes({
    "MEMORY.md": "# Spices\n- Ann cooks with saffron.\n",
    "memory/2026-09-24.md": "saffron\n",
    "memory/people/telegram-7/a.md": "saffron of another\n",
  });
  Object.assign(n.target, { talk: true });
  const said = (session: string, ...turns: readonly object[]) =>
    n.engine.takeTalk(n.target, { session, since: "1", afterSeq: 0, throughSeq: 9, turns } as never);
  const turn = (seq: number, day: string, untrusted: string | null, ...texts: readonly string[]) => ({
    turn: `t${seq}`,
    heading: `${day} 10:00 Ann`,
    untrusted,
    lines: texts.map((text, at) => ({ seq: seq + at, text })),
  });
  const key = "agent:main:web:dm:a#b";
  await said(
    key,
    turn(3, "2026-11-23", null, "we cook", "saffron rice"),
    turn(8, "2026-09-24", "a.test", "saffron"),
  );
  await said("agent:main:web:dm:other", turn(1, "2026-11-23", null, "saffron elsewhere"));
  const scopes = ["curated", "daily"];
  const hits = (await search("saffron", { scopes, sessions: [key], maxResults: 9 })).hits;
  const talk = { source: "sessions", scope: expect.stringMatching(/^talk:[0-9a-f]{32}$/) as string };
  // Sixty days are two half-lives, for a note by its name and for talk by when it was said.
  expect(hits.map(({ score: _score, ...each }) => each)).toEqual([
    {
      path: "MEMORY.md",
      startLine: 1,
      endLine: 2,
      heading: "Spices",
      source: "memory",
      scope: "curated",
      snippet: "# Spices\n- Ann cooks with saffron.",
    },
    {
      ...talk,
      path: key,
      startLine: 3,
      endLine: 4,
      heading: "2026-11-23 10:00 Ann",
      snippet: "we cook\nsaffron rice",
      turn: "t3",
    },
    {
      path: "memory/2026-09-24.md",
      startLine: 1,
      endLine: 1,
      heading: "",
      source: "memory",
      scope: "daily",
      snippet: "saffron",
    },
    {
      ...talk,
      path: key,
      startLine: 8,
      endLine: 8,
      heading: "2026-09-24 10:00 Ann",
      snippet: "saffron",
      turn: "t8",
      untrusted: "a.test",
    },
  ]);
  const of = async (more: object) =>
    (await search("saffron", { maxResults: 9, ...more })).hits.map(({ path }) => path);
  expect(await of({ scopes: [], sessions: [key] })).toEqual([key, key]);
  expect(await of({ scopes: ["daily"], sessions: [] })).toEqual(["memory/2026-09-24.md"]);
  expect((await of({ scopes: "all" })).toSorted()).toEqual(
    [
      "MEMORY.md",
      key,
      key,
      "agent:main:web:dm:other",
      "memory/2026-09-24.md",
      "memory/people/telegram-7/a.md",
    ].toSorted(),
  );
  // No fewer than one is told, however few were asked for.
  expect([await of({ scopes, maxResults: 0 }), await of({ scopes, maxResults: -3 })]).toEqual([
    ["MEMORY.md"],
    ["MEMORY.md"],
  ]);
  const { bytes, files, chunks } = await n.engine.status(n.target);
  const sizes = [n.target.indexPath, `${n.target.indexPath}-wal`].map((path) => statSync(path).size);
  expect([bytes, files, chunks]).toEqual([sizes.reduce((sum, size) => sum + size), 6, 6]);
  expect(statSync(dirname(n.target.indexPath)).mode & 0o777).toBe(0o700);
});

test("of many passages no more than fifty are told, as many as were asked for up to that", async () => {
  n = notes(Object.fromEntries(Array.from({ length: 55 }, (_, at) => [`memory/n${at}.md`, `saffron ${at}`])));
  const count = async (maxResults: number) => (await search("saffron", { maxResults })).hits.length;
  expect([await count(49), await count(50), await count(51), await count(999)]).toEqual([49, 50, 50, 50]);
});

test("without being looked at anew, an index answers with what it has, unless it has nothing", async () => {
  n = notes({ "MEMORY.md": "- tea\n" });
  expect(places(await search("tea", { sync: false }))).toEqual(["MEMORY.md#1-1"]);
  n.write("USER.md", "- tea\n");
  expect(places(await search("tea", { sync: false }))).toEqual(["MEMORY.md#1-1"]);
  expect(places(await search("tea")).length).toBe(2);
  expect(await n.engine.isBusy()).toBe(false);
});

test("a note is written anew only from what it was to what it is to be, and never where it is no note", async () => {
  n = notes({ "MEMORY.md": "one\n", "SOUL.md": "one\n" });
  n.write("memory/old.md", Buffer.from("e4f6", "hex"));
  const hash = (text: string): string => createHash("sha256").update(text).digest("hex");
  const rewrite = (path: string, before: string, after: string, text: string | null = after) =>
    n.engine.rewrite(n.target, { path, before: hash(before), after: hash(after), text });
  const said = (path = "MEMORY.md"): string => readFileSync(join(n.target.workspace, path), "utf8");
  chmodSync(join(n.target.workspace, "MEMORY.md"), 0o640);
  expect([await rewrite("MEMORY.md", "other\n", "two\n"), said()]).toEqual(["changed", "one\n"]);
  // Only its hash is known any more, or the text is not what was agreed to.
  expect([await rewrite("MEMORY.md", "one\n", "two\n", null), said()]).toEqual(["changed", "one\n"]);
  expect([await rewrite("MEMORY.md", "one\n", "two\n", "three\n"), said()]).toEqual(["changed", "one\n"]);
  expect([await rewrite("MEMORY.md", "one\n", "two\n"), said()]).toEqual(["written", "two\n"]);
  expect([await rewrite("MEMORY.md", "one\n", "two\n", null), said()]).toEqual(["there", "two\n"]);
  expect(statSync(join(n.target.workspace, "MEMORY.md")).mode & 0o777).toBe(0o640);
  expect([await rewrite("SOUL.md", "one\n", "two\n"), said("SOUL.md")]).toEqual(["changed", "one\n"]);
  expect(await rewrite("memory/old.md", "äö", "two\n")).toBe("changed");
  expect(await rewrite("memory/none.md", "", "two\n")).toBe("changed");
  expect(readdirSync(n.target.workspace).toSorted()).toEqual(["MEMORY.md", "SOUL.md", "memory"]);
});
