// The words of the command line, out of its own completion; asked for once.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../../../../bin/parley", import.meta.url));
let known: ReadonlySet<string> | undefined;

export function cliCommands(): ReadonlySet<string> {
  known ??= new Set([...completion().matchAll(/^ +"([a-z -]+)"\) words=/gm)].map(([, words = ""]) => words));
  return known;
}

function completion(): string {
  return execFileSync(program, ["completion", "bash"], { encoding: "utf8" });
}
