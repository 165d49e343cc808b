// How the words of a git command are taken apart, whole: what it reads, the words that are run in their
// place, those before the command, and the folder that git is sent to.
import { expect, test } from "vitest";
import { gitForm } from "../src/exec/git-form.ts";
import { withSettings } from "../src/exec/git-settings.ts";
import { readForm } from "../src/exec/known-form.ts";

const told = (line: string): string => {
  const form = gitForm(line.split(" "));
  if (form === null) return `${line} -> unknown`;
  const { reads, writes } = form.form;
  return [
    `${line} -> ${form.args.join(" ")}`,
    `in ${form.folder}`,
    `before ${form.global.join(" ")}`,
    `reads ${reads.join(" ")}`,
    ...(writes.length === 0 ? [] : [`writes ${writes.join(" ")}`]),
  ].join(" | ");
};

test("a command of git is taken apart like this", () => {
  const lines = [
    "--version",
    "version --build-options",
    "-C sub status a /b",
    "-C /sub --no-pager blame -L 1,2 f",
    "--no-pager -P --no-optional-locks --no-replace-objects --literal-pathspecs --glob-pathspecs diff x",
    "--icase-pathspecs diff",
    "-C a -C b status",
    "-C -x status",
    "-C",
    "status -C sub",
    "ls-files f -- -g /h",
    "grep words f g",
    "grep -e words f g",
    "stash list -p",
    "stash show 1 -p",
    "stash",
    "remote get-url origin",
    "reflog show f",
    "worktree list -v",
    "log --format=%an",
    "log --format=%GK",
    "log --format=%-GK",
    "log --format=%+GK",
    "for-each-ref --sort=signature",
    "for-each-ref --sort=-signature",
    "for-each-ref --sort=-*signature",
    "for-each-ref --sort=authorname --format=%(signature)",
    "for-each-ref --format=%(*signature:key)",
    "branch",
    "branch new",
    "branch --list new",
    "tag -l v1",
    "toString",
  ];
  // The lines above hold no space in a word.
  const spaced = gitForm(["log", "--format=% GK"]);
  expect([...lines.map(told), `spaced ${spaced === null ? "unknown" : "known"}`].join("\n"))
    .toMatchInlineSnapshot(`
    "--version -> version | in . | before  | reads 
    version --build-options -> version --build-options | in . | before  | reads 
    -C sub status a /b -> -C sub status --ignore-submodules=dirty a /b | in sub | before -C sub | reads sub sub/a /b
    -C /sub --no-pager blame -L 1,2 f -> -C /sub --no-pager blame --no-textconv -L 1,2 f | in /sub | before -C /sub --no-pager | reads /sub /sub/f
    --no-pager -P --no-optional-locks --no-replace-objects --literal-pathspecs --glob-pathspecs diff x -> --no-pager -P --no-optional-locks --no-replace-objects --literal-pathspecs --glob-pathspecs diff --no-ext-diff --no-textconv --ignore-submodules=dirty --submodule=short x | in . | before --no-pager -P --no-optional-locks --no-replace-objects --literal-pathspecs --glob-pathspecs | reads x
    --icase-pathspecs diff -> unknown
    -C a -C b status -> unknown
    -C -x status -> unknown
    -C -> unknown
    status -C sub -> unknown
    ls-files f -- -g /h -> ls-files f -- -g /h | in . | before  | reads f -g /h
    grep words f g -> grep --no-textconv words f g | in . | before  | reads f g
    grep -e words f g -> grep --no-textconv -e words f g | in . | before  | reads f g
    stash list -p -> stash list --no-ext-diff --no-textconv --ignore-submodules=dirty --submodule=short -p | in . | before  | reads 
    stash show 1 -p -> stash show --no-ext-diff --no-textconv --ignore-submodules=dirty --submodule=short 1 -p | in . | before  | reads 
    stash -> unknown
    remote get-url origin -> remote get-url origin | in . | before  | reads 
    reflog show f -> reflog show --no-ext-diff --no-textconv --ignore-submodules=dirty --submodule=short f | in . | before  | reads f
    worktree list -v -> worktree list -v | in . | before  | reads 
    log --format=%an -> log --no-ext-diff --no-textconv --ignore-submodules=dirty --submodule=short --format=%an | in . | before  | reads 
    log --format=%GK -> unknown
    log --format=%-GK -> unknown
    log --format=%+GK -> unknown
    for-each-ref --sort=signature -> unknown
    for-each-ref --sort=-signature -> unknown
    for-each-ref --sort=-*signature -> unknown
    for-each-ref --sort=authorname --format=%(signature) -> unknown
    for-each-ref --format=%(*signature:key) -> unknown
    branch -> branch | in . | before  | reads 
    branch new -> unknown
    branch --list new -> branch --list new | in . | before  | reads 
    tag -l v1 -> tag -l v1 | in . | before  | reads 
    toString -> unknown
    spaced unknown"
  `);
});

test("operands before and behind a double dash count together, in their order", () => {
  expect(readForm({ text: 1, paths: 3 }, ["a", "b", "--", "-c", "--", "d"])).toBeNull();
  expect(readForm({ text: 1, paths: 4 }, ["a", "b", "--", "-c", "--", "d"])).toEqual({
    reads: ["b", "-c", "--", "d"],
    writes: [],
  });
});

test("settings are added behind those that the environment has already, and counted with them", () => {
  const env = { PATH: "/bin", GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: "a.b", GIT_CONFIG_VALUE_0: "c" };
  expect(
    withSettings(env, [
      ["d.e", ""],
      ["f.g", "h"],
    ]),
  ).toEqual({
    ...env,
    GIT_CONFIG_COUNT: "3",
    GIT_CONFIG_KEY_1: "d.e",
    GIT_CONFIG_VALUE_1: "",
    GIT_CONFIG_KEY_2: "f.g",
    GIT_CONFIG_VALUE_2: "h",
  });
  expect(withSettings({}, [])).toEqual({ GIT_CONFIG_COUNT: "0" });
});
