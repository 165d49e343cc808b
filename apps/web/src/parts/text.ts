// Shows text of others as text: hidden and deceiving characters marked, ids cut in the middle and copied by a
// press. Nothing here becomes markup.
import { html, type TemplateResult } from "lit";
import { t } from "../texts/texts.ts";
import { copyText } from "./clipboard.ts";

/** How `visibleText` writes a character that people would not see, or would take for another. */
const writtenOut = /\\u\{[0-9a-f]+\}/gi;

/** Text in which such characters are written out already: they are marked. */
export function revealed(text: string): TemplateResult {
  const shown: (string | TemplateResult)[] = [];
  let from = 0;
  for (const { 0: found, index } of text.matchAll(writtenOut)) {
    shown.push(text.slice(from, index), html`<mark class="hidden-char">${found}</mark>`);
    from = index + found.length;
  }
  return html`${shown}${text.slice(from)}`;
}

export function hasHidden(text: string): boolean {
  return text.search(writtenOut) !== -1;
}

/** Signs that are not seen or turn text around; those that join the parts of one emoji stay. */
const unseen = /(?![\n\t\u200d])[\p{Cc}\p{Cf}\u2028\u2029]/gu;

/** What a program wrote, with such signs written out. */
export function unhidden(text: string): string {
  return text.replaceAll(unseen, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`);
}

/** An id, cut in the middle; a press copies the whole. */
export function copyable(text: string, longest = 28): TemplateResult {
  const shown = unhidden(cut(text, longest));
  return html`<button
    class="copyable"
    title=${unhidden(text)}
    @click=${async ({ currentTarget }: Event) => {
      const told = (currentTarget as HTMLElement).querySelector("[role=status]");
      if (await copyText(text)) told?.replaceChildren(t.act.copied);
    }}
  >
    <bdi>${shown}</bdi><span class="sr-only">, ${t.act.copy}</span><span class="copied" role="status"></span>
  </button>`;
}

/** Longer parts of a key are ids that a machine made up. */
const mostKeyChars = 14;

/**
 * A session without a name, by what its key says: `telegram dm 4242`, or `web uip4…kviu plans` for the
 * conversation "plans" of one browser.
 */
export function sessionWords(key: string): string {
  const [kind, , ...rest] = key.split(":");
  if (kind !== "agent" || rest.length === 0) return unhidden(key);
  const words = rest.map(decoded);
  const [channel, place, peer = "", , thread] = words;
  const short =
    channel === "web" && place === "dm"
      ? ["web", peer.replace(/^web-/, ""), ...(thread === undefined ? [] : [thread])]
      : words;
  return short.map((word) => unhidden(word.length <= mostKeyChars ? word : cut(word, 9))).join(" ");
}

/** What people call a session, safe beside other words. */
export function sessionTitle({ key, name }: { readonly key: string; readonly name: string | null }): string {
  return name === null ? sessionWords(key) : unhidden(name);
}

function cut(text: string, longest: number): string {
  const half = Math.floor((longest - 1) / 2);
  return text.length <= longest ? text : `${text.slice(0, half)}…${text.slice(-half)}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // No such encoding: it is shown as it stands.
    return part;
  }
}
