// `parley update`, as the command line knows it.
import { Option, type Command } from "commander";
import type { Operations } from "../../operations.ts";
import type { UpdateFlags } from "./update-flags.ts";

export function addUpdate(program: Command, { command, terminal, done }: Operations): void {
  command(
    program,
    "update",
    "bring a new version: checked, backed up, restarted, watched, and taken back by itself if it does not do",
  )
    .option("--check", "tell what is there, and change nothing")
    .option("--to <version>", "this version, not the newest one")
    .option(
      "--from <where>",
      "a folder or an https address with releases, not update.url; for a checkout a git repository",
    )
    .option("--watch <seconds>", "how long the new version has to do well (default: update.watchSeconds, 60)")
    .option(
      "--restore-backup",
      "to go back to a version that does not know the database: put the copy from before in its place",
    )
    .addOption(new Option("--asked-by <id>").hideHelp())
    .addOption(new Option("--resume").hideHelp())
    .addOption(new Option("--at-start <root>").hideHelp())
    .action(async (flags: UpdateFlags) =>
      done(await (await import("./update.ts")).update(await terminal(), flags)),
    );
}
