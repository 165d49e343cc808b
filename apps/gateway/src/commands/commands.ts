// Chat commands that act past the lane: they must answer while a turn runs, so receive calls them before anything is queued.
// Each may be repeated after a crash and then changes nothing more.
import { isForOwners, type Command } from "../inbound/command.ts";
import type { Admitted, RunPastLane } from "../inbound/receive.ts";

export interface PastLaneCommand {
  readonly name: string;
  readonly summary: string;
  /** What is said back; null says nothing. */
  run(args: string, by: Admitted): Promise<string | null>;
}

type Listed = Pick<PastLaneCommand, "name" | "summary">;

/** Handled where the lane runs; listed here so that /help is whole. */
const laneCommands: readonly Listed[] = [
  { name: "new", summary: "begin a new conversation" },
  { name: "reset", summary: "the same as /new" },
  { name: "activation", summary: "answer to everything in this group, or only when mentioned" },
];

/** What the platform's menu shows: what everybody may use. */
export function commandMenu(commands: readonly PastLaneCommand[]): readonly { readonly name: string; readonly description: string }[] {
  return listed([...commands, help(commands)], false).map(({ name, summary }) => ({ name, description: summary }));
}

export function pastLaneCommands(commands: readonly PastLaneCommand[]): RunPastLane {
  const table = new Map([...commands, help(commands)].map((command) => [command.name, command]));
  return async (command: Command, by: Admitted) => {
    const found = table.get(command.name === "start" ? "help" : command.name);
    return found === undefined ? null : found.run(command.args, by);
  };
}

function help(commands: readonly PastLaneCommand[]): PastLaneCommand {
  return {
    name: "help",
    summary: "what I understand",
    run: async (_args, { owner }) =>
      listed(commands, owner)
        .map(({ name, summary }) => `/${name} - ${summary}`)
        .join("\n"),
  };
}

function listed(commands: readonly Listed[], owner: boolean): readonly Listed[] {
  return [...commands, ...laneCommands].filter(({ name }) => owner || !isForOwners(name));
}
