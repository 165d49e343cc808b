// A file is replaced whole or not at all, keeps its mode and its link, and whoever may not write is told
// where.
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemIds } from "@parley/protocol";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { gatewayTokenIn, makeFolder, openToAppend, replaceFile } from "../src/index.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "parley-write-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
});
const modeOf = (path: string): number => statSync(path).mode & 0o777;

test("a new file is its owner's alone; one that was there keeps its mode unless it is to be private, and a link stays one", async () => {
  const [fresh, shared, link] = ["fresh", "shared", "link"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await replaceFile(fresh, "one");
  expect([readFileSync(fresh, "utf8"), modeOf(fresh)]).toEqual(["one", 0o600]);
  writeFileSync(shared, "a longer text than the next");
  chmodSync(shared, 0o664);
  symlinkSync("shared", link);
  await replaceFile(link, "two");
  expect([readFileSync(shared, "utf8"), modeOf(shared), readlinkSync(link)]).toEqual([
    "two",
    0o664,
    "shared",
  ]);
  await replaceFile(link, "three", { isPrivate: true });
  expect([readFileSync(shared, "utf8"), modeOf(shared)]).toEqual(["three", 0o600]);
  expect(readdirSync(folder).toSorted()).toEqual(["fresh", "link", "shared"]);
});

test.skipIf(process.getuid?.() !== 0)(
  "what root writes belongs to whom it belonged before, and what it makes to the owner of the folder around it",
  async () => {
    const nobody = 65_534;
    const owner = (name: string): number => statSync(join(folder, name)).uid;
    chownSync(folder, nobody, nobody);
    await replaceFile(join(folder, "new"), "text");
    writeFileSync(join(folder, "of root"), "");
    await replaceFile(join(folder, "of root"), "text");
    makeFolder(join(folder, "audit", "deep"));
    for (const name of ["log", "log"]) closeSync(openToAppend(join(folder, "audit", name)));
    expect(["new", "audit", "audit/deep", "audit/log", "of root"].map(owner)).toEqual([
      ...Array.from({ length: 4 }, () => nobody),
      0,
    ]);
    // What was there is not given away, and a link is not followed to be.
    symlinkSync("of root", join(folder, "link"));
    closeSync(openToAppend(join(folder, "link")));
    makeFolder(join(folder, "audit"));
    expect(owner("of root")).toBe(0);
  },
);

test("a link to a file that is not there yet stays one, and the file comes where it leads", async () => {
  mkdirSync(join(folder, "dotfiles"));
  symlinkSync("dotfiles/second", join(folder, "first"));
  symlinkSync("later", join(folder, "dotfiles", "second"));
  await replaceFile(join(folder, "first"), "text");
  expect(readlinkSync(join(folder, "first"))).toBe("dotfiles/second");
  expect(readFileSync(join(folder, "dotfiles", "later"), "utf8")).toBe("text");
  symlinkSync("none/at/all", join(folder, "nowhere"));
  await expect(replaceFile(join(folder, "nowhere"), "text")).rejects.toMatchObject({
    message: expect.stringMatching(/none\/at\/all could not be written: ENOENT/) as string,
  });
  expect(readlinkSync(join(folder, "nowhere"))).toBe("none/at/all");
});

test("a pipe in the place of what is appended to is no file to wait for", () => {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  expect(() => openToAppend(pipe)).toThrow(/ENXIO/);
});

test("what cannot be written is told with its place, and leaves no draft", async () => {
  const taken = join(folder, "taken");
  mkdirSync(join(taken, "inside"), { recursive: true });
  await expect(replaceFile(taken, "text")).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(
      /\/taken could not be written: E\w+: .*\. Check that the daemon's user may write its folder$/,
    ) as string,
  });
  expect(readdirSync(folder)).toEqual(["taken"]);
  writeFileSync(join(folder, "file"), "");
  await expect(replaceFile(join(folder, "file/x"), "text")).rejects.toThrow("ENOTDIR");
});

test("a token file that cannot be made or read is told, and one that others could read is closed", async () => {
  const path = join(folder, "deep/token");
  const token = await gatewayTokenIn(path, systemIds());
  expect([token, modeOf(path), modeOf(join(folder, "deep")), readdirSync(join(folder, "deep"))]).toEqual([
    expect.stringMatching(/^[A-Za-z0-9]{43}$/),
    0o600,
    0o700,
    ["token"],
  ]);
  chmodSync(path, 0o644);
  expect([await gatewayTokenIn(path, systemIds()), modeOf(path)]).toEqual([token, 0o600]);
  for (const at of [join(path, "below"), folder])
    await expect(gatewayTokenIn(at, systemIds())).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining(`the gateway's token file ${at} cannot be used: E`) as string,
    });
  for (const [text, isSafe] of [
    ["x".repeat(15), false],
    [` ${"x".repeat(16)}\n`, true],
  ] as const) {
    writeFileSync(path, text);
    const read = gatewayTokenIn(path, systemIds());
    if (isSafe) expect(await read).toBe("x".repeat(16));
    else await expect(read).rejects.toMatchObject({ code: "invalid" });
  }
});
