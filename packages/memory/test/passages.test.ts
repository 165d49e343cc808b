// What stands in an index after each change: which passages come, move and go, in which slices, under which
// numbers, what of talk is kept, and what a reader is told of it.
import fs, {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { DatabaseSync } from "node:sqlite";
import { dirname, join } from "node:path";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Chunk } from "../src/chunk.ts";
import { isDamage, openIndex, removeIndex, removeOtherIndexes } from "../src/index-file.ts";
import { notesOf, statusOf } from "../src/index-status.ts";
import type { OpenIndex } from "../src/open-index.ts";
import { putFile, removeFile, type FileRow, type PassageWatch } from "../src/passages.ts";
import { passagesFrom, rangeOf } from "../src/scope-ranges.ts";
import { listFiles } from "../src/read-file.ts";
import { syncFiles } from "../src/sync.ts";
import { dropAllTalk, dropTalk, knownTalks, takeTalk } from "../src/talk.ts";
import { talkScope } from "../src/scope.ts";
import { indexed, type Indexed } from "./indexed.ts";

let it: Indexed;
beforeEach(() => {
  it = indexed();
});
afterEach(() => it.close());

const row = (path: string, more: Partial<FileRow> = {}): FileRow => ({
  source: "memory",
  path,
  scope: "daily",
  stamp: "s1",
  sha256: "h1",
  note: null,
  ...more,
});
const chunk = (line: number, text: string, heading = ""): Chunk => ({
  startLine: line,
  endLine: line,
  heading,
  text,
});
const watching = () => {
  const seen: string[] = [];
  const watch: PassageWatch = {
    added: (id, scope, hash) => void seen.push(`+${it.textOf(id)} ${scope} ${hash.length}`),
    dropped: (id, scope) => void seen.push(`-${id % 2 ** 32} ${scope}`),
  };
  return { seen, watch };
};
const lefts = (steps: Generator<{ readonly filesLeft: number }, void>): readonly number[] =>
  [...steps].map(({ filesLeft }) => filesLeft);
const all = (sql: string): readonly unknown[] =>
  it.db
    .prepare(sql)
    .all()
    .map((each) => ({ ...each }));
/** Number in the scope, scope, lines, heading and text of each. */
const chunks = (): readonly string[] => {
  const columns = ["(id % 4294967296)", "scope", "first || '-' || last", "heading", "text"].join(
    " || '|' || ",
  );
  return it.db
    .prepare(`SELECT ${columns} AS line FROM chunks ORDER BY id`)
    .all()
    .map((each) => String(each["line"]));
};
const found = (word: string): number =>
  it.db.prepare("SELECT rowid FROM words WHERE words MATCH ?").all(`"${word}"`).length;

