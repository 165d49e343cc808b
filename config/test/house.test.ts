// The house test: what is simply wrong fails here; what taste judges is printed.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { commentFindings } from "../src/comments.ts";
import { contractFindings, contractsMissing, wiringFindings } from "../src/contracts.ts";
import { corePathFindings } from "../src/core-path.ts";
import { cycleFindings } from "../src/cycles.ts";
import { docFindings } from "../src/docs.ts";
import { listFindings } from "../src/lists.ts";
import { nameFindings } from "../src/names.ts";
import { portFindings } from "../src/ports.ts";
import { sizeReport } from "../src/sizes.ts";
import { suiteFindings } from "../src/suites.ts";
import { readTree } from "../src/tree.ts";
import { heavyFindings, wallFindings } from "../src/walls.ts";

const root = path.resolve(import.meta.dirname, "../..");
const tree = readTree(root);

describe("the house", () => {
  test("is found whole and parses", () => {
    expect(tree.files.length).toBeGreaterThan(50);
    expect(tree.files.flatMap((file) => file.errors.map((error) => `${file.path}: ${error}`))).toEqual([]);
  });

  test("keeps its walls: every import is declared, allowed and used", () =>
    expect(wallFindings(tree)).toEqual([]));

  test("comes up light: no entry loads a driver's library", () => expect(heavyFindings(tree)).toEqual([]));

  test("has no import cycle", () => expect(cycleFindings(tree)).toEqual([]));

  test("has a core path that reads in the order of ARCHITECTURE, file by file", () => {
    const textOf = (file: string): string => readFileSync(path.join(root, file), "utf8");
    expect(corePathFindings(tree, textOf("docs/ARCHITECTURE.md"), textOf)).toEqual([]);
  });

  test("has documents that name files where they are", (context) => {
    const listed = spawnSync("git", ["ls-files"], { cwd: root, encoding: "utf8" });
    if (listed.status !== 0) return context.skip("not a git checkout");
    const files = listed.stdout.split("\n").filter((file) => file !== "");
    // Decisions tell of their day and stay as they were.
    const pages = files.filter((file) => /^(docs\/[\w-]+|README|AGENTS)\.md$/.test(file));
    const texts = Object.fromEntries(
      pages.map((page) => [page, readFileSync(path.join(root, page), "utf8")]),
    );
    expect(docFindings(texts, files)).toEqual([]);
  });

  test("tests every driver against its contract, and gives a reason for every skip", () =>
    expect(contractFindings(tree)).toEqual([]));

  test("lets only the gateway's wiring name drivers", () => expect(wiringFindings(tree)).toEqual([]));

  test("lists every prompt section, tool and chat command once", () =>
    expect(listFindings(tree)).toEqual([]));

  test("reads clock, chance and environment at one place each", () => expect(portFindings(tree)).toEqual([]));

  test("names things for what they do", () => expect(nameFindings(tree)).toEqual([]));

  test("comments in narrow lines, and opens files with an actor", () =>
    expect(commentFindings(tree)).toEqual([]));

  test("runs every test it has", () => expect(suiteFindings(tree)).toEqual([]));

  test("commits nothing that is built", (context) => {
    const listed = spawnSync("git", ["ls-files", "*/dist/*", "*/node_modules/*", "*.tsbuildinfo"], {
      cwd: root,
      encoding: "utf8",
    });
    if (listed.status !== 0) return context.skip("not a git checkout");
    expect(listed.stdout).toBe("");
  });
});

afterAll(() => console.log([...contractsMissing(tree), sizeReport(tree)].join("\n")));
