// Actions on a conversation other than sending, before and after rendering. An OutboxAction is what the agent
// wants of a message; an Action is one platform call. A driver that cannot do one throws Fault("unsupported")
// from `act`.
import type { Button, Part, RenderedPart, RenderedText } from "./part.ts";

/**
 * A message of the same conversation: by the platform's id, or what an earlier delivery of ours sent there.
 */
export type MessageTarget = { readonly messageId: string } | { readonly delivery: string };

/**
 * What the outbox does besides sending. A target that names a delivery means its first message for an edit, a
 * reaction, a pin or a thread. A removal takes all its messages away; an edit takes those away in which the
 * first one's text went on.
 */
export type OutboxAction =
  | {
      readonly kind: "edit";
      readonly target: MessageTarget;
      /** Stays one message: a text that is too long is cut, with a mark. */
      readonly markdown: string;
      /** Without buttons the message has none afterwards. */
      readonly buttons?: readonly (readonly Button[])[];
    }
  | { readonly kind: "remove"; readonly target: MessageTarget }
  /** Null takes our reaction back. */
  | { readonly kind: "react"; readonly target: MessageTarget; readonly emoji: string | null }
  | { readonly kind: "pin"; readonly target: MessageTarget; readonly pinned: boolean }
  | {
      readonly kind: "createThread";
      readonly title: string;
      /** The message that the thread hangs on, where the platform can do that. */
      readonly target?: MessageTarget;
      /** What is sent into the new thread. A forum's post begins with the first message of it. */
      readonly parts?: readonly Part[];
      readonly silent?: true;
      /** Names of a forum's tags. */
      readonly tags?: readonly string[];
    };

export type Action =
  | {
      readonly kind: "edit";
      readonly messageId: string;
      readonly text: RenderedText;
      readonly buttons?: readonly (readonly Button[])[];
    }
  | { readonly kind: "remove"; readonly messageId: string }
  | { readonly kind: "react"; readonly messageId: string; readonly emoji: string | null }
  | { readonly kind: "pin"; readonly messageId: string; readonly pinned: boolean }
  | {
      readonly kind: "createThread";
      readonly title: string;
      readonly messageId?: string;
      /**
       * What comes next in the thread. A forum takes it with the post, and the receipt then says `opened:
       * true`; elsewhere the caller sends it.
       */
      readonly first?: RenderedPart;
      readonly tags?: readonly string[];
    }
  | { readonly kind: "answerCallback"; readonly callbackId: string; readonly text?: string }
  | {
      readonly kind: "setCommands";
      readonly commands: readonly {
        readonly name: string;
        readonly description: string;
        /** The gateway knows what may stand after it, and is asked while people type. */
        readonly suggests?: true;
      }[];
    };

export type ActionKind = Action["kind"];
/** The one action of the outbox that makes something; the others set a state, so repeating them is safe. */
export type CreateThread = Extract<Action, { readonly kind: "createThread" }>;
