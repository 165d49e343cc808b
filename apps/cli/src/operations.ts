// The commands that set up, run, watch and mend the gateway, as the command line knows them; what they do is
// in commands/.
import type { Command } from "commander";
import type { SendFlags } from "./commands/chat.ts";
import type { Console } from "./console.ts";
import { several } from "./several.ts";

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

  command(program, "send [text...]", "say something to the agent and print the answer")
    .option("--thread <name>", "a conversation of its own")
    .option("--file <path>", "a file that goes along; several: once for each, ten, 1.4 MB together", several)
    .option("--voice <path>", "something spoken, which is written down for the agent")
    .option("--no-wait", "print the message's id and leave")
    .action(async (words: string[], flags: SendFlags) =>
      done(await (await import("./commands/chat.ts")).send(await terminal(), words.join(" "), flags)),
    );

  const threads = program
    .command("threads")
    .description("your own conversations with the agent, and their work");
  const place = "--thread <name>";
  const placeWords = "in this conversation in place of the first";
  command(threads, "list", "show them").action(async () =>
    done(await (await import("./commands/threads.ts")).threadsList(await terminal())),
  );
  command(threads, "set <thread>", "name, pin or unlist one")
    .option("--name <name>", "what it is called")
    .option("--pin", "keep it at the top")
    .option("--no-pin", "do not")
    .option("--remove", "take it off the list until somebody writes there again")
    .action(async (thread: string, flags: object) =>
      done(await (await import("./commands/threads.ts")).threadsName(await terminal(), thread, flags)),
    );
  command(threads, "show", "show its newest messages, each with its id")
    .option(place, placeWords)
    .option("-n, --limit <n>", "so many", "50")
    .action(async (flags: { limit: string }) =>
      done(await (await import("./commands/threads.ts")).threadsShow(await terminal(), flags)),
    );
  command(threads, "fork <id> <to>", "begin another conversation with what was said through this message")
    .option(place, placeWords)
    .option("--before", "without the message itself")
    .option("--again", "say the message there once more, with its files")
    .option("--text <words>", "in other words")
    .option("--model <name>", "with another model")
    .action(async (id: string, to: string, flags: object) =>
      done(await (await import("./commands/threads.ts")).threadsFork(await terminal(), id, to, flags)),
    );
  command(threads, "steps", "show the tools that it used, and what waits")
    .option(place, placeWords)
    .action(async (flags: object) =>
      done(await (await import("./commands/threads.ts")).threadsSteps(await terminal(), flags)),
    );
  command(threads, "cancel <id>", "take back a message that nobody has begun to answer")
    .option(place, placeWords)
    .action(async (id: string, flags: object) =>
      done(await (await import("./commands/threads.ts")).threadsCancel(await terminal(), id, flags)),
    );
  command(threads, "edit <id> <text...>", "give such a message other words")
    .option(place, placeWords)
    .action(async (id: string, words: string[], flags: object) =>
      done(
        await (
          await import("./commands/threads.ts")
        ).threadsEdit(await terminal(), id, words.join(" "), flags),
      ),
    );

  const channels = program.command("channels").description("the accounts where people reach the agents");
  const ofAccount = "--account <account>";
  command(channels, "list", "show how each does").action(async () =>
    done(await (await import("./commands/channels.ts")).channelsList(await terminal())),
  );
  command(channels, "places", "show where people wrote to an agent, the newest first")
    .option(ofAccount, "only through this one, as telegram:default")
    .action(async (flags: object) =>
      done(await (await import("./commands/channels.ts")).channelsPlaces(await terminal(), flags)),
    );
  command(
    channels,
    "test <to> [text...]",
    "send a test message to telegram:ID, discord:channel:ID, discord:user:ID or a place that `places` shows",
  )
    .option(ofAccount, "through this one, as telegram:work")
    .option("--timeout <seconds>", "how long to wait for what becomes of it", "30")
    .option("--no-wait", "only hand it to the outbox")
    .action(async (to: string, words: string[], flags: object) =>
      done(
        await (
          await import("./commands/channels.ts")
        ).channelsTest(await terminal(), to, words.join(" "), flags),
      ),
    );

  const sessions = program.command("sessions").description("the conversations that the gateway keeps");
  command(sessions, "list", "show them, the last changed first")
    .option("--agent <id>", "only those of this agent")
    .option("--limit <n>", "at most so many", "100")
    .action(async (flags: object) =>
      done(await (await import("./commands/sessions.ts")).sessionsList(await terminal(), flags)),
    );
  command(sessions, "show <key>", "show one, with the newest of its transcript")
    .option("--limit <n>", "so many entries", "50")
    .action(async (key: string, flags: object) =>
      done(await (await import("./commands/sessions.ts")).sessionsShow(await terminal(), key, flags)),
    );
  command(sessions, "tree [key]", "show the sessions that have sub-agents, with these below them").action(
    async (key: string | undefined) =>
      done(await (await import("./commands/sessions.ts")).sessionsTree(await terminal(), key)),
  );
  command(sessions, "reset <key>", "begin it anew, as /new does; nothing is deleted").action(
    async (key: string) =>
      done(await (await import("./commands/sessions.ts")).sessionsReset(await terminal(), key)),
  );
  command(
    sessions,
    "compact <key> [focus...]",
    "make a summary of its beginning, as /compact does; say what it must keep",
  ).action(async (key: string, focus: string[]) =>
    done(
      await (await import("./commands/sessions.ts")).sessionsCompact(await terminal(), key, focus.join(" ")),
    ),
  );
  command(sessions, "forget <key>", "remove what was said in it for good, and begin it anew").action(
    async (key: string) =>
      done(await (await import("./commands/sessions.ts")).sessionsForget(await terminal(), key)),
  );
  const devices = program
    .command("devices")
    .description("who may use the control plane beside the gateway's own token");
  command(devices, "list", "show them").action(async () =>
    done(await (await import("./commands/devices.ts")).devicesList(await terminal())),
  );
  command(devices, "mint <name>", "make a token, shown this once")
    .option("--scopes <list>", "read, write, approve, admin, with commas between", "read")
    .action(async (name: string, flags: { scopes?: string }) =>
      done(await (await import("./commands/devices.ts")).devicesMint(await terminal(), name, flags)),
    );
  command(devices, "revoke <id>", "make its token worthless and close what it has open")
    .option("--grant <list>", "take back only these grants of a paired device, with commas between")
    .action(async (id: string, flags: { grant?: string }) =>
      done(await (await import("./commands/devices.ts")).devicesRevoke(await terminal(), id, flags)),
    );
  command(devices, "rotate <id>", "make its token anew: the old one is worthless, all else of it stays")
    .option("--by-hand", "tell a paired device nothing over its connection: its token may be in other hands")
    .action(async (id: string, flags: { byHand?: boolean }) =>
      done(await (await import("./commands/devices.ts")).devicesRotate(await terminal(), id, flags)),
    );
  command(devices, "unlock", "answer whoever showed wrong tokens before at full speed again").action(
    async () => done(await (await import("./commands/devices.ts")).devicesUnlock(await terminal())),
  );
  command(
    devices,
    "pair",
    "make a code that pairs one computer or phone for agents to use, within ten minutes",
  )
    .requiredOption("--name <name>", "what it is called")
    .option(
      "--grant <list>",
      "notify, camera, microphone, location, clipboard, share of a browser; notify, run, files, screenshot of a computer",
      "notify",
    )
    .action(async (flags: { name: string; grant: string }) =>
      done(await (await import("./commands/devices.ts")).devicesPair(await terminal(), flags)),
    );
  command(devices, "link", "print an address for a browser that works once, for ten minutes").action(
    async () => done(await (await import("./commands/devices.ts")).devicesLink(await terminal())),
  );

  const listed = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];
  const node = program.command("node").description("this computer as a device that agents may use");
  command(node, "run", "connect to a gateway and do what it asks, as far as it is offered here")
    .option("--url <url>", "the gateway's address; without it, the one that it was paired with")
    .option("--code <code>", "of `parley devices pair`, the first time")
    .option("--allow <command>", 'a command that may run, as "git *"; may be repeated', listed)
    .option("--folder <path>", "the folder whose files may be read and written")
    .option("--screenshot", "let it take pictures of the screen")
    .option("--state <path>", "where it keeps its token and what it did; without it, in the state folder")
    .action(async (flags: object) =>
      done(await (await import("./commands/node.ts")).nodeRun(await terminal(), flags)),
    );

  const mcp = program.command("mcp").description("servers whose tools agents use (Model Context Protocol)");
  command(mcp, "list [name]", "show them, their tools, and which wait for an approval").action(
    async (name: string | undefined) =>
      done(await (await import("./commands/mcp.ts")).mcpList(await terminal(), name)),
  );
  command(
    mcp,
    "add <name> [program-or-url...]",
    "put one into the config: NAME -- PROGRAM ARGUMENTS, or NAME URL",
  )
    .option("--env <NAME=VALUE>", "a variable of its program; may be repeated", listed)
    .option("--header <header>", '"Name: value", sent with every request; may be repeated', listed)
    .option("--url <url>", "its address")
    .option("--transport <kind>", "stdio, http or sse; without it, by what is given")
    .option("--cwd <folder>", "the folder that its program runs in")
    .option("--force", "replace one of the same name")
    .action(async (name: string, words: readonly string[], flags: object) =>
      done(await (await import("./commands/mcp.ts")).mcpAdd(await terminal(), name, words, flags)),
    );
  command(mcp, "serve", "offer this gateway to another agent, on standard input and output").action(
    async () => done(await (await import("./commands/mcp-serve.ts")).mcpServe(await terminal())),
  );
  command(mcp, "test <name>", "start it and list its tools").action(async (name: string) =>
    done(await (await import("./commands/mcp.ts")).mcpTest(await terminal(), name)),
  );
  command(mcp, "login <name>", "log in to one that asks for it: opens nothing, shows the address")
    .option("--port <number>", "of 127.0.0.1 where the browser comes back; without it, any that is free")
    .option("--print", "show the address and end; the answer comes by --answer")
    .option("--answer <address>", "the address that the browser ended at, or the code in it")
    .action(async (name: string, flags: object) =>
      done(await (await import("./commands/mcp-login.ts")).mcpLogin(await terminal(), name, flags)),
    );
  command(mcp, "logout <name>", "forget what it gave for the login").action(async (name: string) =>
    done(await (await import("./commands/mcp-login.ts")).mcpLogout(await terminal(), name)),
  );
  command(mcp, "remove <name>", "take it out of the config, and forget what was approved").action(
    async (name: string) => done(await (await import("./commands/mcp.ts")).mcpRemove(await terminal(), name)),
  );
  command(mcp, "approve <name> [code]", "let agents use its tools that are new or changed").action(
    async (name: string, code: string | undefined) =>
      done(await (await import("./commands/mcp.ts")).mcpApprove(await terminal(), name, code)),
  );

  const config = program.command("config").description("the config file");
  command(config, "get [path]", "show it, or one place of it, with every default and with secrets masked")
    .option("--file", "only what the file says")
    .action(async (path: string | undefined, flags: { file?: boolean }) =>
      done(await (await import("./commands/config.ts")).configGet(await terminal(), path, flags)),
    );
  command(
    config,
    "set <path> <value>",
    "change one place; comments stay; checked before it is written. - reads the value from standard input",
  )
    .option("--string", "the value is a text, whatever it looks like")
    .action(async (path: string, value: string, flags: { string?: boolean }) =>
      done(await (await import("./commands/config.ts")).configSet(await terminal(), path, value, flags)),
    );
  command(config, "unset <path>", "remove one place").action(async (path: string) =>
    done(await (await import("./commands/config.ts")).configUnset(await terminal(), path)),
  );
  command(config, "validate [file]", "check it, or another file, without using it").action(
    async (file: string | undefined) =>
      done(await (await import("./commands/config.ts")).configValidate(await terminal(), file)),
  );
  command(config, "schema", "print its JSON Schema").action(async () =>
    done(await (await import("./commands/config.ts")).configSchema(await terminal())),
  );
  command(config, "file", "print where it lies").action(async () =>
    done(await (await import("./commands/config.ts")).configFile(await terminal())),
  );

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
      done(await (await import("./commands/unit.ts")).unitInstall(await terminal(), flags)),
    );
  serviceCommand("uninstall", "stop it and remove the unit; the state folder stays").action(
    async (flags: object) =>
      done(await (await import("./commands/unit.ts")).unitUninstall(await terminal(), flags)),
  );
  serviceCommand("status", "show whether it is installed, enabled and running").action(
    async (flags: object) =>
      done(await (await import("./commands/unit.ts")).unitStatus(await terminal(), flags)),
  );
  command(program, "completion <shell>", "print the completion of commands for bash, zsh or fish").action(
    async (shell: string) =>
      done((await import("./commands/completion.ts")).completion(await terminal(), shell, program)),
  );
}
