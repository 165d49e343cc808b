// The commands of `parley config`, as the command line knows them.
import type { Command } from "commander";
import type { Operations } from "../../operations.ts";

export function addConfig(program: Command, { command, terminal, done }: Operations): void {
  const config = program.command("config").description("the config file");
  command(config, "get [path]", "show it, or one place of it, with every default and with secrets masked")
    .option("--file", "only what the file says")
    .option("--text", "the file's own text, with its comments")
    .action(async (path: string | undefined, flags: { file?: boolean; text?: boolean }) =>
      done(await (await import("./config.ts")).configGet(await terminal(), path, flags)),
    );
  command(
    config,
    "set <path> <value>",
    "change one place; comments stay; checked before it is written. - reads the value from standard input",
  )
    .option("--string", "the value is a text, whatever it looks like")
    .action(async (path: string, value: string, flags: { string?: boolean }) =>
      done(await (await import("./config.ts")).configSet(await terminal(), path, value, flags)),
    );
  command(config, "unset <path>", "remove one place").action(async (path: string) =>
    done(await (await import("./config.ts")).configUnset(await terminal(), path)),
  );
  command(config, "validate [file]", "check it, or another file, without using it").action(
    async (file: string | undefined) =>
      done(await (await import("./config.ts")).configValidate(await terminal(), file)),
  );
  command(config, "schema", "print its JSON Schema").action(async () =>
    done(await (await import("./config.ts")).configSchema(await terminal())),
  );
  command(config, "file", "print where it lies").action(async () =>
    done(await (await import("./config.ts")).configFile(await terminal())),
  );
}
