// The head of a message in a chat template: `<|start|>assistant<|channel|>analysis<|message|>`,
// `<|im_start|>assistant`, Gemma's `<|channel>thought`. Only an assistant's final channel is for people.
import type { Cursor } from "./cursor.ts";
import { isTag, readTag, type Tag } from "./read-tag.ts";

export interface TemplateHeader {
  /** The token that came last: what follows it is a role or a channel. */
  names: "role" | "channel";
  role: string;
  channel: string;
}

export type HeaderRead = "on" | "hold" | { readonly kind: "shown" | "hidden"; readonly text: string };

const longestChars = 120;
const privateChannel = /^\s*(?:analysis|commentary|thoughts?|think|thinking|reasoning|comment)\b/iu;
const finalChannel = /^\s*(?:final|answer|response)\b/iu;
const ownRole = /^\s*(?:assistant|model)\b/iu;
const otherRole = /^\s*(?:system|developer|user|tool|functions[.\w]*)\b/iu;

const heads = [privateChannel, finalChannel, ownRole, otherRole].map(
  (each) => new RegExp(String.raw`${each.source}\s*$`, "iu"),
);

/**
 * Reads on in the header; decides at the message's token, at the end of the line, or where a header can no
 * longer be.
 */
export function readHeader(cursor: Cursor, header: TemplateHeader): HeaderRead {
  const rest = cursor.rest.slice(cursor.at);
  const end = /[<＜\n]/u.exec(rest)?.index ?? rest.length;
  if (end === rest.length && !cursor.ended && end <= longestChars) return "hold";
  const words = rest.slice(0, Math.min(end, longestChars));
  const read = readTag(cursor.rest, cursor.at + words.length);
  if (read !== null && !isTag(read) && !cursor.ended) return "hold";
  header[header.names] += words;
  cursor.at += words.length;
  if (isTag(read) && read.form === "bars" && !read.closing) {
    if (read.name === "channel" || read.name === "constrain") {
      cursor.at += read.chars;
      if (read.name === "channel") header.names = "channel";
      return "on";
    }
    if (read.name === "message" || read.name === "end_header_id") {
      cursor.at += read.chars;
      return settled(header, true);
    }
  }
  const isWhole = rest.charAt(words.length) === "\n" && heads.some((each) => each.test(words));
  if (isWhole) cursor.at += 1;
  return settled(header, isWhole);
}

/** `isWhole`: nothing of the header is text of the message. */
function settled({ role, channel }: TemplateHeader, isWhole: boolean): HeaderRead {
  if (privateChannel.test(channel) || (otherRole.test(role) && isWhole)) return { kind: "hidden", text: "" };
  if (isWhole || finalChannel.test(channel))
    return { kind: "shown", text: isWhole ? "" : channel.replace(finalChannel, "") };
  return { kind: "shown", text: channel === "" ? role.replace(ownRole, "") : channel };
}

/** Tokens after which a template names whose message comes, or on which channel. */
export function beginsHeader({ form, name, closing }: Tag): boolean {
  return (
    (form === "bars" && /^(?:start|channel|im_start|start_header_id|turn)$/u.test(name) && !closing) ||
    name === "start_of_turn"
  );
}
