// Reads from a turn's rows what they tell about it beside their words.
import {
  accountKey,
  canvasMessage,
  isOpening,
  parseConversationKey,
  parseRowPayload,
} from "@parley/protocol";
import type { Row, Turn } from "@parley/store";
import { senderId, type Speakers, type Place } from "@parley/access";
import { wantedIn, type Wanted } from "./models/directives.ts";

/** Takes the server and the chat above a thread from the newest row, because the address has neither. */
export function placeOf({ rows, conversation }: Turn): Place {
  const address = parseConversationKey(conversation);
  const newest = rows.at(-1);
  if (newest === undefined) return { address };
  const { guild, parent } = parseRowPayload(newest.payload).inbound;
  return { address, ...(guild === undefined ? {} : { guild }), ...(parent === undefined ? {} : { parent }) };
}

/** Reads the directives in the turn's messages; commands and messages for others have none. */
export function wantedBy(rows: readonly Row[]): Wanted {
  return wantedIn(rows.map(({ payload }) => parseRowPayload(payload).inbound.text));
}

/**
 * Everyone whose words the turn follows. Its rows have one authority, but the config may have changed since
 * they were accepted.
 */
export function speakersOf(rows: readonly Row[]): Speakers {
  const told = rows.map(({ payload }) => parseRowPayload(payload));
  return {
    owner: told.length > 0 && told.every(({ owner }) => owner),
    senders: [...new Set(told.map(({ inbound }) => senderId(inbound)))],
  };
}

/** Display names by `<channel>:<id>`; rows that Parley wrote for somebody have none. */
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

/** True when a person wrote it to the agent and so waits for words. */
export function isAsked({ payload }: Row): boolean {
  const { inbound, internal } = parseRowPayload(payload);
  // A reaction needs no words, and a webhook's caller gets none.
  const isWords = inbound.kind !== "reaction" && inbound.channel !== "hook";
  return internal === undefined && isWords && !inbound.sender.isBot && inbound.addressed;
}

/**
 * Returns the platform's id of the row's message, or null for what nobody can quote: a press, a reaction, a
 * row by Parley.
 */
export function messageIdOf({ payload }: Row): string | null {
  const { inbound, internal } = parseRowPayload(payload);
  const { kind, messageId, channel, address } = inbound;
  // A webhook's call is no message of the chat that its answer goes to.
  const isOfPlatform = channel === address.channel && !messageId.startsWith(canvasMessage);
  return kind === "callback" || kind === "reaction" || !isOfPlatform || internal !== undefined
    ? null
    : messageId;
}

export function isAddressed({ payload }: Row): boolean {
  return parseRowPayload(payload).inbound.addressed;
}

/**
 * True for a platform's own command or text behind one: the platform shows its person that an answer is
 * awaited.
 */
export function isCommand({ payload }: Pick<Row, "payload">): boolean {
  const { inbound } = parseRowPayload(payload);
  return inbound.kind === "command" || isOpening(inbound.id);
}

/** True when it answers what this very turn waited for, so that it wakes the turn and adds no words. */
export function isWake({ payload }: Row, turn: string): boolean {
  const { internal } = parseRowPayload(payload);
  const isAnswer = ["approval", "question", "device"].includes(internal?.kind ?? "");
  return isAnswer && internal?.turn === turn;
}

/**
 * The message to another session that the row answers, when this very turn sent it: the call that waits for
 * the answer has it as its result. Null for any other row.
 */
export function answeredIn({ payload }: Row, turn: string): string | null {
  const { internal } = parseRowPayload(payload);
  return internal?.kind === "answer" && internal.turn === turn ? internal.id : null;
}

/** True when the platform shows the person that this row's answer is awaited. */
export function showsWaiting(row: Pick<Row, "payload">, shows: (account: string) => boolean): boolean {
  if (row.payload === "" || !isCommand(row)) return false;
  return shows(accountKey(parseRowPayload(row.payload).inbound.address));
}

/** Rows that the turn was opened with, without those that the store absorbed later. */
export function openingRows(turn: Turn): readonly Row[] {
  const absorbed = new Set(
    turn.log.flatMap((step) => (step.kind === "absorbed" ? (JSON.parse(step.body) as string[]) : [])),
  );
  return turn.rows.filter((row) => !absorbed.has(row.id));
}

/**
 * The rows that the model reads whole: of people's messages the newest `cap`, and all that Parley wrote, such
 * as what a sub-agent found, because nobody writes that again.
 */
export function wholeRows(rows: readonly Row[], cap: number): readonly Row[] {
  if (rows.length <= cap) return rows;
  const ofPeople = rows.filter(({ payload }) => parseRowPayload(payload).internal === undefined);
  const shortened = new Set(ofPeople.slice(0, -cap));
  return rows.filter((row) => !shortened.has(row));
}

/**
 * Messages to others before the turn was opened. The store counts up to the turn's last row, so a resumed
 * turn that absorbed a message gets more than it showed the model at first; the rest stays for the next turn.
 */
export function openingContext(turn: Turn): readonly Row[] {
  const last = openingRows(turn).at(-1);
  return last === undefined ? [] : turn.context.filter((row) => row.seq < last.seq);
}

/** True when the only row is a command, which leaves no words for a model. */
export function isChatCommandTurn(turn: Turn): boolean {
  const [row] = turn.rows;
  return turn.rows.length === 1 && row !== undefined && parseRowPayload(row.payload).command !== undefined;
}
