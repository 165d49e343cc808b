// Reads the rules of one shared place: a group, a topic, a channel of a server, a thread. Entries nest: an
// inner one inherits what it does not say, and may only narrow tools and skills. Places are found by id
// alone, and one without an entry is not served (I13).
import type { DiscordAccountConfig, GroupPolicy, PlaceConfig, TelegramAccountConfig } from "@parley/config";
import type { Inbound } from "@parley/protocol";
import type { ToolRules } from "@parley/tools";

/** The place that a message comes from. */
export type Place = Pick<Inbound, "address"> & Partial<Pick<Inbound, "guild" | "parent">>;

export interface PlaceRules {
  readonly policy: GroupPolicy;
  /** True when an entry names the place, or the policy serves places without one. */
  readonly served: boolean;
  readonly enabled: boolean;
  /** The senders that are heard; null is everybody. */
  readonly senders: Senders | null;
  readonly requireMention: boolean;
  /** True when a message that mentions others and not us is ignored, even where no mention is needed. */
  readonly ignoresOthersMentions?: boolean;
  /** Rules that narrow the agent's tools here, outermost entry first; absent: all tools. */
  readonly tools?: readonly ToolRules[];
  /** The only skills usable here; absent: all of the agent's. */
  readonly skills?: readonly string[];
  readonly systemPrompt?: string;
  readonly agent?: string;
}

/** Matching either list is enough; "*" among the users is everybody. Empty lists match nobody. */
export interface Senders {
  readonly users: readonly string[];
  readonly roles: readonly string[];
}

/** `ids`: the chat's id and its earlier ones, newest first. */
export function telegramRules(
  account: TelegramAccountConfig,
  { address }: Place,
  ids: readonly string[],
): PlaceRules {
  const group = entryOf(account.groups, ids);
  const topic = address.thread === undefined ? undefined : entryOf(group?.topics, [address.thread]);
  const policy = group?.groupPolicy ?? account.groupPolicy;
  const users =
    topic?.allowFrom ?? group?.allowFrom ?? (policy === "open" ? undefined : account.groupAllowFrom);
  return {
    policy,
    served: isServed(policy, account.groups, group),
    senders: users === undefined ? null : { users, roles: [] },
    ...nested([group, topic]),
  };
}

export function discordRules(
  account: DiscordAccountConfig,
  { address, guild: guildId, parent }: Place,
): PlaceRules {
  const { groupPolicy: policy, guilds } = account;
  const guild = guildId === undefined ? undefined : entryOf(guilds, [guildId]);
  const ids = [address.thread, address.peer, parent].filter((id) => id !== undefined);
  const channel = entryOf(guild?.channels, ids);
  const named = [channel, guild].find((entry) => entry?.users !== undefined || entry?.roles !== undefined);
  const everybody = named === undefined && policy === "open";
  return {
    policy,
    served:
      guildId !== undefined &&
      isServed(policy, guilds, guild) &&
      (guild?.channels === undefined || channel !== undefined),
    ignoresOthersMentions: channel?.ignoreOtherMentions ?? guild?.ignoreOtherMentions ?? false,
    senders: everybody
      ? null
      : { users: named === undefined ? account.allowFrom : (named.users ?? []), roles: named?.roles ?? [] },
    ...nested([guild, channel]),
  };
}

/** For channels without rules of their own: everybody there is heard when calling the agent. */
export const openRules: PlaceRules = {
  policy: "open",
  served: true,
  enabled: true,
  senders: null,
  requireMention: true,
};

type Entries<E> = { readonly [id: string]: E } | undefined;

/** Returns the entry of the first id that has one; "*" stands for ids without. */
function entryOf<E>(entries: Entries<E>, ids: readonly string[]): E | undefined {
  const id = [...ids, "*"].find((each) => entries !== undefined && Object.hasOwn(entries, each));
  return id === undefined ? undefined : entries?.[id];
}

/**
 * A map lists what is served, whatever the policy, and an empty map serves nothing. Without a map only "open"
 * serves.
 */
function isServed(policy: GroupPolicy, entries: object | undefined, entry: object | undefined): boolean {
  return entries === undefined ? policy === "open" : entry !== undefined;
}

/** Merges entries from the outermost to the innermost. */
function nested(
  entries: readonly (PlaceConfig | undefined)[],
): Pick<PlaceRules, "enabled" | "requireMention" | "tools" | "skills" | "systemPrompt" | "agent"> {
  const layers = entries.filter((entry) => entry !== undefined);
  const inner = layers.toReversed();
  const tools = layers.flatMap((layer) => layer.tools ?? []);
  const skills = narrowed(layers.map((layer) => layer.skills));
  const prompts = layers.flatMap(({ systemPrompt }) => (systemPrompt === undefined ? [] : [systemPrompt]));
  const agent = inner.find((layer) => layer.agentId !== undefined)?.agentId;
  return {
    enabled: layers.every((layer) => layer.enabled !== false),
    requireMention: inner.find((layer) => layer.requireMention !== undefined)?.requireMention ?? true,
    ...(tools.length === 0 ? {} : { tools }),
    ...(skills === undefined ? {} : { skills }),
    ...(prompts.length === 0 ? {} : { systemPrompt: prompts.join("\n\n") }),
    ...(agent === undefined ? {} : { agent }),
  };
}

/** Returns what every given list allows. */
function narrowed(lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const [first, ...others] = lists.filter((list) => list !== undefined);
  return first?.filter((name) => others.every((list) => list.includes(name)));
}
