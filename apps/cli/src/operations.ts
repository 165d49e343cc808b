// The commands that set up, run, watch and mend the gateway, as the command line knows them; what they do is
// in commands/.
import type { Command } from "commander";
import type { Console } from "./console.ts";

export interface Operations {
  /** A command with the options that all have. */
  readonly command: (parent: Command, usage: string, description: string) => Command;
  readonly terminal: () => Promise<Console>;
  readonly done: (exitCode: number) => void;
}

export function addOperations(program: Command, { command, terminal, done }: Operations): void {
  command(program, "setup", "write the config: model, Telegram, Discord, each tried before it is written")
    .option(
      "--provider <name>",
      "anthropic, openai, google, openrouter, ollama, rehearsal or a name of your own",
    )
    .option("--model <id>", "the model's id at the provider, or PROVIDER/MODEL")
    .option(
      "--api-key <key>",
      "the provider's key; env:NAME reads it from a variable each time, - from standard input once",
    )
    .option("--base-url <url>", "where the provider is, if it is not well known")
    .option(
      "--api <name>",
      "how it is spoken to, if it is not well known: openai-completions, anthropic-messages, ...",
    )
    .option("--telegram-token <token>", "the bot's token from @BotFather; env:NAME and - as above")
    .option("--telegram-api-root <url>", "a Bot API server of your own")
    .option("--discord-token <token>", "the bot's token; env:NAME and - as above")
    .option("--discord-api-root <url>", "another root of the REST API")
    .option("--owner <id...>", "who may use the owner's commands, as telegram:123456789")
    .option("--port <n>", "the gateway's port")
    .option("--no-check", "write without trying")
    .option("--non-interactive", "never ask, also on a terminal")
    .action(async (flags: object) =>
      done(await (await import("./commands/setup.ts")).setup(await terminal(), flags)),
    );

  const moveIn = program.command("import").description("move another gateway in");
  command(
    moveIn,
    "openclaw [folder]",
    "tell what would be carried from an OpenClaw home (~/.openclaw) or a folder of AGENTS.md; --apply does it",
  )
    .option("--apply", "write it, while no gateway runs")
    .option("--even-if-running", "also while something listens on the port of that gateway")
    .option("--all", "show every key and file, also those that are carried as they are")
    .action(async (folder: string | undefined, flags: object) =>
      done(await (await import("./commands/import.ts")).importOpenclaw(await terminal(), folder, flags)),
    );

  command(
    program,
    "stop",
    "end the running gateway: it finishes what it can, the rest resumes at the next start",
  )
    .option("--timeout <seconds>", "how long to wait for its end", "90")
    .action(async (flags: { timeout?: string }) =>
      done(await (await import("./commands/stop.ts")).stop(await terminal(), flags)),
    );
  command(program, "restart", "let the gateway finish what it can and start it again in its place")
    .option("--timeout <seconds>", "how long to wait until it is back", "120")
    .option("--no-wait", "only ask for it")
    .action(async (flags: { timeout?: string; wait?: boolean }) =>
      done(await (await import("./commands/restart.ts")).restart(await terminal(), flags)),
    );
  command(
    program,
    "reload",
    "let the gateway read the config and its secrets again; it also does so by itself when the file changes",
  ).action(async () => done(await (await import("./commands/reload.ts")).reload(await terminal())));
  command(program, "logs", "show what the gateway logged")
    .option("-f, --follow", "and what it logs from now on")
    .option("-n, --lines <n>", "so many of the last lines", "100")
    .option("--level <level>", "only this and worse: debug, info, warn, error")
    .option("--grep <text>", "only lines with this text, as the id of a message")
    .action(async (flags: object) =>
      done(await (await import("./commands/logs.ts")).logs(await terminal(), flags)),
    );
  command(program, "doctor", "look for what is wrong or unsafe, and say how to mend it")
    .option("--fix", "mend what can be mended without a loss; nothing is ever deleted")
    .option("--security", "also look at who can reach, read or order what")
    .option("--live", "also try the bots' tokens and the model")
    .action(async (flags: object) =>
      done(await (await import("./commands/doctor.ts")).doctor(await terminal(), flags)),
    );
}
