// Lists the places that an agent knows: conversations in which somebody who may speak wrote to it. Rows say
// so, and nothing else: what was refused makes no place known (I13).
import {
  conversationKey,
  isFault,
  parseConversationKey,
  parseRowPayload,
  parseSessionKey,
  type Address,
  type ConversationKey,
} from "@parley/protocol";
import type { Place } from "@parley/access";
import type { Inbox, RowView, Sessions } from "@parley/store";

export interface KnownPlace extends Place {
  readonly conversation: ConversationKey;
  readonly session: string;
  /** Display names of those who wrote there, the newest first. */
  readonly names: readonly string[];
  /** What people call a group, channel or thread, as its newest message says; null where none does. */
  readonly title: string | null;
  readonly lastAtMs: number;
}

const mostSessions = 300;
const rowsPerSession = 40;
/** Sessions that nobody writes to from a chat. */
const withoutPeople: readonly string[] = ["subagent", "cron", "hook", "api"];

const titleChars = 128;

/** The newest first. */
export async function knownPlaces(
  { sessions, inbox }: { readonly sessions: Pick<Sessions, "list">; readonly inbox: Pick<Inbox, "find"> },
  agent: string,
): Promise<readonly KnownPlace[]> {
  const listed = await sessions.list({ prefix: `agent:${agent}:`, limit: mostSessions });
  const keys = listed
    .map(({ key }) => key)
    .filter((key) => !withoutPeople.includes(parseSessionKey(key).kind));
  const found = new Map<ConversationKey, KnownPlace>();
  for (const key of keys) {
    const rows = await inbox.find({ lane: key, limit: rowsPerSession });
    for (const place of rows.flatMap(placeOfRow)) {
      const known = found.get(place.conversation);
      const names = [
        ...(known?.names ?? []),
        ...place.names.filter((name) => known?.names.includes(name) !== true),
      ];
      found.set(place.conversation, { ...(known ?? place), names, title: known?.title ?? place.title });
    }
  }
  return [...found.values()].toSorted((a, b) => b.lastAtMs - a.lastAtMs);
}

function placeOfRow({ lane, conversation, payload, outcome, acceptedAtMs }: RowView): readonly KnownPlace[] {
  if (outcome === "refused") return [];
  try {
    const { inbound, internal } = parseRowPayload(payload);
    if (internal !== undefined) return [];
    const { guild, parent, sender, title = "" } = inbound;
    return [
      {
        address: parseConversationKey(conversation),
        conversation,
        session: lane,
        names: sender.name.trim() === "" ? [] : [sender.name.trim()],
        title: title.trim() === "" ? null : title.replaceAll(/\s+/g, " ").trim().slice(0, titleChars),
        lastAtMs: acceptedAtMs,
        ...(guild === undefined ? {} : { guild }),
        ...(parent === undefined ? {} : { parent }),
      },
    ];
  } catch (error) {
    // A row that this build cannot read tells of no place.
    if (isFault(error, "invalid")) return [];
    throw error;
  }
}

/** The shortest spelling that means this place, as the tool's `to` takes it. */
export function spellingOf(address: Address): string {
  const { channel, account, kind, peer, thread } = address;
  if (account === "default" && channel === "telegram")
    return thread === undefined ? `telegram:${peer}` : `telegram:${peer}:topic:${thread}`;
  if (account === "default" && channel === "discord")
    return kind === "dm" ? `discord:user:${peer}` : `discord:channel:${thread ?? peer}`;
  return conversationKey(address);
}
