// Second attempts at a text that Telegram refused: once without its entities, or as plain text in several
// messages where Telegram counted more than we did. A refusal means that nothing was sent.
import type { MessageEntity } from "grammy/types";
import { Fault, isFault, type RenderedText } from "@parley/protocol";
import { telegramCapabilities } from "./capabilities.ts";
import { refusalWords } from "./refusals.ts";
import { spelledOut } from "./spelled-out.ts";

/**
 * Runs `attempt` with the entities, and once more without them when Telegram refuses them. Any other failure
 * passes through.
 */
export async function withoutEntitiesIfRefused<T>(
  { text, entities }: RenderedText,
  limitChars: number,
  attempt: (text: string, entities: MessageEntity[]) => Promise<T>,
): Promise<T> {
  try {
    return await attempt(text, entities as MessageEntity[]);
  } catch (error) {
    if (!isFault(error, "invalid") || entities.length === 0 || !isAboutEntities(error)) throw error;
    // With link addresses written out the text may no longer fit; a caller that can then sends it in pieces.
    const plain = spelledOut({ text, entities });
    if (plain.length > limitChars) throw error;
    return await attempt(plain, []);
  }
}

export function isTooLong(error: unknown): boolean {
  return /(?:message|caption) is too long|message_too_long|caption_too_long/i.test(refusalWords(error));
}

function isAboutEntities(error: unknown): boolean {
  return /entit/i.test(refusalWords(error));
}

/**
 * True when Telegram counted more than we did, or refused the entities of a text that is too long without
 * them.
 */
export function needsPieces(error: unknown, text: RenderedText, limitChars: number): boolean {
  return isTooLong(error) || (isAboutEntities(error) && spelledOut(text).length > limitChars);
}

/** No server has a lower limit; a refusal at this length has another reason. */
const leastPieceChars = 16;

/**
 * Sends the plain text in several messages after Telegram counted more than we did. A failure after something
 * was sent (`before` counts it) is `ambiguous`, because the part was neither sent nor unsent.
 */
export async function sendInPieces<Sent>(
  pieces: readonly string[],
  send: (text: string, isLast: boolean) => Promise<Sent>,
  before = 0,
): Promise<readonly Sent[]> {
  const sent: Sent[] = [];
  const left = [...pieces];
  for (let text = left.shift(); text !== undefined; text = left.shift()) {
    if (text.length > telegramCapabilities.textChars) {
      left.unshift(...halves(text));
      continue;
    }
    try {
      sent.push(await send(text, left.length === 0));
    } catch (error) {
      if (isTooLong(error) && text.length > leastPieceChars) {
        left.unshift(...halves(text));
        continue;
      }
      if (sent.length + before === 0 || !isFault(error)) throw error;
      throw new Fault("ambiguous", `only the beginning was sent: ${error.message}`, { cause: error });
    }
  }
  return sent;
}

/**
 * Cuts at the last line or word of the first half; a text of one word is cut in the middle, between
 * characters.
 */
export function halves(text: string): readonly string[] {
  const middle = Math.ceil(text.length / 2);
  const head = text.slice(0, middle);
  const word = Math.max(head.lastIndexOf("\n"), head.lastIndexOf(" "));
  const cut = word > 0 ? word : middle - (/[\uD800-\uDBFF]$/.test(head) ? 1 : 0);
  return [text.slice(0, cut), text.slice(cut)].map((half) => half.trim()).filter((half) => half !== "");
}
