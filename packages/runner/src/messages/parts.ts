// Builds the parts of a message that a tool sends: words without secrets and control tokens (I8), files by
// their kind, so that pictures become one album and a recording plays.
import { sanitizeOutbound, type Redaction } from "@parley/agent";
import {
  Fault,
  type Button,
  type MediaFile,
  type MediaKind,
  type MediaShape,
  type Part,
} from "@parley/protocol";
import type { MessageRequest } from "@parley/tools";

type Rows = readonly (readonly Button[])[];

/** Throws Fault("invalid") for a message in which nothing could be seen. */
export function partsOf(request: MessageRequest, redaction: Redaction): readonly Part[] {
  const { files, voice, poll } = request;
  const clean = (text: string): string => sanitizeOutbound(text, redaction).trim();
  const text = clean(request.text ?? "");
  const buttons = buttonsIn(request.buttons, clean);
  const { as } = request;
  const named = files.map((file) => ({ ...file, name: clean(file.name) || "file" }));
  const media = voice
    ? [voiceOf(files)]
    : as === undefined
      ? mediaOf(named)
      : as === "file"
        ? named.length === 0
          ? []
          : [{ kind: "media" as const, media: "file" as const, files: named }]
        : [shapedOf(named, as)];
  const first = media[0];
  // Buttons stand below words, and no platform shows both in an album.
  const isCaption =
    buttons === undefined && text !== "" && first?.kind === "media" && first.shape === undefined;
  const words: readonly Part[] =
    isCaption || (text === "" && buttons === undefined)
      ? []
      : [{ kind: "text", markdown: text, ...(buttons === undefined ? {} : { buttons }) }];
  const shown: readonly Part[] = isCaption ? [{ ...first, caption: text }, ...media.slice(1)] : media;
  if (poll !== undefined && clean(poll.question) === "")
    throw new Fault("invalid", "a poll needs a question that people can read");
  const asked: readonly Part[] =
    poll === undefined
      ? []
      : [
          {
            kind: "poll",
            multiple: poll.multiple,
            anonymous: poll.anonymous ?? true,
            ...(poll.hours === undefined ? {} : { hours: poll.hours }),
            question: clean(poll.question),
            options: distinct(poll.options.map(clean)),
          },
        ];
  if (buttons !== undefined && text === "") throw new Fault("invalid", "buttons need a text above them");
  const parts = [...shown, ...words, ...asked];
  if (parts.length === 0) throw new Fault("invalid", "there is nothing to send: give text, media or a poll");
  return parts;
}

/** The words of an edit, which is one message. */
export function editOf(
  request: MessageRequest,
  redaction: Redaction,
): { readonly markdown: string; readonly buttons?: Rows } {
  if (request.files.length > 0 || request.poll !== undefined)
    throw new Fault("invalid", "an edit changes words and buttons only: delete the message and send another");
  const [part] = partsOf(request, redaction);
  if (part?.kind !== "text") throw new Fault("invalid", "an edit needs a text");
  return { markdown: part.markdown, ...(part.buttons === undefined ? {} : { buttons: part.buttons }) };
}

function buttonsIn(rows: Rows | undefined, clean: (text: string) => string): Rows | undefined {
  if (rows === undefined || rows.length === 0) return undefined;
  const short = rows.map((row) =>
    row.map((button): Button => {
      const { label, value, choices, form, url } = button;
      if (url !== undefined && clean(url) !== url)
        throw new Fault("invalid", `the link of button ${JSON.stringify(label)} shows a secret`);
      return {
        ...button,
        label: clean(label) || "·",
        ...(value === undefined ? {} : { value: clean(value) || clean(label) }),
        ...(choices === undefined
          ? {}
          : {
              choices: choices.map((choice) => ({ label: clean(choice.label), value: clean(choice.value) })),
            }),
        ...(form === undefined
          ? {}
          : { form: form.map((field) => ({ ...field, label: clean(field.label) })) }),
      };
    }),
  );
  const values = short.flat().flatMap(({ url, value, label }) => (url === undefined ? [value ?? label] : []));
  const twice = values.find((value, index) => values.indexOf(value) < index);
  if (twice !== undefined)
    throw new Fault("invalid", `two buttons have the value ${JSON.stringify(twice)}: give each its own`);
  return short;
}

function distinct(options: readonly string[]): readonly string[] {
  const twice = options.find((option, index) => option === "" || options.indexOf(option) < index);
  if (twice !== undefined)
    throw new Fault("invalid", `each option of a poll needs words of its own, not ${JSON.stringify(twice)}`);
  return options;
}

function shapedOf(files: readonly MediaFile[], shape: MediaShape): Extract<Part, { kind: "media" }> {
  const [file, more] = files;
  const media = file === undefined ? null : kindOf(file);
  const fits = shape === "video_note" ? media === "video" : media === "image" || media === "video";
  if (file === undefined || media === null || more !== undefined || !fits)
    throw new Fault(
      "invalid",
      shape === "video_note"
        ? "a video note is one video: name one video file in media"
        : "a sticker is one picture: name one image file in media",
    );
  return { kind: "media", media, files: [file], shape };
}

function voiceOf(files: readonly MediaFile[]): Part {
  const [file, more] = files;
  if (file === undefined || more !== undefined || !file.mediaType.startsWith("audio/"))
    throw new Fault("invalid", "a voice note is one recording: name one audio file in media");
  return { kind: "voice", file };
}

/** Neighbours of one kind are one message where the platform has albums. */
function mediaOf(files: readonly MediaFile[]): readonly Extract<Part, { kind: "media" }>[] {
  const parts: { kind: "media"; media: MediaKind; files: MediaFile[] }[] = [];
  for (const file of files) {
    const media = kindOf(file);
    const last = parts.at(-1);
    if (last?.media === media) last.files.push(file);
    else parts.push({ kind: "media", media, files: [file] });
  }
  return parts;
}

function kindOf({ mediaType }: MediaFile): MediaKind {
  const [kind] = mediaType.split("/");
  return kind === "image" || kind === "video" || kind === "audio" ? kind : "file";
}
