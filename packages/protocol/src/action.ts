// Actions on a conversation other than sending. A driver that cannot do one throws Fault("unsupported") from
// `act`.
import type { Button, RenderedText } from "./part.ts";

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
  | { readonly kind: "createThread"; readonly title: string; readonly messageId?: string }
  | { readonly kind: "answerCallback"; readonly callbackId: string; readonly text?: string }
  | {
      readonly kind: "setCommands";
      readonly commands: readonly { readonly name: string; readonly description: string }[];
    };

export type ActionKind = Action["kind"];
