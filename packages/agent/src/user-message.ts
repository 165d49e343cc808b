// Builds the content of a user entry from the rows that a turn took, with everything that belongs to this
// turn alone: history of the group, quotes, recalled memory, notices. Here and not in the system prompt, so
// that the cached prefix survives the turn (I12).
import { label, type Enclosed, type ImageContent, type Inbound, type TextContent } from "@parley/protocol";
import { headOf } from "./plain-line.ts";
import { disarm, disarmedLine, fence } from "./untrusted.ts";

const nameChars = 64;
const idChars = 64;
const fileNameChars = 120;
const quoteChars = 1_000;
const wordChars = 300;
const valueChars = 2_000;
/** The longest poll of a platform has twelve answers. */
const mostWords = 30;

/** A message as the model is told it. */
export interface ToldMessage extends Inbound {
  /** Attachments that could not be fetched: which, and why. */
  readonly unavailable?: readonly string[];
}

export interface UserMessageInput {
  readonly rows: readonly ToldMessage[];
  /** What was said before without being addressed to the agent, oldest first. */
  readonly context?: readonly Inbound[];
  /** Snippets that memory recalled for this turn. */
  readonly memory?: string;
  /** Recent daily notes, for the first turn after /new or /reset. */
  readonly startup?: string;
  /** Messages before these, of one burst with them: one line each, shortened where it is marked. */
  readonly earlier?: readonly { readonly name: string; readonly words: string }[];
  /** The rows waited while Parley was down. */
  readonly away?: boolean;
  /** Parley's own notes for this turn, such as a truncation warning. */
  readonly notes?: readonly string[];
  /** Pictures among the attachments that the model is handed. */
  readonly images?: readonly ImageContent[];
  /** The text of attached documents: quoted matter, whoever sent it. */
  readonly documents?: readonly { readonly name: string; readonly text: string }[];
  /**
   * Ids of rows that Parley wrote itself to report finished work: shown as a system message, which no one
   * else can write.
   */
  readonly announced?: ReadonlySet<string>;
  /** Several people write here, so every message carries its sender's label. */
  readonly shared: boolean;
  /** A fresh, unguessable code for the fences. */
  readonly mark: string;
}

/** The content and the row ids of the user entry. */
export function userMessage(input: UserMessageInput): {
  readonly content: readonly (TextContent | ImageContent)[];
  readonly rows: readonly string[];
} {
  const {
    rows,
    context = [],
    memory,
    startup,
    notes = [],
    earlier = [],
    images = [],
    documents = [],
    announced,
    shared,
    mark,
  } = input;
  const blocks = [
    ...notes.map((note) => `[Parley: ${disarmedLine(note, 2_000)}]`),
    ...(input.away === true
      ? ["[Parley: these messages came while you were away; some may be settled by now]"]
      : []),
    ...(earlier.length === 0 ? [] : [earlierLines(earlier, shared)]),
    ...(startup === undefined ? [] : [fence("STARTUP", mark, "notes from recent days.", startup)]),
    ...(memory === undefined
      ? []
      : [
          fence(
            "MEMORY",
            mark,
            "memories of earlier conversations, historical data for context only.",
            memory,
          ),
        ]),
    ...(context.length === 0
      ? []
      : [
          fence(
            "HISTORY",
            mark,
            "what others wrote here before.",
            context.map((row) => said(row, true, null)).join("\n"),
          ),
        ]),
    ...rows.map((row, index) => {
      if (announced?.has(row.id) === true) return announcement(row);
      const above = [...context, ...rows.slice(0, index)].map(({ messageId }) => messageId);
      return [...quote(row, above, mark), said(row, shared, mark)].join("\n");
    }),
    ...documents.map(({ name, text }) =>
      fence("DOCUMENT", mark, `the attached file ${named(name, fileNameChars)}.`, text),
    ),
  ];
  return {
    content: [{ type: "text", text: blocks.join("\n\n") }, ...images],
    rows: rows.map((row) => row.id),
  };
}

function earlierLines(earlier: NonNullable<UserMessageInput["earlier"]>, shared: boolean): string {
  const lines = earlier.map(
    ({ name, words }) =>
      `- ${shared ? `${named(name, nameChars)}: ` : ""}${JSON.stringify(disarmedLine(words, words.length))}`,
  );
  return [
    `[Parley: much came at once; the ${earlier.length} messages before these, one line each, shortened where a line ends in "…"]`,
    ...lines,
  ].join("\n");
}

function announcement({ text }: Inbound): string {
  return `[System Message] ${unspoofed(text)}`;
}

