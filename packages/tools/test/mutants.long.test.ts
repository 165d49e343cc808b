// Planted bugs in what stands between a hostile model and the machine: rules, paths, commands, approvals, settings. Each is a piece of the
// source made wrong, and the suite named with it must fail. Minutes long, so it runs with PARLEY_LONG=1.
import { fileURLToPath } from "node:url";
import { plantedBugs, type PlantedBug } from "@parley/testkit";
import { afterAll, expect, test } from "vitest";

const mutants: readonly PlantedBug[] = [
  ["deny is not looked at", "policy", "policy.ts", "if (denied !== undefined) return", "if (denied === undefined && false) return"],
  ["an empty allow list allows all", "policy", "policy.ts", "allow === undefined ||", "allow === undefined || allow.length === 0 ||"],
  ["case counts", "policy", "policy.ts", "return a.toLowerCase() === b.toLowerCase();", "return a === b;"],
  ["patterns match parts", "policy", "policy.ts", "new RegExp(`^${parts", "new RegExp(`${parts"],
  ["dots are wildcards", "policy", "policy.ts", 'part.replaceAll(/[.+?^${}()|[\\]\\\\]/g, "\\\\$&")', "part"],
  ["a step forgets what was taken before", "policy", "policy.ts", "left = left.filter(", "left = tools.filter("],
  [
    "the agent's profile adds to the global one",
    "policy",
    "policy.ts",
    "agent.profile ?? global.profile",
    "global.profile ?? agent.profile",
  ],
  ["to deny write denies patches", "policy", "policy.ts", 'sameName(tool, "apply_patch") &&', "true &&"],
  [
    "the provider's own rules are forgotten",
    "policy",
    "policy.ts",
    "for (const name of [model, provider])",
    "for (const name of [provider])",
  ],
  ["sub-agents keep all", "policy", "policy.ts", "input.subagent === undefined ? null", "input.subagent !== null ? null"],

  [
    "links are followed out",
    "files",
    "files/walk.ts",
    "if (below === null) throw new Fault",
    "if (below === null && links > 40) throw new Fault",
  ],
  ["the kernel follows links", "files", "files/walk.ts", "constants.O_DIRECTORY | constants.O_NOFOLLOW", "constants.O_DIRECTORY"],
  [
    "dots climb past the root",
    "files",
    "files/walk.ts",
    "if (open.length === 1) throw outside(asked);",
    "if (open.length === 1) continue;",
  ],
  ["a prefix is enough", "files", "files/walk.ts", 'root.endsWith("/") ? root : `${root}/`', "root"],
  ["loops are walked", "files", "files/walk.ts", "> mostLinks", "> mostLinks * 1e9"],
  [
    "folders that are forbidden may be entered",
    "files",
    "files/walk.ts",
    "open.push(entered);\n    await allowed(entered);",
    "open.push(entered);",
  ],
  ["a link back to the root keeps where it was", "files", "files/walk.ts", "open.splice(1)", "open.splice(9)"],
  [".git may be written", "files", "files/walk.ts", 'if (make && name?.toLowerCase() === ".git")', "if (false)"],
  ["the case of .git counts", "files", "files/walk.ts", "name?.toLowerCase()", "name"],
  ["NUL is let through", "files", "files/walk.ts", 'path.includes("\\0") ||', ""],
  [
    "a write goes through a hard link",
    "files",
    "files/rooted.ts",
    "await rename(entryPath(folder, draft), entryPath(folder, name));",
    'await (await import("node:fs/promises")).copyFile(entryPath(folder, draft), entryPath(folder, name));',
  ],
  ["modes are lost", "files", "files/rooted.ts", "if (stat !== null) await handle.chmod", "if (stat === null) await handle.chmod"],
  ["edits race", "files", "files/rooted.ts", "const mine = last.then(run, run);", "const mine = run();"],
  ["a passage may stand twice", "files", "files/edit-text.ts", "if (again !== -1) {", "if (again === 0) {"],
  ["line ends are counted wrong", "files", "files/edit-text.ts", "plain += next - stored + 1;", "plain += next - stored;"],

  ["a crash leaves half a patch", "patch", "files/change-set.ts", 'if (name.endsWith(".commit"))', 'if (name.endsWith(".none"))'],
  ["nothing is taken back", "patch", "files/change-set.ts", "changes.slice(0, done)", "changes.slice(0, 0)"],
  ["others' writes are overwritten", "patch", "files/change-set.ts", "if (is !== each.expects) return [each.path];", ""],
  ["a plan may name any draft", "patch", "files/change-set.ts", ".regex(draftPattern)", ""],
  [
    "hunks fit anywhere",
    "patch",
    "files/patch-text.ts",
    "if (second === undefined || hunk.anchors.length > 0) return first;",
    "return first;",
  ],

  ["pipes are not seen", "exec-decision", "exec/command-line.ts", "const special = /[`$\\\\&|;", "const special = /[`$\\\\"],
  ["quotes hide expansions", "exec-decision", "exec/command-line.ts", "(char === '\"' && /[`$\\\\!]/.test(quoted))", "false"],
  [
    "only the first part is checked",
    "exec-decision",
    "exec/exec-decision.ts",
    'unlisted.length === 0 ? "a shell would run it"',
    "unlisted.length === 0 ? null",
  ],
  ["a shell's line may be granted", "exec-decision", "exec/exec-decision.ts", "return !shell && !interactive", "return !interactive"],
  ["a grant covers any folder", "exec-decision", "exec/exec-decision.ts", "grant.cwd === cwd &&", ""],
  ["a grant covers any sandbox", "exec-decision", "exec/exec-decision.ts", "grant.sandbox === sandbox &&", ""],
  ["a grant covers more words", "exec-decision", "exec/exec-decision.ts", "a.length === b.length &&", ""],
  ["wrappers may be listed", "exec-decision", "exec/exec-decision.ts", "if (isCarrier(program))", "if (false)"],
  [
    "options that start programs pass",
    "exec-decision",
    "exec/exec-decision.ts",
    "const option = startingOption(argv);",
    "const option = null as string | null;",
  ],
  ["a pattern matches a part", "exec-decision", "exec/exec-decision.ts", "new RegExp(`^(?:${pattern})$`", "new RegExp(`(?:${pattern})`"],
  ["joined words pass for one", "exec-decision", "exec/exec-decision.ts", '/\\s/.test(arg) || arg === ""', 'arg === ""'],
  [
    "any folder's program passes",
    "exec-decision",
    "exec/exec-decision.ts",
    "&& systemFolders.some((folder) => `${folder}/${command}` === program)",
    "",
  ],
  [
    "ask off runs",
    "exec-decision",
    "exec/exec-decision.ts",
    'if (policy.ask === "off") return { kind: "refuse"',
    'if (policy.ask === "off") return { kind: "run"',
  ],
  [
    "changed environments pass",
    "exec-decision",
    "exec/exec-decision.ts",
    "if (Object.keys(env).length > 0) return",
    "if (Object.keys(env).length > 9) return",
  ],
  ["filters may read files", "exec-decision", "exec/safe-filters.ts", "(operands += 1) > grammar.operands", "(operands += 1) > 2"],
  [
    "filters may stand anywhere",
    "exec-decision",
    "exec/safe-filters.ts",
    "trusted.find((each) => program.startsWith(each))",
    "trusted.find(() => true)",
  ],
  [
    "the hash leaves out the folder",
    "exec-decision",
    "exec/exec-action.ts",
    "shell, cwd, sandbox, interactive, Object",
    "shell, sandbox, interactive, Object",
  ],
  ["the hash leaves out the environment", "exec-decision", "exec/exec-action.ts", "Object.entries(action.env).toSorted(byName)", "0"],
  [
    "the hash leaves out the files",
    "exec-decision",
    "exec/exec-action.ts",
    "Object.entries(action.env).toSorted(byName), files]",
    "Object.entries(action.env).toSorted(byName)]",
  ],
  ["a grant covers changed files", "exec-decision", "exec/exec-decision.ts", "sameWords(grant.files.map(mark), files.map(mark))", "true"],
  ["git may be led elsewhere", "exec-decision", "exec/carriers.ts", '"--git-dir",', ""],
  ["what is shown hides marks", "exec-decision", "exec/exec-action.ts", "const shown = visibleText(word);", "const shown = word;"],
  ["loaders may be set", "exec-decision", "exec/environment.ts", "if (refused.test(name))", "if (false)"],

  [
    "what asks runs",
    "exec.test",
    "tools/exec.ts",
    'if (decision.kind === "run") return null;',
    'if (decision.kind !== "refuse") return null;',
  ],
  [
    "an approval covers everything",
    "exec.test",
    "tools/exec.ts",
    "actionHash(action), scope",
    'actionHash({ ...action, argv: ["/usr/bin/touch", "one"], interactive: false }), scope',
  ],
  [
    "an interpreter's script may change",
    "exec.test",
    "exec/bound-files.ts",
    "isCarrier(program) || startingOption(argv) !== null",
    "false",
  ],
  ["a program of the workspace may change", "exec.test", "exec/bound-files.ts", ": [program];", ": [];"],
  [
    "what a shell may run may change",
    "exec.test",
    "exec/bound-files.ts",
    "parts === null ? perhapsRun(pieces([line]))",
    "parts === null ? []",
  ],
  ["words beyond a number are not looked at", "exec.test", "exec/bound-files.ts", "if (unique.size > mostNames) throw", "if (false) throw"],
  ["no file is part of what is asked", "exec.test", "exec/work-out.ts", "asks ? await", "false ? await"],
  ["a session of its own is a way out", "exec.test", "process-group.ts", "if (marked.length === 0) return;", "return;"],
  ["a sandbox fills the memory", "sandbox", "sandbox/bubblewrap.ts", "await knowsSizes(bwrap)", "false"],
  ["a sandbox has the network", "sandbox", "sandbox/bubblewrap.ts", 'network ? ["--share-net"] : []', '["--share-net"]'],
  ["a sandbox shows what is hidden", "sandbox", "sandbox/bubblewrap.ts", "...below.map(", "...[].map("],
  ["a sandbox writes what it may read", "sandbox", "sandbox/bubblewrap.ts", 'readOnly ? "--ro-bind" : "--bind"', '"--bind"'],
  ["relative folders of the search path count", "exec.test", "exec/find-program.ts", "if (!isAbsolute(folder)) continue;", ""],
  [
    "others' sessions are seen",
    "exec.test",
    "exec/commands.ts",
    "return found?.record.session === session ? found : null;",
    "return found ?? null;",
  ],
  [
    "others' processes are ended",
    "exec.test",
    "exec/commands.ts",
    "if (began !== null && (await processBegan(pid)) === began)",
    "if (began !== null)",
  ],
  ["the whole environment is handed on", "exec.test", "exec/environment.ts", "fromHost.includes(name) ||", "true ||"],
  ["the folder is looked up again", "exec.test", "tools/exec.ts", 'entryPath(folder, ".")', "action.cwd"],

  ["bindings may be changed", "gateway", "protected-settings.ts", '  ["bindings"],\n', ""],
  [
    "lists are not looked into",
    "gateway",
    "protected-settings.ts",
    "if (same(before, after)) return [];",
    "if (same(before, after) || Array.isArray(before)) return [];",
  ],
  ["deleting is no change", "gateway", "protected-settings.ts", "new Set([...keysOf(before), ...keysOf(after)])", "new Set(keysOf(after))"],
  ["everybody is an owner", "gateway", "tools/gateway.ts", "if (!owner) return", "if (false) return"],
];

const planted = plantedBugs(fileURLToPath(new URL("..", import.meta.url)), process.env);
afterAll(planted.close);

/** A suite that hangs over its bug ends by its own limits. */
const mostMs = 300_000;

test.each([...new Set(mutants.map(([, suite]) => suite))])(
  "%s finds nothing where no bug is planted",
  async (suite) => {
    expect(await planted.passes(suite)).toBe(true);
  },
  mostMs,
);

test.each(mutants)(
  "%s: noticed by %s",
  async (...bug) => {
    expect(await planted.isNoticed(bug)).toBe(true);
  },
  mostMs,
);
