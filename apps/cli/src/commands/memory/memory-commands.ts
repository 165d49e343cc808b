// The commands of `parley memory`, as the command line knows them; what they do is beside it.
import type { Command } from "commander";
import type { MemoryChoice } from "./memory.ts";
import type { ForgetChoice } from "./forget-memory.ts";
import type { HistoryChoice, ProposalChoice } from "./note-changes.ts";
import type { Operations } from "../../operations.ts";

export function addMemory(program: Command, { command, terminal, done }: Operations): void {
  const memory = program.command("memory").description("the notes that agents keep, and their index");
  const whose = "the memory of this agent, not of the default one";
  command(memory, "search <query>", "find passages, with the files and lines that they stand in")
    .option("--agent <id>", whose)
    .option("--max <n>", "most results")
    .option("--min-score <score>", "leave out what scores lower, 0 to 1")
    .action(async (query: string, choice: MemoryChoice) => {
      done(await (await import("./memory.ts")).memorySearch(await terminal(), query, choice));
    });
  command(memory, "get <path>", "show lines of a memory file")
    .option("--agent <id>", whose)
    .option("--from <line>", "first line")
    .option("--lines <n>", "most lines")
    .action(async (path: string, choice: MemoryChoice) => {
      done(await (await import("./memory.ts")).memoryGet(await terminal(), path, choice));
    });
  command(memory, "status", "show what is indexed, and what is left out and why")
    .option("--agent <id>", "of this agent alone")
    .action(async ({ agent }: MemoryChoice) => {
      done(await (await import("./memory.ts")).memoryStatus(await terminal(), agent));
    });
  command(
    memory,
    "why <line>",
    "tell which turn wrote a line, and for whom: the line, words of it, or path#line",
  )
    .option("--agent <id>", whose)
    .action(async (text: string, { agent }: MemoryChoice) => {
      done(await (await import("./memory.ts")).memoryWhy(await terminal(), text, agent));
    });
  command(memory, "history", "show what turns changed in the notes, newest first")
    .option("--agent <id>", whose)
    .option("--path <path>", "of this file alone")
    .option("--max <n>", "most changes")
    .action(async (choice: HistoryChoice) => {
      done(await (await import("./note-changes.ts")).memoryHistory(await terminal(), choice));
    });
  command(memory, "undo [id]", "take a change of the notes back: the newest one, or one of the history")
    .option("--agent <id>", whose)
    .action(async (id: string | undefined, { agent }: MemoryChoice) => {
      done(await (await import("./note-changes.ts")).memoryUndo(await terminal(), id, agent));
    });
  command(memory, "proposals", "show what the nightly upkeep proposes, and what became of it")
    .option("--agent <id>", "of this agent alone")
    .option("--all", "also what was decided or ran out")
    .action(async (choice: ProposalChoice) => {
      done(await (await import("./note-changes.ts")).memoryProposals(await terminal(), choice));
    });
  command(
    memory,
    "accept <id> [changes...]",
    "make the changes of a proposal, or some of them by number",
  ).action(async (id: string, changes: string[]) => {
    done(await (await import("./note-changes.ts")).memoryDecide(await terminal(), "accept", id, changes));
  });
  command(memory, "refuse <id>", "leave the notes as they are").action(async (id: string) => {
    done(await (await import("./note-changes.ts")).memoryDecide(await terminal(), "refuse", id, []));
  });
  command(memory, "forget <query>", "show what says it, and with --yes take it away for good")
    .option("--agent <id>", whose)
    .option("--yes", "do it without asking")
    .action(async (query: string, choice: ForgetChoice) => {
      done(await (await import("./forget-memory.ts")).memoryForget(await terminal(), query, choice));
    });
  command(memory, "reindex", "throw the index away and build it anew from the notes")
    .option("--agent <id>", "of this agent alone")
    .action(async ({ agent }: MemoryChoice) => {
      done(await (await import("./memory.ts")).memoryReindex(await terminal(), agent));
    });
}
