// What an engine keeps and lets go between questions: an index that breaks, passages that move, what was said, and
// what it tells of files and questions that are no use.
import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
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
