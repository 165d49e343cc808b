// Replaces what a surface cannot show by what it can, so that nothing an agent meant to say is lost: one
// table by capabilities, read before an answer is rendered. No part fails because of a file's size or a
// poll's length.
//
//   no press on buttons    numbered lines; a link stays a link
//   no menus               a button for each choice
//   no forms               a line that names the fields
//   no polls               numbered lines; also for a poll with too few or too many options
//   a poll that is too long  the whole question as text, then the poll with its texts cut
//   no voice notes         an audio file
//   no files               a line with the file's name and size
//   a file that is too large, or empty  a line that says so
//   cards                  text (render.ts)
import type { Button, Capabilities, MediaFile, Part, PollLimits } from "@parley/protocol";

type Text = Extract<Part, { kind: "text" }>;
type Media = Extract<Part, { kind: "media" }>;
type Poll = Extract<Part, { kind: "poll" }>;
type Rows = readonly (readonly Button[])[];

export function degraded(parts: readonly Part[], capabilities: Capabilities): readonly Part[] {
  return parts.flatMap((part): readonly Part[] => {
    switch (part.kind) {
      case "text":
      case "card":
        return [buttonsFor(part, capabilities)];
      case "media":
        return filesFor(part, capabilities);
      case "voice":
        return capabilities.voice && isSendable(part.file, capabilities)
          ? [part]
          : filesFor({ kind: "media", media: "audio", files: [part.file] }, capabilities);
      case "poll":
        return pollFor(part, capabilities);
    }
  });
}

function buttonsFor<P extends Exclude<Part, Media | Poll | { kind: "voice" }>>(
  part: P,
  { inlineButtons, menus, forms }: Capabilities,
): P {
  if (part.buttons === undefined || part.buttons.length === 0) return part;
  const rows = inlineButtons && menus ? part.buttons : withoutMenus(part.buttons);
  const asked = forms ? [] : rows.flat().flatMap(fieldsLine);
  const shown = inlineButtons ? rows : rows.map((row) => row.filter(canBeSaid));
  const hidden = inlineButtons ? [] : rows.flat().filter((button) => !canBeSaid(button));
  const lines = hidden.map(({ label }, index) => `${index + 1}. ${escaped(label)}`);
  const below = [
    ...(lines.length === 0 ? [] : [`Reply with one of these:\n\n${lines.join("\n")}`]),
    ...(asked.length === 0 ? [] : [asked.join("\n\n")]),
  ];
  const markdown = [part.markdown, ...below].join("\n\n");
  return { ...part, markdown, buttons: shown.filter((row) => row.length > 0) };
}

/**
 * True for a link, and for a value that is words: a page sends those as the person's own. A short name
 * (button-values.ts) is nothing that a person could say.
 */
function canBeSaid({ url, value }: Button): boolean {
  return url !== undefined || (value !== undefined && !value.startsWith("~"));
}

/** Gives each choice of a menu a row of its own. */
function withoutMenus(rows: Rows): Rows {
  return rows.flatMap((row) => {
    const plain = row.filter((button) => button.choices === undefined);
    const chosen = row.flatMap(({ choices = [], allowed, untilMs }) =>
      choices.map((choice): readonly Button[] => [
        {
          ...choice,
          ...(allowed === undefined ? {} : { allowed }),
          ...(untilMs === undefined ? {} : { untilMs }),
        },
      ]),
    );
    return [...(plain.length === 0 ? [] : [plain]), ...chosen];
  });
}

function fieldsLine({ label, form = [] }: Button): readonly string[] {
  if (form.length === 0) return [];
  return [`${escaped(label)}: please write ${form.map((field) => escaped(field.label)).join(", ")}.`];
}

function filesFor(part: Media, capabilities: Capabilities): readonly Part[] {
  const sendable = part.files.filter((file) => isSendable(file, capabilities));
  const lines = part.files
    .filter((file) => !sendable.includes(file))
    .map((file) => fileLine(file, capabilities));
  const notes: Part[] = lines.length === 0 ? [] : [{ kind: "text", markdown: lines.join("\n\n") }];
  if (sendable.length > 0) return [{ ...part, files: sendable }, ...notes];
  return part.caption === undefined ? notes : [{ kind: "text", markdown: part.caption }, ...notes];
}

function isSendable({ bytes }: MediaFile, capabilities: Capabilities): boolean {
  return capabilities.media && bytes > 0 && bytes <= mostBytes(capabilities);
}

function mostBytes({ uploadBytes, uploadBytesAtMost = uploadBytes }: Capabilities): number {
  return uploadBytesAtMost;
}

function fileLine(file: MediaFile, capabilities: Capabilities): string {
  if (!capabilities.media) return `📎 ${escaped(file.name)} (${sizeWords(file.bytes)})`;
  return file.bytes === 0
    ? `📎 ${escaped(file.name)} is empty and cannot be sent.`
    : tooLargeLine(file, mostBytes(capabilities));
}

/** `limitBytes` is null where only the platform knows it. */
export function tooLargeLine({ name, bytes }: MediaFile, limitBytes: number | null): string {
  const limit = limitBytes === null ? "" : `: at most ${sizeWords(limitBytes)}`;
  return `📎 ${escaped(name)} (${sizeWords(bytes)}) is too large to be sent here${limit}.`;
}

function sizeWords(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  const [amount, unit] = bytes >= 1_000_000 ? [bytes / 1_000_000, "MB"] : [bytes / 1_000, "kB"];
  return `${amount >= 10 ? Math.round(amount) : Math.round(amount * 10) / 10} ${unit}`;
}

function pollFor(part: Poll, { polls, pollLimits }: Capabilities): readonly Part[] {
  if (!polls) return [pollText(part)];
  if (pollLimits === undefined) return [part];
  const { fewestOptions, mostOptions } = pollLimits;
  if (part.options.length < fewestOptions || part.options.length > mostOptions) return [pollText(part)];
  const cut = cutPoll(part, pollLimits);
  if (cut === null) return [part];
  // Two options that look alike can no longer be told apart.
  return new Set(cut.options).size < new Set(part.options).size
    ? [pollText(part)]
    : [{ kind: "text", markdown: pollLines(part) }, cut];
}

/** Null for a poll that fits. */
function cutPoll(part: Poll, { questionChars, optionChars }: PollLimits): Poll | null {
  const question = cutTo(part.question, questionChars);
  const options = part.options.map((option) => cutTo(option, optionChars));
  const fits = question === part.question && options.every((option, index) => option === part.options[index]);
  return fits ? null : { ...part, question, options };
}

function pollText(part: Poll): Text {
  const how = part.multiple ? "the numbers of your choices" : "the number of your choice";
  return { kind: "text", markdown: `${pollLines(part)}\n\nReply with ${how}.` };
}

function pollLines({ question, options }: Poll): string {
  const lines = options.map((option, index) => `${index + 1}. ${escaped(option)}`);
  return `📊 **${escaped(question)}**\n\n${lines.join("\n")}`;
}

/** Cuts between characters, and says by its last one that something is missing. */
function cutTo(text: string, chars: number): string {
  return text.length > chars ? `${text.slice(0, chars - 1).replace(/[\uD800-\uDBFF]$/, "")}…` : text;
}

/** Plain text inside Markdown, on one line. */
export function escaped(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll(/[\\`*_[\]<>|~#&$]/g, "\\$&");
}
