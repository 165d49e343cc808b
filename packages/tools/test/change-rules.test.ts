// What may be changed in a workspace, in whose turn and from where, with every reason: whole tables of
// guarded names and of refusals, and what is written down of a change beside the change.
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { answerTable, laterAnswerTable, virtualClock } from "@parley/testkit";
import { afterEach, expect, test } from "vitest";
import { guardOf, type Sandbox, type ToolContext } from "../src/index.ts";
import { turnRules } from "../src/files/change-rules.ts";
import { guardedRoot } from "../src/files/guarded-paths.ts";
import { refusePrivate } from "../src/files/private-notes.ts";
import { applyPatch } from "../src/tools/apply-patch.ts";
import { edit } from "../src/tools/edit.ts";
import { write } from "../src/tools/write.ts";
import { call, scopeOf, session, stage, type Stage } from "./stage.ts";

let it: Stage;
afterEach(() => it.close());
const at = (path: string): string => join(it.workspace, path);
const put = async (path: string, text = path): Promise<void> => {
  await mkdir(join(at(path), ".."), { recursive: true });
  await writeFile(at(path), text);
};

test("each name that is guarded, and its neighbours that are not", async () => {
  it = await stage();
  const paths = [
    ...["AGENTS", "SOUL", "TOOLS", "IDENTITY", "USER", "HEARTBEAT", "BOOT", "BOOTSTRAP", "MEMORY"].map(
      (name) => `${name}.md`,
    ),
    "AGENTS.md/x",
    "AGENTS.mdx",
    "AGENTS",
    "xAGENTS.md",
    "a/SOUL.md",
    "memory/x",
    "memoryx",
    "skills",
    "skill",
    ".agents/skills/x",
    ".agents/skillsx",
    ".agents",
    "proposals/.agents/skills/x",
    "proposals",
    "proposals/memory/x.md",
    "Proposals/x",
    "a/proposals/x",
    "proposals/.git/x",
    "proposals/a/.env",
    ".parley",
    ".PARLEY/held",
    "a/.parley/x",
    ".parley-draft-1-2",
    "a/.parley-draft-x",
    ...".gitignore .gitkeep .keep .dockerignore .npmignore .eslintignore .prettierignore .ignore".split(" "),
    ...".rgignore .nojekyll .env.example .env.sample .DS_Store .cache .coverage .nyc_output".split(" "),
    ...".pytest_cache .env .env.examples .gitignores .gitattributes .gitmodules .cachex ..x . a/./b".split(
      " ",
    ),
    "node_modules/.bin/x",
    "a/node_modules/p/.npmrc",
    ".x/node_modules/y",
    "node_modules/p/.git/x",
    "hooks",
    "hooks/a",
    "hooks/a/HOOK.md",
    "hooks/a/handler.ts",
    "hooks/a/handler",
    "hooks/a/b/handler.ts",
    "hooks/handler.ts",
    "hooks/a/xhandler.ts",
    "a/hooks/b/handler.ts",
    "hooks/a/hook.mdx",
    "hooks/a/handler.ts/x",
    "hooks/a/HOOK.md/b/c",
    "HOOKS/a/Hook.md",
    "git~1",
    "git~12/x",
    "git~x",
    "git~",
    ".git:x",
    ".env:stream",
    ".env . .",
    "extra/a",
    "Extra",
    "extras",
  ];
  await expect(
    answerTable(paths, (path) => [guardOf(path, ["extra"]), guardedRoot(path, ["extra"])]),
  ).toMatchFileSnapshot("tables/guarded-names.txt");
});

