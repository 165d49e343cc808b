// Which commands run, which are asked about, which are refused: above all the ways in which an allowlist was
// got round elsewhere.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  actionHash,
  commandEnv,
  describeAction,
  execDecision,
  type AllowedCommand,
  type ExecAction,
  type ExecPolicy,
} from "../src/index.ts";
import { readCommandLine } from "../src/exec/command-line.ts";
import { isSafeFilter, knownForm } from "../src/exec/known-programs.ts";

const bin = (argv: readonly string[]): readonly string[] => [
  argv[0]?.includes("/") === true ? argv[0] : `/usr/bin/${argv[0]}`,
  ...argv.slice(1),
];
function action(command: string | readonly string[], more: Partial<ExecAction> = {}): ExecAction {
  const line =
    typeof command === "string" ? readCommandLine(command) : { kind: "words" as const, argv: command };
  const parts = line.kind === "words" ? [bin(line.argv)] : (line.parts?.map(bin) ?? null);
  const argv = line.kind === "words" ? bin(line.argv) : ["/bin/sh", "-c", String(command)];
  return {
    kind: "exec",
    argv,
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
}
const policy = (...allowlist: readonly (string | AllowedCommand)[]): ExecPolicy => ({
  mode: "allowlist",
  ask: "on-miss",
  allowlist: allowlist.map((each) => (typeof each === "string" ? { command: each } : each)),
  grants: [],
  owner: true,
});
const kind = (command: string | readonly string[], rules: ExecPolicy): string =>
  execDecision(action(command), rules).kind;

describe("modes", () => {
  test("deny refuses, full runs, allowlist asks about what it does not list", () => {
    expect(execDecision(action("ls"), { ...policy("ls"), mode: "deny" }).kind).toBe("refuse");
    expect(execDecision(action("curl x | sh"), { ...policy(), mode: "full" }).kind).toBe("run");
    expect(execDecision(action("ls -l"), policy("ls")).kind).toBe("run");
    expect(execDecision(action("ls -l"), policy())).toEqual({
      kind: "ask",
      reason: "/usr/bin/ls is not on the allowlist",
      always: true,
    });
  });

  test("with ask off a miss is refused, with ask always everything is asked about", () => {
    expect(execDecision(action("ls"), { ...policy(), ask: "off" })).toMatchObject({
      kind: "refuse",
      reason: expect.stringContaining("nobody is asked"),
    });
    expect(execDecision(action("ls | wc"), { ...policy("ls"), ask: "off" }).kind).toBe("refuse");
    expect(execDecision(action("ls"), { ...policy("ls"), ask: "always" }).kind).toBe("ask");
    expect(execDecision(action("ls"), { ...policy(), mode: "full", ask: "always" }).kind).toBe("ask");
    expect(execDecision(action("ls"), { ...policy("ls"), mode: "deny", ask: "always" }).kind).toBe("refuse");
  });
});

describe("never run without being asked about", () => {
  const rules = policy(
    "echo",
    "cat",
    "ls",
    "git",
    "find",
    "sort",
    "grep",
    "env",
    "sh",
    "bash",
    "zsh",
    "xargs",
    "node",
    "python3",
    "busybox",
    "ssh",
    "awk",
    "sed",
  );

  test.each([
    "echo x | node",
    "echo x && node y",
    "echo x || node y",
    "echo x; node y",
    "echo x & node y",
    "echo x\nnode y",
    "echo $(id)",
    "echo `id`",
    "cat <(id)",
    "{ id; }",
    "(id)",
    "cat <<E\nid\nE",
    "echo x > ~/.bashrc",
    "echo x >>f",
    "cat <f",
    "echo ${IFS}",
    "echo $HOME",
    "echo 'a",
    'echo "$(id)"',
    "echo hi\\",
    "FOO=1 ls",
    "ls *",
    "ls ~",
    "ls # x",
    "! ls",
    "if ls",
    "echo hi && cat f",
    "echo hi;",
    "| ls",
    "ls &&",
    "eval ls",
    ". ./x",
    "exec ls",
    "echo \r id",
  ])("a shell's line: %j", (line) => {
    expect(kind(line, rules)).toBe("ask");
    expect(execDecision(action(line), rules)).toMatchObject({ always: false });
  });

  test.each([
    ["env", "/bin/sh", "-c", "id"],
    ["env", "-S", "sh -c id"],
    ["sh", "-c", "id"],
    ["sh", "-xc", "id"],
    ["bash", "-lic", "id"],
    ["sh", "-c", "$0", "id"],
    ["/bin/zsh", "-lc", "whoami"],
    ["xargs", "sh"],
    ["busybox", "sh"],
    ["ssh", "-oProxyCommand=id", "h"],
    ["find", ".", "-exec", "id", ";"],
    ["find", ".", "-delete"],
    ["find", ".", "-fprintf", "x", "y"],
    ["git", "-c", "core.pager=id", "log"],
    ["git", "-ccore.pager=id", "log"],
    ["git", "--exec-path=/tmp", "log"],
    ["git", "--config-env=core.pager=X", "log"],
    ["git", "submodule", "foreach", "id"],
    ["git", "clone", "--upload-pack", "id", "x"],
    ["git", "clone", "--upload=id", "x"],
    ["git", "grep", "-Oid", "x"],
    ["git", "--git-dir=evil", "status"],
    ["git", "--git-dir", "evil", "log"],
    ["git", "init", "--template=hooks"],
    ["git", "checkout-index", "-a", "--prefix=/root/.ssh/"],
    ["git", "worktree", "add", "/tmp/elsewhere"],
    ["git", "clone", "-u", "id", "x", "y"],
    ["git", "archive", "-o", "/tmp/x", "HEAD"],
    ["git", "format-patch", "-o", "/tmp", "HEAD~1"],
    ["sort", "--compress-program=sh"],
    ["sort", "--compress-prog=sh"],
    ["sort", "-o", "x"],
    ["sort", "-rox"],
    ["grep", "-f", "/etc/shadow"],
    ["grep", "-rf/etc/shadow"],
    ["awk", 'BEGIN{system("id")}'],
    ["sed", "1e id"],
    ["python3", "-c", "1"],
    ["/tmp/ls"],
    ["./ls"],
    ["/usr/bin/../../tmp/ls"],
  ])("a program that starts another: %j", (...argv) => {
    expect(kind(argv, rules)).toBe("ask");
  });

  test("versions of interpreters, and wrappers by name", () => {
    for (const name of [
      "python3.12",
      "perl5.36",
      "node",
      "nice",
      "nohup",
      "timeout",
      "stdbuf",
      "sudo",
      "setsid",
      "sqlite3",
      "psql",
      "split",
      "ld-linux-x86-64.so.2",
    ])
      expect(execDecision(action([name, "x"]), policy(name)).kind, name).toBe("ask");
  });

  test("a command with a changed environment, or one that stays open for input", () => {
    expect(execDecision(action("ls", { env: { LC_ALL: "C" } }), policy("ls"))).toMatchObject({
      kind: "ask",
      always: false,
    });
    expect(execDecision(action("cat", { interactive: true }), policy("cat"))).toMatchObject({
      kind: "ask",
      always: false,
    });
  });
});

describe("the allowlist", () => {
  test("takes a bare name from the system's folders only, and a path as it is", () => {
    expect(kind(["/usr/bin/ls"], policy("ls"))).toBe("run");
    expect(kind(["/home/me/bin/ls"], policy("ls"))).toBe("ask");
    // A program of that name outside the system's folders may be anything.
    expect(kind(["/home/me/bin/ls"], policy("/home/me/bin/ls"))).toBe("ask");
    expect(kind(["/home/me/bin/ls"], policy({ command: "/home/me/bin/ls", argPattern: "" }))).toBe("run");
    expect(kind(["/usr/bin/ls"], policy("/usr/bin/ls"))).toBe("run");
    expect(kind(["ls"], policy("LS"))).toBe("ask");
  });

  test("holds arguments to their pattern, whole and word by word", () => {
    const rules = policy({ command: "git", argPattern: "^status( --short)?$" });
    expect(kind(["git", "status"], rules)).toBe("run");
    expect(kind(["git", "status", "--short"], rules)).toBe("run");
    expect(kind(["git", "push"], rules)).toBe("ask");
    expect(kind(["git", "status --short"], rules)).toBe("ask");
    expect(kind(["git", "status", "--short", ""], rules)).toBe("ask");
    expect(kind(["git", "status\n"], rules)).toBe("ask");
    expect(kind(["git", "-c", "x=y", "status"], rules)).toBe("ask");
    expect(kind(["git"], policy({ command: "git", argPattern: "a|" }))).toBe("run");
    expect(kind(["git", "ab"], policy({ command: "git", argPattern: "a|b" }))).toBe("ask");
  });

  test("an allowed command asks about nothing it does not do", () => {
    const rules = policy("git", "find", "sort", "grep");
    for (const argv of [
      ["git", "status"],
      ["git", "log", "-p", "-n", "3"],
      ["find", ".", "-name", "x"],
      ["sort", "-rn", "f"],
      ["grep", "-rn", "x", "."],
    ])
      expect(kind(argv, rules), argv.join(" ")).toBe("run");
  });
});

describe("a grant", () => {
  const granted = {
    argv: ["/usr/bin/mkdir", "-p", "made"],
    cwd: "/ws",
    sandbox: "none",
    files: [],
    outside: [],
  };
  const rules = { ...policy(), grants: [granted] };

  test("is for exactly these words in exactly this folder and sandbox", () => {
    expect(kind(granted.argv, rules)).toBe("run");
    expect(kind(["/usr/bin/mkdir", "-p", "other"], rules)).toBe("ask");
    expect(kind(["/usr/bin/mkdir", "-p", "made", "x"], rules)).toBe("ask");
    expect(kind(["/usr/bin/mkdir"], rules)).toBe("ask");
    expect(execDecision(action(granted.argv, { cwd: "/ws/sub" }), rules).kind).toBe("ask");
    expect(execDecision(action(granted.argv, { sandbox: "bubblewrap" }), rules).kind).toBe("ask");
    expect(execDecision(action(granted.argv, { env: { A: "b" } }), rules).kind).toBe("ask");
  });

  test("is worth nothing, and is not offered, for what may run files that nobody saw", () => {
    for (const argv of [
      ["/usr/bin/make"],
      ["/usr/bin/npm", "test"],
      ["/bin/sh", "-c", "id"],
      ["/bin/zsh", "-lc", "whoami"],
      ["/opt/tool"],
    ]) {
      expect(execDecision(action(argv), policy()), argv.join(" ")).toMatchObject({
        kind: "ask",
        always: false,
      });
      const kept = { argv, cwd: "/ws", sandbox: "none", files: [], outside: [] };
      expect(kind(argv, { ...policy(), grants: [kept] }), argv.join(" ")).toBe("ask");
    }
  });

  test("covers files as they were then", () => {
    const files = [{ path: "deploy.sh", sha256: "1" }];
    const script = {
      ...policy(),
      grants: [{ argv: ["/ws/deploy.sh"], cwd: "/ws", sandbox: "none", files, outside: [] }],
    };
    expect(execDecision(action(["/ws/deploy.sh"], { files, closed: true }), script).kind).toBe("run");
    for (const now of [
      [],
      [{ path: "deploy.sh", sha256: "2" }],
      [...files, { path: "more.sh", sha256: "1" }],
    ])
      expect(execDecision(action(["/ws/deploy.sh"], { files: now, closed: true }), script).kind).toBe("ask");
  });

  test("is worth nothing for a shell's line", () => {
    const line = action("whoami | cat");
    expect(
      execDecision(line, {
        ...policy(),
        grants: [{ argv: line.argv, cwd: "/ws", sandbox: "none", files: [], outside: [] }],
      }).kind,
    ).toBe("ask");
  });
});

describe("safe filters", () => {
  test.each([
    ["cut", "-d", ":", "-f1,3"],
    ["cut", "-f1"],
    ["cut", "--fields=1", "--complement"],
    ["uniq", "-c"],
    ["head", "-n", "5"],
    ["head", "-n5"],
    ["tail", "--lines=3"],
    ["tr", "a-z", "A-Z"],
    ["tr", "-d", "x"],
    ["wc", "-lw"],
    ["/bin/wc"],
  ])("%j reads its input and no file", (...argv) => {
    expect(isSafeFilter(bin(argv))).toBe(true);
    expect(kind(argv, policy())).toBe("run");
  });

  test.each([
    ["wc", "/etc/passwd"],
    ["wc", "--files0-from=x"],
    ["head", "f"],
    ["head", "-n", "/etc/passwd"],
    ["tail", "-f"],
    ["tail", "--follow"],
    ["tail", "-fn", "5"],
    ["uniq", "in", "out"],
    ["cut", "-f1", "file"],
    ["cut", "-f", "1", "--", "file"],
    ["tr", "a", "b", "c"],
    ["sort"],
    ["grep", "x"],
    ["jq", "."],
    ["/tmp/wc"],
    ["/usr/bin/sub/wc"],
    ["cut", "-d"],
    ["head", "--lines"],
    ["wc", "--lines=5"],
    ["head", "--constructor=1"],
    ["constructor"],
    ["wc", "-"],
  ])("%j is not one", (...argv) => {
    expect(isSafeFilter(bin(argv))).toBe(false);
  });
});

describe("a command line", () => {
  test("of plain words is split as a shell would, without one", () => {
    expect(readCommandLine(`git commit -m "two words" --author='A B <x>'`)).toEqual({
      kind: "words",
      argv: ["git", "commit", "-m", "two words", "--author=A B <x>"],
    });
    expect(readCommandLine(`echo a"b c"'d' ''`)).toEqual({ kind: "words", argv: ["echo", "ab cd", ""] });
  });

  test("of several commands is split at its operators, quotes respected", () => {
    expect(readCommandLine(`a 'x;y' && b|c || d ; e`)).toMatchObject({
      kind: "shell",
      parts: [["a", "x;y"], ["b"], ["c"], ["d"], ["e"]],
    });
    expect(readCommandLine("a & b")).toMatchObject({ kind: "shell", parts: null });
    expect(readCommandLine("a |& b")).toMatchObject({ kind: "shell", parts: null });
    // What only a shell knows is nowhere taken for a program.
    const shells =
      "if then else elif fi for while until do done case esac select function in time coproc eval exec source . alias builtin command set trap";
    for (const word of shells.split(" "))
      for (const line of [`${word} x`, `a && ${word} x`, `a | ${word}`])
        expect([line, readCommandLine(line)]).toEqual([line, { kind: "shell", parts: null, writes: [] }]);
    expect(readCommandLine("a time if")).toEqual({ kind: "words", argv: ["a", "time", "if"] });
  });

  test("tells where its output is sent", () => {
    expect(readCommandLine("a b > c && d 2>&1 >>e/f; g 2>/dev/null")).toEqual({
      kind: "shell",
      parts: [["a", "b"], ["d"], ["g"]],
      writes: ["c", "e/f", "/dev/null"],
    });
    expect(readCommandLine("a 'b > c'")).toEqual({ kind: "words", argv: ["a", "b > c"] });
    expect(readCommandLine("a2>b")).toMatchObject({ parts: [["a2"]], writes: ["b"] });
    for (const line of [
      "a > $b",
      "a > 'b'",
      "a >| b",
      "a &> b",
      "a > b > ",
      "> b",
      "a <b",
      "a >\nb",
      "a > b#c",
    ])
      expect(readCommandLine(line), line).toMatchObject({ kind: "shell", parts: null });
  });

  test("is only taken for words when sh reads the same words", async () => {
    const { execFileSync } = await import("node:child_process");
    const piece = fc.constantFrom(
      "a",
      " ",
      "  ",
      "'",
      '"',
      "\\",
      "$x",
      "`",
      "|",
      "&",
      ";",
      "*",
      "~",
      "#",
      "=",
      "-",
      "{a,b}",
      "!",
      "\t",
      "\n",
      "<",
      ">",
      "[",
      "é",
      "(",
      "%",
    );
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 8 }), (pieces) => {
        const line = pieces.join("");
        const read = readCommandLine(`printf '%s\\0' ${line}`.replace("\\0", "<>"));
        if (read.kind !== "words" || read.argv.length < 3) return;
        const output = execFileSync("/bin/sh", ["-c", `printf '%s<>' ${line}`], {
          cwd: "/usr/lib",
          encoding: "utf8",
        });
        expect(output).toBe(
          read.argv
            .slice(2)
            .map((word) => `${word}<>`)
            .join(""),
        );
      }),
      { numRuns: 400 },
    );
  });
});

