// What a name in the allowlist allows: words that Parley vouches for, and no program that nobody told it of.
// The classes of escape that were found from outside, and what a list of bad programs can never hold.
import { readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { execDecision, type AllowedCommand, type ExecAction, type ExecPolicy } from "../src/index.ts";
import { isSafeFilter, knownForm } from "../src/exec/known-programs.ts";

const at = ([program = "", ...args]: readonly string[]): readonly string[] => [
  program.includes("/") ? program : `/usr/bin/${program}`,
  ...args,
];
const action = (argv: readonly string[], more: Partial<ExecAction> = {}): ExecAction => ({
  kind: "exec",
  argv: at(argv),
  shell: false,
  parts: [at(argv)],
  cwd: "/ws",
  env: {},
  sandbox: "none",
  interactive: false,
  files: [],
  closed: false,
  outside: [],
  ...more,
});
const rules = (owner: boolean, ...allowlist: readonly AllowedCommand[]): ExecPolicy => ({
  mode: "allowlist",
  ask: "on-miss",
  allowlist,
  grants: [],
  owner,
});
const byName = (...argv: readonly string[]): string =>
  execDecision(action(argv), rules(true, { command: argv[0] ?? "" })).kind;

describe("a program's name alone", () => {
  test.each([
    ["setarch", "x86_64", "sh"],
    ["linux64", "sh", "-c", "id"],
    ["linux32", "id"],
    ["i386", "id"],
    ["x86_64", "id"],
    ["choom", "-n", "0", "--", "sh"],
    ["ssh-agent", "sh", "-c", "id"],
    ["prove", "t.pl"],
    ["prove"],
    ["sotruss", "id"],
    ["dbus-run-session", "id"],
    ["cpp", "-wrapper", "sh"],
    ["g++", "-wrapper", "sh,-c,id", "x.c"],
    ["make"],
    ["env"],
    ["sh"],
    ["xargs"],
    ["awk", 'BEGIN{system("id")}'],
    ["awk", "1", "f"],
    ["sed", "s/a/b/e"],
    ["sed", "w out"],
    ["jq", "-f", "x.jq"],
    ["jq", "env"],
    ["tar", "xf", "x", "--to-command=sh"],
    ["tar", "tf", "x"],
    ["vi", "x"],
    ["less", "x"],
    ["man", "x"],
    ["curl", "file:///etc/passwd"],
    ["a-program-of-tomorrow"],
  ])("does not allow what nobody vouches for: %j", (...argv) => {
    expect(byName(...argv)).toBe("ask");
  });

  test("allows none of this machine's programs to start a shell", () => {
    const words = [
      ["sh", "-c", "id"],
      ["-c", "id"],
      ["-e", "sh"],
      ["--", "sh"],
      ["x86_64", "sh"],
      ["-exec", "sh", ";"],
      ["-wrapper", "sh"],
      [],
    ];
    // With words that are text or names of files to them.
    const harmless =
      /^(?:arch|b2sum|base64|basename|cat|cksum|cmp|comm|cut|date|df|diff|dirname|du|echo|[ef]?grep|false|file|find|fold|groups|head|hexdump|hostname|id|logname|ls|md5sum|mkdir|nl|nproc|od|paste|printf|pwd|readlink|realpath|rev|rg|seq|sha\d+sum|sleep|sort|stat|tac|tail|touch|tr|tree|true|uname|uniq|uptime|wc|which|whoami)$/;
    const programs = ["/usr/bin", "/bin", "/usr/sbin"].flatMap((folder) =>
      readdirSync(folder).map((name) => `${folder}/${name}`),
    );
    expect(programs.length).toBeGreaterThan(100);
    for (const program of programs.filter((each) => !harmless.test(each.slice(each.lastIndexOf("/") + 1))))
      for (const args of words) expect(byName(program, ...args), [program, ...args].join(" ")).toBe("ask");
  });

  test.each([
    ["sort", "-o", "x"],
    ["sort", "-rox"],
    ["sort", "f", "-o", "x"],
    ["sort", "--out=x"],
    ["sort", "--compress-program=sh"],
    ["sort", "--compress-prog", "sh"],
    ["sort", "-T", "/tmp"],
    ["sort", "--files0-from=x"],
    ["uniq", "in", "out"],
    ["uniq", "-c", "--", "in", "out"],
    ["find", ".", "-exec", "id", ";"],
    ["find", ".", "-execdir", "id", "+"],
    ["find", ".", "-ok", "id", ";"],
    ["find", ".", "-delete"],
    ["find", ".", "-fprint", "x"],
    ["find", ".", "-fprint0", "x"],
    ["find", ".", "-fprintf", "x", "y"],
    ["find", ".", "-fls", "x"],
    ["find", "-files0-from", "x"],
    ["find", "-L", "."],
    ["find", ".", "-name"],
    ["rg", "--pre", "sh", "x"],
    ["rg", "--pre=sh", "x"],
    ["rg", "--hostname-bin=sh", "x"],
    ["rg", "-z", "x"],
    ["rg", "-f", "x"],
    ["rg", "-L", "x"],
    ["grep", "-f", "x"],
    ["grep", "-rfx", "."],
    ["grep", "-R", "x"],
    ["diff", "-l", "a", "b"],
    ["diff", "--paginate", "a", "b"],
    ["tree", "-o", "x"],
    ["tree", "-R", "-L", "1"],
    ["file", "-C", "-m", "x"],
    ["file", "-f", "x"],
    ["date", "-s", "now"],
    ["date", "01010000"],
    ["hostname", "new"],
    ["tail", "-f", "x"],
    ["wc", "--files0-from=x"],
    ["du", "--files0-from=x"],
    ["ls", "-L"],
    ["printf", "-v", "PATH"],
    ["rm", "x"],
    ["cp", "a", "b"],
    ["mv", "a", "b"],
    ["ln", "-s", "/", "x"],
    ["tee", "x"],
    ["chmod", "+x", "x"],
  ])("does not allow words that write, open lists or start something: %j", (...argv) => {
    expect(byName(...argv)).toBe("ask");
  });

  test.each([
    ["cat", "-n", "a", "b"],
    ["ls", "-la", "--color=auto", "sub"],
    ["grep", "-rn", "--include=*.ts", "-C3", "x", "."],
    ["grep", "-e", "x", "f"],
    ["rg", "-n", "-t", "ts", "x"],
    ["find", ".", "-type", "f", "(", "-name", "*.ts", "-o", "-mtime", "-1", ")", "-print"],
    ["sort", "-k2,2n", "-t:", "-u", "f"],
    ["uniq", "-c", "f"],
    ["head", "-5", "f"],
    ["tail", "-n", "+3", "f"],
    ["diff", "-u", "a", "b"],
    ["date", "+%F"],
    ["date", "-u"],
    ["echo", "-n", "--x", "$(id)"],
    ["printf", "%s", "x"],
    ["uname", "-a"],
    ["wc", "-l", "f"],
    ["du", "-sh", "."],
    ["mkdir", "-p", "a/b"],
    ["touch", "a"],
    ["sha256sum", "f"],
  ])("allows words that only look, and folders and empty files: %j", (...argv) => {
    expect(byName(...argv)).toBe("run");
  });

  test("reaches no file that the file tools do not reach", () => {
    const decision = execDecision(
      action(["cat", "/etc/passwd"], { outside: ["/etc/passwd"] }),
      rules(true, { command: "cat" }),
    );
    expect(decision).toMatchObject({
      kind: "ask",
      reason: expect.stringContaining("/etc/passwd is out of the file tools' reach"),
    });
  });
});

describe("git by its name", () => {
  test.each(
    [
      "x/y",
      "merge-index sh -a",
      "merge-one-file a",
      "difftool--helper",
      "mergetool",
      "difftool",
      "format-patch --output-directory=/x HEAD",
      "format-patch -o /x HEAD",
      "init /x",
      "init",
      "clone x y",
      "apply x.patch",
      "am x",
      "commit -m x",
      "push",
      "fetch",
      "pull",
      "ls-remote ext::sh",
      "submodule status",
      "submodule foreach id",
      "bisect run id",
      "rebase -x id",
      "filter-branch",
      "config -l",
      "config core.pager id",
      "config --file=x a b",
      "var GIT_EDITOR",
      "help log",
      "--help",
      "log --help",
      "daemon",
      "upload-pack .",
      "shell",
      "web--browse x",
      "sh-i18n--envsubst x",
      "archive -o x HEAD",
      "bundle create x HEAD",
      "fast-export --export-marks=x HEAD",
      "checkout x",
      "restore x",
      "reset --hard",
      "stash",
      "stash pop",
      "stash drop",
      "clean -fdx",
      "rm x",
      "mv a b",
      "gc",
      "hook run x",
      "notes edit",
      "worktree add x",
      "branch new",
      "branch -a new",
      "branch -D x",
      "branch -m x y",
      "branch --edit-description",
      "branch --set-upstream-to=x",
      "branch --list -D x",
      "tag new",
      "tag -d x",
      "tag -v x",
      "tag -l -d x",
      "symbolic-ref HEAD refs/x",
      "symbolic-ref -d HEAD",
      "remote add x y",
      "remote update",
      "remote show origin",
      "reflog expire --all",
      "reflog delete x",
      "reflog drop x",
      "verify-commit HEAD",
      "cat-file --textconv HEAD:f",
      "cat-file --batch",
      "log --output=x",
      "log --outpu=x",
      "log --show-signature",
      "log --show-sig",
      "log --format=%G?",
      "log --pretty=%+GG",
      "log --ext-diff -p",
      "log --textconv -p",
      "log --remerge-diff",
      "log --diff-merges=remerge",
      "log -p -O x",
      "log -zOx",
      "log --submodule=diff -p",
      "log --alternate-refs",
      "log --stdin",
      "diff --no-index a b",
      "diff --output x",
      "diff --ext-diff",
      "show --ext-diff",
      "for-each-ref --format=%(signature)",
      "for-each-ref --format=%(*signature:grade)",
      "for-each-ref --sort=signature",
      "branch --list --sort=-*signature:key",
      "grep -O x",
      "grep -Oid x",
      "grep --open-files-in-pager=id x",
      "grep --open=id x",
      "grep --no-index x /etc",
      "grep -f /etc/shadow",
      "grep --textconv x",
      "grep --recurse-submodules x",
      "blame --contents=/etc/passwd f",
      "blame --contents /etc/passwd f",
      "blame -S x f",
      "blame --ignore-revs-file=x f",
      "ls-files --exclude-from=x",
      "ls-files -X x",
      "ls-files --recurse-submodules",
      "status --recurse",
      "-c core.pager=id log",
      "-ccore.pager=id log",
      "--config-env=core.pager=X log",
      "--exec-path=/x log",
      "--exec-path",
      "--git-dir=evil log",
      "--git-dir evil log",
      "--work-tree=/ status",
      "--namespace=x log",
      "--super-prefix=x log",
      "--attr-source=x log",
      "--bare log",
      "-p log",
      "--paginate log",
      "--list-cmds=main",
      "-C a -C b log",
      "-C -p log",
      "constructor",
      "",
    ].map((line) => [line]),
  )("does not allow: git %s", (line) => {
    expect(byName("git", ...line.split(" ").filter((word) => word !== ""))).toBe("ask");
  });

  test.each(
    [
      "status",
      "status -sb --porcelain",
      "-C sub status",
      "--no-pager log --oneline -5",
      "log -p -n 3 --stat --since=yesterday -- f",
      "log -S text -G regex --author=x --all --graph --decorate",
      "diff",
      "diff --cached --name-only main...HEAD",
      "diff HEAD~1 -- a b",
      "show HEAD:f",
      "show --stat HEAD",
      "blame -w -L 1,5 f",
      "branch",
      "branch -avv",
      "branch --list x*",
      "branch --show-current",
      "tag",
      "tag -l v1*",
      "remote -v",
      "remote get-url origin",
      "rev-parse --abbrev-ref HEAD",
      "rev-parse --show-toplevel",
      "rev-list --count HEAD",
      "ls-files -o --exclude-standard",
      "ls-tree -r HEAD",
      "cat-file -p HEAD",
      "describe --tags --always",
      "shortlog -sn HEAD",
      "grep -n text -- f",
      "reflog",
      "reflog show -n 3",
      "stash list",
      "stash show",
      "worktree list",
      "merge-base main HEAD",
      "for-each-ref --format=%(refname)",
      "check-ignore -v f",
      "count-objects -v",
      "--version",
    ].map((line) => [line]),
  )("allows: git %s", (line) => {
    expect(byName("git", ...line.split(" "))).toBe("run");
  });

  test("tells each path that it would read, from where it is sent", () => {
    expect(knownForm(at(["git", "-C", "sub", "diff", "/etc/passwd", "../x"]))?.reads).toEqual([
      "sub",
      "/etc/passwd",
      "sub/../x",
    ]);
    expect(knownForm(at(["grep", "-e", "x", "/etc/shadow"]))?.reads).toEqual(["/etc/shadow"]);
    expect(knownForm(at(["grep", "--regexp=x", "/etc/shadow"]))?.reads).toEqual(["/etc/shadow"]);
    expect(knownForm(at(["rg", "--files", "/etc"]))?.reads).toEqual(["/etc"]);
    expect(knownForm(at(["find", "/", "-newer", "/etc/x"]))?.reads).toEqual(["/", "/etc/x"]);
  });
});

describe("an argPattern", () => {
  const npm = { command: "npm", argPattern: "test" };
  test("allows an owner what it matches, also what nobody vouches for", () => {
    expect(execDecision(action(["npm", "test"]), rules(true, npm)).kind).toBe("run");
    expect(execDecision(action(["npm", "test", "x"]), rules(true, npm)).kind).toBe("ask");
  });
  test("allows others only what Parley vouches for: what they wrote into the folder is what would run", () => {
    expect(execDecision(action(["npm", "test"]), rules(false, npm))).toMatchObject({
      kind: "ask",
      reason: expect.stringContaining("whoever asks is no owner"),
    });
    expect(
      execDecision(action(["cat", "/var/log/x"]), rules(false, { command: "cat", argPattern: "/var/log/x" }))
        .kind,
    ).toBe("run");
    expect(
      execDecision(action(["rm", "build/x"]), rules(false, { command: "rm", argPattern: "build/x" })).kind,
    ).toBe("run");
    expect(execDecision(action(["git", "status"]), rules(false, { command: "git" })).kind).toBe("run");
  });
});

test("a filter that reads a file is no filter", () => {
  for (const argv of [
    ["wc", "f"],
    ["head", "-n", "f"],
    ["cut", "-f1", "--", "f"],
    ["uniq", "f"],
    ["wc", "-"],
  ])
    expect(isSafeFilter(at(argv)), argv.join(" ")).toBe(false);
});
