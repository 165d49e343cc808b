// Builds the sections that stand below a summary's own words: the request that is being worked on, when the
// cut went through the running turn, and the pinned sections of AGENTS.md. Each summary gets them anew.
import type { Placed } from "./live-history.ts";
import { excerpt } from "./summary-prompt.ts";

const requestChars = 4_000;
const requestTitle = "## The request that is being worked on, word for word";
const pinnedTitle = "## Still in force, from AGENTS.md";

/** Returns the running turn's request when the cut went through that turn. */
export function requestAddendum(cutOff: readonly Placed[]): string {
  const said = cutOff.flatMap(({ entry }) =>
    entry.type === "user" ? entry.content.map((part) => (part.type === "text" ? part.text : "[image]")) : [],
  );
  return said.length === 0 ? "" : `${requestTitle}\n${excerpt(said.join("\n"), requestChars)}`;
}

export function pinnedAddendum(text: string): string {
  return text === "" ? "" : `${pinnedTitle}\n${text}`;
}

/** Removes the addenda, which the next summary gets anew. */
export function withoutAddenda(text: string): string {
  const at = [requestTitle, pinnedTitle]
    .map((title) => text.indexOf(`\n\n${title}\n`))
    .filter((found) => found >= 0);
  return at.length === 0 ? text : text.slice(0, Math.min(...at));
}
