// The commands of `parley mcp`, as the command line knows them.
import type { Command } from "commander";
import { several } from "../../several.ts";
import type { Operations } from "../../operations.ts";

export function addMcp(program: Command, { command, terminal, done }: Operations): void {
  const mcp = program.command("mcp").description("servers whose tools agents use (Model Context Protocol)");
  command(mcp, "list [name]", "show them, their tools, and which wait for an approval").action(
    async (name: string | undefined) =>
      done(await (await import("./mcp.ts")).mcpList(await terminal(), name)),
  );
  command(
    mcp,
    "add <name> [program-or-url...]",
    "put one into the config: NAME -- PROGRAM ARGUMENTS, or NAME URL",
  )
    .option("--env <NAME=VALUE>", "a variable of its program; may be repeated", several)
    .option("--header <header>", '"Name: value", sent with every request; may be repeated', several)
    .option("--url <url>", "its address")
    .option("--transport <kind>", "stdio, http or sse; without it, by what is given")
    .option("--cwd <folder>", "the folder that its program runs in")
    .option("--force", "replace one of the same name")
    .action(async (name: string, words: readonly string[], flags: object) =>
      done(await (await import("./mcp.ts")).mcpAdd(await terminal(), name, words, flags)),
    );
  command(mcp, "serve", "offer this gateway to another agent, on standard input and output").action(
    async () => done(await (await import("./mcp-serve.ts")).mcpServe(await terminal())),
  );
  command(mcp, "test <name>", "start it and list its tools").action(async (name: string) =>
    done(await (await import("./mcp.ts")).mcpTest(await terminal(), name)),
  );
  command(mcp, "login <name>", "log in to one that asks for it: opens nothing, shows the address")
    .option("--port <number>", "of 127.0.0.1 where the browser comes back; without it, any that is free")
    .option("--print", "show the address and end; the answer comes by --answer")
    .option("--answer <address>", "the address that the browser ended at, or the code in it")
    .action(async (name: string, flags: object) =>
      done(await (await import("./mcp-login.ts")).mcpLogin(await terminal(), name, flags)),
    );
  command(mcp, "logout <name>", "forget what it gave for the login").action(async (name: string) =>
    done(await (await import("./mcp-login.ts")).mcpLogout(await terminal(), name)),
  );
  command(mcp, "remove <name>", "take it out of the config, and forget what was approved").action(
    async (name: string) => done(await (await import("./mcp.ts")).mcpRemove(await terminal(), name)),
  );
  command(mcp, "approve <name> [code]", "let agents use its tools that are new or changed").action(
    async (name: string, code: string | undefined) =>
      done(await (await import("./mcp.ts")).mcpApprove(await terminal(), name, code)),
  );
}
