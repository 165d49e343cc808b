// Reads the verb and hands over. Zero dependencies, any Node >= 18.
import { runChecks } from "./checks.mjs";
import { SetupProblem } from "./problem.mjs";
import { runAs } from "./run-as.mjs";
import { setUp } from "./set-up.mjs";

const usage =
  "usage: node scripts/dev.mjs install [--update | --all | --to-start] | exec <cmd> [args...] | test [--long-only] [vitest args...]";

/** @param {string[]} argv what follows the script's own name */
export async function main([verb, ...args]) {
  if (verb === "install" && args.every((how) => ["--update", "--all", "--to-start"].includes(how))) {
    const [toStart, update] = [args.includes("--to-start"), args.includes("--update")];
    const dependencies = toStart ? "run" : update || args.includes("--all") ? "all" : "as before";
    setUp({ web: true, update, programs: toStart ? "any" : "fresh", dependencies });
  } else if (verb === "exec" && args.length > 0) {
    setUp({ web: false });
    await runAs(args[0], args.slice(1));
  } else if (verb === "test") {
    process.exitCode = await runChecks(args);
  } else {
    throw new SetupProblem(usage);
  }
}
