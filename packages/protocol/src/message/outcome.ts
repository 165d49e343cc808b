// The outcome of a turn: a typed value that the reply parser or the loop decides once. Later code never
// inspects text to find out whether there is something to send (I8).
import type { Part } from "./part.ts";

export type Outcome =
  /** `replyTo` is the platform id of the message to quote, in the conversation that the turn answers (I6). */
  | { readonly kind: "reply"; readonly parts: readonly Part[]; readonly replyTo?: string }
  /** Nothing to send. `reason` is `token` when the model said so, `empty` when no visible text was left. */
  | { readonly kind: "silent"; readonly reason: string }
  /** A heartbeat turn found nothing that needs a person. */
  | { readonly kind: "heartbeatOk" }
  /** /stop ended the turn. */
  | { readonly kind: "stopped" }
  /** `reason` is for operators, `userMessage` is for the chat. */
  | { readonly kind: "failed"; readonly reason: string; readonly userMessage: string };
