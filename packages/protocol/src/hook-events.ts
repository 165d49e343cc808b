// Names the events that hooks hear, and the shape in which they hear them.

export const hookEventNames = [
  "command:new",
  "command:reset",
  "command:stop",
  "session:auto-reset",
  "session:compact:before",
  "session:compact:after",
  "session:patch",
  "agent:bootstrap",
  "gateway:startup",
  "gateway:shutdown",
  "gateway:pre-restart",
  "message:received",
  "message:transcribed",
  "message:preprocessed",
  "message:sent",
] as const;

/** A hook of a family hears all of its events; "command" hears every chat command. */
export const hookFamilies = ["command", "session", "agent", "gateway", "message"] as const;

export type HookFamily = (typeof hookFamilies)[number];
export type HookEventName = (typeof hookEventNames)[number];

export interface HookEvent {
  readonly type: HookFamily;
  readonly action: string;
  /** "" where no session is meant. */
  readonly sessionKey: string;
  /** Names what happened, where it may be met again after a crash: its handlers then begin at most once. */
  readonly id?: string;
  readonly context: { readonly [key: string]: unknown };
}

/** What the handlers of one event left. */
export interface HookAnswer {
  /** Words for the person, in order. */
  readonly messages: readonly string[];
  /** The context after all of them. */
  readonly context: { readonly [key: string]: unknown };
}

export type HookWords = (messages: readonly string[]) => void;

/** How the places at which things happen tell the hooks. Neither rejects, whatever a hook does. */
export interface HookPort {
  /** Returns at once. */
  tell(event: HookEvent): void;
  /**
   * Waits for the hooks of this event, all of them within one limit; null when none heard it. `later` gets
   * what the others said after that.
   */
  ask(event: HookEvent, later?: HookWords): Promise<HookAnswer | null>;
}

export const noHooks: HookPort = { tell: () => {}, ask: async () => null };
