// What the rows of a turn tell about it beside their words.
import { accountKey, isOpening, parseConversationKey, parseRowPayload } from "@parley/protocol";
import type { Row, Turn } from "@parley/store";
import { senderId, type Speakers, type Place } from "@parley/access";
import { wantedIn, type Wanted } from "./models/directives.ts";

/** A server and the chat above a thread are not part of the address; its newest row knows them. */
export function placeOf({ rows, conversation }: Turn): Place {
  const address = parseConversationKey(conversation);
  const newest = rows.at(-1);
  if (newest === undefined) return { address };
  const { guild, parent } = parseRowPayload(newest.payload).inbound;
  return { address, ...(guild === undefined ? {} : { guild }), ...(parent === undefined ? {} : { parent }) };
}

/** What the messages of the turn say to Parley; commands and what was not meant for us say nothing. */
export function wantedBy(rows: readonly Row[]): Wanted {
  return wantedIn(rows.map(({ payload }) => parseRowPayload(payload).inbound.text));
}

/** Everybody whose words the turn follows. Its rows have one authority, but the config may have changed since they were accepted. */
export function speakersOf(rows: readonly Row[]): Speakers {
  const told = rows.map(({ payload }) => parseRowPayload(payload));
  return {
    owner: told.length > 0 && told.every(({ owner }) => owner),
    senders: [...new Set(told.map(({ inbound }) => senderId(inbound)))],
  };
}

/** What they call themselves, by `<channel>:<id>`. Of what Parley wrote in somebody's place nothing is known. */
export function namesIn(rows: readonly Row[]): { readonly [person: string]: string } {
  const told = rows
    .map(({ payload }) => parseRowPayload(payload))
    .filter(({ internal }) => internal === undefined);
  return Object.fromEntries(
    told
      .filter(({ inbound }) => inbound.sender.name !== "")
      .map(({ inbound }) => [senderId(inbound), inbound.sender.name]),
  );
}

/** A person wrote it to us, so it is owed words. */
export function isAsked({ payload }: Row): boolean {
  const { inbound, internal } = parseRowPayload(payload);
  // A reaction wants no words, and a webhook's caller hears none.
  const isWords = inbound.kind !== "reaction" && inbound.channel !== "hook";
  return internal === undefined && isWords && !inbound.sender.isBot && inbound.addressed;
}

/** The platform's id of the row's message; null for what is no message and cannot be quoted: a press, a reaction, what Parley wrote. */
export function messageIdOf({ payload }: Row): string | null {
  const { inbound, internal } = parseRowPayload(payload);
  const { kind, messageId, channel, address } = inbound;
  // A webhook's call is no message of the chat that its answer goes to.
  return kind === "callback" || kind === "reaction" || channel !== address.channel || internal !== undefined
    ? null
    : messageId;
}

export function isAddressed({ payload }: Row): boolean {
  return parseRowPayload(payload).inbound.addressed;
}

/** It came as a platform's own command, or stood behind one: its person sees that an answer is awaited. */
export function isCommand({ payload }: Pick<Row, "payload">): boolean {
  const { inbound } = parseRowPayload(payload);
  return inbound.kind === "command" || isOpening(inbound.id);
}

/** It answers what this very turn waited for: it wakes the turn and says nothing. */
export function isWake({ payload }: Row, turn: string): boolean {
  const { internal } = parseRowPayload(payload);
  return internal?.kind === "approval" && internal.turn === turn;
}

/** Whether the person sees that this row's answer is awaited. */
export function showsWaiting(row: Pick<Row, "payload">, shows: (account: string) => boolean): boolean {
  if (row.payload === "" || !isCommand(row)) return false;
  return shows(accountKey(parseRowPayload(row.payload).inbound.address));
}

/** Rows that the turn was opened with: what the store did not absorb later. */
export function openingRows(turn: Turn): readonly Row[] {
  const absorbed = new Set(
    turn.log.flatMap((step) => (step.kind === "absorbed" ? (JSON.parse(step.body) as string[]) : [])),
  );
  return turn.rows.filter((row) => !absorbed.has(row.id));
}

/** What was said before the turn was opened without being meant for us. The store counts up to the turn's last row, so a resumed turn that
 *  absorbed a message is handed more than it showed the model at first: the rest stays for the next turn. */
export function openingContext(turn: Turn): readonly Row[] {
  const last = openingRows(turn).at(-1);
  return last === undefined ? [] : turn.context.filter((row) => row.seq < last.seq);
}

/** The only row is a command: nothing of it is talk for a model. */
export function isCommandTurn(turn: Turn): boolean {
  const [row] = turn.rows;
  return turn.rows.length === 1 && row !== undefined && parseRowPayload(row.payload).command !== undefined;
}
