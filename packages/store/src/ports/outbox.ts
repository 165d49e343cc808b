// The port of the outbox: deliveries, their parts and the journal of their sends (I4, I5).
import type { ConversationKey } from "@parley/protocol";
import type { Lanes, Lease, Release } from "./lanes.ts";

/**
 * Before its first send a delivery has one part, which is not rendered; the first change's `split` replaces
 * it with the rendered messages.
 */
export interface DeliveryPart {
  /** JSON text that no driver reads. */
  readonly content: string;
  /** Edits the message that part `<delivery>/<n>` produced, if that was sent. */
  readonly into?: string;
}

export interface NewDelivery {
  /**
   * Deterministic, so that a repeat changes nothing. `<cause>/…` is a part of an answer, which /stop drops
   * while it waits; `<word>:…` is a notice, which still goes out.
   */
  readonly id: string;
  readonly pool: string;
  readonly lane: ConversationKey;
  readonly parts: readonly DeliveryPart[];
  /** Id of the row or turn that caused it, for `why`. */
  readonly cause: string;
  /**
   * A preview. After it was sent it keeps the head of its lane until a delivery that `closes` it is queued.
   */
  readonly open?: boolean;
  /**
   * Id of an open preview, whose place in the lane this delivery takes in the same transaction. A preview
   * part that has not begun fails as superseded; one that has begun is settled first. When the id is unknown
   * or closed already, this is an ordinary delivery.
   */
  readonly closes?: string;
  /**
   * The answer of a command. It waits for the reply at the head of its lane (everything queued under that
   * cause) and for earlier such answers, and goes before the other waiting replies (I4).
   */
  readonly passes?: boolean;
}

export type PartState = "queued" | "sending" | "sent" | "failed" | "ambiguous";

export interface PartView extends DeliveryPart {
  readonly state: PartState;
  /**
   * The lease token that set `sending`. When it is older than the current lease's token, the outcome is
   * unknown.
   */
  readonly token: number;
  readonly startedAtMs: number;
  readonly attempts: number;
  readonly resends: number;
  /** The receipt as JSON text. */
  readonly receipt: string | null;
  readonly intoReceipt: string | null;
  readonly reason: string | null;
  /** True after a resend of an unknown outcome: people may have seen it twice. */
  readonly flagged: boolean;
}

export interface DeliveryView {
  readonly id: string;
  readonly pool: string;
  readonly lane: ConversationKey;
  readonly cause: string;
  readonly open: boolean;
  readonly done: boolean;
  readonly createdAtMs: number;
  readonly split: boolean;
  readonly parts: readonly PartView[];
}

export interface DeliveryBatch extends Lease {
  /** In order; only the first may change. */
  readonly deliveries: readonly DeliveryView[];
}

/**
 * `queued` means certainly not sent. `attempt` is `attempts` + 1; the current attempt again under the same
 * token is a repeat. Setting `sending` from `sending` or `ambiguous` is a resend. Without `idempotent`
 * (nonce, edits) a part may be resent once, and the resend flags it.
 */
export type Change = { readonly delivery: string; readonly part: number } & (
  | {
      readonly to: "sending";
      readonly attempt: number;
      readonly idempotent?: boolean;
      readonly split?: readonly DeliveryPart[];
    }
  | { readonly to: "sent"; readonly receipt: string }
  | { readonly to: "queued" | "failed" | "ambiguous"; readonly reason: string }
);

export interface DeliveryFilter {
  readonly lane?: ConversationKey;
  readonly id?: string;
  readonly cause?: string;
  readonly state?: PartState;
  /** Only finished deliveries that failed or stayed ambiguous and were not dropped. */
  readonly troubled?: boolean;
  /** A substring of a part's receipt, to find what sent a platform message. Scans. */
  readonly receipt?: string;
  readonly limit: number;
}

export interface Outbox extends Lanes<DeliveryBatch> {
  /** Queues deliveries that no turn commits: command answers, pairing codes, notices. Idempotent by id. */
  post(deliveries: readonly NewDelivery[]): Promise<void>;
  /**
   * Journals part states in order; "settle this, start the next" is one call. Refuses a lost lease, an old
   * term, a part before its predecessors ended, and a delivery that is not its lane's head (I4), and then
   * changes nothing. With `release` it also gives the lane back, as the verb does, in the same transaction.
   * Returns whether it did.
   */
  record(lease: Lease, changes: readonly Change[], release?: Release): Promise<boolean>;
  /** Newest first. */
  find(filter: DeliveryFilter): Promise<readonly DeliveryView[]>;
  /**
   * For operators: fails parts that have not begun, with this reason; finished deliveries leave the troubled
   * list. To retry one, post a copy.
   */
  drop(ids: readonly string[], reason: string): Promise<number>;
}
