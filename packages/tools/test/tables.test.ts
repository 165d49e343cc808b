// Whole tables of how patches and edits are read and what they make of a text, and of what commands are
// decided to be. After a wanted change: `vitest run --project @parley/tools tables -u`.
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { readCommandLine } from "../src/exec/command-line.ts";
import { knownForm } from "../src/exec/known-programs.ts";
import { editText } from "../src/files/edit-text.ts";
import { parsePatch } from "../src/files/patch-parse.ts";
import { patchText } from "../src/files/patch-text.ts";
import { execDecision, type ExecAction, type ExecPolicy } from "../src/index.ts";

const patch = (...lines: readonly string[]): string =>
  ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");

test("patches, as models write them", async () => {
  const texts = [
    "",
    "*** Begin Patch",
    "*** End Patch",
    patch(),
    "nothing\n*** End Patch",
    "*** Begin Patch\nnothing",
    patch("*** Delete File: a"),
    patch("*** Delete File: a", ""),
    patch("*** Delete File: a", "x"),
    patch("*** Add File: a"),
    patch("*** Add File:  a b ", "+one", "+", "+ two"),
    patch("*** Add File: a", "+one", "two"),
    patch("*** Update File: a"),
    patch("*** Update File: a", "*** Move to: b"),
    patch("*** Update File: a", "*** Move to: b", " keep", "-old", "+new"),
    patch("*** Update File: a", "@@", "-old", "+new"),
    patch("*** Update File: a", "@@ class A", "@@ method", " keep", "", "-old", "*** End of File"),
    patch("*** Update File: a", "-one", "@@", "-two", "*** End of File", "+three"),
    patch("*** Update File: a", "@@ -1,2 +1,2 @@ void f()", "-old", "+new"),
    patch("*** Update File: a", "@@ -1 +1 @@", "-old"),
    patch("*** Update File: a", "@@ x", "@@ y"),
    patch("*** Update File: a", "-x", "@@ y"),
    patch("*** Update File: a", "-x", "what"),
    patch("*** Update File: a", "*** Move to: b", "-x", "what"),
    patch("*** Add File: a", "+x", "*** Delete File: b", "*** Update File: c", "-y"),
    patch("*** Add File: a", "+x", "*** Delete File: a"),
    patch("*** Update File: a", "*** Move to: b", "*** Delete File: b"),
    patch("*** Rename File: a"),
    patch("*** Add File: a", "+x").replaceAll("\n", "\r\n"),
    `  \n${patch("*** Delete File: a")}\n\n`,
  ];
  await expect(answerTable(texts, parsePatch)).toMatchFileSnapshot("tables/patches.txt");
});

const hunk = (before: readonly string[], after: readonly string[], more: object = {}) => ({
  anchors: [] as readonly string[],
  before,
  after,
  atEnd: false,
  ...more,
});

