// Which commands are known to the last line: system programs and scripts of the workspace that run nothing
// else. What writes into a script while a shell reads it is not one of them.
import { createHash } from "node:crypto";
import { chmodSync, linkSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { closedScripts } from "../src/exec/closed-script.ts";
import { rooted } from "../src/files/rooted.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "parley-closed-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
});
const put = (name: string, ...lines: readonly string[]): void => {
  writeFileSync(join(root, name), lines.join("\n"));
  chmodSync(join(root, name), 0o700);
};
const at = (word: string): string => (word.startsWith("/") ? word : join(root, word));
const system = new Map(["ls", "cat", "sh", "bash", "node", "git"].map((name) => [name, `/usr/bin/${name}`]));
const find = async (name: string): Promise<string> =>
  system.get(name) ?? (name.startsWith("./") ? at(name.slice(2)) : name);

/** The names of the scripts; null where the command is not closed. */
async function scripts(line: string, writes: readonly string[] = []): Promise<readonly string[] | null> {
  const commands = await Promise.all(
    line.split(" && ").map(async (one) => {
      const [program = "", ...args] = one.split(" ");
      return [await find(program), ...args];
    }),
  );
  const closed = await closedScripts(commands, writes, { files: rooted({ root }), at, find });
  return closed === null ? null : closed.scripts.map(({ path }) => path.slice(path.lastIndexOf("/") + 1));
}

test("a script of known commands is known, as is what it calls, each once", async () => {
  put("a.sh", "#!/bin/sh -e", "# words", "set -e", "", "echo begins", "  ls -l .\t", "sh b.sh", "./c.sh");
  put("b.sh", "ls", "./c.sh", "cat x");
  put("c.sh", "#!/usr/bin/env bash", "exit 0");
  expect(await scripts("./a.sh")).toEqual(["a.sh", "b.sh", "c.sh"]);
  expect(await scripts("ls && sh b.sh && sh c.sh")).toEqual(["b.sh", "c.sh"]);
  expect(await scripts("ls . && cat a.sh")).toEqual([]);
  const [file] =
    (await closedScripts([[at("c.sh")]], [], { files: rooted({ root }), at, find }))?.scripts ?? [];
  const words = "#!/usr/bin/env bash\nexit 0";
  expect(file?.sha256).toBe(createHash("sha256").update(words).digest("hex"));
});

test("what writes into a script that a shell still reads is not known, by whichever name and way", async () => {
  put("quiet.sh", "#!/bin/sh", "ls > out.txt", "ls 2> /dev/null");
  expect(await scripts("./quiet.sh")).toEqual(["quiet.sh"]);
  expect(await scripts("./quiet.sh", ["other.txt", "/dev/null"])).toEqual(["quiet.sh"]);
  for (const written of ["quiet.sh", "./quiet.sh", join(root, "quiet.sh")])
    expect(await scripts("./quiet.sh", [written]), written).toBeNull();
  symlinkSync("quiet.sh", join(root, "link.sh"));
  expect(await scripts("./quiet.sh", ["link.sh"])).toBeNull();
  put("self.sh", "#!/bin/sh", "ls", "ls >> self.sh");
  put("calls.sh", "#!/bin/sh", "./quiet.sh", "cat x > quiet.sh");
  put("writes.sh", "#!/bin/sh", "./inner.sh");
  put("inner.sh", "#!/bin/sh", "ls > writes.sh");
  for (const name of ["self.sh", "calls.sh", "writes.sh"])
    expect(await scripts(`./${name}`), name).toBeNull();
  // Where no script runs, what is written is nobody's to read on.
  expect(await scripts("ls", ["quiet.sh"])).toEqual([]);
  expect(await scripts("sh quiet.sh && ls", ["new.txt"])).toEqual(["quiet.sh"]);
});

