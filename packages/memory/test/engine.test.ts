// What is found, by whom, and what happens to the index when files and disks misbehave.
import {
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { notes, plainSearch, today, type Notes } from "./notes.ts";

let n: Notes;
afterEach(() => n.close());

const search = (query: string, more: object = {}) =>
  n.engine.search(n.target, { ...plainSearch, ...more, query });

describe("a search", () => {
  test("of a long line that stands in pieces names that line and none below it", async () => {
    n = notes({ "MEMORY.md": `# Tea\n${"green leaves steep ".repeat(500)}\nnothing else\n` });
    const { hits } = await search("leaves");
    const lines = hits.map(({ startLine, endLine }) => [startLine, endLine]);
    expect(hits.length).toBeGreaterThan(1);
    expect(lines.every(([from = 0, to = 0]) => from >= 1 && from <= to && to <= 3)).toBe(true);
    expect(lines).toContainEqual([2, 2]);
  });

  test("of a long line that stands in a passage in several pieces names that line, and those behind it by their own", async () => {
    const long = `${"green steep ".repeat(400)}leaves`;
    n = notes({ "MEMORY.md": `# Tea\n${long}\n\nbehind it\n` });
    const places = async (query: string) =>
      (await search(query, { minScore: 0 })).hits.map(({ startLine, endLine, snippet }) => [
        startLine,
        endLine,
        snippet.includes(query),
      ]);
    Object.assign(n.target, { chunking: { tokens: 3_000, overlap: 0 } });
    expect([await places("leaves"), await places("behind")]).toEqual([[[2, 2, true]], [[3, 4, true]]]);
  });

  test("finds words in any form, ranks the better passage first, and names file, lines and heading", async () => {
    n = notes({
      "MEMORY.md": "# People\n- Ann's birthday is on 3 May; she drinks green tea.\n",
      "memory/2026-11-20.md": "- Bob decided against tea.\n",
    });
    const { hits, mode } = await search("What does Ann drink on birthdays?");
    expect(mode).toBe("keyword");
    expect(hits[0]).toMatchObject({
      path: "MEMORY.md",
      startLine: 1,
      endLine: 2,
      heading: "People",
      source: "memory",
      scope: "curated",
    });
    expect(hits[0]?.snippet).toContain("green tea");
    expect(hits[0]?.score).toBeGreaterThan(hits[1]?.score ?? 0);
  });

  test("finds Chinese, Japanese, Thai, Korean, emoji, accents and ids", async () => {
    n = notes({
      "memory/zh.md": "李雷喜欢北京烤鸭",
      "memory/ja.md": "明日は東京で会議があります",
      "memory/th.md": "เขาชอบกินข้าวผัดที่กรุงเทพ",
      "memory/ko.md": "민수는 서울에서 일한다",
      "memory/emoji.md": "the party🎉was loud",
      "memory/accents.md": "Le café naïf de Zoë",
      "memory/ids.md": "CVE-2024-1234 breaks user_id in foo-bar.ts (C++)",
    });
    for (const [query, path] of [
      ["烤鸭", "zh"],
      ["北京", "zh"],
      ["東京", "ja"],
      ["会議", "ja"],
      ["ข้าวผัด", "th"],
      ["서울", "ko"],
      ["🎉", "emoji"],
      ["cafe zoe", "accents"],
      ["CVE-2024-1234", "ids"],
      ["user_id", "ids"],
      ["foo-bar", "ids"],
      ["C++", "ids"],
    ])
      expect([query, await n.find(query ?? "")]).toEqual([query, [`memory/${path}.md#1`]]);
  });

  test("answers whatever is asked", async () => {
    n = notes({ "MEMORY.md": "- Ann drinks tea NOT coffee.\n" });
    const hostile = [
      "",
      " \n\t",
      '"',
      '" OR 1=1 --',
      "NOT tea",
      "tea AND (",
      "scope : x",
      "{body heading} : tea",
      "tea*",
      "^tea",
      "NEAR(tea coffee, 2)",
      "\u0000tea\ud800",
      "'; DROP TABLE words; --",
      "👩‍👩‍👧‍👦",
      "x".repeat(1_000_000),
      "tea ".repeat(250_000),
      "茶".repeat(300_000),
    ];
    for (const query of hostile) {
      const { hits } = await search(query);
      expect([query.slice(0, 20), hits.length]).toEqual([
        query.slice(0, 20),
        /tea|NOT 1/.test(query) || query === "NOT tea" ? 1 : 0,
      ]);
    }
  });

  test("finds what was written a moment ago, and no longer what was taken away", async () => {
    n = notes({ "MEMORY.md": "- The door code was told.\n" });
    expect(await n.find("umbrella")).toEqual([]);
    n.write("MEMORY.md", "- The door code was told.\n- The umbrella is in the hall.\n");
    expect(await n.find("umbrella")).toEqual(["MEMORY.md#1"]);
    n.write("memory/2026-11-23.md", "- Another umbrella.\n");
    expect(await n.find("umbrella")).toHaveLength(2);
    renameSync(join(n.target.workspace, "memory/2026-11-23.md"), join(n.target.workspace, "memory/new.md"));
    expect(await n.find("another umbrella")).toContain("memory/new.md#1");
    rmSync(join(n.target.workspace, "MEMORY.md"));
    expect(await n.find("umbrella")).toEqual(["memory/new.md#1"]);
  });

  test("ranks rare words first where others stand nearly everywhere, and finds what has these alone", async () => {
    const lines = Array.from({ length: 1_300 }, (_, at) => {
      const often = at % 5 === 0 ? "harbour" : "market";
      return `The boat left the ${often} on day ${at}, as it did on every other day of that long year, without any fog.`;
    });
    lines[200] =
      "The boat left the harbour with Okafor, as it did on every other day of that long year, in fog.";
    lines[900] =
      "The boat left the market with Okafor, as it did on every other day of that long year, without.";
    n = notes({ "memory/log.md": lines.join("\n\n"), "memory/shared/boats.md": "Okafor sold the boat.\n" });
    const many: typeof n.target = { ...n.target, chunking: { tokens: 30, overlap: 0 } };
    await n.engine.reindex(many);
    const ask = async (query: string): Promise<readonly string[]> =>
      (await n.engine.search(many, { ...plainSearch, scopes: ["daily"], query })).hits.map(
        ({ path, startLine }) => `${path}#${startLine}`,
      );
    expect((await ask("okafor boat harbour")).slice(0, 2)).toEqual([
      "memory/log.md#401",
      "memory/log.md#1801",
    ]);
    expect(await ask("boat")).toHaveLength(6);
    expect((await ask("the boat left the harbour")).every((place) => place.startsWith("memory/log.md"))).toBe(
      true,
    );
    expect(await ask("boat zebra")).toHaveLength(6);
    expect(await ask("zebra")).toEqual([]);
  });

  test("weighs an old day less than a new one, and a file without a day not at all", async () => {
    n = notes({
      "memory/2026-09-24.md": "The boiler was repaired by Otto.",
      "memory/2026-11-22.md": "The boiler was repaired by Ida.",
      "MEMORY.md": "The boiler is from 1987.",
    });
    const { hits } = await search("boiler repaired", { minScore: 0 });
    expect(hits.map(({ path }) => path)).toEqual([
      "memory/2026-11-22.md",
      "MEMORY.md",
      "memory/2026-09-24.md",
    ]);
    const old = hits[2]?.score ?? 0;
    const fresh = hits[0]?.score ?? 0;
    // 60 days are two half-lives, one day is a thirtieth of one.
    expect(old / fresh).toBeCloseTo(0.25 / 2 ** (-1 / 30), 2);
    const flat = await search("boiler", {
      nowMs: today + 1e12,
      hybrid: { ...plainSearch.hybrid, temporalDecay: { enabled: false, halfLifeDays: 30 } },
    });
    expect(flat.hits).toHaveLength(3);
  });

  test("keeps hits of words when nothing reaches the least score", async () => {
    n = notes({ "memory/2020-01-01.md": "The ancient boiler." });
    expect(await n.find("boiler")).toEqual(["memory/2020-01-01.md#1"]);
  });
});

describe("scope", () => {
  const files = {
    "MEMORY.md": "- tea: curated",
    "memory/2026-11-20.md": "- tea: daily",
    "memory/shared/all.md": "- tea: shared",
    "memory/sessions/abc/2026-11-20.md": "- tea: session abc",
    "memory/people/telegram-7/x.md": "- tea: person 7",
  };
  test.each([
    [["shared"], ["memory/shared/all.md"]],
    [["curated"], ["MEMORY.md"]],
    [["daily"], ["memory/2026-11-20.md"]],
    [["session:abc"], ["memory/sessions/abc/2026-11-20.md"]],
    [["person:telegram-7"], ["memory/people/telegram-7/x.md"]],
    [["session:ab", "person:telegram-77"], []],
    [[], []],
  ] as const)("%j sees its own alone, in search and in get", async (scopes, paths) => {
    n = notes(files);
    const found = await n.find("tea", { scopes: [...scopes], minScore: 0 });
    expect(found.map((each) => each.split("#")[0])).toEqual(paths);
    for (const path of Object.keys(files)) {
      const got = n.engine.get(n.target, { path, from: 1, lines: 5, maxChars: 100, scopes: [...scopes] });
      const seen = await got.then(
        () => true,
        () => false,
      );
      expect([path, seen]).toEqual([path, (paths as readonly string[]).includes(path)]);
    }
  });
});

describe("files", () => {
  test("that are no text, too large, linked or not UTF-8 are told, and the others are found", async () => {
    n = notes({ "MEMORY.md": "- tea" });
    const { workspace } = n.target;
    n.write("memory/old.md", Buffer.from("caf\xe9 tea", "latin1"));
    n.write(
      "memory/utf16.md",
      Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from("tea party", "utf16le")]),
    );
    n.write("memory/binary.md", Buffer.from([1, 0, 2, 0]));
    n.write("memory/torn.md", Buffer.from("tea for l\u00f6", "utf8").subarray(0, 10));
    n.write("memory/empty.md", "");
    n.write("memory/big.md", "");
    truncateSync(join(workspace, "memory/big.md"), 50 * 1024 * 1024);
    writeFileSync(join(workspace, "..", "secret.md"), "tea of others");
    symlinkSync(join(workspace, "..", "secret.md"), join(workspace, "memory/link.md"));
    linkSync(join(workspace, "..", "secret.md"), join(workspace, "memory/hard.md"));
    symlinkSync("loop.md", join(workspace, "memory/loop.md"));
    mkdirSync(join(workspace, "memory/folder.md"));
    const { hits } = await search("tea", { minScore: 0, maxResults: 20 });
    expect(hits.map(({ path }) => path).toSorted()).toEqual([
      "MEMORY.md",
      "memory/old.md",
      "memory/torn.md",
      "memory/utf16.md",
    ]);
    const inPrivate = await search("tea", { scopes: ["curated", "daily"] });
    expect(inPrivate.notes.join("\n")).toContain("memory/");
    expect((await search("tea", { scopes: ["shared"] })).notes).toEqual([]);
    const { problems, files } = await n.engine.status(n.target);
    expect(Object.fromEntries(problems.map(({ path, reason }) => [path, reason]))).toEqual({
      "memory/old.md": "it is not UTF-8: read as Windows-1252",
      "memory/utf16.md": "it is UTF-16, not UTF-8",
      "memory/binary.md": "it is not text",
      "memory/big.md": expect.stringContaining("52428800 bytes"),
      "memory/link.md": "it leads out of the workspace",
      "memory/hard.md": expect.stringContaining("hard link"),
      "memory/loop.md": expect.stringContaining("ELOOP"),
    });
    expect(files).toBe(5);
  });

  test("are read by lines, and never beyond the memory", async () => {
    n = notes({ "MEMORY.md": "one\ntwo\nthree\n", "AGENTS.md": "x" });
    const get = (path: string, from = 1, lines = 10) =>
      n.engine.get(n.target, { path, from, lines, maxChars: 1_000, scopes: ["curated", "daily"] });
    expect(await get("MEMORY.md", 2, 1)).toEqual({
      path: "MEMORY.md",
      startLine: 2,
      endLine: 2,
      totalLines: 3,
      text: "two",
    });
    expect(await get(`${n.target.workspace}/MEMORY.md#L2-L3`)).toMatchObject({ endLine: 3 });
    await expect(get("MEMORY.md", 9)).rejects.toThrow("has 3 lines");
    for (const path of ["AGENTS.md", "../secret.md", "memory/../AGENTS.md", "/etc/passwd", "memory/.x/a.md"])
      await expect(get(path)).rejects.toMatchObject({ code: "denied" });
    await expect(get("memory/none.md")).rejects.toMatchObject({ code: "missing" });
  });
});

