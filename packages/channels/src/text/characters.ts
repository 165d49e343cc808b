// Which characters may be in a message, and what counts as nothing to see. Telegram and Discord refuse a message that shows nothing.

/** Control characters, and the bidirectional overrides that Telegram strips and that can disguise a link. */
const forbidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e]/g;
const separators = /\r\n?|[\u2028\u2029]/g;
const visible = /[^\s\p{Default_Ignorable_Code_Point}\p{Cc}\u2800]/u;

/** Well-formed text with `\n` as its only line end. A lone surrogate becomes U+FFFD, as it would on the wire. */
export function cleanText(text: string): string {
  return text.toWellFormed().replace(separators, "\n").replace(forbidden, "");
}

/** True when nothing of it would be seen. */
export function isBlank(text: string): boolean {
  return !visible.test(text);
}

export function isSpace(character: string | undefined): boolean {
  return character !== undefined && character.trim() === "" && character !== "";
}
