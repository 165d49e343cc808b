// What a person may have done for them: what may stand in one turn together. An authority names the owner's flag and every rule of tools that
// depends on the person; all other rules are the same for everybody in a conversation.
import { createHash } from "node:crypto";
import type { Inbound } from "@parley/protocol";
import type { ToolRules } from "@parley/tools";
import type { Owners } from "./owners.ts";
import type { Place } from "./place-rules.ts";

/** Everybody whose words a turn follows. */
export interface Speakers {
  /** All of them are owners. */
  readonly owner: boolean;
  /** `<channel>:<id>`. */
  readonly senders: readonly string[];
}

export interface SenderSettings {
  readonly toolsBySender: { readonly [sender: string]: ToolRules };
}

/** The row's authority: of two people with the same one each may steer the other's turn. */
export function authorityOf(
  settings: SenderSettings,
  inbound: Pick<Inbound, "channel" | "sender">,
  owner: boolean,
): string {
  const own = ruleOf(settings, senderId(inbound));
  const level = owner ? "owner" : "member";
  if (own === undefined) return level;
  return `${level}:${createHash("sha256")
    .update(JSON.stringify([own.allow ?? null, own.deny ?? null]))
    .digest("hex")
    .slice(0, 16)}`;
}

export function senderId({ channel, sender }: Pick<Inbound, "channel" | "sender">): string {
  return `${channel}:${sender.id}`;
}

/** What is left to all of them: each only narrows. Undefined where no rule speaks of any. */
export function senderRules(settings: SenderSettings, senders: readonly string[]): readonly ToolRules[] {
  return senders.flatMap((sender) => ruleOf(settings, sender) ?? []);
}

/** Who writes at a place where nobody has written yet, as far as its address tells: in private the one person. */
export function speakersAt(owners: Pick<Owners, "isOwner">): (place: Place) => Promise<Speakers> {
  return async ({ address: { channel, kind, peer } }) => {
    if (kind !== "dm") return { owner: false, senders: [] };
    const sender = { id: peer, name: "", isBot: false };
    return { owner: await owners.isOwner({ channel, sender }), senders: [senderId({ channel, sender })] };
  };
}

/** Exact ids; "*" is everybody who is not listed. */
function ruleOf({ toolsBySender }: SenderSettings, sender: string): ToolRules | undefined {
  if (Object.hasOwn(toolsBySender, sender)) return toolsBySender[sender];
  return Object.hasOwn(toolsBySender, "*") ? toolsBySender["*"] : undefined;
}
