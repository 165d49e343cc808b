// Treats a text as the server does before it shows it: trims it, counts UTF-16 units, checks its entities.
// Where the real server silently repairs entities (crossing, forbidden nesting, more than 100), the fake
// refuses: such a text is our bug.
import { badRequest } from "./refusal.ts";

export interface Entity {
  readonly type: string;
  readonly offset: number;
  readonly length: number;
  readonly [field: string]: unknown;
}

export interface ShownText {
  readonly text: string;
  readonly entities: readonly Entity[];
}

/** Limits of the Bot API: UTF-16 units after entities parsing. */
const textLimit = 4096;
const captionLimit = 1024;
const entityLimit = 100;

/** Throws Refusal with the server's text. `what` decides the limit and the wording. */
export function shownText(raw: string, entities: readonly Entity[], what: "text" | "caption"): ShownText {
  const start = raw.length - raw.trimStart().length;
  const text = raw.trim();
  if (text === "" && what === "text") throw badRequest("message text is empty");
  if (what === "text" && text.length > textLimit) throw badRequest("message is too long");
  if (what === "caption" && text.length > captionLimit) throw badRequest("message caption is too long");
  for (const entity of entities) checkBounds(raw, entity);
  if (entities.length > entityLimit) throw badRequest("can't parse entities: ENTITIES_TOO_LONG");
  checkNesting(entities);
  const moved = entities
    .map((entity) => trimmed(entity, start, text.length))
    .filter((entity) => entity.length > 0);
  return { text, entities: moved };
}

function checkBounds(text: string, { offset, length }: Entity): void {
  const end = offset + length;
  if (offset < 0 || length <= 0)
    throw badRequest(`can't parse entities: entity at UTF-16 offset ${offset} has length ${length}`);
  if (end > text.length) {
    throw badRequest(
      `entity beginning at UTF-16 offset ${offset} ends after the end of the text at UTF-16 offset ${end}`,
    );
  }
  if (splitsPair(text, offset))
    throw badRequest(`entity begins in a middle of a UTF-16 symbol at UTF-16 offset ${offset}`);
  if (splitsPair(text, end))
    throw badRequest(`entity beginning at UTF-16 offset ${offset} ends in a middle of a UTF-16 symbol`);
}

function splitsPair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff;
}

/**
 * Bot API: entities may nest but not cross; pre and code contain no entity and stand in none but a block
 * quote; block quotes do not nest.
 */
function checkNesting(entities: readonly Entity[]): void {
  for (const [index, a] of entities.entries()) {
    for (const b of entities.slice(index + 1)) {
      const [outer, inner] =
        a.offset < b.offset || (a.offset === b.offset && a.length >= b.length) ? [a, b] : [b, a];
      const outerEnd = outer.offset + outer.length;
      if (inner.offset >= outerEnd) continue;
      if (inner.offset + inner.length > outerEnd) {
        throw badRequest(
          `can't parse entities: ${outer.type} at ${outer.offset} and ${inner.type} at ${inner.offset} cross`,
        );
      }
      if (isCode(outer) || (isCode(inner) && !isQuote(outer))) {
        throw badRequest(
          `can't parse entities: ${inner.type} at ${inner.offset} cannot stand inside ${outer.type}`,
        );
      }
      if (isQuote(outer) && isQuote(inner))
        throw badRequest(`can't parse entities: block quotes at ${inner.offset} cannot nest`);
    }
  }
}

function isCode(entity: Entity): boolean {
  return entity.type === "pre" || entity.type === "code";
}

function isQuote(entity: Entity): boolean {
  return entity.type === "blockquote" || entity.type === "expandable_blockquote";
}

function trimmed(entity: Entity, start: number, textLength: number): Entity {
  const from = Math.max(0, entity.offset - start);
  const to = Math.min(textLength, entity.offset + entity.length - start);
  return { ...entity, offset: from, length: to - from };
}

/** Finds the entities that Telegram marks by itself: mentions and commands, as far as bots act on them. */
export function detectedEntities(text: string): readonly Entity[] {
  const found: Entity[] = [];
  for (const match of text.matchAll(
    /(?<![\w@/])(?:@[A-Za-z]\w{2,31}|\/[A-Za-z0-9_]{1,64}(?:@[A-Za-z]\w{2,31})?)(?![\w/])/g,
  )) {
    found.push({
      type: match[0].startsWith("@") ? "mention" : "bot_command",
      offset: match.index,
      length: match[0].length,
    });
  }
  return found;
}