describe("the passages of a file", () => {
  test("stay where they say the same, move with their lines, and only what changed comes and goes", () => {
    const { seen, watch } = watching();
    const put = (stamp: string, now: readonly Chunk[], more: Partial<FileRow> = {}) =>
      lefts(putFile(it.db, watch, row("memory/a.md", { stamp, ...more }), now, 4));
    expect(put("s1", [chunk(1, "tea", "Drinks"), chunk(2, "tea"), chunk(3, "milk")])).toEqual([4]);
    expect(chunks()).toEqual(["1|daily|1-1|Drinks|tea", "2|daily|2-2||tea", "3|daily|3-3||milk"]);
    expect(seen.splice(0)).toEqual(["+tea daily 16", "+tea daily 16", "+milk daily 16"]);
    put("s2", [
      chunk(2, "tea", "Drinks"),
      { ...chunk(3, "tea"), endLine: 4 },
      chunk(5, "rum"),
      chunk(6, "tea"),
    ]);
    expect(chunks()).toEqual([
      "1|daily|2-2|Drinks|tea",
      "2|daily|3-4||tea",
      "3|daily|5-5||rum",
      "4|daily|6-6||tea",
    ]);
    expect(seen.splice(0)).toEqual(["-3 daily", "+rum daily 16", "+tea daily 16"]);
    expect([found("tea"), found("milk"), found("rum"), found("drinks")]).toEqual([3, 0, 1, 1]);
    put("s3", [chunk(2, "tea", "Drinks")], { scope: "shared", sha256: "h3", note: "odd" });
    expect(chunks()).toEqual(["1|shared|2-2|Drinks|tea"]);
    expect(seen.splice(0).toSorted()).toEqual([
      "+tea shared 16",
      "-1 daily",
      "-2 daily",
      "-3 daily",
      "-4 daily",
    ]);
    expect(all("SELECT * FROM files")).toEqual([
      {
        id: 1,
        source: "memory",
        path: "memory/a.md",
        scope: "shared",
        stamp: "s3",
        sha256: "h3",
        note: "odd",
        turn: null,
        untrusted: null,
      },
    ]);
  });

  test("that cannot be written leave their slice as it was, and the next one may be", () => {
    it.put("memory/a.md", "daily", ["tea", "milk"]);
    const failing: PassageWatch = {
      added: () => {
        throw new Error("no room");
      },
      dropped: () => {},
    };
    const steps = putFile(it.db, failing, row("memory/a.md", { stamp: "s2" }), [chunk(1, "rum")], 0);
    expect(() => [...steps]).toThrow("no room");
    expect([chunks(), it.db.isTransaction, found("rum"), found("tea")]).toEqual([
      ["1|daily|1-1||tea", "2|daily|2-2||milk"],
      false,
      0,
      1,
    ]);
    // Without its stamp it is looked at again.
    expect(all("SELECT stamp FROM files")).toEqual([{ stamp: "" }]);
    lefts(putFile(it.db, null, row("memory/a.md", { stamp: "s2" }), [chunk(1, "rum")], 0));
    expect([chunks(), rangeOf(it.db, "daily")?.passages]).toEqual([["1|daily|1-1||rum"], 1]);
  });

  test("are written a hundred at a time, and the file has its stamp when all of them are there", () => {
    const many = (count: number): readonly Chunk[] =>
      Array.from({ length: count }, (_, n) => chunk(n + 1, `text ${n}`));
    expect(lefts(putFile(it.db, null, row("memory/a.md"), many(100), 2))).toEqual([2]);
    expect(lefts(putFile(it.db, null, row("memory/b.md"), many(101), 2))).toEqual([3, 2]);
    expect(lefts(putFile(it.db, null, row("memory/c.md"), [], 0))).toEqual([0]);
    const steps = putFile(it.db, null, row("memory/b.md", { stamp: "s2" }), [], 1);
    const stamp = () => all("SELECT stamp FROM files WHERE path = 'memory/b.md'");
    expect([steps.next().value, stamp()]).toEqual([{ filesLeft: 2 }, [{ stamp: "" }]]);
    expect(rangeOf(it.db, "daily")?.passages).toBe(101);
    expect([steps.next().value, stamp(), steps.next().done]).toEqual([
      { filesLeft: 1 },
      [{ stamp: "s2" }],
      true,
    ]);
    const { seen, watch } = watching();
    const id = (all("SELECT id FROM files WHERE path = 'memory/a.md'")[0] as { id: number }).id;
    expect(lefts(removeFile(it.db, watch, id, 3))).toEqual([4, 3]);
    expect([seen.length, chunks(), all("SELECT path FROM files ORDER BY path")]).toEqual([
      100,
      [],
      [{ path: "memory/b.md" }, { path: "memory/c.md" }],
    ]);
  });

  test("have numbers of their scope alone, notes below talk, and are counted from one of them on", () => {
    const width = 2 ** 32;
    it.put("memory/a.md", "daily", ["one", "two", "three", "four"]);
    it.put("MEMORY.md", "curated", ["five"]);
    const talk = talkScope("s");
    it.put("s#1", talk, ["six", "seven"]);
    it.put("memory/b.md", "daily", ["eight"]);
    expect(all("SELECT id, scope, passages FROM scopes ORDER BY id")).toEqual([
      { id: 1, scope: "daily", passages: 5 },
      { id: 2, scope: "curated", passages: 1 },
      { id: 2 ** 20 + 1, scope: talk, passages: 2 },
    ]);
    expect(all("SELECT id FROM chunks ORDER BY id").map((each) => (each as { id: number }).id)).toEqual([
      ...[1, 2, 3, 4, 5].map((n) => width + n),
      2 * width + 1,
      ...[1, 2].map((n) => (2 ** 20 + 1) * width + n),
    ]);
    const daily = { first: width, last: 2 * width - 1, passages: 5, isAll: false };
    expect([rangeOf(it.db, "daily"), rangeOf(it.db, "shared"), rangeOf(it.db, "all")]).toEqual([
      daily,
      null,
      { first: 0, last: 2 ** 21 * width - 1, passages: 8, isAll: true },
    ]);
    const range = rangeOf(it.db, "all") ?? expect.unreachable("something is there");
    const from = (id: number, of = range): number => passagesFrom(it.db, of, id);
    expect([from(width + 1), from(width + 4), from(2 * width + 1), from((2 ** 20 + 1) * width + 2)]).toEqual([
      8, 5, 3, 1,
    ]);
    expect([from(width + 4, daily), from(9 * width, daily)]).toEqual([2, 5]);
    it.remove("MEMORY.md");
    expect([rangeOf(it.db, "curated"), rangeOf(it.db, "all")?.passages]).toEqual([null, 7]);
    for (const path of ["memory/a.md", "memory/b.md", "s#1"]) it.remove(path);
    expect(rangeOf(it.db, "all")).toBe(null);
  });
});

