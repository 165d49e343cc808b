// The command line. A command's code is loaded when it runs, so that help stays quick; each lives in a file
// of its own under commands/.
import { Command, CommanderError } from "commander";
import type { BackupChoice } from "./commands/backup.ts";
import type { ChatOptions } from "./commands/talk/chat.ts";
import type { Console } from "./console.ts";
import { CommandFailure, exitCodes } from "./exit.ts";
import { groupHelp } from "./help-groups.ts";
import { addAgentViews } from "./commands/agent/agent-commands.ts";
import { addMemory } from "./commands/memory/memory-commands.ts";
import { addSkills } from "./commands/skills/skill-commands.ts";
import { addCron } from "./commands/cron/cron-commands.ts";
import { addAudit } from "./commands/audit/audit-commands.ts";
import { addPeople } from "./commands/people/people-commands.ts";
import { addRetention } from "./commands/retention/retention-commands.ts";
import { addReplay } from "./commands/replay/replay-commands.ts";
import { addUpdate } from "./commands/update/update-commands.ts";
import { addTalk } from "./commands/talk/talk-commands.ts";
import { addChannels } from "./commands/channels/channel-commands.ts";
import { addDevices } from "./commands/devices/device-commands.ts";
import { addMcp } from "./commands/mcp/mcp-commands.ts";
import { addConfig } from "./commands/config/config-commands.ts";
import { addUnit } from "./commands/unit/unit-commands.ts";
import { addOperations, type Operations } from "./operations.ts";
import { several } from "./several.ts";
import manifest from "../package.json" with { type: "json" };

/** What a program hands in; the environment is read, where none is given, only by a command that runs. */
export type Streams = Pick<Console, "input" | "out" | "err"> & Partial<Pick<Console, "env">>;

