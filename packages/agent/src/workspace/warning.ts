// Tells the model that a workspace file was cut. `always` puts it into Project Context; `once` may not (it
// would move the stable zone between two turns, I12), so it travels in the user message of the first turn
// that sees this truncation.
import type { BootstrapSnapshot } from "./snapshot.ts";

export type TruncationPolicy = "off" | "once" | "always";

/** Null when nothing was cut. `reads`: the agent can read the files by itself. */
export function truncationWarning({ files }: BootstrapSnapshot, reads: boolean): string | null {
  const cut = files.filter((file) => file.truncated);
  if (cut.length === 0) return null;
  const list = cut
    .map(({ name, text, rawChars }) => `${name} (${text.length} of ${rawChars} characters)`)
    .join(", ");
  return `[Bootstrap truncation warning: ${list}.${reads ? " Read the files for full content." : ""}]`;
}

/**
 * The note for this turn's user message under policy `once`, and what to remember in the session: the same
 * truncation is told once. `told` is what the last call returned.
 */
export function warnOnce(
  snapshot: BootstrapSnapshot,
  policy: TruncationPolicy,
  told: string | undefined,
  reads: boolean,
): { readonly note: string | null; readonly told: string | undefined } {
  const warning = policy === "once" ? truncationWarning(snapshot, reads) : null;
  if (warning === null || warning === told) return { note: null, told };
  return { note: warning, told: warning };
}
