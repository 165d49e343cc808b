// Checks routing and resets beyond the schema: agents and accounts that do not exist, messages that no agent
// would answer, a pause without its length.
import { isFault, parseConversationKey } from "@parley/protocol";
import type { Config } from "../config.ts";
import type { ConfigPath } from "../problem.ts";
import type { ConfigFile } from "../schema/root.ts";
import { finding, type Finding } from "../validate/validate.ts";

export function routingFindings(file: ConfigFile, config: Config): readonly Finding[] {
  const agents = new Set(config.agents.list.map((agent) => agent.id));
  return [
    ...config.bindings.flatMap((_, index) => bindingFindings(config, agents, index)),
    ...placeAgents(file).flatMap(([at, agent]) => agentFindings(at, agent, agents)),
    ...unansweredFindings(config, agents),
    ...resetFindings(file),
    ...Object.keys(config.hooks.endpoints).flatMap((name) => webhookFindings(config, agents, name)),
    ...config.hooks.mappings.flatMap((_, index) => mappingFindings(config, agents, index)),
  ];
}

function agentFindings(at: ConfigPath, agent: string, agents: ReadonlySet<string>): Finding[] {
  return agents.has(agent)
    ? []
    : [
        finding(
          [...at, "agentId"],
          `there is no agent "${agent}"`,
          `Add it to agents.list, or use one of ${[...agents].join(", ")}`,
        ),
      ];
}

function webhookFindings({ hooks, channels }: Config, agents: ReadonlySet<string>, name: string): Finding[] {
  const at = ["hooks", "endpoints", name];
  const hook = hooks.endpoints[name];
  if (hook === undefined) return [];
  const found = hook.agentId === undefined ? [] : agentFindings(at, hook.agentId, agents);
  if (hook.agentId === undefined && agents.size > 1 && !agents.has("main")) {
    found.push(
      finding(at, "nothing says which agent is told", `Set agentId to one of ${[...agents].join(", ")}`),
    );
  }
  if (hook.token === undefined && hook.secret === undefined && hooks.token === undefined) {
    found.push(finding(at, "anybody could call it", "Set token or secret beside it, or hooks.token for all"));
  }
  return hook.deliver === undefined
    ? found
    : [...found, ...deliverFindings([...at, "deliver"], hook.deliver, channels)];
}

function mappingFindings({ hooks }: Config, agents: ReadonlySet<string>, index: number): Finding[] {
  const at = ["hooks", "mappings", index];
  const mapping = hooks.mappings[index];
  if (mapping === undefined) return [];
  const { path } = mapping.match;
  const found = mapping.agentId === undefined ? [] : agentFindings(at, mapping.agentId, agents);
  if (mapping.token === undefined && mapping.secret === undefined && hooks.token === undefined)
    found.push(finding(at, "anybody could call it", "Set token or secret beside it, or hooks.token for all"));
  const isTaken =
    Object.hasOwn(hooks.endpoints, path) ||
    hooks.mappings.findIndex(({ match }) => match.path === path) < index;
  if (isTaken) {
    found.push(
      finding([...at, "match", "path"], `/hooks/${path} is taken by another webhook`, "Give it another path"),
    );
  }
  return found;
}

function deliverFindings(at: ConfigPath, deliver: string, channels: Config["channels"]): Finding[] {
  const fix = 'Name one as "parley lanes" does: "telegram:default:dm:123"';
  try {
    const { channel, account } = parseConversationKey(deliver);
    const accounts = accountsOf(channels);
    if (accounts.get(channel)?.includes(account) === true) return [];
    return [finding(at, `there is no account ${channel}:${account}`, fix)];
  } catch (error) {
    if (isFault(error, "invalid")) return [finding(at, error.message, fix)];
    throw error;
  }
}

function bindingFindings(
  { bindings, channels }: Config,
  agents: ReadonlySet<string>,
  index: number,
): Finding[] {
  const binding = bindings[index];
  if (binding === undefined) return [];
  const { channel, accountId, guildId, roles } = binding.match;
  const at = ["bindings", index];
  const found = agentFindings(at, binding.agentId, agents);
  const twin = bindings.findIndex((other) => matchText(other) === matchText(binding));
  if (twin < index) {
    found.push(
      finding(
        [...at, "match"],
        `bindings[${twin}] says the same, and comes first`,
        "Remove one of them, or say more in one",
      ),
    );
  }
  const accounts = accountsOf(channels);
  if (!accounts.has(channel)) {
    const known = [...accounts.keys()].join(", ");
    found.push(
      finding([...at, "match", "channel"], `there is no channel "${channel}"`, `Use one of ${known}`),
    );
  }
  if (roles !== undefined && guildId === undefined) {
    found.push(
      finding(
        [...at, "match", "roles"],
        "roles belong to a server, and none is named",
        "Set guildId beside them",
      ),
    );
  }
  // An account without its token is switched off for now, which is no mistake.
  if (accountId !== "*" && accountId !== "default" && accounts.get(channel)?.includes(accountId) === false) {
    found.push(
      finding(
        [...at, "match", "accountId"],
        `${channel} has no account "${accountId}"`,
        'Name one that has a token, or "*" for all',
      ),
    );
  }
  return found;
}

