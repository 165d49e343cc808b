// Undoing one change of a note: the old bytes come back, or it is refused.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { UndoRequest } from "../src/contract.ts";
import { notes, type Notes } from "./notes.ts";

let n: Notes;
afterEach(() => n.close());

const hash = (text: string | null): string | null =>
  text === null ? null : createHash("sha256").update(text).digest("hex");
const path = "memory/2026-11-23.md";
const change = (
  before: string | null,
  after: string | null,
  lines: Pick<UndoRequest, "at" | "removed" | "added">,
): UndoRequest => ({ path, ...lines, before: hash(before), after: hash(after) });
const file = (): string => readFileSync(join(n.target.workspace, path), "utf8");

test("gives the old bytes back, takes a new file away, and brings a removed one again", async () => {
  const [before, after] = ["- one\r\n- two\n", "- one\r\n- 2\n- three"];
  n = notes({ [path]: after });
  const edit = change(before, after, { at: 7, removed: "- two\n", added: "- 2\n- three" });
  expect(await n.engine.undo(n.target, edit)).toEqual({ before: after, after: before });
  expect(file()).toBe(before);
  expect(await n.engine.undo(n.target, edit)).toEqual({ before, after: before });
  const made = change(null, before, { at: 0, removed: "", added: before });
  await n.engine.undo(n.target, made);
  expect(existsSync(join(n.target.workspace, path))).toBe(false);
  await n.engine.undo(n.target, change(before, null, { at: 0, removed: before, added: "" }));
  expect(file()).toBe(before);
});

test("takes the lines of an older change back where they still stand once, and else refuses", async () => {
  n = notes({ [path]: "- one\n- 2\n- later\n" });
  const older = change("- one\n- two\n", "- one\n- 2\n", { at: 6, removed: "- two\n", added: "- 2\n" });
  await n.engine.undo(n.target, older);
  expect(file()).toBe("- one\n- two\n- later\n");
  await expect(n.engine.undo(n.target, older)).rejects.toThrow("was changed since");
  n.write(path, "- 2\n- 2\n");
  await expect(n.engine.undo(n.target, older)).rejects.toThrow("was changed since");
  n.write(path, Uint8Array.of(0x2d, 0xe9, 0x61, 0x61, 0x61, 0x61, 0x0a));
  await expect(n.engine.undo(n.target, older)).rejects.toThrow("not UTF-8");
  await expect(n.engine.undo(n.target, { ...older, path: "../x.md" })).rejects.toThrow("no memory file");
});

test("follows no link out of the workspace", async () => {
  n = notes({});
  symlinkSync("/tmp", join(n.target.workspace, "memory"));
  await expect(
    n.engine.undo(n.target, change("- x\n", null, { at: 0, removed: "- x\n", added: "" })),
  ).rejects.toThrow("leads out of the workspace");
});
