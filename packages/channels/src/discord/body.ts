// Builds message bodies for Discord's REST API. Limits are checked before anything is written. Mentions ping
// nobody and links get no preview unless people asked for it. Files travel in one multipart body, streamed
// from disk.
import { openAsBlob } from "node:fs";
import { join } from "node:path";
import type {
  APIActionRowComponent,
  APIButtonComponent,
  APIStringSelectComponent,
} from "discord-api-types/v10";
import { type Button, Fault, type MediaFile, type RenderedPart, type RenderedText } from "@parley/protocol";
import {
  buttonLabelChars,
  buttonRows,
  buttonsPerRow,
  customIdChars,
  discordCapabilities,
  menuChoices,
} from "./capabilities.ts";
import { overLimit } from "../over-limit.ts";
import { checkPoll } from "../poll-limits.ts";
import { isSnowflake } from "./snowflake.ts";

const suppressEmbeds = 1 << 2;
export const suppressNotifications = 1 << 12;

export interface BodyOptions {
  /** Folder that `MediaFile.path` is relative to. */
  readonly mediaFolder: string;
  readonly suppressEmbeds: boolean;
}

/** The content of a message, without the fields that only a new message has (nonce, reference). */
export interface Said {
  readonly json: Readonly<Record<string, unknown>>;
  readonly files: readonly MediaFile[];
}

export function said(part: RenderedPart, options: BodyOptions): Said {
  const flags =
    (options.suppressEmbeds ? suppressEmbeds : 0) | (part.silent === true ? suppressNotifications : 0);
  const quiet = { allowed_mentions: { parse: [] }, ...(flags === 0 ? {} : { flags }) };
  switch (part.kind) {
    case "text":
      return {
        json: {
          ...quiet,
          ...content(part),
          ...(part.buttons === undefined ? {} : { components: actionRows(part.buttons) }),
        },
        files: [],
      };
    case "media": {
      const { albumFiles = 1 } = discordCapabilities;
      if (part.files.length < 1 || part.files.length > albumFiles)
        throw new Fault(
          "invalid",
          `a message on Discord has 1 to ${albumFiles} files, not ${part.files.length}`,
        );
      return {
        json: { ...quiet, ...(part.caption === undefined ? {} : content(part.caption)) },
        files: part.files,
      };
    }
    case "voice":
      // A new message may say more of it (voice.ts); a plain file plays as well.
      return { json: quiet, files: [part.file] };
    case "poll":
      return { json: { ...quiet, poll: poll(part) }, files: [] };
  }
}

/**
 * Builds JSON alone, or JSON and files. Throws Fault("missing") for a file that cannot be read,
 * Fault("invalid") for one over `limitBytes`.
 */
export async function payloadOf(
  json: Readonly<Record<string, unknown>>,
  files: readonly MediaFile[],
  mediaFolder: string,
  limitBytes: number,
): Promise<{ readonly body: unknown } | { readonly form: FormData }> {
  if (files.length === 0) return { body: json };
  const blobs = await Promise.all(files.map((file) => blobOf(file, mediaFolder)));
  const bytes = blobs.reduce((sum, blob) => sum + blob.size, 0);
  if (bytes > limitBytes)
    throw overLimit(
      `${files.map((file) => file.name).join(", ")}: ${bytes} bytes; Discord takes at most ${limitBytes} here`,
    );
  const form = new FormData();
  const attachments = json["attachments"] ?? files.map(({ name }, id) => ({ id, filename: name }));
  // In a new forum post the message stands one level deeper.
  const message = json["message"];
  const whole =
    typeof message === "object"
      ? { ...json, message: { ...message, attachments } }
      : { ...json, attachments };
  form.append("payload_json", JSON.stringify(whole));
  for (const [index, blob] of blobs.entries())
    form.append(`files[${index}]`, blob, files[index]?.name ?? "file");
  return { form };
}