test("what hunks and edits make of a text", async () => {
  const text = "a\nb\nc\na\nb\nd";
  const rows: readonly (readonly [string, "\n" | "\r\n", readonly ReturnType<typeof hunk>[]])[] = [
    [text, "\n", [hunk(["c"], ["C"])]],
    [text, "\n", [hunk(["a"], ["A"])]],
    [text, "\n", [hunk(["a"], ["A"], { anchors: ["c"] })]],
    [text, "\n", [hunk(["a"], ["A"], { anchors: ["b"] })]],
    [text, "\n", [hunk(["a"], ["A"], { anchors: ["d"] })]],
    [text, "\n", [hunk(["a"], ["A"], { anchors: ["none"] })]],
    [text, "\n", [hunk(["b", "c"], ["B"]), hunk(["d"], ["D", "E"])]],
    [text, "\n", [hunk(["d"], ["D"]), hunk(["c"], ["C"])]],
    [text, "\n", [hunk(["b", "d"], ["b"], { atEnd: true })]],
    [text, "\n", [hunk(["a", "b"], ["x"], { atEnd: true })]],
    [text, "\n", [hunk([], ["end"])]],
    [text, "\n", [hunk([], ["in"], { anchors: ["c"] })]],
    [text, "\n", [hunk([], ["end"], { anchors: ["c"], atEnd: true })]],
    ["a  \r\nb\r\nc", "\r\n", [hunk(["a", "b"], ["a", "new", "b"])]],
    ["a  \nb\na \nb\n", "\n", [hunk(["a", "b"], ["x"])]],
    ["a\n", "\n", [hunk(["b"], ["x"])]],
    ["", "\n", [hunk([], ["x", "y"])]],
    ["a\nb", "\n", [hunk(["b"], ["b", "c"])]],
    ["x\nk\nx\nk\n", "\n", [hunk(["x", "k", "x"], ["k", "x", "k"])]],
  ];
  const edits: readonly (readonly [string, "\n" | "\r\n", readonly (readonly [string, string])[]])[] = [
    ["one two", "\n", [["two", "2"]]],
    ["one two", "\n", [["", "2"]]],
    ["one two", "\n", [["two", "two"]]],
    ["one two one", "\n", [["one", "1"]]],
    ["aaa", "\n", [["aa", "b"]]],
    ["one\n  two\nthree", "\n", [["two\n three", "2"]]],
    ["one\n  two", "\n", [["none", "2"]]],
    [
      "one\ntwo\nthree",
      "\n",
      [
        ["three", "3"],
        ["one", "1\n1"],
      ],
    ],
    [
      "one\ntwo\nthree",
      "\n",
      [
        ["one\ntwo", "1"],
        ["two\nthree", "2"],
      ],
    ],
    [
      "one\ntwo\nthree",
      "\n",
      [
        ["one\n", "1"],
        ["two", "2"],
      ],
    ],
    [
      "one\ntwo\nthree",
      "\n",
      [
        ["two", "2"],
        ["gone", "x"],
      ],
    ],
    ["a\r\nb\r\nc\r\n", "\r\n", [["b\nc", "x\ny"]]],
    [
      "a\r\nb\nc\r\nd",
      "\r\n",
      [
        ["c", "C"],
        ["b\n", "B\n"],
      ],
    ],
    [
      "a\r\nb",
      "\r\n",
      [
        ["a", "1"],
        ["b", "2\r\n3"],
      ],
    ],
  ];
  const table = [
    answerTable(rows, ([from, newline, hunks]) => patchText("f", from, newline, hunks)),
    answerTable(edits, ([from, newline, each]) =>
      editText(
        from,
        newline,
        each.map(([oldText, newText]) => ({ oldText, newText })),
      ),
    ),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("tables/edits.txt");
});

test("what is decided of commands, with every reason", async () => {
  const bin = (argv: readonly string[]): readonly string[] => [
    argv[0]?.includes("/") === true ? argv[0] : `/usr/bin/${argv[0]}`,
    ...argv.slice(1),
  ];
  const action = (command: string, more: Partial<ExecAction>): ExecAction => {
    const line = readCommandLine(command);
    const parts = line.kind === "words" ? [bin(line.argv)] : (line.parts?.map(bin) ?? null);
    return {
      kind: "exec",
      argv: line.kind === "words" ? bin(line.argv) : ["/bin/sh", "-c", command],
      shell: line.kind === "shell",
      parts,
      cwd: "/ws",
      env: {},
      sandbox: "none",
      interactive: false,
      files: [],
      closed: parts?.every((part) => knownForm(part) !== null) ?? false,
      outside: [],
      ...more,
    };
  };
  const usual: ExecPolicy = {
    mode: "allowlist",
    ask: "on-miss",
    allowlist: [{ command: "ls" }, { command: "cat" }, { command: "npm", argPattern: "^test$" }],
    grants: [],
    owner: true,
  };
  const policies: readonly ExecPolicy[] = [
    usual,
    { ...usual, mode: "deny" },
    { ...usual, mode: "full" },
    { ...usual, ask: "off" },
    { ...usual, ask: "always" },
    { ...usual, mode: "full", ask: "always" },
    { ...usual, owner: false },
    { ...usual, allowlist: [] },
  ];
  const commands: readonly (readonly [string, Partial<ExecAction>?])[] = [
    ["ls -l"],
    ["ls -l | cat"],
    ["ls | wc -l"],
    ["ls | rm x"],
    ["rm x | wc -l; sort y"],
    ["ls > out"],
    ["echo $(ls)"],
    ["npm test"],
    ["npm test all"],
    ["npm run x"],
    ["/opt/bin/ls"],
    ["curl https://x"],
    ["ls", { env: { PATH: "/x" } }],
    ["ls", { env: { A: "1", B: "2" } }],
    ["ls", { interactive: true }],
    ["ls /etc", { outside: ["/etc"] }],
    ["ls /etc /root", { outside: ["/etc", "/root"] }],
    ["ls", { closed: false }],
  ];
  const tables = policies.map((policy) =>
    answerTable(commands, ([command, more]) => execDecision(action(command, more ?? {}), policy)),
  );
  await expect(tables.join("\n")).toMatchFileSnapshot("tables/commands.txt");
});