describe("talk", () => {
  const settings = { tokens: 8, overlap: 0 };
  const turn = (seq: number, ...texts: readonly string[]) => ({
    turn: `t${seq}`,
    untrusted: seq === 4 ? "web" : null,
    heading: `Turn ${seq}`,
    lines: texts.map((text, at) => ({ seq: seq + at, text })),
  });
  const take = (
    session: string,
    since: string,
    afterSeq: number,
    throughSeq: number,
    ...turns: readonly object[]
  ) => takeTalk(it.db, null, settings, { session, since, afterSeq, throughSeq, turns } as never);

  test("is taken stretch by stretch, each turn by the numbers of its entries, and a gap is not jumped", () => {
    expect(
      take("a", "1", 0, 3, turn(1, "saffron and a long line of words", "cardamom and others"), turn(9)),
    ).toBe(false);
    expect(take("b", "1", 0, 2, turn(1, "cumin"))).toBe(false);
    expect(take("a", "1", 5, 9, turn(6, "lost"))).toBe(false);
    expect(take("a", "1", 3, 4, turn(4, "pepper"))).toBe(false);
    const a = talkScope("a");
    expect(chunks()).toEqual([
      `1|${a}|1-1|Turn 1|saffron and a long line of words`,
      `2|${a}|2-2|Turn 1|cardamom and others`,
      `3|${a}|4-4|Turn 4|pepper`,
      `1|${talkScope("b")}|1-1|Turn 1|cumin`,
    ]);
    expect(all("SELECT source, path, scope, turn, untrusted, note FROM files ORDER BY id")).toEqual([
      { source: "sessions", path: "a#1", scope: a, turn: "t1", untrusted: null, note: null },
      { source: "sessions", path: "b#1", scope: talkScope("b"), turn: "t1", untrusted: null, note: null },
      { source: "sessions", path: "a#4", scope: a, turn: "t4", untrusted: "web", note: null },
    ]);
    expect(knownTalks(it.db, ["b", "none", "a"])).toEqual([
      { session: "b", since: "1", throughSeq: 2 },
      { session: "a", since: "1", throughSeq: 4 },
    ]);
    // The end of a turn comes with the next stretch.
    expect(take("a", "1", 4, 5, turn(4, "pepper", "salt"))).toBe(false);
    expect(chunks().filter((each) => each.includes("Turn 4"))).toEqual([`3|${a}|4-5|Turn 4|pepper\nsalt`]);
  });

  test("of a session that began anew goes, also where the new stretch does not follow", () => {
    take("a", "1", 0, 3, turn(1, "saffron"));
    take("b", "1", 0, 3, turn(1, "cumin"));
    expect(take("a", "2", 3, 4, turn(4, "pepper"))).toBe(true);
    expect([found("saffron"), found("pepper"), found("cumin"), knownTalks(it.db, ["a"])]).toEqual([
      0,
      0,
      1,
      [],
    ]);
    expect(take("b", "2", 0, 1, turn(1, "thyme"))).toBe(true);
    expect([found("cumin"), found("thyme"), knownTalks(it.db, ["b"])]).toEqual([
      0,
      1,
      [{ session: "b", since: "2", throughSeq: 1 }],
    ]);
  });

  test("is dropped of one session or of all, and whether there was any is said", () => {
    it.put("memory/a.md", "daily", ["tea"]);
    expect([dropTalk(it.db, null, "a"), dropAllTalk(it.db, null)]).toEqual([false, false]);
    take("a", "1", 0, 3, turn(1, "saffron"));
    take("b", "1", 0, 3);
    take("c", "1", 0, 3, turn(1, "cumin"));
    expect([dropTalk(it.db, null, "a"), dropTalk(it.db, null, "b"), dropTalk(it.db, null, "b")]).toEqual([
      true,
      true,
      false,
    ]);
    expect([found("saffron"), found("cumin")]).toEqual([0, 1]);
    take("d", "1", 0, 3, turn(1, "thyme"));
    expect(dropAllTalk(it.db, null)).toBe(true);
    expect([chunks(), knownTalks(it.db, ["a", "b", "c", "d"])]).toEqual([["1|daily|1-1||tea"], []]);
  });
});

