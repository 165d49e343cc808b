// The command line. A command's code is loaded when it runs, so that help stays quick; each lives in a file
// of its own under commands/.
import { Command, CommanderError } from "commander";
import type { ForgetChoice, HistoryChoice, MemoryChoice, ProposalChoice } from "./commands/memory.ts";
import type { BackupChoice } from "./commands/backup.ts";
import type { ChatOptions } from "./commands/chat.ts";
import type { Console } from "./console.ts";
import { CommandFailure, exitCodes } from "./exit.ts";
import { groupHelp } from "./help-groups.ts";
import { addCron } from "./cron-commands.ts";
import { addAudit } from "./commands/audit/audit-commands.ts";
import { addPeople } from "./commands/people/people-commands.ts";
import { addRetention } from "./commands/retention/retention-commands.ts";
import { addReplay } from "./commands/replay/replay-commands.ts";
import { addUpdate } from "./commands/update/update-commands.ts";
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
      exitCode = await (await import("./commands/chat.ts")).chat(await terminal(), flags);
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
  const memory = program.command("memory").description("the notes that agents keep, and their index");
  const whose = "the memory of this agent, not of the default one";
  command(memory, "search <query>", "find passages, with the files and lines that they stand in")
    .option("--agent <id>", whose)
    .option("--max <n>", "most results")
    .option("--min-score <score>", "leave out what scores lower, 0 to 1")
    .action(async (query: string, choice: MemoryChoice) => {
      exitCode = await (await import("./commands/memory.ts")).memorySearch(await terminal(), query, choice);
    });
  command(memory, "get <path>", "show lines of a memory file")
    .option("--agent <id>", whose)
    .option("--from <line>", "first line")
    .option("--lines <n>", "most lines")
    .action(async (path: string, choice: MemoryChoice) => {
      exitCode = await (await import("./commands/memory.ts")).memoryGet(await terminal(), path, choice);
    });
  command(memory, "status", "show what is indexed, and what is left out and why")
    .option("--agent <id>", "of this agent alone")
    .action(async ({ agent }: MemoryChoice) => {
      exitCode = await (await import("./commands/memory.ts")).memoryStatus(await terminal(), agent);
    });
  command(
    memory,
    "why <line>",
    "tell which turn wrote a line, and for whom: the line, words of it, or path#line",
  )
    .option("--agent <id>", whose)
    .action(async (text: string, { agent }: MemoryChoice) => {
      exitCode = await (await import("./commands/memory.ts")).memoryWhy(await terminal(), text, agent);
    });
  command(memory, "history", "show what turns changed in the notes, newest first")
    .option("--agent <id>", whose)
    .option("--path <path>", "of this file alone")
    .option("--max <n>", "most changes")
    .action(async (choice: HistoryChoice) => {
      exitCode = await (await import("./commands/memory.ts")).memoryHistory(await terminal(), choice);
    });
  command(memory, "undo [id]", "take a change of the notes back: the newest one, or one of the history")
    .option("--agent <id>", whose)
    .action(async (id: string | undefined, { agent }: MemoryChoice) => {
      exitCode = await (await import("./commands/memory.ts")).memoryUndo(await terminal(), id, agent);
    });
  command(memory, "proposals", "show what the nightly upkeep proposes, and what became of it")
    .option("--agent <id>", "of this agent alone")
    .option("--all", "also what was decided or ran out")
    .action(async (choice: ProposalChoice) => {
      exitCode = await (await import("./commands/memory.ts")).memoryProposals(await terminal(), choice);
    });
  command(
    memory,
    "accept <id> [changes...]",
    "make the changes of a proposal, or some of them by number",
  ).action(async (id: string, changes: string[]) => {
    exitCode = await (
      await import("./commands/memory.ts")
    ).memoryDecide(await terminal(), "accept", id, changes);
  });
  command(memory, "refuse <id>", "leave the notes as they are").action(async (id: string) => {
    exitCode = await (await import("./commands/memory.ts")).memoryDecide(await terminal(), "refuse", id, []);
  });
  command(memory, "forget <query>", "show what says it, and with --yes take it away for good")
    .option("--agent <id>", whose)
    .option("--yes", "do it without asking")
    .action(async (query: string, choice: ForgetChoice) => {
      exitCode = await (await import("./commands/memory.ts")).memoryForget(await terminal(), query, choice);
    });
  command(memory, "reindex", "throw the index away and build it anew from the notes")
    .option("--agent <id>", "of this agent alone")
    .action(async ({ agent }: MemoryChoice) => {
      exitCode = await (await import("./commands/memory.ts")).memoryReindex(await terminal(), agent);
    });
  const skills = program.command("skills").description("procedures that the agent reads when it needs them");
  const ofAgent = "the skills of this agent, not of the default one";
  command(skills, "list", "show them, with where they come from and why one is not used")
    .option("--agent <id>", ofAgent)
    .action(async ({ agent }: { agent?: string }) => {
      exitCode = await (await import("./commands/skills.ts")).skillsList(await terminal(), agent);
    });
  command(skills, "check", "tell what is ready, what is missing, what is refused and why")
    .option("--agent <id>", ofAgent)
    .action(async ({ agent }: { agent?: string }) => {
      exitCode = await (await import("./commands/skills.ts")).skillsCheck(await terminal(), agent);
    });
  command(skills, "info <name>", "show how one was read, and what it needs")
    .option("--agent <id>", ofAgent)
    .action(async (name: string, { agent }: { agent?: string }) => {
      exitCode = await (await import("./commands/skills.ts")).skillsShow(await terminal(), name, agent);
    });
  command(skills, "install <folder-or-archive>", "copy one into the state folder; nothing of it is run")
    .option("--force", "replace a skill of the same name")
    .action(async (path: string, { force }: { force?: boolean }) => {
      exitCode = await (
        await import("./commands/skills.ts")
      ).skillsInstall(await terminal(), path, force === true);
    });
  const hooks = program.command("hooks").description("code of yours that hears what happens in the gateway");
  command(hooks, "list", "show them, with where they come from, what they hear and why one does not run")
    .option("--eligible", "those alone that have what they require")
    .option("-v, --verbose", "with the events they hear, and what became of them")
    .action(async (choice: { eligible?: boolean; verbose?: boolean }) => {
      exitCode = await (await import("./commands/hooks.ts")).hooksList(await terminal(), choice);
    });
  command(hooks, "info <name>", "show how one was read, what it needs, and what became of its calls").action(
    async (name: string) => {
      exitCode = await (await import("./commands/hooks.ts")).hooksShow(await terminal(), name);
    },
  );
  command(
    hooks,
    "check",
    "tell what is ready, what is missing, what failed, and what is refused and why",
  ).action(async () => {
    exitCode = await (await import("./commands/hooks.ts")).hooksCheck(await terminal());
  });
  command(hooks, "enable <name>", "let one run; a workspace's in the form that it has now").action(
    async (name: string) => {
      exitCode = await (await import("./commands/hooks.ts")).hooksSwitch(await terminal(), name, true);
    },
  );
  command(hooks, "disable <name>", "let one run no more").action(async (name: string) => {
    exitCode = await (await import("./commands/hooks.ts")).hooksSwitch(await terminal(), name, false);
  });
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
  const prompt = program
    .command("prompt")
    .description("what the agent is told: its system prompt, section by section");
  const promptCommand = (usage: string, description: string): Command =>
    command(prompt, usage, description)
      .option("--session <key>", "the session; without it, the one that last changed")
      .option(
        "--turn <n>",
        'one of its turns by number, "last", or -2 for the one before; without it, what the next turn would get',
      );
  promptCommand("show", "print the text").action(async (choice: { session?: string; turn?: string }) => {
    exitCode = await (await import("./commands/prompt.ts")).promptShow(await terminal(), choice);
  });
  promptCommand(
    "explain",
    "every section in or out, why, its zone and size; files, tools, and what moved",
  ).action(async (choice: { session?: string; turn?: string }) => {
    exitCode = await (await import("./commands/prompt.ts")).promptExplain(await terminal(), choice);
  });
  promptCommand("diff", "what moved: from the last turn to now; with --turn, from the turn before it to it")
    .option("--with <session>", "compare with another session instead")
    .action(async (choice: { session?: string; turn?: string; with?: string }) => {
      exitCode = await (await import("./commands/prompt.ts")).promptDiff(await terminal(), choice);
    });
  const models = program.command("models").description("the language models");
  command(models, "list", "show them: what they can do, what they cost, who uses them").action(async () => {
    exitCode = await (await import("./commands/models.ts")).modelsList(await terminal());
  });
  command(models, "test [id]", "make one small real call: latency, first token, tool calling").action(
    async (id: string | undefined) => {
      exitCode = await (await import("./commands/models.ts")).modelsTest(await terminal(), id);
    },
  );
  command(program, "usage", "show what was used and what it cost")
    .option("--by <what>", "session, agent, channel, person, model or day", "agent")
    .option("--days <n>", "the last days, today included", "30")
    .action(async (choice: { by?: string; days?: string }) => {
      exitCode = await (await import("./commands/usage.ts")).usage(await terminal(), choice);
    });
  const approvals = program.command("approvals").description("commands that wait for a person's decision");
  command(approvals, "list", "show what waits, and what was allowed for good")
    .option("--all", "also what was decided")
    .action(async ({ all }: { all?: boolean }) => {
      exitCode = await (
        await import("./commands/approvals.ts")
      ).approvalsList(await terminal(), all === true);
    });
  command(approvals, "resolve <id> <decision>", "decide: once, always or deny").action(
    async (id: string, decision: string) => {
      exitCode = await (
        await import("./commands/approvals.ts")
      ).approvalsResolve(await terminal(), id, decision);
    },
  );
  command(approvals, "revoke <id>", "take back what was allowed for good").action(async (id: string) => {
    exitCode = await (await import("./commands/approvals.ts")).approvalsRevoke(await terminal(), id);
  });
  command(program, "questions", "show the questions that agents asked and that wait for an answer")
    .option("--all", "also those that have ended")
    .action(async ({ all }: { all?: boolean }) => {
      exitCode = await (
        await import("./commands/questions.ts")
      ).questionsList(await terminal(), all === true);
    });
  const canvas = program.command("canvas").description("the pages that agents show");
  command(canvas, "list", "show them, the one that changed last first").action(async () => {
    exitCode = await (await import("./commands/canvas.ts")).canvasList(await terminal());
  });
  command(canvas, "link <session>", "print a link that works once, to look at one").action(
    async (key: string) => {
      exitCode = await (await import("./commands/canvas.ts")).canvasLink(await terminal(), key);
    },
  );
  const tools = program.command("tools").description("what the agent can do");
  const toolsCommand = (name: string, description: string): Command =>
    command(tools, name, description).option(
      "--session <key>",
      "the session; without it, the one that last changed",
    );
  toolsCommand("list", "show them: ready, taken away, not to be had").action(
    async ({ session }: { session?: string }) => {
      exitCode = await (
        await import("./commands/tools.ts")
      ).toolsList(await terminal(), { session, explain: false, only: undefined });
    },
  );
  toolsCommand("explain [tool]", "the same of all or of one, with every reason, group and profile").action(
    async (only: string | undefined, { session }: { session?: string }) => {
      exitCode = await (
        await import("./commands/tools.ts")
      ).toolsList(await terminal(), { session, explain: true, only });
    },
  );
  command(tools, "hold", "end what tools do and hold them all, as /estop does").action(async () => {
    exitCode = await (await import("./commands/tools-hold.ts")).toolsHold(await terminal());
  });
  command(tools, "resume", "let tools go on after /estop").action(async () => {
    exitCode = await (await import("./commands/tools-hold.ts")).toolsResume(await terminal());
  });
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
  const operations: Operations = { command, terminal, done: (code) => (exitCode = code) };
  addCron(program, operations);
  addOperations(program, operations);
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
