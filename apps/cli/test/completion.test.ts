// Completion as a shell does it: every command, its options, and nothing for what is not there.
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { parley, stateFolder } from "./fake-gateway.ts";

async function script(shell: string): Promise<string> {
  return (await parley(stateFolder(null), ["completion", shell])).out;
}

test("bash completes commands, their own commands and options", async () => {
  const text = await script("bash");
  const complete = (...words: readonly string[]): readonly string[] => {
    const ask = `${text}\nCOMP_WORDS=(parley ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _parley; printf '%s\\n' "\${COMPREPLY[@]}"`;
    return execFileSync("bash", ["-c", ask], { encoding: "utf8" }).trim().split("\n");
  };
  expect(complete("sta")).toEqual(["start", "status"]);
  expect(complete("outbox", "")).toEqual(expect.arrayContaining(["list", "retry", "drop"]));
  expect(complete("outbox", "list", "--")).toEqual(
    expect.arrayContaining(["--troubled", "--lane", "--json", "--help"]),
  );
  expect(complete("--json", "service", "un")).toEqual(["uninstall"]);
  expect(complete("why", "a", "word", "--j")).toEqual(["--json"]);
  expect(complete("nonsense")).toEqual([""]);
});

test("zsh and fish get a script with every command in it", async () => {
  const [zsh, fish] = [await script("zsh"), await script("fish")];
  expect(zsh).toContain("#compdef parley");
  expect(zsh).toContain("'doctor:look for what is wrong or unsafe, and say how to mend it'");
  // What a shell would take for the end of a word, or of what is said of it, stands as itself.
  expect(zsh).toContain(
    String.raw`'--api-key:the provider'\''s key; env\:NAME reads it from a variable each time, - from standard input once'`,
  );
  expect(fish).toContain(
    String.raw`complete -c parley -n '__parley_at "setup"' -l api-key -d 'the provider\'s key; env:NAME reads it from a variable each time, - from standard input once'`,
  );
  for (const [text, place] of [
    [zsh, `      "outbox") found=('list:show what waits and what is in trouble' 'show:`],
    [fish, `complete -c parley -n '__parley_at ""' -a outbox -d 'answers that wait or did not arrive'`],
    [fish, `complete -c parley -n '__parley_at "outbox list"' -l help -d 'show help'`],
  ] as const)
    expect(text).toContain(place);
  const { out } = await parley(stateFolder(null), ["completion", "zsh", "--json"]);
  expect(JSON.parse(out)).toEqual({ shell: "zsh", script: zsh.trimEnd() });
  expect(fish).toContain(`complete -c parley -n '__parley_at "service"' -a install`);
  expect(fish).toContain(`complete -c parley -n '__parley_at "logs"' -l follow`);
});

test("another shell is refused: exit code 2", async () => {
  expect(await parley(stateFolder(null), ["completion", "tcsh"])).toMatchObject({ exitCode: 2, out: "" });
});
