// Commands for real: what they say, how they end, what is left of them after a crash.
import { execFileSync, spawn } from "node:child_process";
import { chmod, link, mkdir, readdir, readFile, rename, symlink, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { silentLog, systemClock, systemIds, type SessionKey } from "@parley/protocol";
import {
  actionHash,
  describeAction,
  openCommands,
  rooted,
  type CommandRecord,
  type ExecPolicy,
} from "../src/index.ts";
import { processBegan, startChild } from "../src/exec/child.ts";
import { findProgram } from "../src/find-program.ts";
import { exec } from "../src/tools/exec.ts";
import { process as processTool } from "../src/tools/process.ts";
import {
  call,
  full,
  inMap,
  isAlive,
  made,
  refusedWith,
  said,
  scopeOf,
  session,
  stage,
  type Stage,
} from "./stage.ts";

let it: Stage;
beforeEach(async () => {
  it = await stage();
});
afterEach(() => it.close());
const run = (args: Parameters<typeof said>[1]): Promise<string> => said(exec(it.context), args);
const manage = (args: Parameters<typeof said>[1]): Promise<string> => said(processTool(it.context), args);
const until = async (what: () => Promise<boolean> | boolean): Promise<void> => {
  while (!(await what())) await new Promise((resolve) => setTimeout(resolve, 10));
};
let marks = 0;
/** Seconds to sleep that no other process sleeps. */
const mark = (): string => `30${process.pid}.${(marks += 1)}`;

describe("exec", () => {
  test("runs words as they are, without a shell", async () => {
    expect(await run({ command: ["printf", "%s|", "a b", "$HOME", "*", ";ls"] })).toMatch(
      /^a b\|\$HOME\|\*\|;ls\|\n\[exit code 0, \d+\.\d s\]$/,
    );
    expect(await run({ command: "printf '%s|' 'a b' c" })).toContain("a b|c|");
  });

  test("runs a shell's line in a shell, and tells the exit code with all that was said", async () => {
    expect(await run({ command: "echo out; echo err >&2; exit 3" })).toMatch(
      /^(out\nerr|err\nout)\n\[exit code 3, /,
    );
  });

  test("starts in the folder asked for, inside the workspace", async () => {
    await mkdir(join(it.workspace, "sub"));
    expect(await run({ command: ["pwd"], workdir: "sub" })).toContain(`${it.workspace}/sub\n`);
    expect(await refusedWith(exec(it.context), { command: ["pwd"], workdir: ".." })).toContain(
      "outside the workspace",
    );
    expect(await refusedWith(exec(it.context), { command: ["pwd"], workdir: "none" })).toContain(
      "not a folder",
    );
    await symlink("/", join(it.workspace, "root"));
    expect(await refusedWith(exec(it.context), { command: ["pwd"], workdir: "root" })).toContain("leads out");
  });

  test("hands on no secret of the gateway's environment", async () => {
    const shown = await run({ command: ["env"], env: { COLOR: "1" } });
    expect(shown).not.toContain("hunter2");
    expect(shown).toContain("COLOR=1");
    expect(shown).toContain("PARLEY_SHELL=exec");
    expect(await refusedWith(exec(it.context), { command: ["env"], env: { LD_PRELOAD: "x" } })).toContain(
      "LD_PRELOAD may not be set",
    );
  });

  test("gives no input unless it is asked to, so that a reader ends", async () => {
    expect(await run({ command: ["cat"] })).toMatch(/^\[exit code 0/);
  });

  test("says what cannot be started", async () => {
    expect(await refusedWith(exec(it.context), { command: ["no-such-program"] })).toContain(
      "no-such-program cannot be started: ENOENT",
    );
    await writeFile(join(it.workspace, "plain"), "x");
    expect(await refusedWith(exec(it.context), { command: ["./plain"] })).toContain("EACCES");
    expect(await refusedWith(exec(it.context), { command: ["a\0b"] })).toContain("no NUL");
    expect(await refusedWith(exec(it.context), { command: [] })).toContain("command");
    expect(await readdir(join(it.workspace, ".parley/exec"))).toEqual([]);
  });

  test("shows beginning and end of a long output and keeps all of it in a file", async () => {
    const text = await run({ command: ["seq", "1", "100000"] });
    expect(Buffer.byteLength(text)).toBeLessThan(8_192);
    expect(text).toMatch(/^1\n2\n[^]*\[\.\.\. \d+ bytes left out \.\.\.\][^]*\n100000\n\[exit code 0/);
    const log = /output: (\S+)$/.exec(text)?.[1] ?? "";
    expect((await readFile(join(it.workspace, log), "utf8")).split("\n").length).toBe(100_001);
  });

  test("shows text without colours and without what was written over", async () => {
    expect(await run({ command: "printf '\\033[31mred\\033[0m\\n10%%\\r50%%\\r100%%\\nend\\r\\n'" })).toMatch(
      /^red\n100%\nend\n\[exit/,
    );
  });

  test("ends after its time, with all that it started", async () => {
    const seconds = mark();
    expect(
      await run({ command: `sleep ${seconds} & sleep ${seconds}`, timeoutSeconds: 1, yieldMs: 60_000 }),
    ).toMatch(/\[timed out, \d/);
    await until(() => !isAlive(seconds));
  });

  test("ends at a stop, with all that it started, even what ignores it", async () => {
    const seconds = mark();
    const stop = new AbortController();
    const running = call(
      exec(it.context),
      { command: `trap '' TERM; sleep ${seconds} & sleep ${seconds}; sleep ${seconds}` },
      it.workspace,
      stop.signal,
    );
    await until(() => isAlive(seconds));
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "aborted" });
    await until(() => !isAlive(seconds));
    expect(it.records.size).toBe(0);
  });

  test.each([
    [
      "when it is over",
      async (seconds: string) =>
        void (await run({
          command: `setsid sh -c 'setsid sleep ${seconds} & sleep ${seconds}' >/dev/null & sleep 0.1`,
        })),
    ],
    [
      "at a stop",
      async (seconds: string) => {
        const stop = new AbortController();
        const running = call(
          exec(it.context),
          { command: `setsid sleep ${seconds} & sleep ${seconds}` },
          it.workspace,
          stop.signal,
        );
        await until(() => isAlive(`sleep ${seconds}`));
        stop.abort();
        await expect(running).rejects.toMatchObject({ code: "aborted" });
      },
    ],
  ])("takes along what made a session of its own, %s", async (_when, started) => {
    const seconds = mark();
    await started(seconds);
    await until(() => !isAlive(`sleep ${seconds}`));
  });

  test("does not start after a stop", async () => {
    const stop = new AbortController();
    stop.abort();
    await expect(
      call(exec(it.context), { command: ["touch", "made"] }, it.workspace, stop.signal),
    ).rejects.toThrow();
    expect(await readdir(it.workspace)).toEqual([]);
  });

  test("does not wait for what a command leaves behind, and ends it", async () => {
    const seconds = mark();
    expect(await run({ command: `sleep ${seconds} & echo started`, yieldMs: 60_000 })).toMatch(
      /^started\n\[exit code 0/,
    );
    await until(() => !isAlive(seconds));
  });

  test("gives a terminal to what needs one", async () => {
    expect(await run({ command: ["tty"] })).toContain("not a tty");
    expect(await run({ command: ["tty"], pty: true })).toMatch(/^\/dev\/pts\/\d+\n\[exit code 0/);
    expect(await run({ command: "stty size; exit 4", pty: true })).toMatch(/^30 120\n\[exit code 4/);
  });

  test("runs no more at once than it should", async () => {
    const seconds = mark();
    for (let count = 0; count < 16; count += 1) await run({ command: ["sleep", seconds], background: true });
    expect(await refusedWith(exec(it.context), { command: ["true"] })).toContain("16 commands run already");
    await it.commands.end(session);
    expect(await run({ command: ["true"] })).toContain("exit code 0");
  });

  test("starts in the folder that was resolved, whatever its path has become", async () => {
    await mkdir(join(it.workspace, "a"));
    await mkdir(join(it.workspace, "b"));
    // Between the decision and the start the folder is renamed and another takes its name.
    const approved = async (): Promise<boolean> => {
      await rename(join(it.workspace, "a"), join(it.workspace, "c"));
      await symlink("/", join(it.workspace, "a"));
      return true;
    };
    const policy: ExecPolicy = { ...full, mode: "allowlist", ask: "on-miss" };
    const ports = { ...it.context.exec, policy, approved } as never;
    expect(await said(exec({ ...it.context, exec: ports }), { command: ["pwd"], workdir: "a" })).toContain(
      `${it.workspace}/c\n`,
    );
  });
});

describe("without leave", () => {
  const asking: ExecPolicy = {
    mode: "allowlist",
    ask: "on-miss",
    allowlist: [{ command: "echo" }],
    grants: [],
    owner: true,
  };

  test("nothing runs, and the answer tells what was asked", async () => {
    const own = await stage({ exec: { policy: asking } });
    const text = await refusedWith(exec(own.context), { command: "touch made; echo x" });
    expect(text).toContain("needs a person's approval");
    expect(text).toContain("shell: touch made; echo x");
    expect(await said(exec(own.context), { command: ["echo", "fine"] })).toContain("fine");
    expect(await readdir(own.workspace)).toEqual([".parley"]);
    await own.close();
  });

  test("an approval is for the very action that was shown", async () => {
    const approved = new Set<string>();
    const own = await stage({
      exec: { policy: asking, approved: async (_action, hash) => approved.has(hash) },
    });
    const tool = made(exec(own.context));
    const parse = (command: string) => {
      const parsed = tool.parse({ command });
      return parsed.ok ? parsed.args : expect.unreachable(parsed.reason);
    };
    const action = (await tool.action?.(parse("touch one"), scopeOf(own.workspace))) ?? null;
    if (action === null) return expect.unreachable("exec has an action");
    expect(action).toMatchObject({ shell: false, cwd: own.workspace, sandbox: "none" });
    expect(action.argv[0]).toMatch(/^\/.*\/touch$/);
    approved.add(actionHash(action));
    expect(await refusedWith(exec(own.context), { command: "touch two" })).toContain("approval");
    expect(await refusedWith(exec(own.context), { command: "touch one", background: true })).toContain(
      "approval",
    );
    expect(await said(exec(own.context), { command: "touch one" })).toContain("exit code 0");
    expect(await readdir(own.workspace)).toEqual([".parley", "one"]);
    await own.close();
  });

  test.each([
    ["itself", ["./job.sh"]],
    ["by an interpreter", ["sh", "job.sh"]],
    ["by a wrapper, inside a word", ["env", "sh", "-c", "exec sh ./job.sh now"]],
    ["by a shell", "cd . && sh job.sh > out"],
    ["by a shell, as its own", ". ./job.sh $HOME"],
  ])("a script that is run %s is approved as it is: changed, it is another action", async (_how, command) => {
    const own = await stage({ exec: { policy: asking } });
    const tool = made(exec(own.context));
    const action = async () => {
      const parsed = tool.parse({ command });
      return (
        (await tool.action?.(parsed.ok ? parsed.args : null, scopeOf(own.workspace))) ??
        expect.unreachable("exec has an action")
      );
    };
    await writeFile(join(own.workspace, "job.sh"), "echo harmless\n", { mode: 0o755 });
    await writeFile(join(own.workspace, "out"), "old\n");
    const before = await action();
    expect(before.files.map(({ path }) => path)).toContain("job.sh");
    // What sha256sum says of "echo harmless\n".
    expect(describeAction(before)).toMatch(/^file: job.sh as it is now \(sha256 bae80a2765592a94\)$/m);
    expect(actionHash(await action())).toBe(actionHash(before));
    await writeFile(join(own.workspace, "job.sh"), "echo harmful!\n");
    expect(actionHash(await action())).not.toBe(actionHash(before));
    await own.close();
  });

  test("a script is not hidden among more words than are looked at", async () => {
    const own = await stage({ exec: { policy: asking } });
    await writeFile(join(own.workspace, "job.sh"), "id\n");
    const words = Array.from({ length: 2_001 }, (_, n) => `A${n}=1`);
    expect(await refusedWith(exec(own.context), { command: ["env", ...words, "sh", "job.sh"] })).toContain(
      "put it into a script",
    );
    await own.close();
  });

  test("what a command only reads or writes may change meanwhile", async () => {
    const own = await stage({ exec: { policy: asking } });
    const tool = made(exec(own.context));
    await writeFile(join(own.workspace, "data.txt"), "one\n");
    for (const command of [["cp", "data.txt", "copy"], "cat data.txt >> log", "cat data.txt | wc -l"]) {
      const parsed = tool.parse({ command });
      expect(
        (await tool.action?.(parsed.ok ? parsed.args : null, scopeOf(own.workspace)))?.files,
        String(command),
      ).toEqual([]);
    }
    await own.close();
  });

  test("a program of the workspace does not pass for one of the system", async () => {
    const own = await stage({ exec: { policy: asking } });
    await writeFile(join(own.workspace, "echo"), "#!/bin/sh\ntouch made\n");
    await chmod(join(own.workspace, "echo"), 0o755);
    expect(await refusedWith(exec(own.context), { command: ["./echo"] })).toContain(
      "is not on the allowlist",
    );
    const dotPath = await stage({
      exec: { policy: asking, host: { PATH: `.:${own.workspace}:/usr/bin:/bin` } },
    });
    await writeFile(join(dotPath.workspace, "echo"), "#!/bin/sh\ntouch made\n", { mode: 0o755 });
    expect(await refusedWith(exec(dotPath.context), { command: ["echo"] })).toContain(
      "is not on the allowlist",
    );
    await own.close();
    await dotPath.close();
  });

  test("a program that is allowed by its name reaches what the file tools reach, by whatever way", async () => {
    const policy: ExecPolicy = {
      ...asking,
      allowlist: ["cat", "ls", "grep", "git", "touch", "mkdir", "diff", "which"].map((command) => ({
        command,
      })),
    };
    const own = await stage({ exec: { policy } });
    await mkdir(join(own.workspace, ".git"));
    await mkdir(join(own.workspace, "sub"));
    await writeFile(join(own.workspace, "sub/f"), "inside\n");
    await writeFile(join(own.outside, "secret"), "hunter2\n");
    await symlink(join(own.outside, "secret"), join(own.workspace, "link"));
    await symlink(own.outside, join(own.workspace, "sub/up"));
    await mkdir(join(own.workspace, "other"));
    await link(join(own.outside, "secret"), join(own.workspace, "hard"));
    await writeFile(join(own.workspace, "f"), "f\n");
    expect(await said(exec(own.context), { command: "diff f sub/f" })).toContain("inside");
    expect(await said(exec(own.context), { command: "which cat" })).toContain("/cat");
    expect(await said(exec(own.context), { command: "cat f", workdir: "sub" })).toContain("inside");
    expect(await said(exec(own.context), { command: `cat ${own.workspace}/sub/../sub/f` })).toContain(
      "inside",
    );
    expect(await said(exec(own.context), { command: "cat none" })).toContain("exit code 1");
    const ways = [
      "cat link",
      "cat sub/f ../secret",
      "cat sub/up/secret",
      `cat ${own.outside}/secret`,
      "grep -e hunter -- link",
      "ls sub/up",
      "ls ..",
      "git -C .. status",
      "git diff sub/f ../secret",
      "touch ../made",
      "mkdir -p .git/hooks",
      "touch .GIT/config",
      "mkdir sub/up/made",
      "mkdir -p new/../../made",
      "touch .parley/changes",
      "cat hard",
      "diff sub other",
      "diff f sub",
      "which /root/secret",
      "cat link && cat f",
      "cat f && cat link && cat f",
      "touch ../made && touch free",
      // Longer with its folder than a path may be, and yet one that a program can open.
      `cat ${"./".repeat(2_000)}${"../".repeat(30)}${own.outside.slice(1)}/secret`,
    ];
    for (const command of ways)
      expect(await refusedWith(exec(own.context), { command }), command).toContain(
        "out of the file tools' reach",
      );
    expect(await refusedWith(exec(own.context), { command: "cat ../../secret", workdir: "sub" })).toContain(
      "reach",
    );
    await own.close();
  });

  test("a stranger's turn makes nothing by name that its file tools may not make", async () => {
    const policy: ExecPolicy = { ...asking, allowlist: ["touch", "mkdir"].map((command) => ({ command })) };
    const own = await stage({ exec: { policy }, context: { owner: false, speakers: ["telegram:42"] } });
    const stranger = exec(own.context);
    await mkdir(join(own.workspace, "memory"));
    await symlink("memory", join(own.workspace, "notes"));
    await mkdir(join(own.workspace, "settings"));
    await symlink("settings", join(own.workspace, ".vscode"));
    await mkdir(join(own.workspace, "bare/refs"), { recursive: true });
    await writeFile(join(own.workspace, "bare/HEAD"), "ref: refs/heads/main\n");
    const ways = [
      "touch AGENTS.md",
      "mkdir MEMORY.md",
      "mkdir memory/2026-11-22.md",
      "touch notes/a.md",
      "mkdir -p notes/sub/deep",
      "mkdir -p skills/x/y",
      "touch .npmrc",
      "mkdir -p bare/objects/pack",
      "touch .vscode/tasks.json",
      "mkdir -p sub/.husky/_",
      `touch ${own.workspace}/HEARTBEAT.md`,
      "touch AGENTS.md && touch free",
      "touch free && mkdir MEMORY.md && touch free",
    ];
    for (const command of ways)
      expect(await refusedWith(stranger, { command }), command).toContain("out of the file tools' reach");
    expect(await refusedWith(stranger, { command: "touch a.md", workdir: "memory" })).toContain("reach");
    expect(await said(stranger, { command: "mkdir -p proposals/skills plain/a/b" })).toContain("exit code 0");
    expect(
      await said(exec({ ...own.context, owner: true }), { command: "touch AGENTS.md .npmrc" }),
    ).toContain("exit code 0");
    await own.close();
  });

  test("git by name looks at no repository around the workspace", async () => {
    const policy: ExecPolicy = { ...asking, allowlist: [{ command: "git" }] };
    const own = await stage({ exec: { policy } });
    const git = (...words: string[]): string =>
      execFileSync("git", words, { cwd: own.outside, encoding: "utf8" });
    git("init", "-q");
    await writeFile(join(own.outside, "secret"), "hunter2\n");
    git("add", "secret");
    await mkdir(join(own.workspace, "sub/deep"), { recursive: true });
    for (const workdir of [".", "sub/deep"]) {
      expect(await refusedWith(exec(own.context), { command: "git show :secret", workdir })).toContain(
        `${own.outside}/.git is out of the file tools' reach`,
      );
    }
    expect(await refusedWith(exec(own.context), { command: "git -C sub/deep show :secret" })).toContain(
      "reach",
    );
    // What looks like a repository and is none, git passes by.
    await mkdir(join(own.workspace, "sub/.git"));
    expect(await refusedWith(exec(own.context), { command: "git show :secret", workdir: "sub" })).toContain(
      "reach",
    );
    execFileSync("git", ["init", "-q"], { cwd: join(own.workspace, "sub") });
    // By a link the repository is the one around what the link leads to.
    await symlink("sub/deep", join(own.workspace, "alias"));
    for (const workdir of ["sub/deep", "alias"])
      expect(await said(exec(own.context), { command: "git status --short", workdir })).toContain(
        "exit code 0",
      );
    await own.close();
  });

  test("a relative folder of the search path is no place to find programs in", async () => {
    await writeFile(join(it.workspace, "mine"), "#!/bin/sh\n", { mode: 0o755 });
    expect(await findProgram("mine", `.:${it.workspace}`)).toBe(join(it.workspace, "mine"));
    expect(await findProgram("mine", `.::${relative(process.cwd(), it.workspace)}`)).toBe(null);
  });

  test("deny mode has no tool at all", async () => {
    const policy: ExecPolicy = { ...asking, mode: "deny" };
    for (const factory of [exec, processTool])
      expect(factory({ ...it.context, exec: { ...it.context.exec, policy } as never })).toEqual({
        unavailable: expect.stringContaining("deny"),
      });
    expect(exec({ ...it.context, exec: undefined as never })).toEqual({ unavailable: expect.any(String) });
  });
});

describe("in the background", () => {
  const idOf = (text: string): string => /as (\w+);/.exec(text)?.[1] ?? expect.unreachable(text);

  test("a long command goes on, says more when asked, and its end is told once", async () => {
    const text = await run({ command: "echo first; read line; echo got $line; exit 2", background: true });
    const id = idOf(text);
    await until(async () => (await manage({ action: "log", id })).includes("first"));
    expect(await manage({ action: "list" })).toMatch(new RegExp(`^${id} runs, \\d{1,3} s: echo first`));
    expect(await manage({ action: "write", id, data: "hello\n" })).toBe(`Sent to ${id}.`);
    await until(() => it.ended.length > 0);
    expect(it.ended).toMatchObject([{ id, state: "exited", code: 2, background: true }]);
    // What the call itself told already is not told again.
    const told = `${text}\n${await manage({ action: "poll", id })}`;
    expect(told.match(/^(first|got hello|\[\w+ exited with code 2\])$/gm)).toEqual([
      "first",
      "got hello",
      `[${id} exited with code 2]`,
    ]);
    expect(await manage({ action: "poll", id })).toBe(`[${id} exited with code 2]`);
    expect(await manage({ action: "log", id })).toContain("first\ngot hello\n");
    expect(await manage({ action: "remove", id })).toContain("Removed");
    expect(await manage({ action: "list" })).toBe("No background commands in this session.");
    expect([it.records.size, await readdir(join(it.workspace, ".parley/exec"))]).toEqual([0, []]);
  });

  test("one of an owner's turn hears nothing of a turn that is not", async () => {
    const stranger: typeof it.context = { ...it.context, owner: false, speakers: ["telegram:42"] };
    const id = idOf(await run({ command: "read line; echo got $line", background: true }));
    for (const words of [{ data: "theirs\n" }, { eof: true }, { data: "", eof: true }])
      expect(await refusedWith(processTool(stranger), { action: "write", id, ...words })).toContain(
        "an owner's turn began it",
      );
    expect(await said(processTool(stranger), { action: "poll", id })).toContain("runs");
    expect(await manage({ action: "write", id, data: "ours\n" })).toContain("Sent");
    await until(() => it.ended.length > 0);
    expect(await manage({ action: "log", id })).toContain("got ours");
    const theirs = idOf(
      await said(exec(stranger), { command: "read line; echo got $line", background: true }),
    );
    expect(await said(processTool(stranger), { action: "write", id: theirs, data: "x\n" })).toContain("Sent");
    await until(() => it.ended.length > 1);
  });

  test("what takes longer than yieldMs goes on there", async () => {
    const text = await run({
      command: "echo now; while [ ! -e go ]; do sleep 0.01; done; echo later",
      yieldMs: 100,
    });
    expect(text).toMatch(/^(now\n)?\[goes on in the background as \w+; its end will be told/);
    await writeFile(join(it.workspace, "go"), "");
    await until(() => it.ended.length > 0);
    const told = `${text}\n${await manage({ action: "poll", id: idOf(text) })}`;
    expect(told.match(/^(now|later)$/gm)).toEqual(["now", "later"]);
  });

  test("poll waits for more, not longer than asked, and hears a stop", async () => {
    const id = idOf(await run({ command: "sleep 0.2; echo more; read x", background: true }));
    expect(await manage({ action: "poll", id, timeout: 30_000 })).toBe(`more\n[${id} runs]`);
    expect(await manage({ action: "poll", id, timeout: 20 })).toBe(`[${id} runs]`);
    const stop = new AbortController();
    const polling = call(
      processTool(it.context),
      { action: "poll", id, timeout: 30_000 },
      it.workspace,
      stop.signal,
    );
    stop.abort();
    await expect(polling).rejects.toThrow();
    expect(await manage({ action: "write", id, eof: true })).toBe(`Sent to ${id}.`);
    await until(() => it.ended.length > 0);
  });

  test("kill ends it with all that it started", async () => {
    const seconds = mark();
    const id = idOf(await run({ command: `sleep ${seconds} & sleep ${seconds}`, background: true }));
    await until(() => isAlive(seconds));
    expect(await manage({ action: "kill", id })).toBe(`${id} was killed.`);
    await until(() => !isAlive(seconds));
    expect(await refusedWith(processTool(it.context), { action: "write", id, data: "x" })).toContain(
      "is over: killed",
    );
    const open = idOf(await run({ command: ["sleep", "60"], yieldMs: 10 }));
    expect(await refusedWith(processTool(it.context), { action: "write", id: open, data: "x" })).toContain(
      "input is not open",
    );
  });

  test("a terminal can be typed into", async () => {
    const id = idOf(await run({ command: ["cat"], pty: true, yieldMs: 50 }));
    await manage({ action: "write", id, data: "typed\n" });
    expect(await manage({ action: "poll", id, timeout: 5_000 })).toContain("typed");
    await manage({ action: "write", id, eof: true });
    await until(() => it.ended.length > 0);
    expect(it.ended[0]).toMatchObject({ state: "exited", code: 0 });
  });

  test("others' commands are not seen", async () => {
    expect(await refusedWith(processTool(it.context), { action: "poll" })).toContain(
      'there is no command "" of this session; there are: none',
    );
    const id = idOf(await run({ command: ["cat"], background: true }));
    expect(await it.commands.get("agent:main:dm:stranger" as SessionKey, id)).toBe(null);
    expect(await it.commands.list("agent:main:dm:stranger" as SessionKey)).toEqual([]);
    expect(await refusedWith(processTool(it.context), { action: "poll", id: "nothing" })).toContain(
      `there are: ${id}`,
    );
    expect(await refusedWith(processTool(it.context), { action: "poll" })).toContain(
      `there is no command "" of this session; there are: ${id}`,
    );
    expect(await refusedWith(processTool(it.context), { action: "remove", id })).toContain("still runs");
    expect(await refusedWith(processTool(it.context), { action: "write", id })).toContain("data or eof");
  });

  test("output beyond what is kept neither fills memory nor stops the command", async () => {
    const before = process.memoryUsage().rss;
    const text = await run({
      command: "head -c 80000000 /dev/zero | tr '\\0' x; echo; echo done",
      yieldMs: 60_000,
    });
    expect(text).toMatch(/more bytes were not kept\]\n\[exit code 0/);
    expect(process.memoryUsage().rss - before).toBeLessThan(150 * 1024 ** 2);
  });
});

describe("after a crash", () => {
  test("what ran is ended, listed as lost, and still has its output; others of its number are left alone", async () => {
    // The command of a process that died: started by nobody who is left.
    const seconds = mark();
    const leftover = await startChild({
      argv: ["sleep", seconds],
      cwd: "/",
      env: { PATH: process.env["PATH"] ?? "" },
      pty: false,
      input: false,
      onOutput: async () => undefined,
      clock: systemClock(),
    });
    const decoy = spawn("sleep", [`${seconds}1`], { detached: true, stdio: "ignore" });
    // What it had started, in a session of its own.
    const marked = spawn("sleep", [`${seconds}2`], {
      detached: true,
      stdio: "ignore",
      env: { ...process.env, PARLEY_COMMAND: "lost1" },
    });
    await mkdir(join(it.workspace, ".parley/exec"), { recursive: true });
    await writeFile(join(it.workspace, ".parley/exec/a.log"), "said before the crash\n");
    const record: CommandRecord = {
      id: "lost1",
      session,
      agent: "main",
      turn: "t",
      command: "sleep",
      root: it.workspace,
      log: ".parley/exec/a.log",
      pid: leftover.pid,
      began: await processBegan(leftover.pid),
      startedAtMs: 1,
      endedAtMs: null,
      state: "running",
      code: null,
      background: true,
      owner: true,
    };
    const records = new Map([
      ["lost1", record],
      ["other", { ...record, id: "other", pid: decoy.pid ?? 0, began: "1" }],
    ]);
    const options = {
      records: inMap(records),
      onEnd: async () => undefined,
      clock: systemClock(),
      ids: systemIds(),
      log: silentLog,
    };
    const commands = await openCommands(options, (root) => rooted({ root }));
    await leftover.ended;
    await until(() => marked.signalCode === "SIGKILL");
    expect(decoy.signalCode).toBe(null);
    expect(isAlive(`${seconds}1`)).toBe(true);
    decoy.kill("SIGKILL");
    const context = { ...it.context, exec: { ...it.context.exec, commands } as never };
    expect(await said(processTool(context), { action: "list" })).toContain(
      "lost1 was lost: the gateway stopped while it ran",
    );
    expect(await said(processTool(context), { action: "log", id: "lost1" })).toContain(
      "said before the crash\n[lost1 was lost",
    );
    expect(await refusedWith(processTool(context), { action: "write", id: "lost1", data: "x" })).toContain(
      "is over: lost",
    );
    expect(records.get("lost1")).toMatchObject({ state: "lost", endedAtMs: expect.any(Number) });
  });
});

describe("what is said of commands", () => {
  test("a signal's end, the time that it took, and how long it may take", async () => {
    const system = systemClock();
    let nowMs = 1_000;
    const waits: number[] = [];
    const own = await stage({
      clock: {
        ...system,
        now: () => nowMs,
        after: (ms, run) => {
          waits.push(ms);
          return system.after(ms, run);
        },
      },
      exec: { timeoutSeconds: 61 },
    });
    const running = said(exec(own.context), {
      command: "while [ ! -e go ]; do sleep 0.01; done; kill -9 $$",
      yieldMs: 60_000,
    });
    await until(() => own.records.size > 0);
    expect([...own.records.values()]).toMatchObject([
      {
        session,
        agent: "main",
        turn: "t1",
        command: "while [ ! -e go ]; do sleep 0.01; done; kill -9 $$",
        owner: true,
        root: own.workspace,
        startedAtMs: 1_000,
        endedAtMs: null,
        state: "running",
        code: null,
        background: false,
      },
    ]);
    nowMs = 3_460;
    await writeFile(join(own.workspace, "go"), "");
    expect(await running).toBe("[ended by a signal, 2.5 s]");
    expect(await readdir(join(own.workspace, ".parley/exec"))).toEqual([]);
    await said(exec(own.context), { command: ["true"], timeoutSeconds: 7 });
    expect(waits.filter((ms) => ms === 61_000 || ms === 7_000)).toEqual([61_000, 7_000]);
    const shown = { command: ["sleep", "0", "\u202e", "x".repeat(600)], background: true };
    await said(exec({ ...own.context, owner: false, speakers: ["telegram:42"] }), shown);
    const [record] = [...own.records.values()];
    expect([record?.owner, record?.command.length, record?.command.includes("\u202e")]).toEqual([
      false,
      500,
      false,
    ]);
    await until(() => own.ended.length > 0);
    await own.close();
  });

  test("how long is waited is held between its limits, and what is not said has its usual meaning", () => {
    const parsed = (of: ReturnType<typeof exec>, args: Parameters<typeof said>[1]): unknown => {
      const read = made(of).parse(args);
      return read.ok ? read.args : read.reason;
    };
    const usual = { command: "a", workdir: ".", env: {}, yieldMs: 10_000, background: false, pty: false };
    expect(
      [{}, { yieldMs: 9 }, { yieldMs: 11 }, { yieldMs: 119_999 }, { yieldMs: 120_001 }].map((more) =>
        parsed(exec(it.context), { command: "a", ...more }),
      ),
    ).toEqual([
      usual,
      { ...usual, yieldMs: 10 },
      { ...usual, yieldMs: 11 },
      { ...usual, yieldMs: 119_999 },
      { ...usual, yieldMs: 120_000 },
    ]);
    expect(
      [{}, { timeout: -1 }, { timeout: 29_999 }, { timeout: 30_001 }].map((more) =>
        parsed(processTool(it.context), { action: "poll", ...more }),
      ),
    ).toEqual([0, 0, 29_999, 30_000].map((timeout) => ({ action: "poll", timeout, eof: false })));
  });

  test("where it runs, and that a person is asked unless everything may run", () => {
    const { sandbox } = it.context;
    const boxed = { ...sandbox, kind: "bubblewrap", inside: "/workspace", readOnly: false } as const;
    const of = (policy: ExecPolicy, more: object = {}): string =>
      made(exec({ ...it.context, ...more, exec: { ...it.context.exec, policy } as never })).description;
    const asked: ExecPolicy = { ...full, mode: "allowlist" };
    const firsts = (text: string): string =>
      text.replace(
        " What takes longer than yieldMs goes on in the background: its end will be told to you, so do not poll for it. The process tool has its output.",
        "",
      );
    const prefer =
      "Prefer a list of the program and its arguments: a shell's line, and what is not allowed already, waits for a person's approval.";
    expect([
      firsts(of(full)),
      firsts(of({ ...full, ask: "always" })),
      firsts(of(asked)).trimEnd(),
      firsts(of(full, { sandbox: boxed })),
      firsts(of(full, { sandbox: { ...boxed, readOnly: true } })),
    ]).toEqual([
      "Runs a command on the gateway's machine.",
      "Runs a command on the gateway's machine.",
      `Runs a command on the gateway's machine. ${prefer}`,
      "Runs a command in a sandbox where the workspace is /workspace.",
      "Runs a command in a sandbox where the workspace is /workspace, read-only.",
    ]);
    const ports = it.context.exec;
    expect([
      exec({ ...it.context, exec: { ...ports, policy: { ...full, mode: "deny" } } as never }),
      processTool({ ...it.context, exec: { ...ports, policy: { ...full, mode: "deny" } } as never }),
      exec({ ...it.context, exec: undefined as never }),
      processTool({ ...it.context, exec: undefined as never }),
    ]).toEqual([
      { unavailable: 'tools.exec.mode is "deny"' },
      { unavailable: 'tools.exec.mode is "deny"' },
      { unavailable: "commands cannot be run here" },
      { unavailable: "commands cannot be run here" },
    ]);
  });

  test("what is written to a command is shown to an owner first, and nothing else is", () => {
    const tool = made(processTool(it.context));
    const shown = (args: Parameters<typeof said>[1]) => {
      const read = tool.parse(args);
      return read.ok
        ? tool.outside?.(read.args, scopeOf("/"), { trusted: [], read: [], sources: [] })
        : read.reason;
    };
    expect([
      shown({ action: "write", id: "abc", data: "rm\n" }),
      shown({ action: "write", id: "abc", eof: true }),
      ...["list", "poll", "log", "kill", "remove"].map((action) => shown({ action, id: "abc", data: "x" })),
    ]).toEqual(["write to abc\nrm\\u{a}", "write to abc\n", null, null, null, null, null]);
  });

  test("how each ended, how long it took and where its output is, oldest first", async () => {
    const records = new Map<string, CommandRecord>();
    const base: CommandRecord = {
      id: "",
      session,
      agent: "main",
      turn: "t",
      command: "make",
      owner: true,
      root: it.workspace,
      log: ".parley/exec/none.log",
      pid: 1,
      began: null,
      startedAtMs: 1_000_000,
      endedAtMs: 1_001_499,
      state: "exited",
      code: 0,
      background: true,
    };
    const others: readonly (Partial<CommandRecord> & { readonly id: string })[] = [
      { id: "zero", log: ".parley/exec/zero.log" },
      { id: "three", code: 3, endedAtMs: 1_001_500, command: "x".repeat(121), log: ".parley/exec/three.log" },
      { id: "signal", code: null },
      { id: "killed", state: "killed", code: null },
      { id: "late", state: "timed out", code: null, endedAtMs: 1_060_000, log: ".parley/exec/late.log" },
      { id: "lost", state: "lost", code: null },
      { id: "short", background: false },
      { id: "theirs", session: "agent:main:dm:x" as SessionKey },
    ];
    for (const each of others) records.set(each.id, { ...base, ...each });
    const clock = { ...systemClock(), now: () => 1_060_000 };
    const commands = await openCommands(
      { records: inMap(records), onEnd: async () => undefined, clock, ids: systemIds(), log: silentLog },
      (root) => rooted({ root }),
    );
    await mkdir(join(it.workspace, ".parley/exec"), { recursive: true });
    await writeFile(join(it.workspace, ".parley/exec/zero.log"), "done");
    await writeFile(join(it.workspace, ".parley/exec/three.log"), "a".repeat(20_000));
    await writeFile(join(it.workspace, ".parley/exec/late.log"), "");
    const context = { ...it.context, clock, exec: { ...it.context.exec, commands } as never };
    const ask = (args: Parameters<typeof said>[1]) => said(processTool(context), args);
    expect(await ask({ action: "list" })).toBe(
      [
        "zero exited with code 0, 1 s: make",
        `three exited with code 3, 2 s: ${"x".repeat(120)}`,
        "signal was ended by a signal, 1 s: make",
        "killed was killed, 1 s: make",
        "late timed out and was ended, 60 s: make",
        "lost was lost: the gateway stopped while it ran, and it was ended, 1 s: make",
      ].join("\n"),
    );
    const long = await ask({ action: "log", id: "three" });
    expect([
      await ask({ action: "log", id: "zero" }),
      await ask({ action: "poll", id: "zero" }),
      await ask({ action: "log", id: "late" }),
      await ask({ action: "log", id: "signal" }),
      await ask({ action: "poll", id: "killed" }),
      await ask({ action: "kill", id: "three" }),
      long.split("\n").slice(1),
    ]).toEqual([
      "done\n[zero exited with code 0]",
      "done\n[zero exited with code 0]",
      "[late timed out and was ended]",
      "(its output is gone)\n[signal was ended by a signal]",
      "(its output is gone)\n[killed was killed]",
      "three exited with code 3.",
      [
        "[... 12108 bytes left out ...]",
        "a".repeat(7_892 - 2_367),
        "[three exited with code 3] All 20000 bytes: .parley/exec/three.log",
      ],
    ]);
    expect(await refusedWith(processTool(context), { action: "poll", id: "theirs" })).toBe(
      'there is no command "theirs" of this session; there are: zero, three, signal, killed, late, lost',
    );
    expect(await ask({ action: "remove", id: "zero" })).toBe("Removed zero and its output.");
    expect([records.has("zero"), await readdir(join(it.workspace, ".parley/exec"))]).toEqual([
      false,
      ["late.log", "three.log"],
    ]);
  });
});
