// The shell gives every page this much of itself.
import type {
  Clock,
  EventName,
  EventPayloads,
  Ids,
  MethodName,
  MethodParams,
  MethodResult,
  Scope,
} from "@parley/protocol";
import type { ChatSession } from "../session/chat-session.ts";
import type { ChatState } from "../session/state.ts";

export interface Console {
  readonly clock: Clock;
  readonly ids: Ids;
  /** What this browser keeps over a reload. */
  readonly storage: Storage;
  readonly session: ChatSession;
  readonly chat: ChatState;
  /**
   * Calls a frame of the control plane; rejects with RequestFailure. With an idempotency key it is asked
   * again over the next line until an answer comes.
   */
  call<M extends MethodName>(method: M, params: MethodParams<M>): Promise<MethodResult<M>>;
  /** Listens to an event of the gateway; the answer ends it. */
  on<E extends EventName>(event: E, hear: (payload: EventPayloads[E]) => void): () => void;
  /** Listens to every change of the connection and the conversation; the answer ends it. */
  onChange(hear: () => void): () => void;
  /** Whether the token has this scope: what it has not is not shown. */
  may(scope: Scope): boolean;
  /** Whether there is such a page that the token allows. */
  has(page: string): boolean;
  /** Goes to an address of `addressOf`. */
  go(address: string): void;
}

/** One more entry of the command palette, while its page is open. */
export interface Command {
  readonly name: string;
  readonly run: () => void;
}
