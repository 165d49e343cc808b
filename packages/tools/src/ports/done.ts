// Says what a call did, or why a tool or a port is not there.
import type { CallEffects } from "../tool.ts";

/** Why a tool is not there, for `parley tools explain`. */
export interface Unavailable {
  readonly unavailable: string;
}

export const readOnlyWorkspace =
  "the sandbox mounts the workspace read-only (agents.defaults.sandbox.workspaceAccess)";

export function isUnavailable<Made extends object>(made: Made | Unavailable): made is Unavailable {
  return "unavailable" in made;
}

/** What a call did, in words for the model, and what it does outside its turn. */
export interface Done {
  readonly text: string;
  readonly effects?: CallEffects;
  /** Not settled yet: the call runs again then, or as soon as the ticket is answered. */
  readonly waitsFor?: { readonly ticket: string; readonly untilMs: number };
}
