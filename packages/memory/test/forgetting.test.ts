// Which lines are forgotten, and what of a stored document is touched.
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { forgetting } from "../src/changes/forgetting.ts";
import { holdsPersonName, isIdentifier, isOneToken } from "../src/changes/stored-words.ts";
import { notes, plainSearch, type Notes } from "./notes.ts";

describe("forgetting", () => {
  test.each([
    ["door code", "The door code is 4711", true],
    ["door code", "The DOOR   Code", true],
    ["codes of doors", "a door has a code", true],
    ["door code", "the door is open", false],
    ["4711", "code 4711", true],
    ["北京", "他住在北京市", true],
    ["door code", "", false],
    ["tea", "we had tea", true],
    ["tea", "steam", false],
    ["team", "steamed", true],
    ["Team", "we STEAMED it", true],
    ["ste  amed", "we Ste\tamed it", true],
    ["forgotten", "[forgotten]", false],
    ["forgotten", "I have forgotten", true],
  ])("%j means %j: %s", (query, line, means) => {
    expect(forgetting(query)?.line(line)).toBe(means);
  });

  test.each(["", "a", "ab", "..", "?!", "  "])("%j says too little", (query) => {
    expect(forgetting(query)).toBeNull();
  });

  test("takes whole lines out of stored words, and leaves what holds records together", () => {
    const stored = {
      id: "telegram:default:4711",
      sender: { id: "4711", name: "4711" },
      content: [{ type: "text", text: "hello\nmy code is 4711\nbye" }],
      calls: [{ type: "toolCall", id: "4711", name: "write", args: { path: "4711.md", content: "4711" } }],
      inner: JSON.stringify({ text: "4711 again", turn: "4711" }),
    };
    expect(JSON.parse(forgetting("4711")?.json(JSON.stringify(stored)) ?? "null")).toEqual({
      id: "telegram:default:4711",
      sender: { id: "4711", name: "4711" },
      content: [{ type: "text", text: "hello\n[forgotten]\nbye" }],
      calls: [
        {
          type: "toolCall",
          id: "4711",
          name: "write",
          args: { path: "[forgotten]", content: "[forgotten]" },
        },
      ],
      inner: JSON.stringify({ text: "[forgotten]", turn: "4711" }),
    });
    expect(forgetting("4712")?.json(JSON.stringify(stored))).toBeNull();
  });
});

test.each(["read", "telegram", "followup", "disabled", "agent:main"])(
  "a record stays readable when %s is forgotten, because names of things are no words of people",
  (query) => {
    const record = {
      scopes: ["read", "write"],
      parent: "agent:main:telegram:default:direct:7",
      queue: { mode: "followup" },
      reason: "disabled",
      said: { text: `${query} this`, title: query, note: null },
      told: `somebody said ${query}`,
      args: { mode: query },
    };
    expect(JSON.parse(forgetting(query)?.json(JSON.stringify(record)) ?? "null")).toEqual({
      ...record,
      said: { text: "[forgotten]", title: "[forgotten]", note: null },
      told: "[forgotten]",
      args: { mode: "[forgotten]" },
    });
    expect(forgetting(query)?.json(query)).toBeNull();
    expect(forgetting(query)?.json(`He said ${query}.`)).toBe("[forgotten]");
  },
);

test("a word without blanks goes where words of another script stand in an unknown field", () => {
  expect(forgetting("北京")?.json('{"told":"他住在北京市"}')).toBe('{"told":"[forgotten]"}');
});