describe("what is shown and hashed", () => {
  test("differs whenever anything differs that matters", () => {
    const base = action(["ls", "a b"]);
    const others: ExecAction[] = [
      action(["ls", "a", "b"]),
      action("ls 'a b' | wc"),
      { ...base, cwd: "/ws/x" },
      { ...base, env: { A: "1" } },
      { ...base, env: { A: "1", B: "2" } },
      { ...base, sandbox: "docker" },
      { ...base, interactive: true },
      { ...base, shell: true },
      { ...base, files: [{ path: "a", sha256: "1" }] },
      { ...base, files: [{ path: "a", sha256: "2" }] },
    ];
    expect(new Set([base, ...others].map(actionHash)).size).toBe(others.length + 1);
    expect(actionHash({ ...base, env: { B: "2", A: "1" } })).toBe(
      actionHash({ ...base, env: { A: "1", B: "2" } }),
    );
  });

  test("hides nothing: no cut, no direction marks, no line breaks", () => {
    const tail = `x\u202e\u200b\nrm -rf /${"y".repeat(5_000)}END`;
    const shown = describeAction(action(["ls", tail], { env: { A: "it's" } }));
    expect(shown).toContain("\\u{202e}\\u{200b}\\u{a}rm -rf /");
    expect(shown).toContain("END'");
    expect(shown).toContain("with: A='it'\\''s'");
    expect(/[\u0000-\u0009\u000b-\u001f\u200b-\u200f\u202a-\u202e]/.test(shown)).toBe(false);
    expect(describeAction(action("ls | wc"))).toContain("shell: ls | wc");
  });
});

