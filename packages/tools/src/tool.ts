// Defines a tool. A tool takes its ports as arguments of its factory; the loop validates arguments before
// `run`.
import type { ImageContent, JsonObject, SessionKey, TextContent } from "@parley/protocol";
import type { ExecAction } from "./exec/exec-action.ts";

/** `reads` may be repeated after a crash; `writes` and `sends` start at most once (I7). */
export type ToolEffect = "reads" | "writes" | "sends";

export interface ToolResult {
  readonly content: readonly (TextContent | ImageContent)[];
  readonly isError?: boolean;
}

export interface ToolScope {
  readonly session: SessionKey;
  readonly agent: string;
  readonly turn: string;
  readonly callId: string;
  readonly workspace: string;
  /**
   * What the turn's skills add to the environment of its processes: the operator's values, for this turn
   * only.
   */
  readonly env?: { readonly [name: string]: string };
  /** Aborts at stop, deadline, lost lease; a tool then ends within a second and takes its processes along. */
  readonly signal: AbortSignal;
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
  /** Parses what the model sent. */
  parse(
    args: JsonObject,
  ): { readonly ok: true; readonly args: unknown } | { readonly ok: false; readonly reason: string };
  /**
   * Only tools whose calls may need a person's approval have it: what this call would do, to show, hash and
   * decide about before it starts. The tool works it out again when it runs and refuses to do anything else.
   * Throws Fault when the call can never run.
   */
  action?(args: unknown, scope: ToolScope): Promise<ExecAction>;
  /** A throw becomes an error result that the model sees; it never ends the turn. */
  run(args: unknown, scope: ToolScope): Promise<ToolResult>;
}
