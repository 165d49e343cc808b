// Decides what becomes of an address in a reply: a link, an address written out after its label, or the label
// alone. Only this file decides which schemes may be followed.
import type { Mark } from "./document.ts";

type Link = Extract<Mark, { kind: "link" }>;

/**
 * Longer addresses are written out, or stay text, so that they can be split: Discord needs the whole address
 * in one message of 2000 characters.
 */
const longestMaskedUrlChars = 1000;
const web = /^https?:\/\//i;
const mail = /^mailto:/i;
/** Schemes that are never shown either: they carry code or bytes and mean nothing to a reader. */
const carriers = /^\s*(javascript|vbscript|data|blob|file):/i;

export interface LinkPlan {
  /** Absent where nothing may be followed. */
  readonly mark?: Link;
  /** Text to show after the label. */
  readonly spelled?: string;
}

/**
 * `url` is normalized: markdown-it has percent-encoded spaces, quotes and angle brackets. `label` is the text
 * that the reader sees.
 */
export function planLink(url: string, label: string): LinkPlan {
  if (web.test(url)) {
    const bare = isSameAddress(url, label);
    if (url.length <= longestMaskedUrlChars)
      return { mark: { kind: "link", url, form: bare ? "bare" : "masked" } };
    if (bare) return {};
    return { mark: { kind: "link", url, form: "spelled" }, spelled: url };
  }
  if (mail.test(url)) {
    const address = url.replace(mail, "");
    const labelled = label === address || label === url;
    return {
      mark: { kind: "link", url, form: labelled ? "bare" : "spelled" },
      ...(labelled ? {} : { spelled: address }),
    };
  }
  return url === "" || url.startsWith("#") || carriers.test(url) || url === label ? {} : { spelled: url };
}

function isSameAddress(url: string, label: string): boolean {
  return url === label || url === `${label}/` || `${url}/` === label;
}