export function content({ text }: RenderedText): { readonly content: string } {
  const { textChars } = discordCapabilities;
  if (text.length > textChars)
    throw new Fault("invalid", `${text.length} UTF-16 units of text are over Discord's ${textChars}`);
  return { content: text };
}

/** Only messages can be quoted, not interactions or reactions. Discord leaves a deleted message unquoted. */
export function reference(replyTo: string | undefined): object {
  return isSnowflake(replyTo)
    ? { message_reference: { message_id: replyTo, fail_if_not_exists: false } }
    : {};
}

const styles = { primary: 1, plain: 2, success: 3, danger: 4, link: 5 } as const;
const components = { row: 1, button: 2, menu: 3 } as const;

/**
 * Throws Fault("invalid") for buttons that Discord would not show: too many rows, too long or duplicate
 * values.
 */
export function actionRows(
  rows: readonly (readonly Button[])[],
): APIActionRowComponent<APIButtonComponent | APIStringSelectComponent>[] {
  const names = new Set<string>();
  const cut = rows.flatMap(rowsOf);
  if (cut.length > buttonRows)
    throw new Fault(
      "invalid",
      `Discord shows at most ${buttonRows} rows of ${buttonsPerRow} buttons, or of one menu`,
    );
  return cut.map((row) => ({
    type: components.row,
    components: row.map((button) => component(button, names)),
  }));
}

/** A menu fills a row, and so do five buttons; the rest begins another row. */
function rowsOf(row: readonly Button[]): readonly (readonly Button[])[] {
  const buttons = row.filter((button) => button.choices === undefined);
  const menus = row.filter((button) => button.choices !== undefined).map((menu) => [menu]);
  const fives = Array.from({ length: Math.ceil(buttons.length / buttonsPerRow) }, (_, n) =>
    buttons.slice(n * buttonsPerRow, (n + 1) * buttonsPerRow),
  );
  return [...fives, ...menus];
}

function component(button: Button, names: Set<string>): APIButtonComponent | APIStringSelectComponent {
  const { url, style = "plain", choices } = button;
  const label = cutTo(button.label, buttonLabelChars);
  if (url !== undefined) return { type: components.button, style: styles.link, label, url };
  const value = valued(button.value ?? button.label, label);
  if (names.has(value))
    throw new Fault("invalid", `two buttons have the value "${value}": give each its own`);
  names.add(value);
  if (choices === undefined)
    return { type: components.button, style: styles[style], label, custom_id: value };
  if (choices.length < 1 || choices.length > menuChoices)
    throw new Fault(
      "invalid",
      `menu "${label}" has ${choices.length} choices; Discord takes 1 to ${menuChoices}`,
    );
  const options = choices.map((choice) => ({
    label: cutTo(choice.label, customIdChars),
    value: valued(choice.value, choice.label),
  }));
  return {
    type: components.menu,
    custom_id: value,
    placeholder: cutTo(button.label, customIdChars),
    options,
  };
}

function valued(value: string, label: string): string {
  if (value.length >= 1 && value.length <= customIdChars) return value;
  throw new Fault(
    "invalid",
    `the value of button "${label}" has ${value.length} characters; Discord takes 1 to ${customIdChars}`,
  );
}

function cutTo(text: string, chars: number): string {
  return text.length > chars ? `${text.slice(0, chars - 1)}…` : text;
}

/** Discord's own default. */
const pollHours = 24;

function poll(part: Extract<RenderedPart, { kind: "poll" }>): object {
  const { question, options } = part;
  checkPoll(part, discordCapabilities.pollLimits, "Discord");
  const answers = options.map((text) => ({ poll_media: { text } }));
  return {
    question: { text: question },
    answers,
    duration: part.hours ?? pollHours,
    allow_multiselect: part.multiple,
  };
}

async function blobOf(file: MediaFile, mediaFolder: string): Promise<Blob> {
  try {
    return await openAsBlob(join(mediaFolder, file.path), { type: file.mediaType });
  } catch (cause) {
    throw new Fault("missing", `the file "${file.name}" (media/${file.path}) cannot be read`, { cause });
  }
}