test("of what is stored of a message, a turn and an answer the words of people go, and nothing that holds it together", () => {
  const what = forgetting("otto");
  const stored = {
    id: "otto",
    channel: "otto",
    account: "otto",
    conversation: "otto",
    peer: { kind: "dm", id: "otto" },
    sender: { id: "otto", role: "otto", source: "otto" },
    agent: "otto",
    model: "otto",
    stop: "otto",
    outcome: "otto",
    cause: "otto",
    url: "https://otto.test/otto",
    sha256: "otto",
    path: "otto/otto.md",
    mediaType: "otto",
    name: "otto",
    // Words of somebody, a single one too.
    caption: "otto",
    title: "otto",
    question: "otto",
    options: ["tea", "otto"],
    answer: "otto",
    thinking: "of otto",
    command: "otto",
    output: "tea\notto\nmilk",
    args: { id: "otto", path: "otto", deep: [{ kind: "otto" }, 7, null, true] },
    // A field that nobody knows: a name of a thing as long as it is one word.
    other: "otto",
    others: ["otto", "old otto"],
    inner: '[{"text":"otto","id":"otto"}]',
    broken: "{otto",
    count: 7,
  };
  const gone = "[forgotten]";
  expect(JSON.parse(what?.json(JSON.stringify(stored)) ?? "null")).toEqual({
    ...stored,
    caption: gone,
    title: gone,
    question: gone,
    options: ["tea", gone],
    answer: gone,
    thinking: gone,
    command: gone,
    output: `tea\n${gone}\nmilk`,
    args: { id: gone, path: gone, deep: [{ kind: gone }, 7, null, true] },
    others: ["otto", gone],
    inner: `[{"text":"${gone}","id":"otto"}]`,
  });
  expect([
    what?.json("otto"),
    what?.json("7"),
    what?.json("old otto\ntea"),
    what?.json('"old otto"'),
  ]).toEqual([null, null, `${gone}\ntea`, gone]);
});

