// `parley forget` and `parley export`, as the command line knows them; what they do is beside this file.
import type { Command } from "commander";
import type { Operations } from "../../operations.ts";

export function addPeople(program: Command, { command, terminal, done }: Operations): void {
  const forget = program.command("forget").description("remove for good what is stored of somebody");
  command(
    forget,
    "person <id>",
    "show how much is stored of a person (telegram:123456789), and with --yes remove all of it",
  )
    .option("--yes", "do it")
    .action(async (id: string, flags: { yes?: boolean }) =>
      done(await (await import("./forget-person.ts")).forgetPerson(await terminal(), id, flags)),
    );
  const out = program.command("export").description("hand out what is stored of somebody");
  command(
    out,
    "person <id> <folder-or-tar>",
    "write what is stored of a person, with the files, to a new folder, or to a file NAME.tar",
  ).action(async (id: string, to: string) =>
    done(await (await import("./export-person.ts")).exportPerson(await terminal(), id, to)),
  );
}
