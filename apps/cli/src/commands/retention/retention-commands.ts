// `parley retention`, as the command line knows it; what it does is beside this file.
import type { Command } from "commander";
import type { Operations } from "../../operations.ts";

export function addRetention(program: Command, { command, terminal, done }: Operations): void {
  command(program, "retention", "show what age and size take of what is stored, and with --yes take it now")
    .option("--dry-run", "only show it, as without --yes")
    .option("--yes", "do it")
    .action(async (flags: { yes?: boolean; dryRun?: boolean }) =>
      done(await (await import("./retention.ts")).runRetention(await terminal(), flags)),
    );
}