describe("the index", () => {
  const damage = {
    "is deleted": (path: string) => rmSync(path),
    "is no database": (path: string) => writeFileSync(path, "something else entirely".repeat(500)),
    "has a torn page": (path: string) => {
      const file = openSync(path, "r+");
      writeSync(file, Buffer.alloc(3 * 4096, 0xaa), 0, 3 * 4096, 4096);
    },
    "is empty": (path: string) => truncateSync(path, 0),
  };
  test.each(Object.entries(damage))("that %s is built anew, and says so", async (_how, spoil) => {
    n = notes({ "MEMORY.md": "- tea", "memory/2026-11-20.md": "- green tea" });
    const before = await n.find("tea");
    n.engine.close();
    for (const ending of ["-wal", "-shm"]) rmSync(`${n.target.indexPath}${ending}`, { force: true });
    expect(existsSync(n.target.indexPath)).toBe(true);
    spoil(n.target.indexPath);
    const { hits, notes: told } = await search("tea");
    expect(hits.map(({ path, startLine }) => `${path}#${startLine}`)).toEqual(before);
    if (_how !== "is deleted" && _how !== "is empty") expect(told.join()).toContain("damaged");
    expect((await search("tea")).notes).toEqual([]);
  });

  test("that is removed while it is open is built anew", async () => {
    n = notes({ "MEMORY.md": "- tea" });
    await n.find("tea");
    rmSync(n.target.indexPath);
    expect((await search("tea")).notes.join()).toContain("removed");
    expect(await n.find("tea")).toEqual(["MEMORY.md#1"]);
  });

  test("is the same after many edits as one that is made anew", async () => {
    n = notes();
    for (let step = 0; step < 30; step += 1) {
      n.write(
        `memory/note-${step % 4}.md`,
        `# Day\n${"- some line\n".repeat((step * 7) % 60)}- step ${step} tea\n`,
      );
      if (step % 9 === 0)
        rmSync(join(n.target.workspace, `memory/note-${(step + 1) % 4}.md`), { force: true });
      await n.find("tea");
    }
    const after = await n.engine.status(n.target);
    const found = await search("step tea line", { maxResults: 50, minScore: 0 });
    expect(await n.engine.reindex(n.target)).toMatchObject({ files: after.files, chunks: after.chunks });
    expect(await search("step tea line", { maxResults: 50, minScore: 0 })).toEqual(found);
  });
});
