// Names what a person may have done for them, and so whose messages may share a turn. An authority is made of
// the owner flag and every tool rule that depends on the person; other rules apply to the whole conversation.
import { createHash } from "node:crypto";
import type { Inbound } from "@parley/protocol";
import type { ToolRules } from "@parley/tools";
import type { Owners } from "./owners.ts";
import type { Place } from "./place-rules.ts";

/** The people whose words a turn follows. */
export interface Speakers {
  /** True when all of them are owners. */
  readonly owner: boolean;
  /** `<channel>:<id>`. */
  readonly senders: readonly string[];
}

export interface SenderSettings {
  readonly toolsBySender: { readonly [sender: string]: ToolRules };
}

/** The row's authority: people with the same one may steer each other's turns. */
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

/** Combines the tool rules of these senders; each only narrows. Undefined where no rule names any of them. */
export function senderRules(settings: SenderSettings, senders: readonly string[]): readonly ToolRules[] {
  return senders.flatMap((sender) => ruleOf(settings, sender) ?? []);
}

/** Guesses the speakers of a place where nobody has written yet: in a private chat its one person. */
export function speakersAt(owners: Pick<Owners, "isOwner">): (place: Place) => Promise<Speakers> {
  return async ({ address: { channel, kind, peer } }) => {
    if (kind !== "dm") return { owner: false, senders: [] };
    const sender = { id: peer, name: "", isBot: false };
    return { owner: await owners.isOwner({ channel, sender }), senders: [senderId({ channel, sender })] };
  };
}

/** Matches exact ids; "*" stands for everybody who is not listed. */
function ruleOf({ toolsBySender }: SenderSettings, sender: string): ToolRules | undefined {
  if (Object.hasOwn(toolsBySender, sender)) return toolsBySender[sender];
  return Object.hasOwn(toolsBySender, "*") ? toolsBySender["*"] : undefined;
}
