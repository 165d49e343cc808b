// What is cut for a forgotten person changes only the files that were looked at: one that went meanwhile
// stops nothing, and a link that a command put in the workspace leads the daemon nowhere.
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cutFiles } from "../../src/people/person-files.ts";

test("files that went are passed over, and nothing is written through a link", () => {
  const folder = mkdtempSync(join(tmpdir(), "parley-cut-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const at = (name: string): string => join(folder, name);
  writeFileSync(at("outside"), "of somebody else");
  writeFileSync(at("note.md"), "theirs\nkept");
  writeFileSync(at("grown.log"), "said by Zed, and more since");
  symlinkSync(at("outside"), at("note.md.parley-draft"));
  symlinkSync(at("outside"), at("linked.log"));
  const blotted = Buffer.from("said by ***");
  cutFiles([
    { path: at("gone.md"), text: "kept", lines: [] },
    { path: at("gone.log"), text: "", lines: [], blotted },
    { path: at("linked.log"), text: "", lines: [], blotted },
    { path: at("grown.log"), text: "", lines: [], blotted },
    { path: at("note.md"), text: "kept", lines: [] },
  ]);
  const texts = ["outside", "grown.log", "note.md"].map((name) => readFileSync(at(name), "utf8"));
  expect(texts).toEqual(["of somebody else", "said by ***, and more since", "kept"]);
});
