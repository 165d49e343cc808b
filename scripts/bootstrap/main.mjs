// Reads the verb and hands over. Zero dependencies, any Node >= 18.
import { runChecks } from "./checks.mjs";
import { SetupProblem } from "./problem.mjs";
import { runAs } from "./run-as.mjs";
import { setUp } from "./set-up.mjs";

const usage =
  "usage: node scripts/dev.mjs install [--update | --to-start] | exec <cmd> [args...] | test [--long-only] [vitest args...]";

/** @param {string[]} argv what follows the script's own name */
export async function main([verb, ...args]) {
  if (verb === "install" && args.length < 2 && ["--update", "--to-start"].includes(args[0] ?? "--update")) {
    const [how] = args;
    setUp({ web: true, update: how === "--update", programs: how === "--to-start" ? "any" : "fresh" });
  } else if (verb === "exec" && args.length > 0) {
    setUp({ web: false });
    await runAs(args[0], args.slice(1));
  } else if (verb === "test") {
    process.exitCode = await runChecks(args);
  } else {
    throw new SetupProblem(usage);
  }
}
