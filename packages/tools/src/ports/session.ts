// Ports to the session that the scope of a call names.
import type { ToolScope } from "../tool.ts";
import type { Done } from "./done.ts";

/** Tools that a session has looked up. */
export interface LoadedTools {
  /** From the next model call on their schemas are told. Repeating it changes nothing. */
  load(scope: ToolScope, names: readonly string[]): Promise<void>;
}

export interface SessionStatus {
  /** Facts of the session, in the order in which they are shown; no secrets. */
  lines(scope: ToolScope): Promise<readonly { readonly name: string; readonly value: string }[]>;
  /**
   * Sets the session's model, null for the agent's own. Returns the model of the next turn. Throws
   * Fault("invalid") for an unknown one.
   */
  setModel(scope: ToolScope, model: string | null): Promise<string>;
}

interface PlanStep {
  readonly step: string;
  readonly status: "pending" | "in_progress" | "completed";
}

export interface Plans {
  save(
    scope: ToolScope,
    plan: { readonly explanation?: string; readonly steps: readonly PlanStep[] },
  ): Promise<void>;
}

interface UserQuestion {
  readonly question: string;
  readonly options: readonly string[];
  /** A form's fields. */
  readonly fields: readonly { readonly label: string; readonly long: boolean }[];
  readonly minutes: number;
}

/** Questions to the people of a turn. */
export interface AskUser {
  /**
   * The first run of a call shows the question and waits; a later one returns the answer, or that nobody
   * answered. While it waits, `text` and `effects` are for the case that somebody writes instead. Throws
   * Fault where nobody could answer.
   */
  ask(
    scope: ToolScope,
    request: UserQuestion,
  ): Promise<Done & { readonly waitsFor?: { readonly ticket: string; readonly untilMs: number } }>;
}
