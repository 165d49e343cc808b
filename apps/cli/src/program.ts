// The command line. A command's code is loaded when it runs, so that help stays quick; each lives in a file of its own under commands/.
import { Command, CommanderError } from "commander";
import { line, type Console } from "./console.ts";
import { CommandFailure, exitCodes } from "./exit.ts";

/** What a program hands in; the environment is read, where none is given, only by a command that runs. */
export type Streams = Pick<Console, "input" | "out" | "err"> & Partial<Pick<Console, "env">>;

/** Runs one command line; resolves with the exit code and never rejects for a mistake of the user. */
export async function runCommandLine(argv: readonly string[], streams: Streams): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const json = argv.includes("--json");
  const terminal = async (): Promise<Console> => ({ ...streams, env: streams.env ?? (await import("@parley/config")).hostEnv(), json });
  const program = new Command("parley")
    .description("Talk to an AI agent over Telegram, Discord and the web.")
    .option("--json", "print one JSON document on standard output")
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => void streams.out.write(text),
      writeErr: (text) => void streams.err.write(text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  const command = (parent: Command, usage: string, description: string): Command =>
    parent.command(usage).description(description).option("--json", "print one JSON document on standard output");

  command(program, "start", "run the gateway in the foreground").action(async () => {
    exitCode = await (await import("./commands/start.ts")).start();
  });
  command(program, "status", "show what the running gateway does").action(async () => {
    exitCode = await (await import("./commands/status.ts")).status(await terminal());
  });
  command(program, "chat", "talk to the agent; with piped input, ask once and print the answer")
    .option("--thread <name>", "a conversation of its own")
    .action(async ({ thread }: { thread?: string }) => {
      exitCode = await (await import("./commands/chat.ts")).chat(await terminal(), thread === undefined ? {} : { thread });
    });
  const pair = program.command("pair").description("decide who may talk to the agent");
  command(pair, "list", "show who waits and who is in").action(async () => {
    exitCode = await (await import("./commands/pair-list.ts")).pairList(await terminal());
  });
  command(pair, "approve <code>", "let in whoever was given this code").action(async (code: string) => {
    exitCode = await (await import("./commands/pair-approve.ts")).pairApprove(await terminal(), code);
  });

  try {
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    return report(error, json, streams);
  }
}

function report(error: unknown, json: boolean, { out, err }: Streams): number {
  // Commander has printed its own message; help and version are no errors.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.ok : exitCodes.usage;
  if (!(error instanceof CommandFailure)) throw error;
  if (json) line(out, JSON.stringify({ ok: false, error: { code: error.code, message: error.message } }));
  else line(err, error.message);
  return error.exitCode;
}
