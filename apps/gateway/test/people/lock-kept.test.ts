// Whoever looks through the state folder for a person leaves the daemon's lock on it alone, so that no second
// daemon begins beside the first.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { lockHome } from "@parley/store";
import { expect, onTestFinished, test } from "vitest";
import type { PersonMarks } from "../../src/people/person.ts";
import { leftovers } from "../../src/people/person-files.ts";

test("a search of the state folder keeps it locked, and finds what names them", () => {
  const home = mkdtempSync(join(tmpdir(), "parley-lock-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const lock = lockHome(home, process.pid);
  onTestFinished(() => lock.release());
  writeFileSync(join(home, "parley.json5"), "telegram:7");
  const marks = { names: (text: string) => text.includes("telegram:7") } as unknown as PersonMarks;
  expect(leftovers(home, [], marks)).toEqual([join(home, "parley.json5")]);
  // Locks of one process never refuse itself.
  const other = `const { DatabaseSync } = require("node:sqlite");
    try { new DatabaseSync(process.argv[1], { timeout: 0 }).exec("begin exclusive"); console.log("free"); }
    catch { console.log("locked"); }`;
  const told = execFileSync(process.execPath, ["-e", other, join(home, "daemon.lock")], { encoding: "utf8" });
  expect(told.trim()).toBe("locked");
});
