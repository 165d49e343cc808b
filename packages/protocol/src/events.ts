// What the control plane's events carry. Only `chat.message` has a seq and is replayed; the others are shown now or never.
import type { ChatMessage } from "./chat-methods.ts";

export interface EventPayloads {
  /** A message of the conversation that the client follows. */
  readonly "chat.message": ChatMessage;
  /** The visible text of a running turn so far, whole; empty takes it away again. `html`: the same, sanitised. */
  readonly "chat.delta": { readonly turn: string; readonly text: string; readonly html?: string };
  /** Whether the agent works on something of this conversation. */
  readonly "chat.typing": { readonly working: boolean };
  /** A line of the log, for who follows it with `logs.tail`. */
  readonly "log.line": { readonly line: string };
  /** The client lagged so far behind that events are gone: ask for the history again. */
  readonly resync: { readonly [key: string]: never };
  /** The gateway goes away; connect again soon. */
  readonly shutdown: { readonly [key: string]: never };
}
export type EventName = keyof EventPayloads;
