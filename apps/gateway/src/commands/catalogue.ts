// The table of chat commands: which act past the lane, which keep their place in it, and what the menu of an account shows of both. Each
// command is listed here once; /help and the menus are made of these lists and cannot say anything else.
import type { Config } from "@parley/config";
import type { Models } from "@parley/models";
import { isFault, type Address } from "@parley/protocol";
import type { Store } from "@parley/store";
import {
  type Approvals,
  type EmergencyStop,
  type LaneCommand,
  type ModelCatalog,
  agentIn,
} from "@parley/runner";
import type { PairingDecisions, RouteInbound } from "@parley/access";
import { activationCommand } from "./activation.ts";
import { approveCommands } from "./approve.ts";
import { commandMenu, type PastLaneCommand } from "./commands.ts";
import { compactCommand, type CompactOptions } from "./compact.ts";
import { estopCommand } from "./estop.ts";
import { contextCommand, type ContextCommandOptions } from "./context.ts";
import { modelCommand } from "./model.ts";
import { newCommand, resetCommand, type NewCommandOptions } from "./new.ts";
import { pairCommand } from "./pair.ts";
import { queueCommand } from "./queue.ts";
import { reasoningCommand } from "./reasoning.ts";
import type { SkillDesk } from "./skill.ts";
import { stopCommand, type Stoppable } from "./stop.ts";
import { thinkCommand, type DirectiveOptions } from "./think.ts";
import { toolsCommand } from "./tools.ts";
import { usageCommand, type UsageCommandOptions } from "./usage.ts";
import { whoamiCommand } from "./whoami.ts";

export interface CommandCatalogueOptions
  extends
    Omit<CompactOptions, "sessions" | "prepareTurn">,
    Omit<UsageCommandOptions, "clock">,
    Pick<ContextCommandOptions, "prompts"> {
  readonly config: Config;
  readonly store: Pick<Store, "inbox" | "sessions">;
  readonly route: RouteInbound;
  readonly stop: Stoppable;
  readonly hold: EmergencyStop;
  readonly approvals: Approvals;
  readonly pairing: PairingDecisions;
  readonly skills: SkillDesk;
  readonly turnPreparer: ContextCommandOptions["turnPreparer"];
  readonly forTurn: CompactOptions["prepareTurn"];
  readonly models: Pick<Models, "get">;
  readonly book: ModelCatalog;
  /** Beside those of the table, past the lane. */
  readonly more: readonly PastLaneCommand[];
}

export interface CommandCatalogue {
  readonly pastLane: readonly PastLaneCommand[];
  readonly inLane: readonly LaneCommand[];
  menu(account: Pick<Address, "channel" | "account">): Promise<ReturnType<typeof commandMenu>>;
}

/** Of Telegram and of Discord alike; what comes last gives way. */
const mostMenuCommands = 100;

export function commandCatalogue(options: CommandCatalogueOptions): CommandCatalogue {
  const { config, store, route, skills, turnPreparer, prompts, usage, channel, running, ledger, clock } =
    options;
  const { sessions } = store;
  const pastLane: readonly PastLaneCommand[] = [
    stopCommand(store.inbox, options.stop),
    estopCommand(options.hold),
    ...approveCommands(options.approvals),
    queueCommand(sessions, config.messages.queue),
    whoamiCommand,
    usageCommand({ usage, ledger, clock }),
    contextCommand({ sessions, turnPreparer, prompts }),
    toolsCommand({ sessions, turnPreparer, held: options.hold.now }),
    pairCommand(options.pairing),
    skills.command,
    ...options.more,
  ];
  const find: NewCommandOptions["find"] = (agent, word) => options.book.find(agentIn(config)(agent), word);
  const talk: DirectiveOptions = { config, sessions, models: options.models, book: options.book };
  const inLane: readonly LaneCommand[] = [
    newCommand({ sessions, find, clock }),
    resetCommand({ sessions, find, clock }),
    activationCommand(sessions),
    thinkCommand(talk),
    reasoningCommand(talk),
    modelCommand(talk),
    compactCommand({ sessions, prepareTurn: options.forTurn, channel, running, ledger, clock }),
  ];

  return {
    pastLane,
    inLane,
    async menu({ channel: name, account }) {
      // The menu is the account's, so it shows the skills of whoever answers there in private.
      const agent = agentFor(route, { channel: name, account, kind: "dm", peer: "0" });
      const own = agent === null ? [] : await skills.menu(agent);
      return [...commandMenu(pastLane, inLane), ...own].slice(0, mostMenuCommands);
    },
  };
}

function agentFor(route: RouteInbound, address: Address): string | null {
  try {
    return route({ address }).agent;
  } catch (error) {
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}
