// Shows a message with buttons and later puts an outcome in its place, for approvals and questions alike.
// Both deliveries are named after the card and its place, so that repeating them shows nothing twice.
import { withShortValues } from "@parley/delivery";
import { accountKey, conversationKey, formatContent, type Address, type Part } from "@parley/protocol";
import type { CellWrite, NewDelivery } from "@parley/store";

export interface CardPlace {
  /** The card's id in this place. */
  readonly id: string;
  readonly address: Address;
  readonly cause: string;
}

/** Returns the card's parts as the place takes them, and the cells that its buttons need. */
export function cardParts(
  meant: readonly Part[],
  { id, address }: CardPlace,
): ReturnType<typeof withShortValues> {
  // The web page has no callback buttons, so each of its buttons sends its value as a message.
  return address.channel === "web"
    ? { parts: meant, cells: [] as readonly CellWrite[] }
    : withShortValues(meant, { id, to: address, commands: true });
}

export function cardDelivery(parts: readonly Part[], { id, address, cause }: CardPlace): NewDelivery {
  return {
    id,
    pool: accountKey(address),
    lane: conversationKey(address),
    cause,
    parts: [{ content: formatContent({ v: 1, kind: "reply", parts }) }],
  };
}

/** Replaces the card's text and takes its buttons away. */
export function outcomeInCard(markdown: string, place: CardPlace): NewDelivery {
  const { parts, ...delivery } = cardDelivery([{ kind: "text", markdown, buttons: [] }], place);
  return {
    ...delivery,
    id: `${place.id}/settled`,
    parts: parts.map((part) => ({ ...part, into: `${place.id}/0` })),
  };
}

/** Uses a fence longer than any inside, so that the content cannot close it. */
export function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
