// Any Markdown, whole or cut while it grows, is text that the strict fake shows: bounds, surrogate pairs,
// nesting, 100 entities, 4096 units. A caption likewise within its 1024. Between the messages nothing is
// lost.
import { shownText } from "@parley/testkit";
import fc from "fast-check";
import { healPartial, plainText, renderMarkdown, telegramCapabilities } from "@parley/channels";
import { markdownTorture } from "../text/markdown-torture.ts";

const { captionChars, textChars, textEntities = 100 } = telegramCapabilities;

export function fuzzTelegram(numRuns: number): void {
  const cut = fc.integer({ min: 0, max: 9_999 });
  fc.assert(
    fc.property(markdownTorture(), cut, (markdown, share) => {
      shows(markdown, textChars, "text");
      shows(markdown, captionChars, "caption");
      shows(
        healPartial(markdown.slice(0, Math.round((markdown.length * share) / 10_000))),
        textChars,
        "text",
      );
    }),
    { numRuns },
  );
}

function shows(markdown: string, limitChars: number, what: "text" | "caption"): void {
  const messages = renderMarkdown(markdown, { dialect: "telegram", textChars: limitChars, textEntities });
  let seen = "";
  for (const { text, entities } of messages) {
    const shown = shownText(
      text,
      entities.map((entity) => ({ ...entity })),
      what,
    );
    // Whatever Telegram would cut off or drop was not worth sending.
    if (shown.entities.length !== entities.length)
      throw new Error(`an entity would vanish: ${JSON.stringify({ text, entities })}`);
    seen += shown.text;
  }
  if (essence(seen) !== essence(plainText(markdown)))
    throw new Error(`something is lost: ${JSON.stringify({ markdown, seen })}`);
}

/** Everything but what cannot be seen, which cuts and the server may drop. */
function essence(text: string): string {
  return text.replace(/[\s\p{Default_Ignorable_Code_Point}\u2800]+/gu, "");
}