/** Equal for two bindings that hold for the same messages. */
function matchText({ match }: Config["bindings"][number]): string {
  const { channel, accountId, peer, guildId, roles } = match;
  return JSON.stringify([channel, accountId, peer?.kind, peer?.id, guildId, roles?.toSorted()]);
}

/** The agents that groups, topics, servers and channels name, with the place in the file. */
function placeAgents({ channels }: ConfigFile): (readonly [ConfigPath, string])[] {
  const found: (readonly [ConfigPath, string])[] = [];
  const walk = (at: ConfigPath, places: Places): void => {
    for (const [id, place] of Object.entries(places ?? {})) {
      if (place.agentId !== undefined) found.push([[...at, id], place.agentId]);
      walk([...at, id, "topics"], place.topics);
      walk([...at, id, "channels"], place.channels);
    }
  };
  for (const [at, { groups }] of blocks("telegram", channels.telegram)) walk([...at, "groups"], groups);
  for (const [at, { guilds }] of blocks("discord", channels.discord)) walk([...at, "guilds"], guilds);
  return found;
}

type Places =
  | {
      readonly [id: string]: {
        readonly agentId?: string;
        readonly topics?: Places;
        readonly channels?: Places;
      };
    }
  | undefined;

/** A channel's own block and those of its accounts. */
function blocks<A extends object>(
  channel: string,
  block: A & { readonly accounts: { readonly [id: string]: A } },
): [ConfigPath, A][] {
  const at = ["channels", channel];
  return [
    [at, block],
    ...Object.entries(block.accounts).map(([id, account]): [ConfigPath, A] => [
      [...at, "accounts", id],
      account,
    ]),
  ];
}

/** With several agents somebody must own what no narrow binding names. */
function unansweredFindings(
  { bindings, channels, agents: { list } }: Config,
  agents: ReadonlySet<string>,
): Finding[] {
  if (agents.size === 1 || agents.has("main")) return [];
  const open = [...accountsOf(channels)].flatMap(([channel, accounts]) =>
    accounts
      .filter(
        (account) => !bindings.some(({ match }) => match.channel === channel && catchesAll(match, account)),
      )
      .map((account) => `${channel}:${account}`),
  );
  const [first] = open;
  if (first === undefined) return [];
  const [channel, account] = first.split(":");
  const fix = `Call one agent "main", or bind { agentId: "${list[0]?.id}", match: { channel: "${channel}", accountId: "${account}" } }`;
  return [
    finding(
      ["agents", "list"],
      `no agent would answer on ${open.join(", ")}: no binding names it whole and no agent is "main"`,
      fix,
    ),
  ];
}

function catchesAll(match: Config["bindings"][number]["match"], account: string): boolean {
  const { accountId, peer, guildId, roles } = match;
  return (
    (accountId === "*" || accountId === account) &&
    peer === undefined &&
    guildId === undefined &&
    roles === undefined
  );
}

/** By channel; names come from the file, so only a map may be asked for them. */
function accountsOf({ telegram, discord, web }: Config["channels"]): ReadonlyMap<string, readonly string[]> {
  return new Map([
    ["telegram", Object.keys(telegram)],
    ["discord", Object.keys(discord)],
    ["web", web.enabled ? ["default"] : []],
  ]);
}

function resetFindings(file: ConfigFile): Finding[] {
  const { session } = file;
  const policies = [
    [["session", "reset"], session.reset] as const,
    ...Object.entries(session.resetByType).map(
      ([type, policy]) => [["session", "resetByType", type], policy] as const,
    ),
    ...Object.entries(session.resetByChannel).map(
      ([channel, policy]) => [["session", "resetByChannel", channel], policy] as const,
    ),
  ];
  const channels = Object.keys(file.channels);
  const unknown = Object.keys(session.resetByChannel).filter((channel) => !channels.includes(channel));
  const lost = unknown.map((channel) =>
    finding(
      ["session", "resetByChannel", channel],
      `there is no channel "${channel}"`,
      `Use one of ${channels.join(", ")}`,
    ),
  );
  const endless = policies.flatMap(([at, policy]) =>
    policy.mode === "idle" && policy.idleMinutes === undefined
      ? [finding([...at, "mode"], '"idle" does not say how long a pause is', "Set idleMinutes beside it")]
      : [],
  );
  return [...lost, ...endless];
}
