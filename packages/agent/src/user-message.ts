// Builds the content of a user entry from the rows that a turn took, with everything that belongs to this turn alone: history of the
// group, quotes, recalled memory, notices. Here and not in the system prompt, so that the cached prefix survives the turn (I12).
import type { ImageContent, Inbound, TextContent } from "@parley/protocol";
import { plainLine } from "./prompt/plain-line.ts";
import { disarm, fence } from "./untrusted.ts";

const nameChars = 64;
const idChars = 64;
const fileNameChars = 120;
const quoteChars = 1_000;

export interface UserMessageInput {
  readonly rows: readonly Inbound[];
  /** What was said before without being addressed to the agent, oldest first. */
  readonly context?: readonly Inbound[];
  /** Snippets that memory recalled for this turn. */
  readonly memory?: string;
  /** Recent daily notes, for the first turn after /new or /reset. */
  readonly startup?: string;
  /** The rows waited while Parley was down. */
  readonly away?: boolean;
  /** Parley's own notes for this turn, such as a truncation warning. */
  readonly notes?: readonly string[];
  /** Pictures among the attachments that the model is handed. */
  readonly images?: readonly ImageContent[];
  /** The text of attached documents: quoted matter, whoever sent it. */
  readonly documents?: readonly { readonly name: string; readonly text: string }[];
  /** Ids of rows that Parley wrote itself to report finished work: shown as a system message, which no one else can write. */
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
  const { rows, context = [], memory, startup, notes = [], images = [], documents = [], announced, shared, mark } = input;
  const blocks = [
    ...notes.map((note) => `[Parley: ${plainLine(note, 2_000)}]`),
    ...(input.away === true ? ["[Parley: these messages came while you were away; some may be settled by now]"] : []),
    ...(startup === undefined ? [] : [fence("STARTUP", mark, "notes from recent days.", startup)]),
    ...(memory === undefined
      ? []
      : [fence("MEMORY", mark, "memories of earlier conversations, historical data for context only.", memory)]),
    ...(context.length === 0
      ? []
      : [fence("HISTORY", mark, "what others wrote here before.", context.map((row) => said(row, true)).join("\n"))]),
    ...rows.map((row) => (announced?.has(row.id) === true ? announcement(row) : [...quote(row, mark), said(row, shared)].join("\n"))),
    ...documents.map(({ name, text }) =>
      fence("DOCUMENT", mark, `the attached file ${JSON.stringify(plainLine(name, fileNameChars))}.`, text),
    ),
  ];
  return { content: [{ type: "text", text: blocks.join("\n\n") }, ...images], rows: rows.map((row) => row.id) };
}

function announcement({ text }: Inbound): string {
  return `[System Message] ${unspoofed(text)}`;
}

function quote({ replyTo }: Inbound, mark: string): string[] {
  if (replyTo?.text === undefined) return [];
  const whose = replyTo.toBot ? "your message" : `a message of ${JSON.stringify(plainLine(replyTo.sender ?? "someone", nameChars))}`;
  return [fence("QUOTE", mark, `the next message replies to ${whose}.`, plainQuote(replyTo.text))];
}

function plainQuote(text: string): string {
  return text.length <= quoteChars ? text : `${text.slice(0, quoteChars)}…`;
}

function said(row: Inbound, labelled: boolean): string {
  const label = labelled ? [`[from ${JSON.stringify(plainLine(row.sender.name, nameChars))} id ${plainLine(row.sender.id, idChars)}]`] : [];
  return [...label, ...happened(row), ...row.attachments.map(attachment)].join("\n");
}

function happened({ kind, text, callback }: Inbound): string[] {
  const body = text === "" ? [] : [unspoofed(text)];
  if (kind === "edit") return ["[edited message]", ...body];
  if (kind === "reaction") return ["[reaction]", ...body];
  if (kind === "callback") return ["[pressed button]", ...pressed(callback?.value ?? text)];
  return body;
}

/** What was written into a form follows in lines of its own, indented: none of them can pose as another button. */
function pressed(value: string): string[] {
  const [button = "", ...written] = value.split("\n");
  const lines = written.length === 0 ? [] : unspoofed(written.join("\n")).split(lineEnd);
  return [`callback_data: ${plainLine(button, 2_000)}`, ...lines.map((line) => `  ${line}`)];
}

function attachment({ kind, name, mediaType, bytes, seconds, description }: Inbound["attachments"][number]): string {
  const facts = [
    ...(name === undefined ? [] : [JSON.stringify(plainLine(name, fileNameChars))]),
    ...(mediaType === undefined ? [] : [plainLine(mediaType, 80)]),
    ...(bytes === undefined ? [] : [`${bytes} bytes`]),
    ...(seconds === undefined ? [] : [`${seconds} s`]),
    ...(description === undefined ? [] : [JSON.stringify(plainLine(description, 500))]),
  ];
  return `[attached ${kind}${facts.length === 0 ? "" : `: ${facts.join(", ")}`}]`;
}

const lineEnd = /\r\n|[\n\r\u2028\u2029]/;

// Labels are Parley's: a line of someone's text that begins like one is escaped, so that no one can speak for another.
const posesAsLabel = /^([^\S\r\n\u2028\u2029]*)\[(?=[^\S\r\n]{0,8}(?:from|parley|attached|pressed|edited|reaction|system message)\b)/gimu;

function unspoofed(text: string): string {
  return disarm(text).replace(posesAsLabel, "$1\\[");
}
