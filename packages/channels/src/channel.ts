// The channel contract: the narrow interface between a platform and the gateway. Keeps the channel's half of
// I1: a channel acknowledges its platform only after `receive` resolved.
import type {
  Action,
  ActionKind,
  Address,
  Capabilities,
  ChannelEvent,
  CreateThread,
  Inbound,
  Receipt,
  RenderedPart,
} from "@parley/protocol";

/** What a channel may show about a batch to a person who waits at the screen. */
export interface Received {
  /** Ids of events that get no answer, because their senders may not speak there. */
  readonly refused: readonly string[];
}

/** Resolves once every event is durable; rejects when none may be acknowledged. Events keep their order. */
export type Receive = (events: readonly ChannelEvent[]) => Promise<Received | void>;

export interface ChannelHealth {
  readonly state: "starting" | "ok" | "degraded" | "down" | "stopped";
  readonly reason?: string;
  /**
   * When inbound work last completed (a poll was answered, a heartbeat acknowledged); absent before the
   * first.
   */
  readonly lastInboundAtMs?: number;
}

export interface SendOptions {
  /** Derived from the delivery's id and part; the same on every repeat. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** Ids of the inbound events that this message answers; set only on the first message of an answer. */
  readonly answers?: readonly string[];
  /** An earlier send with this key may have arrived unseen: this one is sent as that one was. */
  readonly mayHaveArrived?: boolean;
  /** Id of an earlier message of ours that this one replaces, on platforms without edits. */
  readonly replaces?: string;
  /** Receipt of the message before it in the same answer. */
  readonly follows?: Receipt;
}

/** One argument that a platform offers while somebody types a command. */
export interface Suggestion {
  readonly label: string;
  /** What stands behind the command when it is chosen. */
  readonly value: string;
}

/** `typed`: the command as far as it is typed. Empty for whoever may not give it. */
export type Suggest = (typed: Inbound) => Promise<readonly Suggestion[]>;

export interface Channel {
  readonly name: string;
  readonly account: string;
  readonly capabilities: Capabilities;
  /**
   * Resolves when receiving has begun; later trouble shows in `health`. Rejects with Fault("denied") when the
   * platform refuses the account (bad token). What a platform may take again later, the channel asks again.
   */
  start(receive: Receive): Promise<void>;
  /** Names who knows the arguments of commands, where the platform offers them. Called before `start`. */
  suggestsWith?(suggest: Suggest): void;
  /**
   * Stops receiving and waits for `receive` calls in flight. Never confirms an event that was not accepted.
   * Calling it again changes nothing. Sending goes on working.
   */
  stop(): Promise<void>;
  health(): ChannelHealth;
  /**
   * Sends one platform message within the channel's limits. Never retries by itself. Throws Fault:
   * `ambiguous` once bytes were written and no answer was read.
   */
  send(to: Address, part: RenderedPart, options: SendOptions): Promise<Receipt>;
  /**
   * Finds our own messages with exactly this content, or our own threads with this title, since `sinceMs`,
   * oldest first, to learn whether a send of unknown outcome arrived. Null when the channel cannot know.
   * Exists where a platform lets bots read their messages back. Throws Fault for failures that may pass.
   */
  sentSince?(
    to: Address,
    sent: RenderedPart | CreateThread,
    sinceMs: number,
    signal: AbortSignal,
  ): Promise<readonly Receipt[] | null>;
  /** Actions that this channel supports; `act` exists exactly when this is not empty. */
  readonly actions?: readonly ActionKind[];
  act?(to: Address, action: Action, options: SendOptions): Promise<Receipt | null>;
  /** Shows "is typing" for some seconds. The caller may ignore failures. */
  typing?(to: Address): Promise<void>;
  /**
   * Ends the sign that an answer is coming for these inbound events, which get none. Idempotent. Never
   * rejects.
   */
  settle?(events: readonly string[]): Promise<void>;
  /**
   * Fetches the bytes behind an attachment's `ref`. Throws Fault("invalid") beyond `limitBytes`, checked
   * while reading.
   */
  download?(
    ref: string,
    limitBytes: number,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Uint8Array; readonly mediaType?: string; readonly name?: string }>;
}
