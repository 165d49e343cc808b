// Removes characters that a message must not contain, and recognises texts that show nothing, which Telegram
// and Discord refuse.

/** Control characters, and the bidirectional overrides that Telegram strips and that can disguise a link. */
const forbidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/g;
const separators = /\r\n?|[\u2028\u2029]/g;
const visible = /[^\s\p{Default_Ignorable_Code_Point}\p{Cc}\u2800]/u;

/**
 * Well-formed text with `
 * ` as its only line end. A lone surrogate becomes U+FFFD, as it would on the wire.
 */
export function cleanText(text: string): string {
  return text.toWellFormed().replace(separators, "\n").replace(forbidden, "");
}

/** True when nothing of the text is visible. */
export function isBlank(text: string): boolean {
  return !visible.test(text);
}

export function isSpace(character: string | undefined): boolean {
  return character !== undefined && character.trim() === "" && character !== "";
}
