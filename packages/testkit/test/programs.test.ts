// A missing program must never look like a passed test.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { lacks, program, programPath } from "@parley/testkit";

const folder = mkdtempSync(path.join(os.tmpdir(), "parley-programs-"));
const redis = path.join(folder, "redis-server");
writeFileSync(redis, "");
chmodSync(redis, 0o755);
writeFileSync(path.join(folder, "strace"), "", { mode: 0o644 });

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});
afterAll(() => rmSync(folder, { recursive: true }));

test("a program is found along the path", () => {
  const found = program("redis-server", `/nowhere:${folder}`);
  expect(found).toEqual({ path: redis });
  expect(lacks(found)).toBe(false);
  expect(programPath(found)).toBe(redis);
});

test("a file that may not be run is no program", () => {
  expect(program("strace", folder)).toEqual({
    missing: "strace",
    why: "strace is not on the PATH: apt-get install -y strace",
  });
});

test("a missing program skips and says how to install it", () => {
  vi.stubEnv("CI", "");
  const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  expect(lacks(program("redis-server", folder), program("bwrap", folder))).toBe(true);
  expect(warn.mock.calls).toEqual([["skipped: bwrap is not on the PATH: apt-get install -y bubblewrap"]]);
  expect(() => programPath(program("bwrap", folder))).toThrow("apt-get install -y bubblewrap");
});

test("a program that the machine does not let work is missing too", () => {
  writeFileSync(path.join(folder, "bwrap"), "#!/bin/sh\necho 'no namespaces here' >&2\nexit 1\n", {
    mode: 0o755,
  });
  expect(program("bwrap", folder)).toEqual({
    missing: "bwrap",
    why: "bwrap does not work on this machine: no namespaces here",
  });
  rmSync(path.join(folder, "bwrap"));
});

test("in CI a missing program fails", () => {
  vi.stubEnv("CI", "true");
  expect(() => lacks(program("chromium", folder))).toThrow("apt-get install -y chromium");
});