test("a pass reads what changed alone, tells what is wrong as long as it is, and takes out what is gone", () => {
  const workspace = mkdtempSync(join(tmpdir(), "parley-passes-"));
  const write = (path: string, text: string | Uint8Array): void => {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), text);
  };
  const problems = new Map([["memory/gone.md", "told before"]]);
  const pass = (): readonly unknown[] => [
    lefts(syncFiles(it.db, workspace, { tokens: 400, overlap: 0 }, problems, null)),
    chunks().map((each) => each.split("|").at(-1)),
    Object.fromEntries(problems),
  ];
  write("MEMORY.md", "\ufeffcurated");
  write("memory/a.md", "a");
  write("memory/old.md", Buffer.from("e4f6", "hex"));
  write("memory/null.md", Buffer.from("00", "hex"));
  const odd = "it is not UTF-8: read as Windows-1252";
  const told = { "memory/null.md": "it is not text", "memory/old.md": odd };
  expect(pass()).toEqual([[3, 2, 1, 0], ["curated", "a", "äö"], told]);
  expect(pass()).toEqual([[], ["curated", "a", "äö"], told]);
  write("memory/old.md", "plain");
  write("memory/b.md", "b");
  rmSync(join(workspace, "memory/null.md"));
  rmSync(join(workspace, "MEMORY.md"));
  expect(pass()).toEqual([[3, 2, 2, 1, 0], ["a", "b", "plain"], {}]);
  // A link that leads to nothing is no file, and what stood there goes.
  rmSync(join(workspace, "memory/a.md"));
  symlinkSync("nothing", join(workspace, "memory/a.md"));
  expect(pass().slice(1)).toEqual([["b", "plain"], {}]);
  expect(all("SELECT path, scope FROM files ORDER BY path")).toEqual([
    { path: "memory/b.md", scope: "daily" },
    { path: "memory/old.md", scope: "daily" },
  ]);
  rmSync(workspace, { recursive: true });
});

