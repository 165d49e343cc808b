// The port to the browser of an agent.
import type { Unavailable } from "./done.ts";

export const browserActions = [
  "open",
  "navigate",
  "back",
  "snapshot",
  "click",
  "type",
  "press",
  "select",
  "hover",
  "scroll",
  "upload",
  "wait",
  "screenshot",
  "pdf",
  "tabs",
  "focus",
  "close",
  "console",
  "dialog",
  "evaluate",
] as const;

/** One schema for all actions; what each needs is checked by the browser. */
interface BrowserCall {
  readonly action: (typeof browserActions)[number];
  readonly url?: string | undefined;
  readonly tab?: string | undefined;
  readonly ref?: string | undefined;
  readonly text?: string | undefined;
  readonly key?: string | undefined;
  readonly values?: readonly string[] | undefined;
  readonly files?: readonly NamedBytes[] | undefined;
  readonly submit?: boolean | undefined;
  readonly fullPage?: boolean | undefined;
  readonly accept?: boolean | undefined;
  readonly textChars: number;
}

interface NamedBytes {
  readonly name: string;
  readonly bytes: Uint8Array;
}

interface BrowserPort {
  /** `profile`: who shares tabs and cookies. Throws Fault. */
  run(
    profile: string,
    call: BrowserCall,
    signal: AbortSignal,
  ): Promise<{
    readonly text: string;
    readonly url: string | null;
    /** JPEG. */
    readonly picture?: Uint8Array;
    readonly files: readonly NamedBytes[];
  }>;
  /** Where the tab is; null while none is open. */
  urlOf(profile: string, tab?: string): string | null;
}

/** A browser, as the config has it at that moment. */
export interface Browser {
  port(): BrowserPort | Unavailable;
}