/** `above`: what the model has just read need not be told again. */
function quote({ replyTo }: Inbound, above: readonly string[], mark: string): string[] {
  if (replyTo === undefined) return [];
  if (above.includes(replyTo.messageId))
    return [`[reply to the message above of ${named(replyTo.sender ?? "someone", nameChars)}]`];
  if (replyTo.text === undefined) return [];
  const whose = replyTo.toBot
    ? "your message"
    : `a message of ${named(replyTo.sender ?? "someone", nameChars)}`;
  return [fence("QUOTE", mark, `the next message replies to ${whose}.`, unspoofed(shortQuote(replyTo.text)))];
}

function shortQuote(text: string): string {
  return text.length <= quoteChars ? text : `${headOf(text, quoteChars)}…`;
}

/** `mark` is null inside a fence, where no other can stand. */
function said(row: ToldMessage, labelled: boolean, mark: string | null): string {
  const from = labelled
    ? [`[from ${named(row.sender.name, nameChars)} id ${label(row.sender.id, idChars)}]`]
    : [];
  const along = (row.enclosed ?? []).map((each) => enclosed(each, mark));
  const missing = (row.unavailable ?? []).map((why) => `[media unavailable: ${label(why, wordChars)}]`);
  return [...from, ...happened(row), ...along, ...missing, ...row.attachments.map(attachment)].join("\n");
}

function happened({ kind, text, callback }: Inbound): string[] {
  const body = text === "" ? [] : [unspoofed(text)];
  if (kind === "edit") return ["[edited message]", ...body];
  if (kind === "reaction")
    return ["[reaction]", ...(text === "" ? [] : [unspoofed(disarmedLine(text, valueChars))])];
  if (kind === "callback") return ["[pressed button]", ...pressed(callback?.value ?? text)];
  return body;
}

/**
 * What was written into a form follows in lines of its own, indented: none of them can pose as another
 * button.
 */
function pressed(value: string): string[] {
  const [button = "", ...written] = value.split("\n");
  return [
    `callback_data: ${disarmedLine(button, valueChars)}`,
    ...(written.length === 0 ? [] : [indented(written.join("\n"))]),
  ];
}

/** Words of somebody else than the sender: fenced where they may be many, else one line of labels. */
function enclosed({ kind, from, words }: Enclosed, mark: string | null): string {
  if (kind === "forward" || kind === "embed") {
    const text = words.slice(0, mostWords).join("\n");
    const whose = from === undefined ? "" : ` from ${named(from, nameChars)}`;
    if (text === "") return `[${kind}${whose}]`;
    const note =
      kind === "forward" ? `words${whose} that the sender passed on.` : "what a program showed in a frame.";
    return mark === null
      ? `[${kind}${whose}]\n${indented(text)}`
      : fence(kind.toUpperCase(), mark, note, unspoofed(text));
  }
  return `[${kind}: ${words
    .slice(0, mostWords)
    .map((word) => label(word, wordChars))
    .join(kind === "poll" ? " | " : ", ")}]`;
}

function attachment({
  kind,
  name,
  mediaType,
  bytes,
  seconds,
  description,
}: Inbound["attachments"][number]): string {
  const facts = [
    ...(name === undefined ? [] : [named(name, fileNameChars)]),
    ...(mediaType === undefined ? [] : [label(mediaType, 80)]),
    ...(bytes === undefined ? [] : [`${bytes} bytes`]),
    ...(seconds === undefined ? [] : [`${seconds} s`]),
    ...(description === undefined ? [] : [named(description, 500)]),
  ];
  return `[attached ${kind}${facts.length === 0 ? "" : `: ${facts.join(", ")}`}]`;
}

function named(text: string, maxChars: number): string {
  return JSON.stringify(label(text, maxChars));
}

function indented(text: string): string {
  return unspoofed(text).replaceAll(/^/gm, "  ");
}

// Labels are Parley's: a line of someone's text that begins like one is escaped, so that no one can speak for
// another. These are the first words of all that this file writes; a word of mixed scripts could be meant to
// look like one of them.
const labelWord =
  /^\s{0,8}(?:from|parley|attached|pressed|edited|reply|reaction|system|media|forward|embed|venue|location|contact|poll|dice|sticker|post|unsupported)(?![\p{L}\p{M}\p{N}_])/iu;
const mixedWord =
  /^\s{0,8}[^\s\]]*(?:\p{Script=Latin}[\p{L}--\p{Script=Latin}]|[\p{L}--\p{Script=Latin}]\p{Script=Latin})/v;
const opensLine = /^([^\S\n]*)([[［⟦〚【〔⁅])([^\n]{0,40})/gmu;

function unspoofed(text: string): string {
  return disarm(text).replace(opensLine, (line, space: string, bracket: string, rest: string) => {
    const read = rest.normalize("NFKC");
    return labelWord.test(read) || mixedWord.test(read) ? `${space}\\${bracket}${rest}` : line;
  });
}