test("a reader is told of five files that are wrong, of those that it may see, and how many more there are", () => {
  const index = (problems: number, more: Partial<Record<"left" | "trouble", unknown>> = {}): OpenIndex =>
    ({
      target: { indexPath: join(tmpdir(), "parley-none.sqlite") },
      file: { db: it.db },
      problems: new Map([
        ["memory/people/telegram-7/x.md", "theirs"],
        ["memory/d", "folders lie too deep"],
        ...Array.from({ length: problems }, (_, n) => [`memory/${n}.md`, `wrong ${n}`] as const),
      ]),
      filesLeft: () => more.left ?? 0,
      rebuilt: () => "the index was damaged",
      vectors:
        more.trouble === undefined
          ? null
          : { trouble: () => more.trouble, pending: () => 3, isBusy: () => true },
    }) as unknown as OpenIndex;
  const wrong = (count: number) => Array.from({ length: count }, (_, n) => `memory/${n}.md: wrong ${n}`);
  const deep = "memory/d: folders lie too deep";
  expect(notesOf(index(4), null, ["daily", "curated"])).toEqual([deep, ...wrong(4)]);
  expect(notesOf(index(5, { left: 2 }), "the index was removed", ["daily"])).toEqual([
    "the index was removed, and was built anew from the notes",
    "2 files are not indexed yet: search again for all of them",
    deep,
    ...wrong(4),
    "and 1 more files with problems",
  ]);
  expect(notesOf(index(9), null, ["person:telegram-7", "shared"])).toEqual([
    "memory/people/telegram-7/x.md: theirs",
  ]);
  expect([notesOf(index(9), null, []), notesOf(index(4), null, "all").length]).toEqual([[], 6]);
  it.put("memory/a.md", "daily", ["one", "two"]);
  lefts(putFile(it.db, null, row("memory/b.md"), [chunk(1, "three")], 0));
  lefts(putFile(it.db, null, row("s#1", { source: "sessions", sha256: "" }), [chunk(1, "four")], 0));
  it.db.exec("INSERT INTO vectors (model, hash, vector) VALUES ('m', x'01', x'02')");
  const status = statusOf(index(0, { left: 2, trouble: "no key" }));
  expect(status).toEqual({
    index: join(tmpdir(), "parley-none.sqlite"),
    files: 2,
    chunks: 4,
    vectors: 1,
    vectorsLeft: 3,
    filesLeft: 2,
    bytes: 0,
    problems: [
      { path: "memory/people/telegram-7/x.md", reason: "theirs" },
      { path: "memory/d", reason: "folders lie too deep" },
    ],
    notes: [
      "meaning is not searched now: no key",
      "the index was damaged, and was built anew from the notes",
      "2 files are not indexed yet: search again for all of them",
    ],
  });
  expect(statusOf(index(0))).toMatchObject({
    vectorsLeft: 0,
    filesLeft: 0,
    notes: [expect.stringContaining("damaged")],
  });
});

