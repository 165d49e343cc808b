// Writes out what only the entities say (link addresses, the edges of code), so that a text without entities
// loses nothing.
import type { RenderedText, TextEntity } from "@parley/protocol";

/**
 * The text with addresses after their labels, and the edges of code in Markdown. Offsets are UTF-16 units.
 */
export function spelledOut({ text, entities }: Pick<RenderedText, "text" | "entities">): string {
  const edges = entities
    .flatMap((entity, order) => {
      const marks = marksOf(entity);
      const end = entity.offset + entity.length;
      return marks === null
        ? []
        : [
            { at: entity.offset, mark: marks.before, order, isEnd: false },
            { at: end, mark: marks.after, order, isEnd: true },
          ];
    })
    // At one offset ends come before beginnings; of those the inner ends first and the outer begins first.
    .toSorted(
      (a, b) =>
        a.at - b.at || Number(b.isEnd) - Number(a.isEnd) || (a.isEnd ? b.order - a.order : a.order - b.order),
    );
  let out = "";
  let from = 0;
  for (const { at, mark } of edges) {
    out += text.slice(from, at) + mark;
    from = at;
  }
  return out + text.slice(from);
}

function marksOf({
  type,
  url,
  language,
}: TextEntity): { readonly before: string; readonly after: string } | null {
  if (type === "text_link") return { before: "", after: ` (${url ?? ""})` };
  if (type === "code") return { before: "`", after: "`" };
  return type === "pre" ? { before: `\`\`\`${language ?? ""}\n`, after: "\n```" } : null;
}
