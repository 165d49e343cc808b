// What several tools share, each in whole answers: kinds of bytes, the fence around notes, the first bytes of
// a text, programs of a search path, what runs until it succeeds, and a group of processes.
import { chmod, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { systemClock } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { decodeText, encodeText, looksBinary, pictureType } from "../src/files/text.ts";
import { pictureLine } from "../src/files/pictures.ts";
import { findProgram } from "../src/find-program.ts";
import { fencedMemory, notedAfter } from "../src/memory-fence.ts";
import { once } from "../src/once.ts";
import { runGroup } from "../src/process-group.ts";
import { firstBytes, pageBytes, resultRoom } from "../src/result-size.ts";
import { timeIn } from "../src/tools/session-status.ts";

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "parley-parts-")));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("a file's text has the line ending of most of its lines and keeps its mark; what is no text is none", () => {
  const bytes = (text: string): Buffer => Buffer.from(text, "latin1");
  const rows: readonly (readonly [Buffer, unknown])[] = [
    [Buffer.from("a\nb\r\nc"), { text: "a\nb\r\nc", bom: false, newline: "\n" }],
    [Buffer.from("a\nb\r\nc\r\n"), { text: "a\nb\r\nc\r\n", bom: false, newline: "\r\n" }],
    [Buffer.from("\ufeffa\r\n"), { text: "a\r\n", bom: true, newline: "\r\n" }],
    [Buffer.from("a\ufeff"), { text: "a\ufeff", bom: false, newline: "\n" }],
    [Buffer.from(""), { text: "", bom: false, newline: "\n" }],
    [bytes("a\xe4"), null],
    [Buffer.from("a\0"), null],
  ];
  for (const [file, text] of rows) expect([file, decodeText(file)]).toEqual([file, text]);
  expect([encodeText("ä", true), encodeText("ä", false)]).toEqual([Buffer.from("\ufeffä"), Buffer.from("ä")]);
  const nulAt = (at: number): Buffer => Buffer.from(`${"x".repeat(at)}\0x`);
  expect([looksBinary(nulAt(7_999)), looksBinary(nulAt(8_000)), looksBinary(nulAt(0))]).toEqual([
    true,
    false,
    true,
  ]);
  const kinds = ["\x89PNG\r\n\x1a\n", "\xff\xd8\xff", "GIF87a", "GIF89a", "RIFF1234WEBP"];
  expect(kinds.map((head) => pictureType(bytes(`${head}rest`)))).toEqual([
    { mediaType: "image/png", extension: "png" },
    { mediaType: "image/jpeg", extension: "jpg" },
    { mediaType: "image/gif", extension: "gif" },
    { mediaType: "image/gif", extension: "gif" },
    { mediaType: "image/webp", extension: "webp" },
  ]);
  const others = [
    "\x89PNG\r\n\x1a",
    "\xff\xd8",
    "GIF88a",
    "xGIF89a",
    "RIFF1234WAVE",
    "RIFX1234WEBP",
    "WEBP",
    "",
  ];
  expect(others.map((head) => pictureType(bytes(head)))).toEqual(others.map(() => null));
});

test("a picture is told with its size, what is shown of it, and how many there are in it", () => {
  const line = (width: number, height: number, original: readonly [number, number, number]): string =>
    pictureLine("a.png", {
      path: "k",
      mediaType: "image/png",
      width,
      height,
      original: { width: original[0], height: original[1], frames: original[2] },
    });
  expect([
    line(4, 3, [4, 3, 1]),
    line(3, 4, [4, 3, 2]),
    line(1_000, 2_000, [2_000, 4_000, 1]),
    line(2, 2, [4, 1, 3]),
  ]).toEqual([
    "a.png (4 x 3)",
    "a.png (4 x 3, the first of 2 pictures in it)",
    "a.png (2000 x 4000, shown at 1000 x 2000)",
    "a.png (4 x 1, shown at 2 x 2, the first of 3 pictures in it)",
  ]);
});

test("recalled words cannot close their fence nor hide in it, and tell once whose they are", () => {
  const inside = (text: string): string => fencedMemory(text).split("\n").slice(2, -1).join("\n");
  expect([
    inside("</relevant-memories> & <b>"),
    inside("a\n\tb\r\u0000c\u200bd\u202ee\u2028f\u2029g\u007fh"),
    inside("\ud800x"),
    inside("é 👍 \"'"),
  ]).toEqual(["&lt;/relevant-memories&gt; &amp; &lt;b&gt;", "a\n\tbcdefgh", "\ufffdx", "é 👍 \"'"]);
  const result = { content: [{ type: "text" as const, text: "a" }], isError: true };
  expect([notedAfter(result, []), notedAfter(result, ["b", "a", "b"])]).toEqual([
    result,
    { ...result, untrusted: { source: "notes made after reading b, a" } },
  ]);
});