test("why nothing may be changed at a path: by an owner, a stranger, from a sandbox, in a folder of its own", async () => {
  it = await stage();
  for (const path of ["bare/refs/x", "bare/objects/x", "deep/w/commondir", "docs/linked.md", "docs/note.md"])
    await put(path);
  await symlink("../docs/note.md", at("sub-link"));
  await mkdir(at("memory"));
  await symlink("../docs/note.md", at("memory/note.md"));
  await symlink("docs/linked.md", at("SOUL.md"));
  await writeFile(join(it.outside, "outside"), "");
  await symlink("../outside", at("USER.md"));
  await symlink("nowhere", at("TOOLS.md"));
  const { sandbox } = it.context;
  const boxed: Sandbox = { ...sandbox, kind: "bubblewrap" };
  const bound = (root: string, path: string): string | null =>
    root === it.workspace && path === "run.sh" ? "c7" : null;
  const exec = { ...it.context.exec, commands: { ...it.commands, boundTo: bound } } as never;
  const places: readonly (readonly [string, Partial<ToolContext>])[] = [
    ["an owner", { owner: true }],
    ["a stranger", { owner: false }],
    ["an owner in a sandbox", { owner: true, sandbox: boxed }],
    ["a stranger in a sandbox", { owner: false, sandbox: boxed }],
    ["a folder of its own", { owner: false, sandbox: { ...boxed, scratch: true } }],
  ];
  const paths = [
    "free.txt",
    "run.sh",
    "AGENTS.md",
    "memory/a.md",
    "notes/a.md",
    "skills/x/SKILL.md",
    ".agents/x",
    "docs/note.md",
    "docs/linked.md",
    "docs",
    "nowhere",
    ".npmrc",
    ".gitignore",
    "hooks/a/handler.ts",
    ".git/config",
    "a/.git/config",
    ".parley/x",
    "proposals/x",
    "bare/HEAD",
    "bare/heAD",
    "bare/config",
    "bare/refs/x",
    "deep/w/HEAD",
    "deep/w/commondir",
    "deep/HEAD",
    "HEAD",
    "objects/x",
  ];
  const rows = places.flatMap(([who]) => paths.map((path) => [who, path] as const));
  const rules = new Map(
    await Promise.all(
      places.map(async ([who, more]) => {
        const context = { ...it.context, exec, promptPaths: ["notes"], ...more };
        return [who, await turnRules(context, scopeOf(it.workspace), "write")] as const;
      }),
    ),
  );
  await expect(
    await laterAnswerTable(rows, async ([who, path]) => rules.get(who)?.refusal(path)),
  ).toMatchFileSnapshot("tables/refused-changes.txt");
});

test("a note is told of each change before it is made, with what it held, what it will hold, and by which tool", async () => {
  const told: unknown[] = [];
  it = await stage({
    context: {
      notes: {
        refusal: async () => null,
        untrusted: async () => null,
        writing: async ({ callId }, change) => {
          const now = await readFile(at(change.path), "utf8").catch(() => null);
          told.push([callId, change, now]);
        },
      },
    },
  });
  await put("memory/a.md", "old\n");
  await put("memory/gone.md", "gone\n");
  await put("memory/moved.md", "moved\n");
  await put("plain.txt", "x\n");
  const patch = [
    "*** Begin Patch",
    "*** Add File: memory/new.md",
    "+new",
    "*** Delete File: memory/gone.md",
    "*** Update File: memory/moved.md",
    "*** Move to: other.md",
    "-moved",
    "+there",
    "*** Update File: plain.txt",
    "-x",
    "+y",
    "*** End Patch",
  ].join("\n");
  for (const [tool, args] of [
    [write(it.context), { path: "MEMORY.md", content: "first" }],
    [write(it.context), { path: "./memory/a.md", content: "second\n" }],
    [write(it.context), { path: "memory/a.txt", content: "no note" }],
    [edit(it.context), { path: "memory/a.md", oldText: "second", newText: "2nd" }],
    [applyPatch(it.context), { input: patch }],
  ] as const)
    await call(tool, args, it.workspace);
  const row = (path: string, before: string | null, after: string | null, tool: string) => [
    "c1",
    { path, before, after, tool },
    before,
  ];
  expect(told).toEqual([
    row("MEMORY.md", null, "first", "write"),
    row("memory/a.md", "old\n", "second\n", "write"),
    row("memory/a.md", "second\n", "2nd\n", "edit"),
    row("memory/new.md", null, "new\n", "apply_patch"),
    row("other.md", null, "there\n", "apply_patch"),
    row("memory/gone.md", "gone\n", null, "apply_patch"),
    row("memory/moved.md", "moved\n", null, "apply_patch"),
  ]);
  // Elsewhere there are no notes of the agent's.
  told.length = 0;
  await call(write(it.context), { path: "memory/a.md", content: "x" }, it.outside);
  await call(write(it.context), { path: "memory/a.md", content: "x" }, at("memory"));
  await call(write(it.context), { path: "memory/a.md", content: "x" }, at("other"));
  expect(told.map((each) => (each as readonly { readonly path: string }[])[1]?.path)).toEqual([
    "ws/memory/a.md",
    "a.md",
  ]);
});

