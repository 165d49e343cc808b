// Computes what a turn's channel can and may do: its capabilities narrowed by the account's config.
import type { ChannelFacts } from "@parley/agent";
import type { Channel } from "@parley/channels";
import type { Config, ReactionLevel, TelegramAccountConfig } from "@parley/config";
import type { Address } from "@parley/protocol";
import type { Tool } from "@parley/tools";

/** A channel as the prompt needs it; a command line without a running gateway has it too. */
export type Surface = Pick<Channel, "name" | "capabilities" | "actions">;

export function channelFacts(
  config: Config,
  address: Address,
  { name, capabilities, actions = [] }: Surface,
): ChannelFacts {
  return {
    name,
    kind: address.kind,
    threaded: address.thread !== undefined,
    capabilities,
    actions,
    buttons: capabilities.inlineButtons ? allowedButtons(config, address) : "unsupported",
    unheard: address.channel === "hook",
  };
}

/** Returns the account's level, else `minimal` for an agent that has a tool to react with. */
export function reactionLevel(
  { channels }: Config,
  { channel, account }: Address,
  tools: readonly Pick<Tool, "name">[],
): ReactionLevel {
  const own =
    channel === "telegram"
      ? accountOf(channels.telegram, account)?.reactionLevel
      : channel === "discord"
        ? accountOf(channels.discord, account)?.reactionLevel
        : undefined;
  return own ?? (tools.some((tool) => tool.name.toLowerCase() === "message") ? "minimal" : "off");
}

function allowedButtons({ channels }: Config, { channel, account, kind }: Address): ChannelFacts["buttons"] {
  const telegram = channel === "telegram" ? accountOf(channels.telegram, account) : undefined;
  if (telegram === undefined || buttonsIn(telegram.inlineButtons, kind)) return "on";
  const where = account === "default" ? "" : `.accounts.${account}`;
  return { enableWith: `channels.telegram${where}.capabilities.inlineButtons` };
}

/** `allowlist` permits everyone here, because only allowed people get as far as a turn. */
function buttonsIn(scope: TelegramAccountConfig["inlineButtons"], kind: Address["kind"]): boolean {
  if (scope === "dm") return kind === "dm";
  if (scope === "group") return kind !== "dm";
  return scope !== "off";
}

function accountOf<A>(accounts: { readonly [id: string]: A }, id: string): A | undefined {
  return Object.hasOwn(accounts, id) ? accounts[id] : undefined;
}
