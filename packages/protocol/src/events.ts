// The events of the control plane. Only `chat.message` has a seq and is replayed; clients see the others now
// or never.
import type { ChatMessage } from "./methods/chat.ts";

export interface EventPayloads {
  /** A message of the conversation that the client follows. */
  readonly "chat.message": ChatMessage;
  /**
   * The visible text of a running turn so far, always whole; an empty text removes it. `html` is the
   * sanitized form.
   */
  readonly "chat.delta": { readonly turn: string; readonly text: string; readonly html?: string };
  /** True while the agent works on this conversation. */
  readonly "chat.typing": { readonly working: boolean };
  /** A call of a tool began or ended; `chat.steps` has the whole of it. */
  "chat.tool": {
    readonly turn: string;
    readonly call: string;
    readonly tool: string;
    readonly state: "running" | "ok" | "failed";
  };
  /** A call waits for this paired device; `device.calls` has it. */
  readonly "device.call": { readonly [key: string]: never };
  /** This paired device gets a new token by this code; its old one is worthless. */
  readonly "device.rotate": { readonly code: string };
  /** One log line, for clients that follow with `logs.tail`. */
  readonly "log.line": { readonly line: string };
  /** The client fell so far behind that events are lost; it should fetch the history again. */
  readonly resync: { readonly [key: string]: never };
  /** The gateway is shutting down; the client should reconnect soon. */
  readonly shutdown: { readonly [key: string]: never };
}
export type EventName = keyof EventPayloads;
