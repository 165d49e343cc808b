// Finds the agent, the session and the place that a webhook's call is for.
import type { Config } from "@parley/config";
import {
  type SessionKey,
  type Address,
  formatSessionKey,
  Fault,
  parseSessionKey,
  parseConversationKey,
  isFault,
} from "@parley/protocol";

export type HooksConfig = Omit<Config["hooks"], "internal">;

export type HookMapping = HooksConfig["mappings"][number];

/** What a call can reach at the moment. */
export interface HookWorld {
  readonly hooks: HooksConfig;
  readonly agents: readonly string[];
  /** The agent's main conversation, and its first owner's private chat. */
  homeOf(agent: string): Promise<{ readonly session: SessionKey; readonly place: Address | null }>;
  /** Why nothing may be sent there; null when it may. `fixed`: the config names the place. */
  unreachable(agent: string, place: Address, fixed: boolean): Promise<string | null>;
  /** The full name of a model that can be called; null for any other word. */
  model(agent: string, word: string): Promise<string | null>;
}

/** Where the answer shall go, as a call says it. */
interface AskedPlace {
  readonly deliver?: boolean | undefined;
  readonly channel?: string | undefined;
  readonly to?: string | undefined;
}

/** Calls of one name share a session, and none reads what the one before said. */
export function ownSession({
  door,
  agent,
  asked: { name },
}: {
  readonly door: string;
  readonly agent: string;
  readonly asked: { readonly name?: string | undefined };
}): SessionKey {
  const slug = (name ?? "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 40);
  return formatSessionKey({
    kind: "hook",
    agent,
    name: slug === "" || slug === door ? door : `${door}-${slug}`,
  });
}

/** `hook:ci` or `agent:main:hook:ci`. */
export function sessionOf({ hooks }: HookWorld, agent: string, key: string, byConfig: boolean): SessionKey {
  const head = `agent:${agent}:`;
  const tail = key.startsWith(head) ? key.slice(head.length) : key;
  const prefixes = hooks.allowedSessionKeyPrefixes;
  const forms = [tail, `${head}${tail}`];
  // A prefix alone names no session.
  const isAllowed = prefixes.some((prefix) =>
    forms.some((form) => form.length > prefix.length && form.startsWith(prefix)),
  );
  if (!byConfig && !isAllowed) {
    const allowed =
      prefixes.length === 0 ? "none may be named" : `it must begin with ${prefixes.join(" or ")}`;
    throw new Fault(
      "invalid",
      `sessionKey ${JSON.stringify(key)}: ${allowed} (hooks.allowedSessionKeyPrefixes)`,
    );
  }
  const parts = parseSessionKey(`${head}${tail}`);
  if (parts.kind === "subagent" || parts.kind === "cron" || parts.kind === "api")
    throw new Fault("invalid", `sessionKey ${JSON.stringify(key)}: no webhook works in such a session`);
  if (parts.kind === "hook" && parts.name.trim() === "")
    throw new Fault("invalid", `sessionKey ${JSON.stringify(key)} names no session`);
  return formatSessionKey(parts);
}

export async function placeOf(
  world: HookWorld,
  {
    agent,
    asked: { deliver, channel, to },
    fixed,
  }: { readonly agent: string; readonly asked: AskedPlace; readonly fixed: boolean },
): Promise<Address | null> {
  if (deliver === false || (deliver === undefined && to === undefined)) return null;
  if (to === undefined) {
    if (channel !== undefined && channel !== "last")
      throw new Fault(
        "invalid",
        `to is missing: say to whom on ${channel}, or leave channel out for the owner`,
      );
    const { place } = await world.homeOf(agent);
    if (place === null)
      throw new Fault("invalid", "there is no owner to deliver to: set to, or commands.ownerAllowFrom");
    return place;
  }
  const place = addressOf(channel === "last" ? undefined : channel, to);
  const refused = await world.unreachable(agent, place, fixed);
  if (refused !== null)
    throw new Fault("invalid", `nothing can be sent to ${JSON.stringify(to)}: ${refused}`);
  return place;
}

/** A conversation key, `telegram:123`, `discord:channel:5`, or a bare id beside its channel. */
function addressOf(channel: string | undefined, to: string): Address {
  const whole = channel === undefined || to.startsWith(`${channel}:`) ? to : `${channel}:${to}`;
  const [, chat, topic] = /^telegram:(-?\d+)(?::(?:topic:)?(\d+))?$/.exec(whole) ?? [];
  if (chat !== undefined)
    return {
      channel: "telegram",
      account: "default",
      kind: chat.startsWith("-") ? "group" : "dm",
      peer: chat,
      ...(topic === undefined ? {} : { thread: topic }),
    };
  const [, kind, id] = /^discord:(?:(user|channel|thread):)?(\d+)$/.exec(whole) ?? [];
  if (id !== undefined)
    return { channel: "discord", account: "default", kind: kind === "user" ? "dm" : "channel", peer: id };
  try {
    return parseConversationKey(whole);
  } catch (error) {
    if (!isFault(error, "invalid")) throw error;
    throw new Fault(
      "invalid",
      `to ${JSON.stringify(to)} is no conversation: write it as "telegram:123", "discord:channel:456", "discord:user:789" or "telegram:default:dm:123"`,
    );
  }
}

/** The agent that is told. Throws Fault("invalid") for one that does not exist or may not be named. */
export function agentOf(
  { hooks, agents }: Pick<HookWorld, "hooks" | "agents">,
  named: string | undefined,
): string {
  const agent = named ?? agents.find((id) => id === "main") ?? agents[0];
  if (agent === undefined) throw new Fault("unavailable", "no agent is configured");
  const allowed = agents.filter((id) => hooks.allowedAgentIds?.includes(id) ?? true);
  if (!allowed.includes(agent))
    throw new Fault("invalid", `agentId: ${JSON.stringify(agent)} is none of ${allowed.join(", ")}`);
  return agent;
}