test.each<[string, readonly string[]]>([
  ["a line that starts another program", ["#!/bin/sh", "ls", "node x.js"]],
  ["git, which runs what the repository names", ["#!/bin/sh", "git status"]],
  ["a loop", ["#!/bin/sh", "for x in a; do ls; done"]],
  ["a variable as a command", ["#!/bin/sh", "$X"]],
  ["another interpreter", ["#!/usr/bin/python3", "ls"]],
  ["no first line", ["ls"]],
  ["a switch that is more than strictness", ["#!/bin/sh", "set -o allexport"]],
  ["a byte that is no text", ["#!/bin/sh", "ls \0"]],
  ["another white space before a command", ["#!/bin/sh", "\u00a0ls"]],
  ["a script that is not there", ["#!/bin/sh", "./gone.sh"]],
])("a script with %s is not known", async (_what, lines) => {
  put("x.sh", ...lines);
  expect(await scripts("./x.sh")).toBeNull();
});

test("the first lines, the words of the shell itself and the switches that start nothing, and none beside them", async () => {
  const first = async (line: string): Promise<boolean> => {
    put("x.sh", line, "ls");
    return (await scripts("./x.sh")) !== null;
  };
  const known = [
    ...["/bin/sh", "/bin/bash", "/bin/dash", "/usr/bin/sh", "/usr/bin/bash", "/usr/bin/dash"].map(
      (each) => `#!${each}`,
    ),
    "#! \t/bin/sh \t",
    "#!/bin/sh -e",
    "#!/bin/bash -eux",
    "#!/usr/bin/env sh",
    "#!/usr/bin/env bash",
    "#!/usr/bin/env dash",
  ];
  const unknown = [
    "#!/bin/zsh",
    "#!/bin/ash",
    "#!/usr/local/bin/sh",
    "#!/bin/sh -c",
    "#!/bin/sh -e -u",
    "#!/bin/sh e",
    "#!sh",
    "#!/usr/bin/env -S sh",
    "#!/usr/bin/env sh -e",
    "#!/usr/bin/env python3",
    "# !/bin/sh",
    " #!/bin/sh",
    "",
  ];
  const found = [];
  for (const line of [...known, ...unknown]) if (await first(line)) found.push(line);
  expect(found).toEqual(known);
  const line = async (words: string): Promise<boolean> => {
    put("y.sh", words);
    return (await scripts("sh y.sh")) !== null;
  };
  const own = ["echo a", "true", "false", "pwd", "exit 3", ":", ": a b", "set -e", "set -eux", "set -u"];
  const more = [
    "set +e",
    "set -o",
    "set -f",
    "set -e -u",
    "set",
    "echo2",
    "cd x",
    "export A=1",
    "read x",
    "eval ls",
    "test a",
    "[ a ]",
    "kill 1",
    "trap ls EXIT",
    "source y",
    "umask 0",
    "wait",
    "shift",
    "A=1 ls",
    "printf a",
  ];
  const fine = [];
  for (const words of [...own, ...more]) if (await line(words)) fine.push(words);
  expect(fine).toEqual(own);
});

test("a script has sixty-four kilobytes at most, and a command thirty-two scripts", async () => {
  const head = "#!/bin/sh\n#";
  put("most.sh", head + "x".repeat(64 * 1_024 - head.length));
  put("more.sh", head + "x".repeat(64 * 1_024 - head.length + 1));
  expect([await scripts("./most.sh"), await scripts("./more.sh")]).toEqual([["most.sh"], null]);
  for (let nth = 1; nth <= 33; nth += 1)
    put(`s${nth}.sh`, "#!/bin/sh", nth === 1 ? "ls" : `./s${nth - 1}.sh`);
  expect((await scripts("./s32.sh"))?.length).toBe(32);
  expect(await scripts("./s33.sh")).toBeNull();
});

test("a shell that is given more than a file of the workspace is not known", async () => {
  put("a.sh", "ls");
  linkSync(join(root, "a.sh"), join(root, "b.sh"));
  for (const line of ["sh", "sh -c ls", "sh +x a.sh", "bash -e a.sh", "sh gone.sh", "sh ..", "nothing"])
    expect(await scripts(line), line).toBeNull();
  expect(await scripts("bash a.sh -x --words")).toEqual(["a.sh"]);
});