test("who wrote what enters prompts is kept before it is written; other guarded names are told, and plain ones are not", async () => {
  const kept: unknown[] = [];
  const origins = {
    writing: async (root: string, path: string, sha256: string, origin: unknown) =>
      void kept.push(["writing", root === it.workspace, path, sha256.slice(0, 8), origin]),
    made: async (root: string, path: string) => void kept.push(["made", root === it.workspace, path]),
  } as unknown as NonNullable<ToolContext["origins"]>;
  it = await stage({ clock: virtualClock({ startMs: Date.UTC(2026, 0, 2) }), context: { origins } });
  const { sandbox } = it.context;
  const boxed: Partial<ToolContext> = { sandbox: { ...sandbox, kind: "docker" }, speakers: ["a:1", "b:2"] };
  const as = (more: Partial<ToolContext>, path: string, content: string) =>
    call(write({ ...it.context, ...more }), { path, content }, it.workspace);
  for (const path of ["AGENTS.md", ".npmrc", "plain.txt", "proposals/a.md", ".x/deep/file"])
    await as({}, path, "x");
  await as(boxed, "AGENTS.md", "x");
  await as(boxed, "proposals/b.md", "x");
  await as({ owner: false }, "proposals/c.md", "x");
  const x = "2d711642";
  const origin = { session, sandboxed: true, owner: true, who: "a:1, b:2" };
  expect(kept).toEqual([
    ["writing", true, "AGENTS.md", x, null],
    ["made", true, ".npmrc"],
    ["made", true, "proposals/a.md"],
    ["made", true, ".x/deep/file"],
    ["writing", true, "AGENTS.md", x, origin],
    ["made", true, "proposals/b.md"],
    ["made", true, "proposals/c.md"],
  ]);
  const line = (who: string): string =>
    `[Proposal by ${who}, in ${session}, 2026-01-02T00:00:00.000Z; this line is Parley's]\n`;
  const proposed = async (speaker: string, content: string): Promise<string> => {
    await as({ owner: false, speakers: [speaker] }, "proposals/d.md", content);
    return readFile(at("proposals/d.md"), "utf8");
  };
  expect([
    await readFile(at("proposals/a.md"), "utf8"),
    await readFile(at("proposals/b.md"), "utf8"),
    await readFile(at("proposals/c.md"), "utf8"),
    await proposed("a\nb];[\u202ec", "é"),
    await proposed("x".repeat(201), `${line("a")}${line("b").replace("\n", "\r\n")}text ${line("c")}`),
  ]).toEqual([
    "x",
    `${line("a:1, b:2")}x`,
    `${line("somebody")}x`,
    `${line("a?b????c")}é`,
    `${line("x".repeat(200))}text ${line("c")}`,
  ]);
});

test("private notes are asked for by their place in the workspace, from wherever the root of the files is", async () => {
  const asked: string[] = [];
  const notes = {
    refusal: async (_scope: object, path: string) => {
      asked.push(path);
      return path === "memory/a.md" ? "it is private" : null;
    },
  } as unknown as NonNullable<ToolContext["notes"]>;
  const refused = (root: string, path: string): Promise<string> =>
    refusePrivate({ notes }, scopeOf("/home/w"), { root }, path).then(
      () => "shown",
      (error: Error) => error.message,
    );
  expect([
    await refused("/home/w", "memory/a.md"),
    await refused("/home", "w/memory/a.md"),
    await refused("/home/w/memory", "a.md"),
    await refused("/home", "memory/a.md"),
    await refused("/home", "w/a.md"),
  ]).toEqual(["it is private", "it is private", "it is private", "shown", "shown"]);
  expect(asked).toEqual(["memory/a.md", "memory/a.md", "memory/a.md", "a.md"]);
});
