// The `parley` command.
export { runCommandLine } from "./program.ts";
