// What the config says about one shared place: a group, a topic, a channel of a server, a thread. Entries nest, and what an inner one does
// not say it inherits; tools and skills only narrow on the way in. Found by ids alone; a place that no entry names is not served (I13).
import type { DiscordAccountConfig, GroupPolicy, PlaceConfig, TelegramAccountConfig } from "@parley/config";
import type { Inbound } from "@parley/protocol";
import type { ToolRules } from "@parley/tools";

/** Where something is said. */
export type Place = Pick<Inbound, "address"> & Partial<Pick<Inbound, "guild" | "parent">>;

export interface PlaceRules {
  readonly policy: GroupPolicy;
  /** The config names the place, or takes places that it does not name. */
  readonly served: boolean;
  readonly enabled: boolean;
  /** Who is heard; null is everybody. */
  readonly senders: Senders | null;
  readonly requireMention: boolean;
  /** What mentions others and not us is not for us, even where no mention is needed. */
  readonly ignoresOthersMentions?: boolean;
  /** What is left of the agent's tools here, outermost entry first: each narrows; absent: all. */
  readonly tools?: readonly ToolRules[];
  /** The only skills that may be used here; absent: all of the agent's. */
  readonly skills?: readonly string[];
  readonly systemPrompt?: string;
  readonly agent?: string;
}

/** Either is enough; "*" among the users is everybody. Empty lists are nobody. */
export interface Senders {
  readonly users: readonly string[];
  readonly roles: readonly string[];
}

/** `ids`: the chat's id and those it had before, the newest first. */
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

/** For channels without rules of their own: whoever gets there is heard when calling. */
export const openRules: PlaceRules = {
  policy: "open",
  served: true,
  enabled: true,
  senders: null,
  requireMention: true,
};

type Entries<E> = { readonly [id: string]: E } | undefined;

/** The first id that has an entry; "*" stands for those that have none. */
function entryOf<E>(entries: Entries<E>, ids: readonly string[]): E | undefined {
  const id = [...ids, "*"].find((each) => entries !== undefined && Object.hasOwn(entries, each));
  return id === undefined ? undefined : entries?.[id];
}

/** A map is the list of what is served, whatever the policy, and an empty one lists nothing; without one only "open" serves anything. */
function isServed(policy: GroupPolicy, entries: object | undefined, entry: object | undefined): boolean {
  return entries === undefined ? policy === "open" : entry !== undefined;
}

/** From the outermost entry to the innermost. */
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

/** What every list that there is allows. */
function narrowed(lists: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const [first, ...others] = lists.filter((list) => list !== undefined);
  return first?.filter((name) => others.every((list) => list.includes(name)));
}
