// git for real, in a repository whose settings, attributes and hooks all name programs: none of them starts.
// As a sandboxed session, an approved command or a cloned folder may leave one behind, and whoever asks for a
// status next would run it as the daemon's user.
import { execFileSync } from "node:child_process";
import { appendFile, chmod, mkdir, readdir, readFile, rename, rm, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { lacks, program, programPath } from "@parley/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { guardGit } from "../src/exec/git-guard.ts";
import { knownForm } from "../src/exec/known-programs.ts";
import { exec } from "../src/tools/exec.ts";
import { full, hostPath, said, stage, type Stage } from "./stage.ts";

const git = program("git");

/** Keys whose values git, or what it starts, runs as a program. */
const programKeys = [
  "core.fsmonitor",
  "core.pager",
  "core.editor",
  "core.askPass",
  "core.sshCommand",
  "core.alternateRefsCommand",
  "core.gitProxy",
  "pager.log",
  "pager.status",
  "pager.branch",
  "diff.external",
  "diff.evil.command",
  "diff.evil.textconv",
  "filter.evil.clean",
  "filter.evil.smudge",
  "filter.evil.process",
  "merge.evil.driver",
  "gpg.program",
  "gpg.ssh.program",
  "credential.helper",
  "sequence.editor",
  "interactive.diffFilter",
  "difftool.evil.cmd",
  "remote.origin.uploadpack",
  "filter.a=b.clean",
];
/** As git writes it: a process of git for each would take longer than all the rest. */
function setting(name: string, value: string): string {
  const [section = "", ...rest] = name.split(".");
  const key = rest.pop() ?? "";
  return `[${section}${rest.length === 0 ? "" : ` "${rest.join(".")}"`}]\n${key} = ${value}\n`;
}
const aliases = ["status", "log", "diff", "show", "branch", "version"];

describe.skipIf(lacks(git))("git in a repository that is hostile", () => {
  let it: Stage;
  let canary: string;
  let plain: (...args: readonly string[]) => string;

  beforeAll(async () => {
    it = await stage();
    canary = join(it.outside, "ran");
    await mkdir(canary);
    const env = {
      PATH: hostPath,
      HOME: it.outside,
      GIT_AUTHOR_NAME: "x",
      GIT_AUTHOR_EMAIL: "x",
      GIT_COMMITTER_NAME: "x",
      GIT_COMMITTER_EMAIL: "x",
    };
    plain = (...args) =>
      execFileSync(programPath(git), args, {
        cwd: it.workspace,
        env: { ...env, GIT_CONFIG_NOSYSTEM: "1" },
        encoding: "utf8",
        stdio: "pipe",
      });
    const ws = (name: string): string => join(it.workspace, name);
    plain("init", "-q", "-b", "main");
    await writeFile(ws("f"), "one\ntwo\n");
    await writeFile(ws(".gitattributes"), "* filter=evil diff=evil merge=evil\n");
    plain("add", ".");
    plain("commit", "-qm", "first");
    plain("tag", "v1");
    await writeFile(ws("f"), "one\n2\n");
    plain("commit", "-qam", "second");
    plain("stash", "list");
    await writeFile(ws("f"), "one\nthree\n");
    plain("stash");
    plain("init", "-q", "sub");
    plain("-C", "sub", "commit", "-q", "--allow-empty", "-m", "sub");
    plain("-c", "advice.addEmbeddedRepo=false", "add", "sub");
    plain("commit", "-qm", "with a submodule");
    // Side branch and merge, so that merges are shown too.
    plain("checkout", "-qb", "side", "HEAD~1");
    await writeFile(ws("g"), "g\n");
    plain("add", "g");
    plain("commit", "-qm", "side");
    plain("checkout", "-q", "main");
    plain("merge", "-q", "-m", "merge", "side");
    await writeFile(ws("f"), "one\nchanged\n");
    await writeFile(ws("sub/new"), "x\n");
    let count = 0;
    const told = async (where: string): Promise<string> => {
      const script = join(it.outside, `told-${(count += 1)}`);
      await writeFile(script, `#!/bin/sh\ntouch '${canary}/${where.replaceAll("/", "_")}'\ncat\n`);
      await chmod(script, 0o755);
      return script;
    };
    for (const folder of [".", "sub"]) {
      const set: string[] = [];
      for (const key of programKeys) set.push(setting(key, await told(`${folder} ${key}`)));
      for (const name of aliases) set.push(setting(`alias.${name}`, `!${await told(`alias ${name}`)}`));
      set.push(
        setting("log.showSignature", "true"),
        setting("log.diffMerges", "remerge"),
        setting("status.submoduleSummary", "true"),
        setting("diff.submodule", "log"),
        setting("submodule.recurse", "true"),
        setting("remote.origin.url", `ext::sh -c ${await told("ext")}`),
      );
      await appendFile(join(it.workspace, folder, ".git/config"), set.join(""));
      const hooks = await readdir(join(it.workspace, folder, ".git"));
      if (!hooks.includes("hooks")) await mkdir(join(it.workspace, folder, ".git/hooks"));
      for (const hook of [
        "pre-commit",
        "post-index-change",
        "post-checkout",
        "reference-transaction",
        "fsmonitor-watchman",
      ])
        await rename(await told(`${folder} hook ${hook}`), join(it.workspace, folder, ".git/hooks", hook));
    }
    await mkdir(ws(".git/info"), { recursive: true });
    await writeFile(ws(".git/info/attributes"), "* filter=evil diff=evil\n");
  }, 60_000);
  afterAll(() => it.close());
  beforeEach(async () => {
    for (const name of await readdir(canary)) await rm(join(canary, name));
  });

  const run = (words: readonly string[], owner = true): Promise<string> =>
    said(exec({ ...it.context, exec: { ...it.context.exec, policy: { ...full, owner } } as never }), {
      command: words as string[],
    });

  test("is not run with more settings than can be overridden, nor where it cannot tell them", async () => {
    const folder = join(it.outside, "settings");
    await mkdir(folder);
    const file = join(it.outside, "many");
    const env = { PATH: hostPath, HOME: it.outside, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: file };
    const status = (): Promise<unknown> =>
      guardGit([programPath(git), "status"], folder, env).then(
        ({ env: own }) => own["GIT_CONFIG_COUNT"] ?? "none",
        ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
      );
    const aliases = (count: number): string =>
      `[alias]\n${Array.from({ length: count }, (_, nth) => `a${nth} = x`).join("\n")}\n`;
    await writeFile(file, aliases(1_000));
    expect(await status()).toBe("1000");
    await writeFile(file, aliases(1_001));
    expect(await status()).toBe(
      "invalid: git's configuration here has 1001 settings that may name programs; it is not run",
    );
    await writeFile(file, "[alias\n");
    expect(await status()).toMatch(
      /^unavailable: git cannot tell its settings here, so it is not run: \S[^\n]*$/,
    );
  });

  test("keeps each setting that is known to name no program, and makes every other one empty", async () => {
    const folder = join(it.outside, "known");
    await mkdir(folder);
    const file = join(it.outside, "known-settings");
    const kept =
      "advice.x author.x branch.a.merge color.x column.x committer.x feature.x index.x pack.x pull.x push.x rerere.x safe.x tag.x url.a.insteadof user.x " +
      "extensions.x gc.auto gc.autodetach gc.autopacklimit gc.bigpackthreshold gc.packrefs gc.pruneexpire gc.worktreepruneexpire gc.writecommitgraph " +
      "gc.aggressivedepth gc.aggressivewindow lfs.repositoryformatversion lfs.a.access lfs.a.locksverify maintenance.auto maintenance.autodetach " +
      "maintenance.strategy remote.a.url remote.a.pushurl remote.a.fetch remote.a.push remote.a.prune remote.a.prunetags remote.a.tagopt " +
      "remote.a.mirror remote.a.skipdefaultupdate remote.a.skipfetchall remote.a.gh-resolved submodule.a.url submodule.a.path submodule.a.active " +
      "submodule.a.branch submodule.a.ignore submodule.a.shallow core.abbrev core.autocrlf core.bare core.bigfilethreshold core.checkstat core.commentchar " +
      "core.compression core.deltabasecachelimit core.eol core.filemode core.filesreflocktimeout core.ignorecase core.ignorestat " +
      "core.logallrefupdates core.loosecompression core.multipackindex core.packedgitlimit core.packedgitwindowsize core.precomposeunicode " +
      "core.preloadindex core.protecthfs core.protectntfs core.quotepath core.repositoryformatversion core.safecrlf core.sparsecheckout " +
      "core.sparsecheckoutcone core.splitindex core.symlinks core.trustctime core.untrackedcache core.warnambiguousrefs core.whitespace " +
      "core.commitgraph core.longpaths core.fscache core.worktree init.defaultbranch commit.gpgsign commit.verbose commit.status fetch.prune " +
      "fetch.prunetags fetch.parallel http.postbuffer http.sslverify blame.date diff.algorithm diff.colormoved diff.context diff.mnemonicprefix " +
      "diff.noprefix diff.renames diff.renamelimit diff.interhunkcontext diff.indentheuristic grep.linenumber log.date log.decorate " +
      "log.abbrevcommit log.follow merge.ff merge.conflictstyle merge.renames merge.stat merge.log merge.autostash rebase.autosquash " +
      "rebase.autostash rebase.stat status.short status.branch status.showuntrackedfiles status.relativepaths status.showstash stash.showpatch";
    const emptied =
      "alias.x core.editor core.pager core.hookspath core.sshcommand core.fsmonitor core.attributesfile core.gitproxy core.askpass core.abbrevs " +
      "gc.autox gc.reflogexpire lfs.url lfs.x.y maintenance.autox remote.a.uploadpack remote.a.receivepack remote.a.vcs remote.a.proxy remote.pushdefault " +
      "submodule.a.update submodule.recurse init.templatedir commit.template fetch.recursesubmodules http.proxy http.a.sslverify blame.ignorerevsfile " +
      "diff.external diff.a.command diff.a.textconv diff.contextx grep.fallbacktonoindex log.showsignature log.diffmerges merge.a.driver merge.tool " +
      "mergetool.a.cmd rebase.instructionformat sequence.editor status.submodulesummary stash.showstat pager.log filter.a.clean filter.a.smudge " +
      "credential.helper gpg.program protocol.ext.allow uploadpack.packobjectshook web.browser browser.a.cmd difftool.a.cmd interactive.difffilter includex.path";
    const names = [...kept.split(" "), ...emptied.split(" ")];
    await writeFile(file, names.map((name) => setting(name, "1")).join(""));
    const env = { PATH: hostPath, HOME: it.outside, GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: file };
    const { env: own, argv } = await guardGit([programPath(git), "status"], folder, env);
    const values = Object.keys(own)
      .filter((name) => name.startsWith("GIT_CONFIG_KEY_"))
      .map((name) => [own[name], own[name.replace("KEY", "VALUE")]] as const);
    expect(Object.fromEntries(values)).toEqual({
      ...Object.fromEntries(emptied.split(" ").map((name) => [name, ""])),
      "log.diffmerges": "separate",
      "core.sshcommand": "ssh",
    });
    expect(own).toMatchObject({
      GIT_OPTIONAL_LOCKS: "0",
      GIT_NO_LAZY_FETCH: "1",
      GIT_ALLOW_PROTOCOL: "none",
      GIT_TERMINAL_PROMPT: "0",
    });
    expect(argv[1]).toBe("status");
    // What was approved keeps the settings of the machine and its user, and none of those runs of its own.
    const approved = await guardGit([programPath(git), "push"], folder, env);
    expect(approved).toEqual({ argv: [programPath(git), "push"], env: { ...env, GIT_CONFIG_COUNT: "0" } });
  });

  test("is hostile: without the guard its status and its diffs run what it names", async () => {
    plain("status");
    expect(await readdir(canary)).not.toEqual([]);
  });

  const looks = [
    "status",
    "status -sb",
    "-C sub status",
    "diff",
    "diff --cached",
    "diff HEAD~1",
    "diff --stat main side",
    "log -p",
    "log --oneline -3",
    "log -p -m -3",
    "log --graph --all --decorate",
    "log -L 1,2:f",
    "show",
    "show HEAD:f",
    "show v1",
    "blame f",
    "blame -C f",
    "branch -avv",
    "branch --list m*",
    "tag -l",
    "remote -v",
    "remote get-url origin",
    "rev-parse HEAD",
    "rev-list --count HEAD",
    "ls-files -m",
    "ls-files -o --exclude-standard",
    "ls-tree -r HEAD",
    "cat-file -p HEAD",
    "describe --tags",
    "shortlog -sn HEAD",
    "grep -n one",
    "reflog",
    "reflog show -n 2",
    "stash list",
    "stash list -p",
    "stash show",
    "stash show -p",
    "worktree list",
    "merge-base main side",
    "for-each-ref",
    "check-ignore -v -n f",
    "count-objects -v",
    "diff-tree -p HEAD~1 HEAD",
    "diff-index -p HEAD",
    "diff-files -p",
    "show-ref",
    "symbolic-ref HEAD",
    "name-rev HEAD",
    "--version",
  ].map((line) => line.split(" "));

  test.each(looks.map((words) => [words.join(" "), words] as const))(
    "git %s looks, and starts nothing",
    async (_line, words) => {
      expect(knownForm([programPath(git), ...words])).not.toBe(null);
      const output = await run(["git", ...words]);
      expect(await readdir(canary)).toEqual([]);
      // check-ignore found nothing, so its code is 1.
      expect(output).toMatch(words[0] === "check-ignore" ? /\[exit code [01],/ : /\[exit code 0,/);
    },
  );

  test("shows what there is all the same", async () => {
    expect(await run(["git", "status", "--porcelain"])).toContain(" M f\n");
    expect(await run(["git", "diff"])).toContain("+changed");
    expect(await run(["git", "log", "-p", "-1", "--format=%s", "main~1"])).toContain("with a submodule");
    const index = await readFile(join(it.workspace, ".git/index"));
    // What is unchanged and looks changed would be looked at and noted in the index.
    await utimes(join(it.workspace, "g"), 1_000, 1_000);
    await run(["git", "status"]);
    expect(await readFile(join(it.workspace, ".git/index"))).toEqual(index);
  });

  test("what changes the repository starts no hook and nothing that it names either", async () => {
    for (const words of [
      ["add", "f"],
      ["commit", "--allow-empty", "--no-gpg-sign", "-m", "x"],
      ["checkout", "-q", "-B", "other"],
      ["checkout", "-q", "main"],
      ["fetch", "origin"],
      ["co"],
    ]) {
      await run(["git", ...words]);
      expect(await readdir(canary), words.join(" ")).toEqual([]);
    }
  });

  test("of the settings that may name a program none is kept, whatever their section is for", async () => {
    const own = await stage();
    const config = (key: string): void =>
      void execFileSync(programPath(git), ["config", key, "x"], { cwd: own.workspace });
    execFileSync(programPath(git), ["init", "-q"], { cwd: own.workspace });
    const programs = [
      "gc.recentobjectshook",
      "lfs.customtransfer.a.path",
      "lfs.extension.a.clean",
      "lfs.standalonetransferagent",
    ];
    const others = [
      "gc.auto",
      "lfs.repositoryformatversion",
      "lfs.https://a.b/c.access",
      "lfs.https://a.b/c.locksverify",
      "user.name",
    ];
    for (const key of [...programs, ...others]) config(key);
    const { env } = await guardGit([programPath(git), "fetch"], own.workspace, {
      PATH: hostPath,
      HOME: own.outside,
    });
    const emptied = Object.entries(env).flatMap(([name, value]) =>
      name.startsWith("GIT_CONFIG_KEY_") ? [value] : [],
    );
    expect(emptied.toSorted()).toEqual(programs.toSorted());
    await own.close();
  });

  test("nor does git that a script calls start hooks or a monitor", async () => {
    await said(exec(it.context), {
      command: "cd sub && git status --ignore-submodules=all; cd .. && git rev-parse HEAD && git branch x1",
    });
    const ran = (await readdir(canary)).filter((name) => /fsmonitor|hook/.test(name));
    expect(ran).toEqual([]);
  });

  test("a folder that is no repository, and settings that cannot be read", async () => {
    const own = await stage();
    const at = (words: readonly string[]) => said(exec(own.context), { command: words as string[] });
    expect(await at(["git", "status"])).toContain("not a git repository");
    expect(await at(["git", "--version"])).toContain("git version");
    execFileSync(programPath(git), ["init", "-q"], { cwd: own.workspace });
    await writeFile(join(own.workspace, ".git/config"), "[broken\n");
    await expect(at(["git", "status"])).rejects.toThrow(
      /git cannot tell its settings here, so it is not run/,
    );
    await own.close();
  });
});