test("a result has room beside what a tool says of it, a page never more than eighty thousand bytes", () => {
  const sizes = [undefined, 399, 400, 401, 80_299, 80_300, 80_301, 0];
  expect(sizes.map((resultBytes) => [resultRoom({ resultBytes }), pageBytes(resultBytes)])).toEqual([
    [7_892, 7_892],
    [100, 100],
    [100, 100],
    [101, 101],
    [79_999, 79_999],
    [80_000, 80_000],
    [80_001, 80_000],
    [100, 100],
  ]);
  expect([4, 3, 2, 1, 0, -1].map((bytes) => firstBytes("aé👍", bytes))).toEqual([
    "aé",
    "aé",
    "a",
    "a",
    "",
    "",
  ]);
  expect([firstBytes("aé👍", 6), firstBytes("aé👍", 7)]).toEqual(["aé", "aé👍"]);
});

test("the time is told with its day and zone, in whole days or halves, also at midnight and noon", () => {
  const at = (hour: number, minute: number): number => Date.UTC(2026, 10, 21, hour, minute);
  expect([
    timeIn("Europe/Berlin", at(7, 5)),
    timeIn("Europe/Berlin", at(23, 0)),
    timeIn("UTC", at(0, 0), true),
    timeIn("UTC", at(12, 30), true),
    timeIn("America/St_Johns", Date.UTC(2026, 6, 1, 15, 9), true),
    timeIn("UTC", at(13, 1)),
  ]).toEqual([
    "Saturday, 21 November 2026, 08:05 (Europe/Berlin, GMT+01:00)",
    "Sunday, 22 November 2026, 00:00 (Europe/Berlin, GMT+01:00)",
    "Saturday, 21 November 2026, 12:00 am (UTC, GMT+00:00)",
    "Saturday, 21 November 2026, 12:30 pm (UTC, GMT+00:00)",
    "Wednesday, 1 July 2026, 12:39 pm (America/St_Johns, GMT-02:30)",
    "Saturday, 21 November 2026, 13:01 (UTC, GMT+00:00)",
  ]);
});

test("a program is the first file of its name that may be run, in the order of the search path", async () => {
  const at = (path: string): string => join(folder, path);
  for (const name of ["a", "b", "c", "d", "e"]) await mkdir(at(name));
  await mkdir(at("a/tool"));
  await writeFile(at("b/tool"), "");
  await symlink("gone", at("c/tool"));
  await writeFile(at("d/tool"), "", { mode: 0o755 });
  await writeFile(at("e/tool"), "", { mode: 0o755 });
  await writeFile(at("plain"), "");
  await chmod(at("b/tool"), 0o644);
  const search = (...folders: readonly string[]): string => folders.map((each) => at(each)).join(delimiter);
  expect([
    await findProgram("tool", search("none", "plain", "a", "b", "c", "d", "e")),
    await findProgram("tool", search("e", "d")),
    await findProgram("tool", search("a", "b", "c")),
    await findProgram("other", search("d")),
    await findProgram("n".repeat(300), search("d")),
    await findProgram("tool", ""),
  ]).toEqual([at("d/tool"), at("e/tool"), null, null, null, null]);
});

test("what runs once is waited for by all, is not run again, and is tried again after a failure", async () => {
  let runs = 0;
  let fails = true;
  const run = once(async () => {
    runs += 1;
    const nth = runs;
    await Promise.resolve();
    if (fails) throw new Error(`failed ${nth}`);
    return nth;
  });
  const failed = await Promise.allSettled([run(), run()]);
  expect([failed.map((each) => (each.status === "rejected" ? String(each.reason) : "done")), runs]).toEqual([
    ["Error: failed 1", "Error: failed 1"],
    1,
  ]);
  fails = false;
  expect([await Promise.all([run(), run()]), await run(), runs]).toEqual([[2, 2], 2, 2]);
});

test("a group says how it ended with as much of its output as is kept; one that cannot start, or is stopped, says so", async () => {
  const clock = virtualClock();
  const group = (script: string, more: Partial<Parameters<typeof runGroup>[0]> = {}) =>
    runGroup({
      program: "/bin/sh",
      args: ["-c", script],
      cwd: folder,
      env: { PATH: "/usr/bin:/bin", KEY: "k" },
      signal: new AbortController().signal,
      clock,
      outputBytes: 8,
      ...more,
    });
  expect([
    await group("printf %s $KEY; pwd; exit 3", { outputBytes: 1_000 }),
    await group("printf 12345678"),
    await group("printf 12345; sleep 0.01; printf 6789; printf x"),
    await group("kill -9 $$"),
  ]).toEqual([
    { code: 3, output: `k${folder}\n` },
    { code: 0, output: "12345678" },
    { code: 0, output: "12345678" },
    { code: null, output: "" },
  ]);
  await expect(group("", { program: "/none/at-all" })).rejects.toMatchObject({
    code: "invalid",
    message: expect.stringMatching(/^\/none\/at-all cannot be started: .*ENOENT/),
  });
  await expect(group("", { signal: AbortSignal.abort() })).rejects.toMatchObject({
    code: "aborted",
    message: "stopped before it started",
  });
  const stop = new AbortController();
  const running = group("exec sleep 60", { signal: stop.signal, clock: systemClock() });
  stop.abort();
  await expect(running).rejects.toMatchObject({ code: "aborted", message: "stopped while it ran" });
  expect(clock.armed()).toBe(0);
});
