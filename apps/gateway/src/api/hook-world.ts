// Says what calls of webhooks reach at the moment: the agent's main conversation, the places that the agent
// knows, and the models that it can call. A place is known when somebody wrote from it, when the config names
// it, or when it is the owner's (I13).
import type { Config } from "@parley/config";
import { conversationKey, type Address } from "@parley/protocol";
import { knownPlaces } from "@parley/runner";
import type { Store } from "@parley/store";
import type { MessagePath } from "../message-path.ts";
import type { HookWorld } from "./hook-place.ts";

export interface HookWorldNeeds {
  readonly configNow: () => Pick<Config, "agents" | "channels">;
  readonly path: Pick<MessagePath, "schedules" | "models" | "reach">;
  readonly store: Pick<Store, "sessions" | "inbox">;
}

export function hookWorld({ configNow, path, store }: HookWorldNeeds): Omit<HookWorld, "hooks" | "agents"> {
  const homeOf: HookWorld["homeOf"] = (agent) => path.schedules.homeOf(agent);

  async function isKnown(agent: string, address: Address): Promise<boolean> {
    if (isNamed(configNow().channels, address)) return true;
    const key = conversationKey(address);
    const { place } = await homeOf(agent);
    if (place !== null && conversationKey(place) === key) return true;
    return (await knownPlaces(store, agent)).some(({ conversation }) => conversation === key);
  }

  return {
    homeOf,
    async unreachable(agent, address, fixed) {
      const refused = await path.reach({ address });
      if (refused !== null) return refused;
      return fixed || (await isKnown(agent, address)) ? null : "the agent knows no such place";
    },
    async model(agent, word) {
      const known = configNow().agents.list.find(({ id }) => id === agent);
      if (known === undefined) return null;
      const found = await path.models.find(known, word);
      return "ref" in found ? found.ref : null;
    },
  };
}

/** True for a person or a group that the account's own block lists. */
function isNamed(channels: Config["channels"], { channel, account, kind, peer }: Address): boolean {
  if (channel !== "telegram") return false;
  const own = Object.hasOwn(channels.telegram, account) ? channels.telegram[account] : undefined;
  if (own === undefined) return false;
  return kind === "dm"
    ? own.allowFrom.includes(peer)
    : own.groups !== undefined && Object.hasOwn(own.groups, peer);
}
