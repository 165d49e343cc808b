// An archive of a person's files, as the system's own tar reads it.
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { tarOf } from "../../src/people/tar.ts";

const read = (archive: Buffer, ...args: readonly string[]): string =>
  execFileSync("tar", args, {
    input: archive,
    encoding: "utf8",
    env: { ...process.env, TZ: "UTC", LC_ALL: "C" },
  });

test("files keep their names, bytes and time, of whatever length, and are their owner's alone", () => {
  const long = `${"d".repeat(90)}/${"e".repeat(64)}/${"n".repeat(100)}`;
  const files = [
    { path: "a.txt", bytes: Buffer.from("one") },
    { path: "b/none", bytes: Buffer.alloc(0) },
    { path: "b/block", bytes: Buffer.alloc(512, "x") },
    { path: "b/more", bytes: Buffer.alloc(513, "y") },
    { path: "n".repeat(100), bytes: Buffer.from("short enough") },
    { path: long, bytes: Buffer.from("last") },
  ];
  const archive = tarOf(files, Date.UTC(2026, 0, 2, 3, 4, 5, 999));
  expect(archive.length % 512).toBe(0);
  const rows = read(archive, "-tvf", "-", "--full-time", "--numeric-owner").trim().split("\n");
  expect(rows.map((row) => row.split(/\s+/))).toEqual(
    files.map(({ path, bytes }) => [
      "-rw-------",
      "0/0",
      String(bytes.length),
      "2026-01-02",
      "03:04:05",
      path,
    ]),
  );
  for (const { path, bytes } of files) expect(read(archive, "-xOf", "-", path)).toBe(bytes.toString());
});

test("a path that the format cannot hold is refused; what counts are its bytes", () => {
  const file = (path: string) => [{ path, bytes: Buffer.alloc(0) }];
  for (const path of [
    "n".repeat(101),
    `d/${"n".repeat(101)}`,
    `${"d".repeat(156)}/n`,
    `${"ü".repeat(78)}/n`,
    "ü".repeat(51),
  ])
    expect(() => tarOf(file(path), 0)).toThrow(RangeError);
  for (const path of [`${"d".repeat(155)}/${"n".repeat(100)}`, "ü".repeat(50)])
    expect(read(tarOf(file(path), 0), "-tf", "-", "--quoting-style=literal").trim()).toBe(path);
});
