#!/usr/bin/env -S node --disable-sigusr1
// Entry of `parley`: hands the process's own streams and arguments to the command line.
import { runCommandLine } from "./program.ts";

// A reader that has seen enough (`parley why x | head`) closes the pipe: nothing is wrong, and nobody is left
// to tell. Anything else, as a full disk, means that what was asked for is not there.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code === "EPIPE") process.exit(0);
  process.stderr.write(`Standard output could not be written: ${error.message}\n`);
  process.exit(1);
});
process.stderr.on("error", () => {});

process.exitCode = await runCommandLine(process.argv.slice(2), {
  input: process.stdin,
  out: process.stdout,
  err: process.stderr,
});