describe("the environment of a command", () => {
  test("has a few harmless names of the host, what the turn needs, and what the model adds", () => {
    const env = commandEnv(
      { PATH: "/bin", LC_ALL: "C", API_KEY: "secret", NODE_OPTIONS: "x", LD_PRELOAD: "y" },
      { SKILL_KEY: "k" },
      { COLOR: "1", LC_ALL: "D" },
    );
    expect(env).toEqual({
      PATH: "/bin",
      LC_ALL: "C",
      SKILL_KEY: "k",
      COLOR: "1",
      TERM: "dumb",
      PARLEY_SHELL: "exec",
      GIT_CONFIG_COUNT: "6",
      GIT_CONFIG_KEY_0: "safe.bareRepository",
      GIT_CONFIG_VALUE_0: "explicit",
      GIT_CONFIG_KEY_1: "core.fsmonitor",
      GIT_CONFIG_VALUE_1: "false",
      GIT_CONFIG_KEY_2: "core.hooksPath",
      GIT_CONFIG_VALUE_2: "/dev/null",
      GIT_CONFIG_KEY_3: "core.pager",
      GIT_CONFIG_VALUE_3: "cat",
      GIT_CONFIG_KEY_4: "core.alternateRefsCommand",
      GIT_CONFIG_VALUE_4: "",
      GIT_CONFIG_KEY_5: "protocol.ext.allow",
      GIT_CONFIG_VALUE_5: "never",
    });
  });

  test("has each name of the host that is harmless and none beside them; the turn wins over the host, and both over the model", () => {
    const harmless = "USER LOGNAME LANG LANGUAGE TZ LC_TIME LC_ALL".split(" ");
    const settled = "PATH HOME SHELL TMPDIR XDG_RUNTIME_DIR".split(" ");
    const others =
      "AWS_SECRET_ACCESS_KEY PWD OLDPWD PATHS MYPATH LCX XDG_CONFIG_HOME SSH_AUTH_SOCK GIT_DIR EDITOR";
    const host = (names: readonly string[]) =>
      Object.fromEntries(names.map((name) => [name, `host's ${name}`]));
    const kept = host([...harmless, ...settled]);
    const all = { ...kept, ...host(others.split(" ")) };
    const own = commandEnv(all, {}, {});
    expect(
      Object.keys(own)
        .filter((name) => !name.startsWith("GIT_CONFIG_"))
        .toSorted(),
    ).toEqual([...harmless, ...settled, "TERM", "PARLEY_SHELL"].toSorted());
    expect(own).toMatchObject(kept);
    const asked = Object.fromEntries(harmless.map((name) => [name, "the model's"]));
    expect(commandEnv(all, {}, asked)).toEqual(own);
    expect(commandEnv({}, {}, asked)).toMatchObject(asked);
    const turn = Object.fromEntries([...harmless, ...settled].map((name) => [name, "the turn's"]));
    expect(commandEnv(all, turn, asked)).toMatchObject(turn);
    expect(commandEnv(all, { TERM: "x", PARLEY_SHELL: "x" }, {})).toEqual(own);
  });

  test.each(
    "PATH LD_PRELOAD DYLD_INSERT_LIBRARIES NODE_OPTIONS BASH_ENV ENV IFS GIT_SSH_COMMAND PYTHONSTARTUP PERL5OPT npm_config_script_shell PARLEY_HOME PAGER GIT_PAGER path EDITOR HTTPS_PROXY BASH_FUNC_ls%% SHELLOPTS".split(
      " ",
    ),
  )("%s may not be set by a model", (name) => {
    expect(() => commandEnv({}, {}, { [name]: "x" })).toThrow();
  });

  test("takes no broken names or values", () => {
    for (const asked of [{ "A=B": "x" }, { "": "x" }, { A: "x\0y" }, { "1A": "x" }])
      expect(() => commandEnv({}, {}, asked)).toThrow(/name|NUL/);
  });
});

test("a part that begins with an assignment or a word of the shell's own is the shell's, and nobody knows what it runs", () => {
  const uncertain = { kind: "shell", parts: null, writes: [] };
  for (const line of [
    "A=1 ls",
    "A= ls",
    "ls && A=1 ls",
    "'A=1' ls",
    "if ls",
    "ls; done",
    "exec ls",
    "trap ls",
  ])
    expect(readCommandLine(line), line).toEqual(uncertain);
  expect(readCommandLine("ls A=1 if")).toEqual({ kind: "words", argv: ["ls", "A=1", "if"] });
});