/** Runs one command line; resolves with the exit code and never rejects for a mistake of the user. */
export async function runCommandLine(argv: readonly string[], streams: Streams): Promise<number> {
  let exitCode: number = exitCodes.ok;
  const json = argv.includes("--json");
  const terminal = async (): Promise<Console> => ({
    ...streams,
    env: streams.env ?? (await import("@parley/config")).hostEnv(),
    json,
  });
  const program = new Command("parley")
    .description("Talk to an AI agent over Telegram, Discord and the web.")
    .option("--json", "print one JSON document on standard output")
    .version(manifest.version, "-V, --version", "print the version")
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      writeOut: (text) => void streams.out.write(text),
      writeErr: (text) => void streams.err.write(text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  const command = (parent: Command, usage: string, description: string): Command =>
    parent
      .command(usage)
      .description(description)
      .option("--json", "print one JSON document on standard output");

  const operations: Operations = { command, terminal, done: (code) => (exitCode = code) };

  command(program, "start", "run the gateway in the foreground")
    .argument(
      "[words...]",
      "--role all|edge|worker, --node <name>, --port <port>: one of several on one Redis",
    )
    .allowUnknownOption()
    .action(async (words: string[]) => {
      exitCode = await (await import("./commands/start.ts")).start(words);
    });
  command(program, "status", "show what the running gateway does").action(async () => {
    exitCode = await (await import("./commands/status.ts")).status(await terminal());
  });
  command(program, "chat", "talk to the agent; with piped input, ask once and print the answer")
    .option("--thread <name>", "a conversation of its own")
    .option("--file <path>", "a file that goes along with what is piped in; several: once for each", several)
    .option("--voice <path>", "something spoken, which is written down for the agent")
    .action(async (flags: ChatOptions) => {
      exitCode = await (await import("./commands/talk/chat.ts")).chat(await terminal(), flags);
    });
  const pair = program.command("pair").description("decide who may talk to the agent");
  command(pair, "list", "show who waits and who is in").action(async () => {
    exitCode = await (await import("./commands/pair-list.ts")).pairList(await terminal());
  });
  command(pair, "approve <code>", "let in whoever was given this code").action(async (code: string) => {
    exitCode = await (await import("./commands/pair-approve.ts")).pairApprove(await terminal(), code);
  });
  command(pair, "revoke <id>", "put somebody out again, by the id that `pair list` shows").action(
    async (id: string) => {
      exitCode = await (await import("./commands/pair-revoke.ts")).pairRevoke(await terminal(), id);
    },
  );

  command(
    program,
    "why <id-or-text...>",
    "tell what became of a message: received, waited, turn, tokens, chunks, receipts",
  ).action(async (words: string[]) => {
    exitCode = await (await import("./commands/why.ts")).why(await terminal(), words.join(" "));
  });
  const outbox = program.command("outbox").description("answers that wait or did not arrive");
  command(outbox, "list", "show what waits and what is in trouble")
    .option("--troubled", "only what is in trouble")
    .option("--lane <conversation>", "only this conversation")
    .action(async (filter: { troubled?: boolean; lane?: string }) => {
      exitCode = await (await import("./commands/outbox.ts")).outboxList(await terminal(), filter);
    });
  command(outbox, "show <id>", "show one, whatever became of it").action(async (id: string) => {
    exitCode = await (await import("./commands/outbox.ts")).outboxShow(await terminal(), id);
  });
  command(outbox, "retry <id>", "send again what did not arrive").action(async (id: string) => {
    exitCode = await (await import("./commands/outbox.ts")).outboxAct(await terminal(), "retry", id);
  });
  command(outbox, "drop <id>", "give it up").action(async (id: string) => {
    exitCode = await (await import("./commands/outbox.ts")).outboxAct(await terminal(), "drop", id);
  });
  const dead = program.command("dead").description("messages that failed for good");
  command(dead, "list", "show them, the newest first").action(async () => {
    exitCode = await (await import("./commands/dead.ts")).deadList(await terminal());
  });
  command(dead, "retry <id>", "work on a copy of it").action(async (id: string) => {
    exitCode = await (await import("./commands/dead.ts")).deadAct(await terminal(), "retry", id);
  });
  command(dead, "drop <id>", "take it off the list").action(async (id: string) => {
    exitCode = await (await import("./commands/dead.ts")).deadAct(await terminal(), "drop", id);
  });
  addMemory(program, operations);
  addSkills(program, operations);
  command(
    program,
    "lanes",
    "show the sessions and conversations that have work, and who works on them",
  ).action(async () => {
    exitCode = await (await import("./commands/lanes.ts")).lanes(await terminal());
  });
  command(program, "migrate", "take everything from one store into the other, while no gateway runs")
    .requiredOption("--to <driver>", "redis or sqlite")
    .action(async ({ to }: { to: string }) => {
      if (to !== "redis" && to !== "sqlite")
        throw new CommandFailure("invalid", `--to takes redis or sqlite, not "${to}"`, exitCodes.usage);
      exitCode = await (await import("./commands/start.ts")).start(["--migrate", to]);
    });
  command(
    program,
    "nodes",
    "show the processes of this gateway, what each does, and who leads which account",
  ).action(async () => {
    exitCode = await (await import("./commands/nodes.ts")).nodes(await terminal());
  });
  addAgentViews(program, operations);
  command(program, "resume", "end safe mode: open the channels now").action(async () => {
    exitCode = await (await import("./commands/resume.ts")).resume(await terminal());
  });
  const byPassphrase = "env:NAME, file:PATH, or - for standard input";
  command(program, "backup <file>", "copy the database to a new file, also while the gateway runs")
    .option("--passphrase <where>", `encrypt it: ${byPassphrase}`)
    .action(async (file: string, flags: BackupChoice) => {
      exitCode = await (await import("./commands/backup.ts")).backup(await terminal(), file, flags);
    });
  command(program, "backups", "list the copies that were made by themselves").action(async () => {
    exitCode = await (await import("./commands/backup.ts")).backupsList(await terminal());
  });
  command(program, "restore <file>", "put a backup in the database's place while the gateway is stopped")
    .option("--passphrase <where>", `of an encrypted one: ${byPassphrase}`)
    .option("--resume-work", "go on with what was open then: nobody has worked on it since")
    .action(async (file: string, flags: BackupChoice) => {
      exitCode = await (await import("./commands/backup.ts")).restore(await terminal(), file, flags);
    });
  addCron(program, operations);
  addOperations(program, operations);
  addTalk(program, operations);
  addChannels(program, operations);
  addDevices(program, operations);
  addMcp(program, operations);
  addConfig(program, operations);
  addUnit(program, operations);
  addPeople(program, operations);
  addReplay(program, operations);
  addRetention(program, operations);
  addAudit(program, operations);
  addUpdate(program, operations);
  groupHelp(program);

  try {
    await program.parseAsync(listed(asFlag(argv, program), program), { from: "user" });
    return exitCode;
  } catch (error) {
    return report(await refusalOf(error), json, streams);
  }
}

/** `parley help outbox list` is `parley outbox list --help`; a word that is no command is told as one. */
function asFlag(argv: readonly string[], program: Command): readonly string[] {
  const options = argv.filter((word) => word.startsWith("-"));
  const [first, ...asked] = argv.filter((word) => !word.startsWith("-"));
  if (first !== "help" || asked.length === 0) return argv;
  let group: Command = program;
  for (const [at, word] of asked.entries()) {
    const found = group.commands.find((each) => each.name() === word);
    if (found === undefined) return [...asked.slice(0, at + 1), ...options];
    // What stands behind a command that has no others is an argument of it.
    if (found.commands.length === 0) return [...asked.slice(0, at + 1), ...options, "--help"];
    group = found;
  }
  return [...asked, ...options, "--help"];
}

/** A group that is named alone is listed: `parley outbox` is `parley outbox list`. */
function listed(argv: readonly string[], program: Command): readonly string[] {
  const isOption = (word: string): boolean => word.startsWith("-");
  const at = argv.findIndex((word) => !isOption(word));
  const group = program.commands.find((each) => each.name() === argv[at]);
  const isAlone = argv.slice(at + 1).every(isOption) && !argv.includes("--help") && !argv.includes("-h");
  if (!isAlone || group?.commands.some((each) => each.name() === "list") !== true) return argv;
  return [...argv.slice(0, at + 1), "list", ...argv.slice(at + 1)];
}

/** A Fault is a refusal too; the rest is a bug. Loaded only when something went wrong. */
async function refusalOf(error: unknown): Promise<unknown> {
  if (error instanceof CommanderError || error instanceof CommandFailure) return error;
  const [{ isFault }, { ConfigFault, fileFault }] = await Promise.all([
    import("@parley/protocol"),
    import("@parley/config"),
  ]);
  const fault = isFault(error) ? error : fileFault(error);
  if (fault === null) return error;
  return new CommandFailure(
    fault.code,
    fault.message,
    error instanceof ConfigFault ? exitCodes.config : exitCodes.failed,
    {
      cause: error,
    },
  );
}

async function report(error: unknown, json: boolean, { out, err }: Streams): Promise<number> {
  // Commander has printed its own message; help and version are no errors.
  if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.ok;
  const { document, words } = await import("./console.ts");
  if (error instanceof CommanderError) {
    const message =
      error.code === "commander.help"
        ? "a command is missing; --help shows them"
        : error.message.replace(/^error: /, "");
    if (json) document(out, { ok: false, error: { code: "invalid", message } });
    return exitCodes.usage;
  }
  if (!(error instanceof CommandFailure)) throw error;
  if (json) document(out, { ok: false, error: { code: error.code, message: error.message } });
  else words(err, error.message);
  return error.exitCode;
}
