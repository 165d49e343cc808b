// Chat commands that act past the lane: they must answer while a turn runs, so receive calls them before anything is queued.
// Each may be repeated after a crash and then changes nothing more.
import { isForOwners, type Command } from "../receive/command.ts";
import type { Admitted, RunPastLane } from "../receive/receive.ts";
import type { LaneCommand } from "@parley/runner";

export interface PastLaneCommand {
  readonly name: string;
  readonly summary: string;
  /** What is said back; null says nothing. */
  run(args: string, by: Admitted): Promise<string | null>;
}

type Listed = Pick<PastLaneCommand, "name" | "summary">;
/** Commands that keep their place in the lane run elsewhere; what is listed here makes /help and the menu whole. */
type InLane = Pick<LaneCommand, "name" | "summary">;

/** What the platform's menu shows: what everybody may use. */
export function commandMenu(
  commands: readonly PastLaneCommand[],
  inLane: readonly InLane[],
): readonly { readonly name: string; readonly description: string }[] {
  return listed([...commands, help(commands, inLane), ...inLane], false).map(({ name, summary }) => ({
    name,
    description: summary,
  }));
}

export function pastLaneCommands(
  commands: readonly PastLaneCommand[],
  inLane: readonly InLane[],
): RunPastLane {
  const table = new Map(
    [...commands, help(commands, inLane), startCommand].map((command) => [command.name, command]),
  );
  return async (command: Command, by: Admitted) => {
    const found = table.get(command.name);
    return found === undefined ? null : found.run(command.args, by);
  };
}

/** Of a config that names no other agent. */
const usualAgent = "main";

/** What Telegram sends when somebody opens the chat, and the first word that many people try elsewhere; no list needs it. */
const startCommand: PastLaneCommand = {
  name: "start",
  summary: "who I am",
  run: async (_args, { inbound, route: { agent } }) => {
    const who = agent === usualAgent ? "an AI agent" : `"${agent}", an AI agent`;
    const how =
      inbound.address.kind === "dm"
        ? "Just write what you want, as you would to a person."
        : "Mention me, or reply to me, and I answer.";
    return `Hello! I am ${who}, here through Parley. ${how} /help shows the commands that I understand.`;
  },
};

function help(commands: readonly PastLaneCommand[], inLane: readonly InLane[]): PastLaneCommand {
  return {
    name: "help",
    summary: "what I understand",
    run: async (_args, { owner }) =>
      listed([...commands, ...inLane], owner)
        .map(({ name, summary }) => `/${name} - ${summary}`)
        .join("\n"),
  };
}

function listed(commands: readonly Listed[], owner: boolean): readonly Listed[] {
  return commands.filter(({ name }) => owner || !isForOwners(name));
}
