// The commands of `parley service` and the completion of all of them, as the command line knows them.
import type { Command } from "commander";
import type { Operations } from "../../operations.ts";

export function addUnit(program: Command, { command, terminal, done }: Operations): void {
  const service = program.command("service").description("the gateway as a service of systemd or launchd");
  const serviceCommand = (usage: string, description: string): Command =>
    command(service, usage, description)
      .option("--system", "of the whole machine; without it, of this user")
      .option("--name <name>", "its name, where there are several", "parley")
      .option("--manager <name>", "systemd or launchd; without it, the system's");
  serviceCommand("install", "write the unit, verify it, enable and start it")
    .option("--run-as <user>", "with --system: the user that it runs as")
    .option("--no-start", "only write it")
    .option("--print", "print it instead")
    .action(async (flags: object) =>
      done(await (await import("./unit.ts")).unitInstall(await terminal(), flags)),
    );
  serviceCommand("uninstall", "stop it and remove the unit; the state folder stays").action(
    async (flags: object) => done(await (await import("./unit.ts")).unitUninstall(await terminal(), flags)),
  );
  serviceCommand("status", "show whether it is installed, enabled and running").action(
    async (flags: object) => done(await (await import("./unit.ts")).unitStatus(await terminal(), flags)),
  );
  command(program, "completion <shell>", "print the completion of commands for bash, zsh or fish").action(
    async (shell: string) =>
      done((await import("../completion.ts")).completion(await terminal(), shell, program)),
  );
}
