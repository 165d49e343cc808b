// Whole tables of how notes are named, cut, searched, ranked and taken back, with both sides of every limit.
// After a wanted change: `vitest run --project @parley/memory tables -u`.
import { createHash } from "node:crypto";
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { answerTable } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { chunksOf, tokensOf } from "../src/chunk.ts";
import { ranked, type Candidate, type HybridSettings } from "../src/search/rank.ts";
import { listFiles, readMemoryFile } from "../src/read-file.ts";
import { dayOfFile, personFolder, scopeOfFile, scopeOfPlace } from "../src/scope.ts";
import { undoChange } from "../src/changes/undo.ts";
import { coverage, matchTerm, queryWords, spaced } from "../src/words.ts";

function workspace(files: { readonly [path: string]: string | Uint8Array }): string {
  const folder = mkdtempSync(join(tmpdir(), "parley-memory-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}

test("which path belongs to whom, and to which day", async () => {
  const paths = [
    "MEMORY.md",
    "memory.md",
    "USER.md",
    "SOUL.md",
    "memory/a.md",
    "memory/a.txt",
    "memory/.a.md",
    "memory/.b/a.md",
    "memory//a.md",
    "memory/shared/a.md",
    "memory/shared",
    "memory/shared.md",
    "memory/sessions/a.md",
    "memory/sessions/mark/a.md",
    "memory/sessions/mark/deep/a.md",
    "memory/people/a.md",
    "memory/people/telegram-7/a.md",
    "memory/other/telegram-7/a.md",
    "notes/memory/a.md",
    "memory/2026-01-31.md",
    "memory/2026-01-31-tea.md",
    "memory/2026-01-31_tea.md",
    "memory/2026-01-31tea.md",
    "memory/deep/2026-01-31 tea.md",
    "memory/shared/2026-01-31.md",
    "memory/sessions/mark/2026-01-31.md",
    "memory/people/telegram-7/2026-01-31-x.md",
    "memory/2026-01-31.txt",
    "memory/2026-1-31.md",
    "memory/2026-01-31/tea.md",
    "memory/2026-13-31.md",
    "memory/2026-02-31.md",
    "memory/2024-02-29.md",
    "memory/2026-02-29.md",
    "memory/x-2026-01-31.md",
    "2026-01-31.md",
  ];
  const people = ["telegram:7", "discord:a/b", "..:7", "web:ä_b.c-d", "x y"];
  const table = answerTable(paths, (path) => [scopeOfFile(path), scopeOfPlace(path), dayOfFile(path)]);
  await expect(table + answerTable(people, personFolder)).toMatchFileSnapshot("tables/scopes.txt");
});

test("words of a question and of a text", async () => {
  const many = (count: number): string => Array.from({ length: count }, (_, n) => `w${n}`).join(" ");
  const questions = [
    "What did Ann say about the tea?",
    "what is the",
    "don't v1.2.3 a@b.c x/y half-way it’s",
    "Ａnn　ＴＥＡ tea",
    "东京天气 とても 태풍",
    "👩🏽‍🚀 launch ❤️ 5️⃣",
    "\u0301 é e\u0301",
    many(33),
    `${"a ".repeat(2_000)}tail`,
    "",
    "?!",
  ];
  const texts = [
    ["The cities were tried", "Ann's garden"],
    ["loving parsed quickly boxes", ""],
    ["v1.2.3 of x/y", ""],
    ["东京天气很好", ""],
  ] as const;
  const asked = [
    "city",
    "try",
    "garden",
    "love",
    "parse",
    "quick",
    "box",
    "v1.2.3",
    "x",
    "1.2.3",
    "天气",
    "ann's",
  ];
  const table = [
    answerTable(questions, (each) => [queryWords(each), queryWords(each).map(matchTerm).slice(0, 3)]),
    answerTable(texts, ([text, heading]) => asked.filter((word) => coverage([word], text, heading) === 1)),
    answerTable(["a", "", 'x"y', "东京", "태풍", "東a"], matchTerm),
    answerTable(["a👍b", "☎️ ©", "ﬁ", "ไทยคำ"], spaced),
    String([
      coverage([], "a"),
      coverage(["tea", "milk", "rum"], "tea and milk"),
      coverage(["tea"], "", "Tea"),
    ]),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("tables/words.txt");
});

test("where a file is cut, and what a passage repeats", async () => {
  const lines = (count: number, chars: number): string =>
    Array.from({ length: count }, (_, n) => `${n} `.padEnd(chars, "x")).join("\n");
  const settings = { tokens: 50, overlap: 12 };
  const texts = [
    "",
    "\n \n\n",
    "a\r\nb\r\n",
    "\n\na\n\n",
    lines(30, 19),
    lines(10, 48),
    `# One #\n${lines(6, 19)}\n## Two\n${lines(6, 19)}\n# Three\nend`,
    `# One\n${lines(2, 19)}\n# Two\n${lines(2, 19)}`,
    `${lines(5, 16)}\n# Half of a passage before\nend`,
    `${lines(4, 19)}\n# Less than half before\nend`,
    "# \u00a0Ann\u00a0\ntext",
    `#### Deep\n## Up\ntext\n### Down\ntext\n #no\n   # yes\n    # no`,
    "~~~~\n# no\n~~~\n# no\n~~~~\n# yes",
    "```\n# no\n~~~\n# no\n```\n# yes",
    "x".repeat(400),
    "x".repeat(401),
    `${"x".repeat(200)} ${"y".repeat(250)}`,
    `${"x".repeat(201)} ${"y".repeat(250)}`,
    `${"x".repeat(400)} y`,
    `${"x".repeat(399)}\u{1F600}y`,
    `# ${"h".repeat(250)}\ntext`,
    Array.from({ length: 6 }, (_, n) => `${"#".repeat(n + 1)} ${"h".repeat(50)}`).join("\n"),
  ];
  const short = (text: string): string =>
    text.replaceAll(/x{9,}|y{9,}|h{9,}/g, (run) => `${run[0]}*${run.length}`);
  const table = answerTable(texts.map(short), (text) =>
    chunksOf(texts[texts.map(short).indexOf(text)] ?? "", settings).map((chunk) => ({
      ...chunk,
      heading: short(chunk.heading),
      text: short(chunk.text),
      chars: chunk.text.length,
    })),
  );
  const long = answerTable([1_000, 4_000, 4_001, 9_000], (chars) =>
    chunksOf("x".repeat(chars), { tokens: 5_000, overlap: 0 }).map(({ text }) => text.length),
  );
  const tokens = answerTable(["", "a", "abcd", "abcde", "日本", "日本abcde", "한국 ไทย"], tokensOf);
  await expect([table, long, tokens].join("\n")).toMatchFileSnapshot("tables/chunks.txt");
});

const settings: HybridSettings = {
  vectorWeight: 0.75,
  textWeight: 0.25,
  candidateMultiplier: 4,
  mmr: { enabled: false, lambda: 0.5 },
  temporalDecay: { enabled: false, halfLifeDays: 30 },
};

test("how passages are ranked", async () => {
  const nowMs = Date.UTC(2026, 1, 1, 12);
  const of = (
    id: number,
    textScore: number,
    vectorScore: number,
    more: Partial<Candidate> = {},
  ): Candidate => ({
    id,
    path: "memory/a.md",
    text: `words ${id}`,
    textScore,
    vectorScore,
    ...more,
  });
  const candidates = [
    of(1, 0.5, 0.5),
    of(2, 1, 0),
    of(3, 0, 1),
    of(4, 0.5, -1),
    of(5, 0.5, 0.5, { path: "memory/2026-01-02.md" }),
    of(6, 0.5, 0.5, { path: "memory/2026-01-02.md", day: "2025-12-03" }),
    of(7, 0.5, 0.5, { path: "memory/2026-03-01.md" }),
    of(8, 0, 0.1),
  ];
  const request = { settings, withVectors: true, nowMs, maxResults: 9, minScore: 0 };
  const decay = { ...settings, temporalDecay: { enabled: true, halfLifeDays: 30 } };
  const requests = [
    request,
    { ...request, withVectors: false },
    { ...request, maxResults: 2 },
    { ...request, minScore: 0.5 },
    { ...request, minScore: 0.9 },
    { ...request, settings: { ...settings, vectorWeight: 3, textWeight: 1 } },
    { ...request, settings: { ...settings, vectorWeight: 0, textWeight: 0 } },
    { ...request, settings: decay },
  ];
  const alike = ["tea and milk", "tea and milk", "tea and rum", "a garden"].map((text, at) =>
    of(at + 1, 1 - at * 0.2, 0, { text }),
  );
  const mixes = [0, 0.5, 0.9, 1].flatMap((lambda) => [2, 4].map((maxResults) => ({ lambda, maxResults })));
  const ids = (found: readonly { readonly candidate: Candidate; readonly score: number }[]): unknown =>
    found.map(({ candidate, score }) => [candidate.id, Number(score.toFixed(6))]);
  const table = [
    answerTable(requests, (each) => ids(ranked(candidates, each))),
    answerTable(mixes, ({ lambda, maxResults }) =>
      ids(
        ranked(alike, { ...request, maxResults, settings: { ...settings, mmr: { enabled: true, lambda } } }),
      ),
    ),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("tables/ranks.txt");
});

test("which files are listed and how each is read", async () => {
  const deep = `memory/${"d/".repeat(8)}`;
  const root = workspace({
    "MEMORY.md": "curated",
    "SOUL.md": "no note",
    "memory/b.md": "b",
    "memory/a.md": "a",
    "memory/.hidden.md": "x",
    "memory/plain.txt": "x",
    [`${deep}ninth.md`]: "in",
    [`${deep}d/tenth.md`]: "too deep",
    "memory/utf16.md": Buffer.from("fffe61006200", "hex"),
    "memory/big-endian.md": Buffer.from("feff00610062", "hex"),
    "memory/null.md": Buffer.from("6100", "hex"),
    "memory/old.md": Buffer.from("e4f6", "hex"),
    "memory/half.md": Buffer.from("61e282", "hex"),
    "memory/thorn.md": Buffer.from("fe6f", "hex"),
    "memory/umlaut.md": Buffer.from("ff6f", "hex"),
    "memory/broken.md": Buffer.from("61ff62e282", "hex"),
    "memory/most.md": "x".repeat(10 * 1024 * 1024),
    "memory/more.md": "x".repeat(10 * 1024 * 1024 + 1),
    "outside/c.md": "c",
  });
  mkdirSync(join(root, "memory/folder.md"));
  linkSync(join(root, "outside/c.md"), join(root, "memory/hard.md"));
  symlinkSync("b.md", join(root, "memory/link.md"));
  symlinkSync("/etc/hostname", join(root, "memory/out.md"));
  const { files, problems } = listFiles(root);
  const read = (path: string): unknown => {
    const { ...found } = readMemoryFile(root, path);
    return "text" in found ? { ...found, text: found.text.slice(0, 9), sha256: found.sha256.length } : found;
  };
  const paths = [...files.map(({ path }) => path), "memory/folder.md", "memory/none.md", "MEMORY.md/x.md"];
  const table = [
    answerTable([root], () => ({ files: files.map(({ path, scope }) => [path, scope]), problems })),
    answerTable(paths, read),
  ];
  await expect(table.join("\n").replaceAll(root, "<root>")).toMatchFileSnapshot("tables/files.txt");
  const linked = workspace({ "there/a.md": "a" });
  symlinkSync("there", join(linked, "memory"));
  expect(listFiles(linked)).toEqual({
    files: [],
    problems: [{ path: "memory", reason: "it is a link; notes must lie in the workspace" }],
  });
  expect(listFiles(join(linked, "nowhere"))).toEqual({ files: [], problems: [] });
});

test("what taking a change back does to a file that is as it was left, moved on, or gone", async () => {
  const hash = (text: string | null): string | null =>
    text === null ? null : createHash("sha256").update(text).digest("hex");
  const change = (
    before: string | null,
    after: string | null,
    at: number,
    removed: string,
    added: string,
  ) => ({
    path: "memory/a.md",
    at,
    removed,
    added,
    before: hash(before),
    after: hash(after),
  });
  const edit = change("one\ntwo\n", "one\nTWO\n", 4, "two", "TWO");
  const rows = [
    { now: "one\nTWO\n", ...edit },
    { now: "one\ntwo\n", ...edit },
    { now: "zero\none\nTWO\n", ...edit },
    { now: "TWO\none\nTWO\n", ...edit },
    { now: "something else", ...edit },
    { now: null, ...edit },
    { now: "one\nTWO\n", ...edit, at: -1 },
    { now: "one\ntwo\n", ...edit, at: -1 },
    { now: "new", ...change(null, "new", 0, "", "new") },
    { now: "new and more", ...change(null, "new", 0, "", "new") },
    { now: null, ...change("gone", null, 0, "gone", "") },
    { now: "other", ...change("gone", null, 0, "gone", "") },
    { now: "abc", ...change("aXbc", "abc", 1, "X", "") },
    { now: "one\nTWO\n", ...edit, path: "memory/new/a.md" },
    { now: "one\nTWO\n", ...edit, path: "SOUL.md" },
  ];
  const table = answerTable(rows, ({ now, ...request }) => {
    const root = workspace(now === null ? {} : { "memory/a.md": now });
    const answer = undoChange(root, request as Parameters<typeof undoChange>[1]);
    const file = readMemoryFile(root, "memory/a.md");
    return {
      answer,
      file: file.state === "read" ? readFileSync(join(root, "memory/a.md"), "utf8") : file.state,
    };
  });
  await expect(table.replaceAll(/"(?:before|after)":"[\da-f]{64}",?/g, "")).toMatchFileSnapshot(
    "tables/undo.txt",
  );
});
