// Binds the table's commands to the ports of one config: commands past the lane, commands in it, and the menu
// of an account.
import type { Config } from "@parley/config";
import { isFault, type Address } from "@parley/protocol";
import type { Admit, RouteInbound } from "@parley/access";
import type { Suggest } from "@parley/channels";
import type { LaneCommand } from "@parley/runner";
import type { Admitted, CommandPorts, MenuEntry } from "./chat-command.ts";
import { knownCommands, parseCommand } from "./parse-command.ts";
import { chatCommands, listedCommands } from "./table.ts";

export interface BoundCommands {
  /** Runs a command that acts past the lane. Null: no answer. */
  runPastLane(
    command: { readonly name: string; readonly args: string },
    by: Admitted,
  ): Promise<string | null>;
  readonly inLane: readonly LaneCommand[];
  menu(account: Pick<Address, "channel" | "account">): Promise<readonly MenuEntry[]>;
  /** What may stand after a command that somebody types; nothing for whoever may not give it. */
  readonly suggest: Suggest;
}

/** The limit of Telegram and of Discord; the menu leaves out the commands beyond it. */
const mostMenuCommands = 100;

export function boundCommands(
  ports: CommandPorts,
  { route, mayAsk }: { readonly route: RouteInbound; readonly mayAsk: Admit },
): BoundCommands {
  return {
    async suggest(typed) {
      const given = parseCommand(typed.text);
      const command = chatCommands.find(({ name }) => name === given?.name);
      if (given === null || command?.suggests === undefined) return [];
      const call = { isSlashCommand: true, activation: async () => null };
      const admitted = await mayAsk(typed, call);
      if (admitted.kind !== "turn" || (command.ownersOnly === true && !admitted.owner)) return [];
      const by = { inbound: typed, route: route(typed), owner: admitted.owner };
      const all = await command.suggests(by, ports);
      const wanted = given.args.toLowerCase();
      return all.filter(({ label, value }) => `${value} ${label}`.toLowerCase().includes(wanted));
    },
    async runPastLane({ name, args }, by) {
      const found = chatCommands.find((command) => command.name === name);
      return found?.place === "past-lane" ? found.run({ ...by, args }, ports) : null;
    },
    inLane: chatCommands
      .filter((command) => command.place === "in-lane")
      .map((command) => ({
        name: command.name,
        async run(call) {
          const end = await command.run(call, ports);
          // These tell it themselves, with the conversation that they ended.
          if (!endings.has(command.name)) ports.heard.command(command.name, call.key, call.inbound);
          return end;
        },
      })),
    async menu({ channel, account }) {
      // The platform keeps one menu per account, so it shows the skills of the agent that answers private
      // chats.
      const agent = agentFor(route, { channel, account, kind: "dm", peer: "0" });
      const own = agent === null ? [] : await ports.skills.menu(agent);
      const everybodys = listedCommands(false).map(({ name, summary, suggests }) => ({
        name,
        description: summary,
        ...(suggests === undefined ? {} : { suggests: true as const }),
      }));
      const known = new Set([...knownCommands(), ...own.map(({ name }) => name)]);
      const custom = customCommands(ports.config, channel, account).filter(({ name }) => !known.has(name));
      return [...everybodys, ...custom, ...own].slice(0, mostMenuCommands);
    },
  };
}

const endings: ReadonlySet<string> = new Set(["new", "reset"]);

/** The menu entries that the config adds; the agent gets their text as it is. */
function customCommands({ channels }: Config, channel: string, account: string): readonly MenuEntry[] {
  const entries = channel === "telegram" ? (channels.telegram[account]?.customCommands ?? []) : [];
  return entries.map(({ command, description }) => ({ name: command, description }));
}

function agentFor(route: RouteInbound, address: Address): string | null {
  try {
    return route({ address }).agent;
  } catch (error) {
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}
