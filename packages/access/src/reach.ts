// Says whether the agent may write to a place by itself: only where admission would hear its people. What
// refuses a message from there also refuses one to there (I13).
import type { AdmitOptions } from "./admit.ts";
import { isProgram } from "./program-address.ts";
import type { Place } from "./place-rules.ts";

/** Resolves with the reason why nothing may be sent there; null when it may. */
export type MayReach = (place: Place) => Promise<string | null>;

interface ReachOptions extends Pick<AdmitOptions, "policy" | "isOwner"> {
  readonly pairing: Pick<AdmitOptions["pairing"], "isPaired">;
}

export function mayReach({ policy, isOwner, pairing }: ReachOptions): MayReach {
  return async (place) => {
    const { channel, account, kind, peer } = place.address;
    if (isProgram(place.address)) return "programs are answered, and never written to";
    const rules = policy({ channel, account });
    if (rules === null) return `there is no account ${account} of ${channel}`;
    if (kind !== "dm") {
      const here = rules.rules(place);
      if (here.policy === "disabled") return `groups are disabled on ${channel}`;
      return here.served && here.enabled ? null : "the config does not serve this place";
    }
    const { dmPolicy, allowFrom } = rules;
    if (dmPolicy === "disabled") return `direct messages are disabled on ${channel}`;
    if (allowFrom.includes(peer) || (dmPolicy === "open" && allowFrom.includes("*"))) return null;
    const who = { channel, account, sender: { id: peer, name: "", isBot: false } };
    const isLetIn = dmPolicy === "pairing" && ((await isOwner(who)) || (await pairing.isPaired(who)));
    return isLetIn ? null : "this person may not write to the agent";
  };
}