test("names of people are told from identifiers, which people are seldom called", () => {
  expect(["name", "senderName", "displayName", "id", "text"].map(holdsPersonName)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
  const words = ["otto", "otto.x-1", "Otto", "a:b", "7/8", "#7", "4711", "old otto", "Ötto", ""];
  expect(words.filter(isIdentifier)).toEqual(["otto", "otto.x-1", "a:b", "7/8", "#7"]);
  expect(words.filter(isOneToken)).toEqual(["otto", "otto.x-1", "Otto", "a:b", "7/8", "#7", "4711", ""]);
});

describe("in notes", () => {
  let n: Notes;
  afterEach(() => n.close());

  test("lines go from files and index, and no byte of them is left there", async () => {
    n = notes({
      "MEMORY.md": "# Keys\r\n- shed: zanzibar4711\r\n- car: blue\r\n",
      "memory/2026-11-20.md": "- nothing of it\n",
      ".parley/results/x.txt": "found zanzibar4711\nand more\n",
    });
    await n.find("zanzibar4711");
    const look = await n.engine.forget(n.target, { query: "zanzibar4711", write: false, nowMs: 1 });
    expect(look.lines).toEqual([
      { path: "MEMORY.md", line: 2, text: "- shed: zanzibar4711" },
      { path: ".parley/results/x.txt", line: 1, text: "found zanzibar4711" },
    ]);
    expect(await n.find("zanzibar4711")).toEqual(["MEMORY.md#1"]);
    await n.engine.forget(n.target, { query: "zanzibar4711", write: true, nowMs: 1 });
    const { workspace, indexPath } = n.target;
    expect(readFileSync(join(workspace, "MEMORY.md"), "utf8")).toBe("# Keys\r\n- car: blue\r\n");
    expect(await n.find("zanzibar4711")).toEqual([]);
    for (const name of readdirSync(dirname(indexPath)))
      expect(readFileSync(join(dirname(indexPath), name)).includes("zanzibar")).toBe(false);
    expect(await n.find("car blue")).toEqual(["MEMORY.md#1"]);
  });

  test("what a link in the workspace names loses them too, and drafts of a process that died", async () => {
    n = notes({ "memory/real.txt": "- shed: zanzibar4711\n- car: blue\n" });
    const { workspace } = n.target;
    symlinkSync("memory/real.txt", join(workspace, "MEMORY.md"));
    n.write("memory/old.md.parley-draft", "- shed: zanzibar4711\n");
    n.write("memory/old.md", "- tea\n");
    await n.engine.forget(n.target, { query: "zanzibar4711", write: true, nowMs: 1 });
    expect(readFileSync(join(workspace, "memory/real.txt"), "utf8")).toBe("- car: blue\n");
    expect(lstatSync(join(workspace, "MEMORY.md")).isSymbolicLink()).toBe(true);
    expect(readdirSync(join(workspace, "memory")).toSorted()).toEqual(["old.md", "real.txt"]);
  });

  test("an index of another node has no byte of them after its next search, and one in the same folder at once", async () => {
    n = notes({ "MEMORY.md": "- shed: zanzibar4711\n- car: blue\n" });
    const folder = dirname(n.target.indexPath);
    const other = { ...n.target, indexPath: join(folder, "main@b.sqlite") };
    const far = { ...n.target, indexPath: join(n.target.workspace, "../far/main.sqlite") };
    const found = async (target: typeof far, forgottenMs?: number): Promise<number> =>
      (
        await n.engine.search(target, {
          ...plainSearch,
          query: "zanzibar4711",
          ...(forgottenMs === undefined ? {} : { forgottenMs }),
        })
      ).hits.length;
    const bytes = (path: string): boolean =>
      readdirSync(path).some((name) => readFileSync(join(path, name)).includes("zanzibar"));
    for (const target of [n.target, other, far]) expect(await found(target)).toBe(1);
    await n.engine.forget(n.target, { query: "zanzibar4711", write: true, nowMs: 7 });
    expect(readdirSync(folder).filter((name) => name.includes("@"))).toEqual([]);
    expect([bytes(folder), bytes(dirname(far.indexPath))]).toEqual([false, true]);
    expect([await found(far, 7), await found(other, 7)]).toEqual([0, 0]);
    expect(bytes(dirname(far.indexPath))).toBe(false);
    expect(await n.find("car blue", { forgottenMs: 7 })).toEqual(["MEMORY.md#1"]);
  });

  test("what cannot be looked through is told, drafts go only with what is written, and files stay who they were", async () => {
    n = notes({ "MEMORY.md": "- zanzibar\n\n- tea\n- of Zanzibar", "memory/null.md": "zanzibar\u0000" });
    const { workspace } = n.target;
    chmodSync(join(workspace, "MEMORY.md"), 0o640);
    const drafts = [
      "x.md.parley-draft",
      "memory/y.md.parley-draft",
      ".parley/results/deep/w.txt.parley-draft",
    ];
    for (const path of drafts) n.write(path, "- zanzibar\n");
    n.write(".parley/results/deep/z.txt", "zanzibar");
    const forget = (write: boolean) => n.engine.forget(n.target, { query: "zanzibar", write, nowMs: 1 });
    const found = {
      lines: [
        { path: "MEMORY.md", line: 1, text: "- zanzibar" },
        { path: "MEMORY.md", line: 4, text: "- of Zanzibar" },
        { path: ".parley/results/deep/z.txt", line: 1, text: "zanzibar" },
        { path: ".parley/results/deep/w.txt.parley-draft", line: 1, text: "- zanzibar" },
      ],
      problems: [{ path: "memory/null.md", reason: "it is not text" }],
    };
    const inOrder = (told: Awaited<ReturnType<typeof forget>>) => ({
      ...told,
      lines: told.lines.toSorted((a, b) => (a.path < b.path ? 1 : a.path > b.path ? -1 : a.line - b.line)),
    });
    expect(inOrder(await forget(false))).toEqual(inOrder(found));
    expect(drafts.filter((path) => existsSync(join(workspace, path)))).toEqual(drafts);
    expect(inOrder(await forget(true))).toEqual(inOrder(found));
    expect(drafts.filter((path) => existsSync(join(workspace, path)))).toEqual([]);
    expect(readFileSync(join(workspace, "MEMORY.md"), "utf8")).toBe("\n- tea");
    expect(statSync(join(workspace, "MEMORY.md")).mode & 0o777).toBe(0o640);
    expect((await forget(true)).lines).toEqual([]);
    await expect(n.engine.forget(n.target, { query: "a", write: true, nowMs: 2 })).rejects.toMatchObject({
      code: "invalid",
      message: "say more of what is looked for: words, a name, a number of three signs",
    });
  });
});
