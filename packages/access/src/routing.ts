// Chooses the agent that answers a message and the session it belongs to. The session key is the isolation
// policy (I14). Bindings choose an agent, the most specific first; they never let anybody in.
import { guestRole } from "@parley/channels";
import type { BindingConfig } from "@parley/config";
import {
  Fault,
  parseSessionKey,
  sessionKeyOf,
  type Address,
  type DmScope,
  type Inbound,
  type SessionKey,
} from "@parley/protocol";
import { programRoute } from "./program-address.ts";
import type { MigratedChats } from "./migrated-chats.ts";
import type { Place, PlaceRules } from "./place-rules.ts";

export interface Route {
  readonly agent: string;
  readonly session: SessionKey;
}

export interface RouteOptions {
  /** Ids of the configured agents. */
  readonly agents: readonly string[];
  readonly bindings: readonly BindingConfig[];
  readonly dmScope: DmScope;
  readonly identityLinks: { readonly [person: string]: readonly string[] };
  /** The rules of a shared place; their agent comes before every binding. */
  readonly rules: (place: Place) => Pick<PlaceRules, "agent"> | null;
  readonly moved: Pick<MigratedChats, "first" | "ids">;
  /** The session that a conversation belongs to in place of its own: handed over, or a sub-agent's. */
  readonly handedOver: (address: Address) => SessionKey | null;
}

/** The parts of a message that routing looks at. Without a sender no role matches. */
export type Routable = Place & Partial<Pick<Inbound, "sender" | "channel">>;
/** Throws Fault("invalid") when several agents are configured and nothing chooses one. */
export type RouteInbound = (message: Routable) => Route;

export function router(options: RouteOptions): RouteInbound {
  const { agents, bindings, identityLinks, moved } = options;
  const fallback = agents.length === 1 ? agents[0] : agents.find((id) => id === "main");

  return (message) => {
    const { address } = message;
    const program = programRoute(message);
    if (program !== null) return known(program, agents);
    const handed = options.handedOver(address);
    const over = handed === null ? null : { agent: parseSessionKey(handed).agent, session: handed };
    if (over !== null && agents.includes(over.agent)) return over;
    const binding = closest(bindings, message, moved.ids(address));
    const agent =
      (address.kind === "dm" ? undefined : options.rules(message)?.agent) ?? binding?.agentId ?? fallback;
    if (agent === undefined) {
      throw new Fault(
        "invalid",
        `no agent is bound to ${address.channel}:${address.account} and none is called "main": add a binding, or name one "main" in agents.list`,
      );
    }
    const configured = binding?.session?.dmScope ?? options.dmScope;
    // The main session belongs to the owner: a token that may only write gets a session beside it.
    const dmScope = configured === "main" && isGuest(message) ? "per-channel-peer" : configured;
    return { agent, session: sessionKeyOf(moved.first(address), { agent, dmScope, identityLinks }) };
  };
}

function isGuest({ address, sender }: Routable): boolean {
  return address.channel === "web" && sender?.roles?.includes(guestRole) === true;
}

function known(route: Route, agents: readonly string[]): Route {
  if (agents.includes(route.agent)) return route;
  throw new Fault("invalid", `there is no agent "${route.agent}" in agents.list`);
}

/** Returns the most specific binding; among equals the first in the config wins. */
function closest(
  bindings: readonly BindingConfig[],
  message: Routable,
  ids: readonly string[],
): BindingConfig | null {
  let best: { readonly binding: BindingConfig; readonly tier: Tier } | null = null;
  for (const binding of bindings) {
    const tier = matches(binding.match, message, ids);
    if (tier !== null && (best === null || tiers.indexOf(tier) < tiers.indexOf(best.tier)))
      best = { binding, tier };
  }
  return best?.binding ?? null;
}

/** The most specific first. */
const tiers = ["peer", "parent", "any peer", "roles", "guild", "account", "channel"] as const;
type Tier = (typeof tiers)[number];

/** Returns how specific the binding is if everything that it says holds, else null. */
function matches(match: BindingConfig["match"], message: Routable, ids: readonly string[]): Tier | null {
  const { address, guild, sender } = message;
  const { peer, accountId, guildId, roles } = match;
  if (match.channel !== address.channel) return null;
  if (accountId !== "*" && accountId !== address.account) return null;
  if (guildId !== undefined && guildId !== guild) return null;
  if (roles !== undefined && !roles.some((role) => sender?.roles?.includes(role) === true)) return null;
  if (peer !== undefined) return peer.kind === address.kind ? peerTier(peer.id, message, ids) : null;
  if (roles !== undefined) return "roles";
  if (guildId !== undefined) return "guild";
  return accountId === "*" ? "channel" : "account";
}

/** A Telegram topic's id means nothing without its group, so it is no peer; a Discord thread's id is one. */
function peerTier(wanted: string, { address, parent }: Routable, ids: readonly string[]): Tier | null {
  const { kind, thread } = address;
  const isThread = kind === "channel" && thread !== undefined;
  if (isThread ? wanted === thread : ids.includes(wanted)) return "peer";
  if (wanted === parent || (isThread && ids.includes(wanted))) return "parent";
  return wanted === "*" ? "any peer" : null;
}
