// Prompts, tools and approvals while no daemon runs: made from the same config, files and store, with what is known of channels that nobody
// opens. What is decided here is durable: the next daemon acts on it.
import type { Config, Places } from "@parley/config";
import { cooldowns } from "@parley/models";
import {
  createApprovals,
  emergencyStop,
  bootstrapHooks,
  promptHistory,
  modelCatalog,
  sessionPlans,
  sessionStatus,
  agentIn,
  turnPreparer,
  effectiveTools,
  docsRoots,
} from "@parley/runner";
import type { Clock, Ids, Log } from "@parley/protocol";
import type { Store } from "@parley/store";
import { installationFacts } from "../installation.ts";
import { accessPolicy, speakersAt, owners, migratedChats } from "@parley/access";
import { promptMethods } from "../operator/prompt.ts";
import { toolMethods } from "../operator/tools.ts";
import { idleToolPorts } from "../wiring/machine-ports.ts";
import { configuredAccounts, wireModels, wireSkills, wireSurfaces, wireTools } from "../wiring/wiring.ts";

export interface StoppedPromptsOptions {
  readonly config: Config;
  readonly configPath: string;
  readonly places: Places;
  readonly env: { readonly [name: string]: string | undefined };
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

type StoppedPrompts = ReturnType<typeof promptMethods> & ReturnType<typeof toolMethods>;

export async function stoppedPrompts(options: StoppedPromptsOptions): Promise<StoppedPrompts> {
  const { config, places, env, store, clock, ids, log } = options;
  const moved = migratedChats(store.cells);
  await moved.load();
  const policy = accessPolicy(config.channels, moved);
  const prompts = promptHistory(store.cells, clock);
  const models = wireModels(config, places.home, clock, log);
  const hands = idleToolPorts({ home: places.home, mediaPath: places.home, env, clock, ids, log }, store);
  const house = await installationFacts(config, places.home, env["SHELL"], ids);
  const skills = wireSkills(config, places.home, env, hands.origins);
  const owner = owners(config.commands.ownerAllowFrom, store.cells);
  const { approvers, target } = config.approvals.exec;
  const desk = createApprovals({
    ...store,
    approvers: approvers ?? null,
    target,
    owners: owner.all,
    accounts: () => configuredAccounts(config),
    clock,
    log,
  });
  const ready = turnPreparer({
    config,
    models,
    cooldowns: cooldowns(clock),
    tools: effectiveTools({
      config,
      grants: desk.book.grants,
      hands,
      more: wireTools(config, clock, env["PATH"] ?? "/usr/bin:/bin"),
      readRoots: [...skills.readRoots(), ...docsRoots(house)],
      status: sessionStatus({
        sessions: store.sessions,
        models: modelCatalog({ config, declared: models.list, callable: models.get }),
        agentOf: agentIn(config),
      }),
      plans: sessionPlans(store.sessions),
      clock,
      ids,
    }),
    speakers: speakersAt(owner),
    channel: wireSurfaces(config),
    rules: (place) => policy(place.address)?.rules(place) ?? null,
    hooks: bootstrapHooks(config, options.configPath, clock),
    owners: owner.all,
    house,
    prompts,
    skills,
    origins: hands.origins,
    clock,
    ids,
    log,
  });
  const hold = emergencyStop({ ...store, stopTurn: () => {}, endCommands: async () => {}, clock });
  const asked = {
    sessions: store.sessions,
    prompts,
    turnPreparer: ready,
    defaultAgent: config.agents.list[0]?.id ?? "main",
  };
  return { ...promptMethods(asked), ...toolMethods({ ...asked, desk, hold }) };
}