describe("the file of an index", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "parley-index-file-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const names = (): readonly string[] => readdirSync(folder).toSorted();

  test("goes with all that SQLite keeps beside it, and so do those of the same agent on other nodes", () => {
    const ours = ["main.sqlite", "main.sqlite-wal", "main.sqlite-shm", "main.sqlite-journal"];
    const others = [
      "main@two.sqlite",
      "main@two.sqlite-wal",
      "main@three.sqlite-shm",
      "main@three.sqlite-journal",
    ];
    const strangers = [
      "main2.sqlite",
      "domain.sqlite",
      "main.sqlite.bak",
      "main@two.txt",
      "other@main.sqlite",
    ];
    for (const name of [...ours, ...others, ...strangers]) writeFileSync(join(folder, name), "");
    removeOtherIndexes(join(folder, "main.sqlite"));
    expect(names()).toEqual([...ours, ...strangers].toSorted());
    removeIndex(join(folder, "main.sqlite"));
    expect(names()).toEqual(strangers.toSorted());
    for (const name of [...ours, ...others]) writeFileSync(join(folder, name), "");
    removeOtherIndexes(join(folder, "main@two.sqlite"));
    expect(names()).toEqual(["main@two.sqlite", "main@two.sqlite-wal", ...strangers].toSorted());
    removeOtherIndexes(join(folder, "none/main.sqlite"));
    expect(existsSync(join(folder, "none"))).toBe(false);
  });

  test("of something else, or of another form, is made anew and says why; whether it is still there is known", () => {
    const path = join(folder, "deep/main.sqlite");
    const first = openIndex(path, "settings");
    expect([first.rebuilt, first.isThere()]).toEqual([null, true]);
    first.db.exec("UPDATE meta SET value = 'parley-memory-3' WHERE key = 'form'");
    first.close();
    const other = "the index was made by another version or with other settings";
    const again = openIndex(path, "settings");
    expect(again.rebuilt).toBe(other);
    again.close();
    const same = openIndex(path, "settings");
    expect(same.rebuilt).toBe(null);
    removeIndex(path);
    expect(same.isThere()).toBe(false);
    same.close();
    const foreign = new DatabaseSync(path);
    foreign.exec("CREATE TABLE theirs (id INTEGER)");
    foreign.close();
    const made = openIndex(path, "settings");
    expect([made.rebuilt, made.db.prepare("SELECT count(*) AS n FROM chunks").get()?.["n"]]).toEqual([
      other,
      0,
    ]);
    made.close();
  });

  test("is damaged by SQLite's word for it alone", () => {
    const error = (errcode: unknown): unknown => Object.assign(new Error("x"), { errcode });
    expect([11, 26, 267, 0x10b, 0x11a].map((code) => isDamage(error(code)))).toEqual(Array(5).fill(true));
    for (const other of [
      error(1),
      error(5),
      error(10),
      error(12),
      error("11"),
      new Error("x"),
      { errcode: 11 },
    ])
      expect(isDamage(other)).toBe(false);
  });
});

test("of more files than are looked at the first are taken, and the first that is left out is named", () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-many-"));
  mkdirSync(join(folder, "memory"));
  writeFileSync(join(folder, "memory", "one.md"), "a");
  const { readdirSync: list, lstatSync: look } = fs;
  const [entry] = list(join(folder, "memory"), { withFileTypes: true });
  const one = look(join(folder, "memory", "one.md"), { bigint: true });
  const named = (count: number) =>
    Array.from({ length: count }, (_, n) =>
      Object.assign(Object.create(entry ?? null) as object, { name: `n${String(n).padStart(5, "0")}.md` }),
    );
  const listed = (count: number) => {
    Object.assign(fs, {
      readdirSync: () => named(count),
      lstatSync: (path: string, how: object) => (path.includes("/memory/n") ? one : look(path, how)),
    });
    syncBuiltinESMExports();
    try {
      const { files, problems } = listFiles(folder);
      return [files.length, files.at(-1)?.path, problems];
    } finally {
      Object.assign(fs, { readdirSync: list, lstatSync: look });
      syncBuiltinESMExports();
    }
  };
  const reason = "more than 20000 files: this one and others are left out";
  const last = "memory/n19999.md";
  expect([listed(20_000), listed(20_001), listed(20_003)]).toEqual([
    [20_000, last, []],
    [20_000, last, [{ path: "memory/n20000.md", reason }]],
    [20_000, last, [{ path: "memory/n20000.md", reason }]],
  ]);
  rmSync(folder, { recursive: true });
});
