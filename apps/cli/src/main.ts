#!/usr/bin/env node
// Entry of `parley`: hands the process's own streams and arguments to the command line.
import { runCommandLine } from "./program.ts";

process.exitCode = await runCommandLine(process.argv.slice(2), {
  input: process.stdin,
  out: process.stdout,
  err: process.stderr,
});
