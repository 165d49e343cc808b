// Thoughts for those who asked to see them: a message of their own before the answer (`on`), or only while the answer grows (`stream`).
// They take the same way out as every text (I8); with `off` nothing here is called.
import { sanitizeOutbound, type Redaction } from "@parley/agent";
import type { Entry } from "@parley/protocol";

const title = "Thinking";
/** About one message; of longer thoughts the end tells most. */
const shownChars = 3_000;
const previewChars = 1_200;

/** Null when there were none. `tagged`: those that came in tags. */
export function thoughtsOf(entries: readonly Entry[], tagged: string, redaction: Redaction): string | null {
  const native = entries.flatMap((entry) =>
    entry.type === "assistant"
      ? entry.content.flatMap((part) => (part.type === "thinking" ? [part.text] : []))
      : [],
  );
  return shown(
    sanitizeOutbound([...native, tagged].filter((text) => text.trim() !== "").join("\n\n"), redaction),
    shownChars,
  );
}

/** `visible`: what a reply parser lets through of the thoughts so far. */
export function growingThoughts(visible: string): string | null {
  return shown(visible, previewChars);
}

function shown(text: string, chars: number): string | null {
  const clean = text.trim();
  if (clean === "") return null;
  const end = clean.length <= chars ? clean : `…${clean.slice(-chars).replace(/^[\udc00-\udfff]/, "")}`;
  return `${title}\n\n${end
    .split("\n")
    .map((line) => `> ${line}`)
    .join("\n")}`;
}
