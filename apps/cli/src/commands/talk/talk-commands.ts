// The commands of what was said: `parley send`, `parley threads` and `parley sessions`, as the command line
// knows them.
import type { Command } from "commander";
import type { SendFlags } from "./chat.ts";
import { several } from "../../several.ts";
import type { Operations } from "../../operations.ts";

export function addTalk(program: Command, { command, terminal, done }: Operations): void {
  command(program, "send [text...]", "say something to the agent and print the answer")
    .option("--thread <name>", "a conversation of its own")
    .option("--file <path>", "a file that goes along; several: once for each, ten, 1.4 MB together", several)
    .option("--voice <path>", "something spoken, which is written down for the agent")
    .option("--no-wait", "print the message's id and leave")
    .action(async (words: string[], flags: SendFlags) =>
      done(await (await import("./chat.ts")).send(await terminal(), words.join(" "), flags)),
    );

  const threads = program
    .command("threads")
    .description("your own conversations with the agent, and their work");
  const place = "--thread <name>";
  const placeWords = "in this conversation in place of the first";
  command(threads, "list [words...]", "show them, or those with these words").action(
    async (words: readonly string[]) =>
      done(await (await import("./threads.ts")).threadsList(await terminal(), words)),
  );
  command(threads, "set <thread>", "name, pin or unlist one")
    .option("--name <name>", "what it is called")
    .option("--pin", "keep it at the top")
    .option("--no-pin", "do not")
    .option("--remove", "take it off the list until somebody writes there again")
    .action(async (thread: string, flags: object) =>
      done(await (await import("./threads.ts")).threadsName(await terminal(), thread, flags)),
    );
  command(threads, "show", "show its newest messages, each with its id")
    .option(place, placeWords)
    .option("-n, --limit <n>", "so many", "50")
    .action(async (flags: { limit: string }) =>
      done(await (await import("./threads.ts")).threadsShow(await terminal(), flags)),
    );
  command(threads, "fork <id> <to>", "begin another conversation with what was said through this message")
    .option(place, placeWords)
    .option("--before", "without the message itself")
    .option("--again", "say the message there once more, with its files")
    .option("--text <words>", "in other words")
    .option("--model <name>", "with another model")
    .action(async (id: string, to: string, flags: object) =>
      done(await (await import("./threads.ts")).threadsFork(await terminal(), id, to, flags)),
    );
  command(threads, "steps", "show the tools that it used, and what waits")
    .option(place, placeWords)
    .action(async (flags: object) =>
      done(await (await import("./threads.ts")).threadsSteps(await terminal(), flags)),
    );
  command(threads, "cancel <id>", "take back a message that nobody has begun to answer")
    .option(place, placeWords)
    .action(async (id: string, flags: object) =>
      done(await (await import("./threads.ts")).threadsCancel(await terminal(), id, flags)),
    );
  command(threads, "edit <id> <text...>", "give such a message other words")
    .option(place, placeWords)
    .action(async (id: string, words: string[], flags: object) =>
      done(await (await import("./threads.ts")).threadsEdit(await terminal(), id, words.join(" "), flags)),
    );

  const sessions = program.command("sessions").description("the conversations that the gateway keeps");
  command(sessions, "list [words...]", "show them, or those with these words, the last changed first")
    .option("--agent <id>", "only those of this agent")
    .option("--limit <n>", "at most so many", "100")
    .action(async (words: readonly string[], flags: object) =>
      done(await (await import("./sessions.ts")).sessionsList(await terminal(), flags, words)),
    );
  command(sessions, "show <key>", "show one, with the newest of its transcript")
    .option("--limit <n>", "so many entries", "50")
    .option("--epoch <n>", "what was said before it was begun anew: 1 is its first beginning")
    .action(async (key: string, flags: object) =>
      done(await (await import("./sessions.ts")).sessionsShow(await terminal(), key, flags)),
    );
  command(sessions, "set <key>", "give one a model or thinking of its own; `default` takes it back")
    .option("--model <name>", "a name of `parley models list`")
    .option("--thinking <level>", "off, minimal, low, medium, high or xhigh")
    .option("--reasoning <level>", "whether its thoughts are shown: off, on or stream")
    .action(async (key: string, flags: object) =>
      done(await (await import("./sessions.ts")).sessionsSet(await terminal(), key, flags)),
    );
  command(sessions, "tree [key]", "show the sessions that have sub-agents, with these below them").action(
    async (key: string | undefined) =>
      done(await (await import("./sessions.ts")).sessionsTree(await terminal(), key)),
  );
  command(sessions, "reset <key>", "begin it anew, as /new does; nothing is deleted").action(
    async (key: string) => done(await (await import("./sessions.ts")).sessionsReset(await terminal(), key)),
  );
  command(
    sessions,
    "compact <key> [focus...]",
    "make a summary of its beginning, as /compact does; say what it must keep",
  ).action(async (key: string, focus: string[]) =>
    done(await (await import("./sessions.ts")).sessionsCompact(await terminal(), key, focus.join(" "))),
  );
  command(sessions, "forget <key>", "remove what was said in it for good, and begin it anew").action(
    async (key: string) => done(await (await import("./sessions.ts")).sessionsForget(await terminal(), key)),
  );
}
