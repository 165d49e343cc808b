// Chat commands that act past the lane: they must answer while a turn runs, so receive calls them before anything is queued.
// Each may be repeated after a crash and then changes nothing more.
import type { Admitted, RunPastLane } from "../inbound/receive.ts";
import type { Command } from "../inbound/command.ts";

export interface PastLaneCommand {
  readonly name: string;
  readonly summary: string;
  /** What is said back; null says nothing. */
  run(args: string, by: Admitted): Promise<string | null>;
}

export function pastLaneCommands(commands: readonly PastLaneCommand[]): RunPastLane {
  const table = new Map(commands.map((command) => [command.name, command]));
  const help: PastLaneCommand = {
    name: "help",
    summary: "what I understand",
    run: async () => [...commands, ...laneCommands].map(({ name, summary }) => `/${name} - ${summary}`).join("\n"),
  };
  table.set("help", help);
  return async (command: Command, by: Admitted) => {
    const found = table.get(command.name === "start" ? "help" : command.name);
    return found === undefined ? null : found.run(command.args, by);
  };
}

/** Handled where the lane runs; listed here so that /help is whole. */
export const laneCommands: readonly Pick<PastLaneCommand, "name" | "summary">[] = [
  { name: "new", summary: "begin a new conversation" },
  { name: "reset", summary: "the same as /new" },
];
