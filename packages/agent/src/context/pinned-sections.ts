// Reads the sections of AGENTS.md that a long conversation must not drift away from. They are repeated with
// every summary, up to a limit.
import { headOf } from "../plain-line.ts";

/**
 * Returns the sections whose headings are in `names`, ignoring case and in the order of the names; empty when
 * there is none.
 */
export function pinnedSectionsOf(markdown: string, names: readonly string[], maxChars: number): string {
  const sections = names.flatMap((name) => sectionOf(markdown, name) ?? []);
  const text = sections.join("\n\n").trim();
  return text.length <= maxChars ? text : `${headOf(text, maxChars - 1)}…`;
}

function sectionOf(markdown: string, name: string): string | null {
  const lines = markdown.split(/\r?\n/);
  let level = 0;
  let fenced = false;
  const kept: string[] = [];
  for (const line of lines) {
    if (/^\s{0,3}(?:```|~~~)/.test(line)) fenced = !fenced;
    const heading = fenced ? null : /^(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
    const depth = heading?.[1]?.length ?? 0;
    if (level === 0) {
      if (heading === null || heading[2]?.toLowerCase() !== name.trim().toLowerCase()) continue;
      level = depth;
    } else if (heading !== null && depth <= level) {
      break;
    }
    kept.push(line);
  }
  return kept.length === 0 ? null : kept.join("\n").trim();
}
