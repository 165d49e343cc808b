// What must hold for any Markdown, on every surface. A short run by default; 100,000 cases of each with
// PARLEY_LONG=1.
import fc from "fast-check";
import { describe, it } from "vitest";
import type { RenderedText, TextEntity } from "@parley/protocol";
import { healPartial, plainText, renderHtml, renderMarkdown } from "../../src/text/index.ts";
import { textOfHtml } from "./html-checker.ts";
import { markdownTorture } from "./markdown-torture.ts";

const long = process.env["PARLEY_LONG"] === "1";
const runs = { numRuns: long ? 100_000 : 200 };
const timeoutMs = long ? 3_600_000 : 30_000;
/** Tiny limits find the most and take the longest: thousands of messages a case. */
const limits = fc.oneof(
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 20 }) },
  { weight: 6, arbitrary: fc.integer({ min: 20, max: 200 }) },
  { weight: 6, arbitrary: fc.integer({ min: 200, max: 700 }) },
  { weight: 3, arbitrary: fc.constant(4096) },
);
const segmenter = new Intl.Segmenter("en", { granularity: "grapheme" });

/** Thousands of checks a case: `expect` would take longer than the code under test. */
function must(holds: boolean, what: string, about: unknown): void {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(about)}`);
}

/** What must survive of a text: everything but what cannot be seen, which cuts may drop. */
function essence(text: string): string {
  return text.replace(/[\s\p{Default_Ignorable_Code_Point}\u2800]+/gu, "");
}

function checkMessages(markdown: string, messages: readonly RenderedText[], textChars: number): void {
  for (const { text, plain } of messages) {
    // Two units: a code point is never cut, and a single one is sent even where its escape does not fit.
    must(text.length <= Math.max(textChars, 2), "within the limit", text);
    must(plain.length <= Math.max(textChars, 2), "the plain form is within the limit", plain);
    must(text.isWellFormed(), "well-formed", text);
    must(essence(plain) !== "", "something to see", text);
    must(plain.trimEnd() === plain, "no white space at the end", plain);
  }
  const whole = plainText(markdown);
  must(essence(joined(messages)) === essence(whole), "arrives whole", messages);
}

function joined(messages: readonly RenderedText[]): string {
  return messages.map(({ plain }) => plain.replaceAll("@\u200b", "@")).join("");
}

function checkEntities(text: string, entities: readonly TextEntity[]): void {
  const isCode = ({ type }: TextEntity): boolean => type === "code" || type === "pre";
  const isSolid = (entity: TextEntity): boolean => isCode(entity) || entity.type === "text_link";
  entities.forEach((entity, index) => {
    const { offset, length, type } = entity;
    const covered = text.slice(offset, offset + length);
    must(offset >= 0 && length > 0 && offset + length <= text.length, "in range", entity);
    must(covered.trimEnd() === covered && covered.trim() !== "", "no white space at its end", entities);
    must(
      type === "blockquote" || type === "pre" || covered.trim() === covered,
      "no white space at its start",
      entities,
    );
    for (const other of entities.slice(index + 1)) {
      must(other.offset >= offset, "sorted", entities);
      if (other.offset >= offset + length) continue;
      must(other.offset + other.length <= offset + length, "nested", entities);
      must(other.type !== type, "not twice", entities);
      must(
        !isCode(entity) && !(isSolid(entity) && isSolid(other)),
        "code and links hold no such thing",
        entities,
      );
      must(!isCode(other) || type === "blockquote", "code lies in nothing but a quote", entities);
      must(other.type !== "blockquote", "a quote lies in nothing", entities);
    }
  });
}

/** No message begins or ends inside a character of the document, if every character has room. */
function checkCuts(whole: string, messages: readonly RenderedText[], textChars: number): void {
  const inside = new Set<number>();
  for (const { segment, index } of segmenter.segment(whole)) {
    if (segment.length > textChars) return;
    if (/\s/.test(segment)) continue;
    for (let unit = 1; unit < segment.length; unit += 1) inside.add(index + unit);
  }
  let position = 0;
  for (const { plain } of messages) {
    const start = whole.indexOf(plain.trim(), position);
    must(start >= position && essence(whole.slice(position, start)) === "", "in order", { whole, plain });
    position = start + plain.trim().length;
    must(!inside.has(start) && !inside.has(position), "whole characters", { whole, plain });
  }
}

describe("any Markdown", () => {
  it(
    "arrives whole on Telegram, within 4096 units and 100 entities, with entities that Telegram accepts",
    { timeout: timeoutMs },
    () => {
      fc.assert(
        fc.property(
          markdownTorture(),
          limits,
          fc.constantFrom(1, 3, 100),
          (markdown, textChars, textEntities) => {
            const messages = renderMarkdown(markdown, { dialect: "telegram", textChars, textEntities });
            checkMessages(markdown, messages, textChars);
            checkCuts(plainText(markdown), messages, textChars);
            for (const { text, entities, plain } of messages) {
              must(text === plain, "entities carry all markup", text);
              must(entities.length <= textEntities, "few entities", entities);
              checkEntities(text, entities);
            }
          },
        ),
        runs,
      );
    },
  );

  it(
    "arrives whole on Discord, within 2000 units as rendered, and never mentions everyone",
    { timeout: timeoutMs },
    () => {
      fc.assert(
        fc.property(markdownTorture(), fc.oneof(limits, fc.constant(2000)), (markdown, textChars) => {
          const messages = renderMarkdown(markdown, { dialect: "discord", textChars });
          checkMessages(markdown, messages, textChars);
          for (const { text, plain } of messages) {
            must(!/@everyone|@here/.test(`${text}\n${plain}`), "mentions nobody", text);
            must((text.match(/^(?:> )?```/gm) ?? []).length % 2 === 0, "fences in pairs", text);
          }
        }),
        runs,
      );
    },
  );

  it("becomes well-formed HTML of allowed tags only, whole and in messages", { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(markdownTorture(), fc.integer({ min: 200, max: 4096 }), (markdown, textChars) => {
        textOfHtml(renderHtml(markdown));
        const messages = renderMarkdown(markdown, { dialect: "html", textChars });
        checkMessages(markdown, messages, textChars);
        for (const { text } of messages) textOfHtml(text);
      }),
      runs,
    );
  });

  it(
    "renders from every prefix, healed: settled text first, then closing marks only",
    { timeout: timeoutMs },
    () => {
      fc.assert(
        fc.property(markdownTorture(), fc.double({ min: 0, max: 1, noNaN: true }), (markdown, share) => {
          const prefix = markdown.slice(0, Math.round(markdown.length * share));
          const healed = healPartial(prefix);
          let kept = 0;
          while (kept < healed.length && healed[kept] === prefix[kept]) kept += 1;
          must(/^[\s>`~*_|]*$/.test(healed.slice(kept)), "adds closing marks only", { prefix, healed });
          const messages = renderMarkdown(healed, {
            dialect: "telegram",
            textChars: 4096,
            textEntities: 100,
          });
          for (const { text, entities } of messages) checkEntities(text, entities);
          textOfHtml(renderHtml(healed));
        }),
        runs,
      );
    },
  );

  it("of plain words is cut between words only", { timeout: timeoutMs }, () => {
    const words = fc
      .array(fc.stringMatching(/^[a-z]{1,12}$/), { minLength: 1, maxLength: 400 })
      .map((list) => list.join(" "));
    fc.assert(
      fc.property(words, fc.integer({ min: 13, max: 300 }), (text, textChars) => {
        const messages = renderMarkdown(text, { dialect: "plain", textChars });
        must(messages.map((message) => message.text).join(" ") === text, "cut between words", messages);
      }),
      runs,
    );
  });
});
