// Holds the page's state as one value. Messages are kept by seq, so that replay, history and live events may
// overlap without duplicates.
import type { ChatMessage, EventPayloads } from "@parley/protocol";
import type { Unsent } from "./outbox.ts";

/** A message on its way. `refused`: the gateway will never take it, and why. */
export interface Outgoing extends Unsent {
  readonly refused?: string;
  /** Its echo is among the messages already; only the answer is missing. */
  readonly echoed?: true;
}

export type ConnectionState =
  | { readonly kind: "logged-out"; readonly reason: string | null }
  | { readonly kind: "connecting" }
  | { readonly kind: "online" }
  | { readonly kind: "offline"; readonly sinceMs: number };

export interface ChatState {
  readonly connection: ConnectionState;
  /** The conversation that is open; null is the first. */
  readonly thread: string | null;
  /** In the order of seq. */
  readonly messages: readonly ChatMessage[];
  readonly outgoing: readonly Outgoing[];
  /** The running turn's text so far. */
  readonly draft: EventPayloads["chat.delta"] | null;
  readonly working: boolean;
  /** Whether there is more before the first of `messages` that may be asked for. */
  readonly hasEarlier: boolean;
}

export const emptyChat: ChatState = {
  connection: { kind: "connecting" },
  thread: null,
  messages: [],
  outgoing: [],
  draft: null,
  working: false,
  hasEarlier: false,
};

/**
 * Adds messages; one with a known seq changes nothing. What this page sent is known by its key, which ends
 * the message's id: it may be read here before the answer to its request comes, and is shown once.
 */
export function withMessages(state: ChatState, added: readonly ChatMessage[]): ChatState {
  const known = new Set(state.messages.map(({ seq }) => seq));
  const fresh = added.filter(({ seq }) => !known.has(seq));
  if (fresh.length === 0) return state;
  const answered = fresh.some(({ role }) => role !== "user");
  const isEchoed = ({ key }: Outgoing): boolean => fresh.some(({ id }) => id?.endsWith(`:${key}`) === true);
  return {
    ...state,
    messages: [...state.messages, ...fresh].toSorted((a, b) => a.seq - b.seq),
    outgoing: state.outgoing.map((each) => (isEchoed(each) ? { ...each, echoed: true } : each)),
    draft: answered ? null : state.draft,
  };
}

/**
 * What a conversation shows: words that were taken back are gone, others stand where the first ones did.
 */
export function shownMessages(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const later = new Map(
    messages.flatMap((each) =>
      each.role === "user" && each.replaces !== undefined ? [[each.replaces, each]] : [],
    ),
  );
  if (later.size === 0) return messages;
  return messages
    .flatMap((message): readonly ChatMessage[] => {
      if (message.role !== "user") return [message];
      if (message.replaces !== undefined) return [];
      const words = message.id === undefined ? undefined : later.get(message.id);
      return words === undefined
        ? [message]
        : [{ ...message, text: words.text, cancelled: words.cancelled === true }];
    })
    .filter(({ cancelled }) => cancelled !== true);
}

/** The id of the message that the answer with this id was given to; none where there is no such answer. */
export function askedBefore(messages: readonly ChatMessage[], answerId: string): string | undefined {
  const shown = shownMessages(messages);
  const at = shown.findIndex(({ id }) => id === answerId);
  return shown.slice(0, Math.max(0, at)).findLast(({ role }) => role === "user")?.id;
}

/**
 * Which of a message's buttons was answered with; null while none was, "" when something else took the
 * message's place. What is on its way counts: nobody presses twice by impatience.
 */
export function pressed(
  { messages, outgoing }: ChatState,
  { seq, id, buttons = [] }: ChatMessage,
): string | null {
  const values = new Set(buttons.flat().flatMap(({ value }) => (value === undefined ? [] : [value])));
  const said = [
    ...messages.filter((each) => each.role === "user" && each.seq > seq),
    ...outgoing.filter(({ refused }) => refused === undefined),
  ];
  const answer = said.find(({ text }) => values.has(text))?.text;
  const isReplaced = id !== undefined && messages.some(({ replaces }) => replaces === id);
  return answer ?? (isReplaced ? "" : null);
}
