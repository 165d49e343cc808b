// The port to what people see beside the turn's answer.
import type { Button, MediaFile, MediaShape } from "@parley/protocol";
import type { ToolScope } from "../tool.ts";
import type { Done } from "./done.ts";

export const messageActions = [
  "send",
  "reply",
  "edit",
  "delete",
  "react",
  "pin",
  "unpin",
  "poll",
  "thread",
] as const;
type MessageAction = (typeof messageActions)[number];

/** One schema for all channels (I12); what each action needs is checked by the port. */
export interface MessageRequest {
  readonly action: MessageAction;
  /** A conversation or a person; absent: where the turn answers to. */
  readonly to?: string | undefined;
  readonly text?: string | undefined;
  readonly files: readonly MediaFile[];
  /** The one file is a recording that is shown as a voice note. */
  readonly voice: boolean;
  /** How the files are shown: `file` as documents, whatever they are; the others a single one. */
  readonly as?: "file" | MediaShape | undefined;
  /** Without a sound or a banner. */
  readonly silent?: boolean | undefined;
  readonly buttons?: readonly (readonly Button[])[] | undefined;
  readonly poll?: MessagePoll | undefined;
  /** The platform's id of a message there. */
  readonly messageId?: string | undefined;
  /** What an earlier call returned for its message. */
  readonly handle?: string | undefined;
  readonly emoji?: string | undefined;
  readonly title?: string | undefined;
  readonly tags: readonly string[];
}

interface MessagePoll {
  readonly question: string;
  readonly options: readonly string[];
  readonly multiple: boolean;
  /** Absent: as the surface has it. */
  readonly anonymous?: boolean | undefined;
  readonly hours?: number | undefined;
}

/** What people see beside the turn's answer. Throws Fault for what cannot be done or may not. */
export interface Messages {
  /** Stores a file for sending. `name`: as people see it. */
  keep(bytes: Uint8Array, name: string): Promise<MediaFile>;
  /** Changes nothing by itself: what is to be done stands in the effects. */
  act(scope: ToolScope, request: MessageRequest): Promise<Done>;
}
