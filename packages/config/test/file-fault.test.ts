import { mkdirSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { fileFault } from "../src/index.ts";

function thrownBy(act: () => void): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return null;
}

test.for([
  ["ENOSPC", "unavailable", /^\/state\/x could not be written, the disk is full: .*Free some space/],
  ["EDQUOT", "unavailable", /the disk is full/],
  ["EROFS", "denied", /^\/state\/x could not be written: .*PARLEY_HOME/],
  ["EACCES", "denied", /^\/state\/x may not be used: .*give it to this one/],
  ["EPERM", "denied", /^\/state\/x may not be used: .*give it to this one/],
  ["ENOTDIR", "denied", /^\/state\/x cannot be there: .* is a file: move that/],
] as const)("%s is told with the file and what to do", ([code, fault, words]) => {
  const error = Object.assign(new Error(`${code}: refused`), { code, path: "/state/x" });
  expect(fileFault(error)).toMatchObject({
    code: fault,
    message: expect.stringMatching(words) as string,
    cause: error,
  });
});

test.runIf(process.platform === "linux")("so is a write that names no file", () => {
  const error = thrownBy(() => writeFileSync("/dev/full", "x"));
  expect(fileFault(error)?.message).toMatch(/^A file could not be written, the disk is full: ENOSPC/);
});

test("so is a folder that is to be made where a file lies", () => {
  const error = thrownBy(() => mkdirSync(import.meta.filename, { recursive: true }));
  expect(fileFault(error)?.message).toMatch(
    /file-fault\.test\.ts cannot be there: EEXIST: .* is a file: move that/,
  );
});

test("anything else stays the bug that it is", () => {
  for (const other of [
    new Error("x"),
    Object.assign(new Error("x"), { code: "EISDIR" }),
    Object.assign(new Error("x"), { code: "EEXIST", syscall: "open" }),
    "ENOSPC",
    null,
  ])
    expect(fileFault(other)).toBeNull();
});
