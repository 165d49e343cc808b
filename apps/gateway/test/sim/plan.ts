// A schedule as data: who says what and when, and what goes wrong. Made from a seed, printed when it finds
// something, and shrunk by leaving parts of it out.

const chats = ["olga", "petra", "room", "mallory", "dora", "den", "web", "loopback"] as const;
export type Chat = (typeof chats)[number];

/** What the simulated model does with a message. */
export interface Script {
  /** Tools that it calls, one after the other. */
  readonly tools: readonly ("look" | "write" | "send")[];
  readonly answer: "plain" | "long" | "silent" | "thinking" | "tagged";
  /** Pieces that its answer comes in, and how long it thinks before each. */
  readonly pieces: number;
  readonly pauseMs: number;
  /** The process dies whenever the model is asked about it. */
  readonly kills?: boolean;
  /** Calls that fail before one works; `hang` never answers at all. */
  readonly fails?: { readonly times: number; readonly how: "unavailable" | "torn" | "rate_limited" | "hang" };
}

/**
 * `n` names a message: its text carries `#n`, and the answer names every message that it answers. `aside`:
 * not meant for the product.
 */
export type Act = { readonly atMs: number; readonly chat: Chat; readonly from: string } & (
  | { readonly kind: "say"; readonly n: number; readonly script: Script; readonly aside?: boolean }
  | { readonly kind: "edit"; readonly of: number }
  | { readonly kind: "command"; readonly text: string }
);

/** What happens to the nth call of a port. */
const harms = [
  "crash before",
  "crash after",
  "fail before",
  "fail after",
  "twice",
  "slow",
  "limited",
  "vague",
  "redeliver",
  "lost",
  "gone",
  "drop",
] as const;
export type Harm = (typeof harms)[number];

export type Trouble =
  | { readonly port: string; readonly nth: number; readonly harm: Harm }
  | { readonly atMs: number; readonly process: "kill" | "terminate"; readonly node?: number }
  | { readonly atMs: number; readonly process: "freeze"; readonly forMs: number; readonly node?: number }
  /** Between a node and the store: nothing arrives, or what arrives is not answered. */
  | {
      readonly atMs: number;
      readonly process: "cut off" | "deaf";
      readonly forMs: number;
      readonly node: number;
    };

/** One of several processes of one gateway. */
export interface PlannedNode {
  readonly role: "all" | "edge" | "worker";
  /** How wrong its clock is; the time of leases is the store's. */
  readonly skewMs: number;
}

export interface Plan {
  readonly seed: number;
  /** `main`: all people share one lane. */
  readonly scope: "main" | "per-channel-peer";
  /**
   * `boot`: a file that each boot opens for itself. `node`: leases of a dead process have to run out, as with
   * several nodes.
   */
  readonly store: "boot" | "node";
  /** How answers on Telegram and Discord grow: not at all, by edits of one message, or message by message. */
  readonly streaming: "off" | "edit" | "block";
  readonly queue: "steer" | "followup" | "collect" | "interrupt";
  /** Every call takes one millisecond, so that only the troubles are left. */
  readonly calm: boolean;
  readonly acts: readonly Act[];
  readonly troubles: readonly Trouble[];
  /** Absent: one process, alone. */
  readonly nodes?: readonly PlannedNode[];
}
