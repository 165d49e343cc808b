// Defines a tool. A tool takes its ports as arguments of its factory; the loop validates arguments before
// `run`.
import type {
  ConversationKey,
  ImageContent,
  JsonObject,
  SessionKey,
  TextContent,
  Usage,
} from "@parley/protocol";
import type { CellWrite, NewDelivery, NewRow } from "@parley/store";
import type { ExecAction } from "./exec/exec-action.ts";

/** `reads` may be repeated after a crash; `writes` and `sends` start at most once (I7). */
export type ToolEffect = "reads" | "writes" | "sends";

/**
 * What a keyed call does outside its turn, as data whose ids are made from turn and call. The loop writes it
 * in one transaction with the call's result, so that both are there once or not at all.
 */
export interface CallEffects {
  readonly rows?: readonly NewRow[];
  readonly deliveries?: readonly NewDelivery[];
  readonly cells?: readonly CellWrite[];
}

export interface UntrustedOrigin {
  /** Whose text it is, for the model and for people: "example.org", "a web search". */
  readonly source: string;
  /** The tool's own words, which stand behind the fence: how to go on. */
  readonly note?: string;
}

export interface ToolResult {
  readonly content: readonly (TextContent | ImageContent)[];
  readonly isError?: boolean;
  /** Of a model that the call asked; it counts as the turn's. */
  readonly usage?: Usage;
  /**
   * There when the content has text of strangers. The loop fences the whole text, and from then on the turn
   * asks an owner before a call that goes outside.
   */
  readonly untrusted?: UntrustedOrigin;
  /** Of keyed tools only. An error has none; those of a call that waits are written when it begins to. */
  readonly effects?: CallEffects;
  /**
   * Of keyed tools only: the call waits for an answer, and the turn gives its slot back until a row with the
   * ticket comes or the time is over. The tool then runs again under the same call id. `content` becomes the
   * result only when somebody writes to the session meanwhile.
   */
  readonly waitsFor?: { readonly ticket: string; readonly untilMs: number };
}

/** What a call is told of its turn. Ports to the session or the chat get it with each call. */
export interface ToolScope {
  readonly session: SessionKey;
  readonly agent: string;
  readonly turn: string;
  /** With `turn`, the key of what the call may do only once (I7). */
  readonly callId: string;
  /** Where the turn answers to: a tool that posts to the outbox addresses this unless told otherwise. */
  readonly conversation: ConversationKey;
  /** The people whose words the turn follows; what a call does is done in their name. */
  readonly by: {
    /** True when all of them are owners. */
    readonly owner: boolean;
    /** `<channel>:<id>`. */
    readonly senders: readonly string[];
  };
  /** What those people may have done for them. A row that a call writes for the turn inherits it. */
  readonly authority: string;
  /** The tools that those people may use in this turn. Absent: nobody narrowed them. */
  readonly tools?: readonly string[];
  readonly workspace: string;
  /**
   * What the turn's skills add to the environment of its processes: the operator's values, for this turn
   * only.
   */
  readonly env: { readonly [name: string]: string };
  /** Where text of strangers came from that the turn has read; what a call leaves for later is marked so. */
  readonly untrusted?: string;
  /** Aborts at stop, deadline, lost lease; a tool then ends within a second and takes its processes along. */
  readonly signal: AbortSignal;
}

/** What a turn has heard before a call: of people, and of strangers. */
export interface Heard {
  /** The messages that the turn answers, and its own calls before it read text of strangers. */
  readonly trusted: readonly string[];
  /** What it read: results of its calls, messages of sessions. */
  readonly read: readonly string[];
  /** Where the text of strangers came from. */
  readonly sources: readonly string[];
}

export interface Tool {
  /** snake_case: the model's spelling. */
  readonly name: string;
  /** One line for the prompt's tool list. */
  readonly summary: string;
  readonly description: string;
  /** JSON Schema, an object. */
  readonly parameters: JsonObject;
  readonly effect: ToolEffect;
  /**
   * True for a tool whose run changes nothing by itself: all that it does stands in its result's effects.
   * After a crash it runs again under the same call id, and nothing happens twice.
   */
  readonly keyed?: boolean;
  /**
   * True for a tool that shows something in the turn's conversation and waits there: the growing answer ends
   * above it before the call runs.
   */
  readonly endsPreview?: boolean;
  /** True for a tool whose schema the model is told only after it looked it up. */
  readonly deferred?: boolean;
  /** Parses what the model sent. */
  parse(
    args: JsonObject,
  ): { readonly ok: true; readonly args: unknown } | { readonly ok: false; readonly reason: string };
  /**
   * Only tools whose calls may need a person's approval have it: what this call would do, to show, hash and
   * decide about before it starts; null for a call that runs no command. The tool works it out again when it
   * runs and refuses to do anything else. Throws Fault when the call can never run.
   */
  action?(args: unknown, scope: ToolScope): Promise<ExecAction | null>;
  /**
   * What this call would send or spend outside the conversation, in words for the person who must approve
   * it; null for nothing. Asked only once the turn has read text of strangers. Absent: nothing ever.
   */
  outside?(args: unknown, scope: ToolScope, heard: Heard): string | null;
  /** A throw becomes an error result that the model sees; it never ends the turn. */
  run(args: unknown, scope: ToolScope): Promise<ToolResult>;
}
