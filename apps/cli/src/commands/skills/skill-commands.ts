// The commands of `parley skills` and `parley hooks`, as the command line knows them.
import type { Command } from "commander";
import type { Operations } from "../../operations.ts";

export function addSkills(program: Command, { command, terminal, done }: Operations): void {
  const skills = program.command("skills").description("procedures that the agent reads when it needs them");
  const ofAgent = "the skills of this agent, not of the default one";
  command(skills, "list", "show them, with where they come from and why one is not used")
    .option("--agent <id>", ofAgent)
    .action(async ({ agent }: { agent?: string }) => {
      done(await (await import("./skills.ts")).skillsList(await terminal(), agent));
    });
  command(skills, "check", "tell what is ready, what is missing, what is refused and why")
    .option("--agent <id>", ofAgent)
    .action(async ({ agent }: { agent?: string }) => {
      done(await (await import("./skills.ts")).skillsCheck(await terminal(), agent));
    });
  command(skills, "info <name>", "show how one was read, and what it needs")
    .option("--agent <id>", ofAgent)
    .action(async (name: string, { agent }: { agent?: string }) => {
      done(await (await import("./skills.ts")).skillsShow(await terminal(), name, agent));
    });
  command(skills, "install <folder-or-archive>", "copy one into the state folder; nothing of it is run")
    .option("--force", "replace a skill of the same name")
    .action(async (path: string, { force }: { force?: boolean }) => {
      done(await (await import("./skills.ts")).skillsInstall(await terminal(), path, force === true));
    });
  const hooks = program.command("hooks").description("code of yours that hears what happens in the gateway");
  command(hooks, "list", "show them, with where they come from, what they hear and why one does not run")
    .option("--eligible", "those alone that have what they require")
    .option("-v, --verbose", "with the events they hear, and what became of them")
    .action(async (choice: { eligible?: boolean; verbose?: boolean }) => {
      done(await (await import("../hooks.ts")).hooksList(await terminal(), choice));
    });
  command(hooks, "info <name>", "show how one was read, what it needs, and what became of its calls").action(
    async (name: string) => {
      done(await (await import("../hooks.ts")).hooksShow(await terminal(), name));
    },
  );
  command(
    hooks,
    "check",
    "tell what is ready, what is missing, what failed, and what is refused and why",
  ).action(async () => {
    done(await (await import("../hooks.ts")).hooksCheck(await terminal()));
  });
  command(hooks, "enable <name>", "let one run; a workspace's in the form that it has now").action(
    async (name: string) => {
      done(await (await import("../hooks.ts")).hooksSwitch(await terminal(), name, true));
    },
  );
  command(hooks, "disable <name>", "let one run no more").action(async (name: string) => {
    done(await (await import("../hooks.ts")).hooksSwitch(await terminal(), name, false));
  });
}
