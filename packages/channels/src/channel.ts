// The narrow waist between a platform and the gateway. Keeps the channel's half of I1: a platform is acknowledged only after `receive` resolved.
import type {
  Action,
  ActionKind,
  Address,
  Capabilities,
  ChannelEvent,
  Receipt,
  RenderedPart,
} from "@parley/protocol";

/** What a channel may want to show about a batch where somebody waits at the screen. */
export interface Received {
  /** Ids of events that get no answer, because whoever caused them may not speak there. */
  readonly refused: readonly string[];
}

/** Resolves once every event is durable; rejects when none may be acknowledged. Events keep their order. */
export type Receive = (events: readonly ChannelEvent[]) => Promise<Received | void>;

export interface ChannelHealth {
  readonly state: "starting" | "ok" | "degraded" | "down" | "stopped";
  readonly reason?: string;
  /** When inbound work last completed (a poll answered, a heartbeat acknowledged); absent before the first. */
  readonly lastInboundAtMs?: number;
}

export interface SendOptions {
  /** Derived from delivery id and part: the same on every repeat. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** Ids of the inbound events that this message answers; only with the first message of an answer. */
  readonly answers?: readonly string[];
  /** Id of our message that this one takes the place of, on a platform where none can be edited. */
  readonly replaces?: string;
  /** What the message before it in the same answer came to. */
  readonly follows?: Receipt;
}

export interface Channel {
  readonly name: string;
  readonly account: string;
  readonly capabilities: Capabilities;
  /** Resolves when receiving has begun; trouble after that shows in `health`. Rejects with Fault("denied") when it can never succeed (bad token). */
  start(receive: Receive): Promise<void>;
  /** Stops receiving, waits for `receive` calls in flight, never confirms what was not accepted. Idempotent. Sending goes on working. */
  stop(): Promise<void>;
  health(): ChannelHealth;
  /** One platform message, within the limits. Never retries by itself; throws Fault, `ambiguous` once bytes were written and no answer was read. */
  send(to: Address, part: RenderedPart, options: SendOptions): Promise<Receipt>;
  /**
   * Our own messages that say exactly this and are not older than `sinceMs`, oldest first: whether a send of unknown outcome arrived. Null
   * when that cannot be known here. Exists where a platform lets bots read back. Throws Fault for what passes.
   */
  sentSince?(
    to: Address,
    part: RenderedPart,
    sinceMs: number,
    signal: AbortSignal,
  ): Promise<readonly Receipt[] | null>;
  /** Actions that this channel can do; `act` exists exactly when this is not empty. */
  readonly actions?: readonly ActionKind[];
  act?(to: Address, action: Action, options: SendOptions): Promise<Receipt | null>;
  /** Shows "is typing" for some seconds. Failures are the caller's to ignore. */
  typing?(to: Address): Promise<void>;
  /** These inbound events get no answer: what shows people that one is coming ends. Repeats change nothing. Never rejects. */
  settle?(events: readonly string[]): Promise<void>;
  /** Bytes of an attachment's `ref`; Fault("invalid") beyond `limitBytes`, checked while reading. */
  download?(
    ref: string,
    limitBytes: number,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Uint8Array; readonly mediaType?: string; readonly name?: string }>;
}
