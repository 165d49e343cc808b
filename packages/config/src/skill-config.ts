// What the rest of Parley reads of skills.*: which are loaded and from where, what each is given. What looks like a credential is a secret.
import type { Secret } from "./secret.ts";

export interface SkillsConfig {
  /** Absolute. */
  readonly load: { readonly extraDirs: readonly string[] };
  readonly bundled: boolean;
  readonly allowBundled?: readonly string[];
  readonly entries: { readonly [key: string]: SkillEntryConfig };
  readonly limits: {
    readonly maxSkillsPromptChars: number;
    readonly maxSkillsInPrompt: number;
    readonly maxSkillsLoadedPerSource: number;
    readonly maxCandidatesPerRoot: number;
    readonly maxSkillFileBytes: number;
  };
}

export interface SkillEntryConfig {
  readonly enabled?: boolean;
  readonly apiKey?: Secret;
  /** What looks like a credential is a secret. */
  readonly env: { readonly [name: string]: string | Secret };
  readonly config: { readonly [key: string]: unknown };
}
