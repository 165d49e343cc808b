// Tells that an answer is late when it was split while it was still on time: the platform was away in between. What was split stays as it
// is; only the first message says so, if there is room for it.
import type { RenderedPart } from "@parley/protocol";

const begins = "(delayed by ";

/** How late, in words. */
export function delayedBy(lateMs: number): string {
  const minutes = Math.round(lateMs / 60_000);
  return `${begins}${minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`})`;
}

/** `textChars` is the platform's limit in UTF-16 units. A part that says it already, or has no room, comes back as it is. */
export function markedLate(part: RenderedPart, lateMs: number, textChars: number): RenderedPart {
  if (part.kind !== "text" || part.plain.startsWith(begins)) return part;
  const mark = `${delayedBy(lateMs)}\n\n`;
  if (mark.length + part.text.length > textChars) return part;
  const entities = part.entities.map((entity) => ({ ...entity, offset: entity.offset + mark.length }));
  return { ...part, text: mark + part.text, plain: mark + part.plain, entities };
}
