#!/usr/bin/env -S node --disable-sigusr1
// Entry of `parley`: hands the process's own streams and arguments to the command line.
import { runCommandLine } from "./program.ts";

// A reader that has seen enough (`parley why x | head`) closes the pipe: nothing is wrong, and nobody is left to tell.
process.stdout.on("error", () => process.exit(0));

process.exitCode = await runCommandLine(process.argv.slice(2), {
  input: process.stdin,
  out: process.stdout,
  err: process.stderr,
});
