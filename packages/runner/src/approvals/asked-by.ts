// Describes who asks and where, because approvers need to know it before they allow anything. People choose
// their own names, so these are quoted beside the id, cut, and with every misleading character escaped.
import { parseConversationKey, visibleText, type Address } from "@parley/protocol";
import type { Approval } from "./approval.ts";

const mostNamed = 3;
const mostNameChars = 40;

/** Three lines: people, chat, session. */
export function askedByLines({ askedBy, names = {}, conversation, session }: Approval): string {
  const people = askedBy
    .slice(0, mostNamed)
    .map((id) =>
      Object.hasOwn(names, id) ? `${quoted(names[id] ?? "")} (${visibleText(id)})` : visibleText(id),
    );
  const more = askedBy.length - people.length;
  return [
    `asked by: ${people.length === 0 ? "nobody in a chat" : people.join(", ")}${more > 0 ? ` and ${more} more` : ""}`,
    `chat: ${chat(parseConversationKey(conversation))}`,
    `session: ${visibleText(session)}`,
  ].join("\n");
}

function quoted(name: string): string {
  const chars = Array.from(name);
  const shown = visibleText(chars.slice(0, mostNameChars).join("")).replaceAll('"', "\\u{22}");
  return `"${shown}"${chars.length > mostNameChars ? " (cut)" : ""}`;
}

const kinds = { dm: "private chat", group: "group", channel: "channel" } as const;

function chat({ channel, account, kind, peer, thread }: Address): string {
  const place = `${channel} ${kinds[kind]} ${peer}${thread === undefined ? "" : `, thread ${thread}`}`;
  return visibleText(account === "default" ? place : `${place}, account ${account}`);
}
