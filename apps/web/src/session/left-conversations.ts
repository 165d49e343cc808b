// Keeps the newest part of a few conversations that were open before, so that one who comes back sees it at
// once; others are read again.
import type { ChatState } from "./state.ts";

/** A conversation as it was left. */
interface Left extends Pick<ChatState, "messages" | "hasEarlier"> {
  /** What the line told last; absent: nothing. */
  readonly lastSeq?: number | undefined;
}

const mostConversations = 10;
const mostMessages = 200;

/** The newest messages of a conversation: what goes is read again when somebody goes back. */
export function newestOf(
  { messages, hasEarlier }: Pick<ChatState, "messages" | "hasEarlier">,
  most: number,
): Pick<ChatState, "messages" | "hasEarlier"> {
  return { messages: messages.slice(-most), hasEarlier: hasEarlier || messages.length > most };
}

export interface LeftConversations {
  leave(state: ChatState, lastSeq: number | undefined): void;
  of(thread: string | null): Left | undefined;
}

export function leftConversations(): LeftConversations {
  const left = new Map<string | null, Left>();
  return {
    leave(state, lastSeq) {
      left.delete(state.thread);
      const [oldest] = left.keys();
      if (oldest !== undefined && left.size >= mostConversations) left.delete(oldest);
      left.set(state.thread, { ...newestOf(state, mostMessages), lastSeq });
    },
    of: (thread) => left.get(thread),
  };
}
