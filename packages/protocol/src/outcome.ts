// What a turn came to: a typed value, decided once by the reply parser or by the loop. After it nobody looks at text to find out
// whether there is something to say (I8).
import type { Part } from "./part.ts";

export type Outcome =
  /** `replyTo` is the platform's id of the message to quote, in the conversation that the turn answers (I6). */
  | { readonly kind: "reply"; readonly parts: readonly Part[]; readonly replyTo?: string }
  /** Nothing to send: `token` when the model said so, `empty` when no visible text was left. */
  | { readonly kind: "silent"; readonly reason: string }
  /** A heartbeat found nothing that needs a person. */
  | { readonly kind: "heartbeatOk" }
  /** Ended by /stop. */
  | { readonly kind: "stopped" }
  /** `reason` is for operators, `userMessage` is for the chat. */
  | { readonly kind: "failed"; readonly reason: string; readonly userMessage: string };
