// Escapes Discord's Markdown. Discord has no plain mode, so text shows as meant only when possible markup is
// escaped.

/** Mentions, custom emoji and times in Discord's form; `allowed_mentions` decides whether a mention pings. */
const token = /<(?:@[!&]?\d{15,21}|#\d{15,21}|a?:\w{2,32}:\d{15,21}|t:-?\d{1,13}(?::[a-zA-Z])?)>/g;
const special = /[\\*_~|`<>[\]]/g;
/** Markup that counts only at the start of a line: headings, small print, list items. */
const lineOpening = /^([ \t]*)(?:(#{1,3}[ \t]|-#?[ \t]|\+[ \t])|(\d+)([.)][ \t]))/;
const zeroWidthSpace = "\u200b";

export function escapeDiscord(text: string, atLineStart: boolean): string {
  return text
    .split("\n")
    .map((line, index) => {
      const escaped = escapeLine(line);
      return index > 0 || atLineStart ? escapeOpening(escaped) : escaped;
    })
    .join("\n");
}

/** Breaks @everyone and @here, which are never ours to send, in text, code and labels alike. */
export function breakMassMentions(text: string): string {
  return text.replace(/@(?=everyone|here)/g, `@${zeroWidthSpace}`);
}

/** A code block ends at the first three backticks, so none may stand inside. */
export function breakFences(code: string): string {
  return code.replace(/`(?=``)/g, `\`${zeroWidthSpace}`);
}

/** Inline code, with or without backticks in it. */
export function inlineCode(code: string): string {
  if (!code.includes("`")) return `\`${code}\``;
  return `\`\` ${code.replace(/`(?=`)/g, `\`${zeroWidthSpace}`)} \`\``;
}

/** Goes between two runs of the same delimiter that would otherwise read as one. */
export const delimiterGap = zeroWidthSpace;

function escapeLine(line: string): string {
  let escaped = "";
  let from = 0;
  for (const found of line.matchAll(token)) {
    escaped += line.slice(from, found.index).replace(special, "\\$&") + found[0];
    from = found.index + found[0].length;
  }
  return escaped + line.slice(from).replace(special, "\\$&");
}

function escapeOpening(line: string): string {
  return line.replace(
    lineOpening,
    (_, indent: string, symbol: string | undefined, number: string | undefined, rest: string | undefined) =>
      symbol === undefined ? `${indent}${number ?? ""}\\${rest ?? ""}` : `${indent}\\${symbol}`,
  );
}
