// The parts of an answer before and after rendering. A Part is the agent's meaning, in Markdown and file
// names. A RenderedPart is one platform message, fixed before its first send, so that a restart or an upgrade
// in the middle of a reply changes nothing.
import type { JsonObject } from "../json.ts";

export type MediaKind = "image" | "video" | "audio" | "file";

/** Shown without a frame or a caption, where the platform has that; elsewhere as the file that it is. */
export type MediaShape = "sticker" | "video_note";

export interface MediaFile {
  /** Path under the media folder: the sha256 of the content plus its extension. */
  readonly path: string;
  readonly mediaType: string;
  readonly bytes: number;
  /** The file name that people see. */
  readonly name: string;
}

export interface Button {
  readonly label: string;
  /** Returned when the button is pressed. The driver maps it to a short id of its own. */
  readonly value?: string;
  readonly url?: string;
  readonly style?: "primary" | "success" | "danger";
  /** Makes the button a menu: people choose one of these. Surfaces without menus show a button for each. */
  readonly choices?: readonly { readonly label: string; readonly value: string }[];
  /**
   * Fields that the platform asks for after the press, where it has forms; the answers follow the value, one
   * line each. At most five.
   */
  readonly form?: readonly { readonly name: string; readonly label: string; readonly long?: boolean }[];
  /** The only people (ids) whose press counts. */
  readonly allowed?: readonly string[];
  /** Wall time in milliseconds from which a press no longer counts. */
  readonly untilMs?: number;
}

export type Part =
  | { readonly kind: "text"; readonly markdown: string; readonly buttons?: readonly (readonly Button[])[] }
  | {
      readonly kind: "media";
      readonly media: MediaKind;
      readonly files: readonly MediaFile[];
      readonly caption?: string;
      /** Of a single file. */
      readonly shape?: MediaShape;
    }
  | {
      readonly kind: "poll";
      readonly question: string;
      readonly options: readonly string[];
      readonly multiple: boolean;
      readonly anonymous: boolean;
      /** How long it is open; absent: as long as the platform has it. */
      readonly hours?: number;
    }
  | { readonly kind: "voice"; readonly file: MediaFile }
  | {
      readonly kind: "card";
      readonly title: string;
      readonly markdown: string;
      readonly buttons: readonly (readonly Button[])[];
    };

/** A span of `text`, in UTF-16 code units. */
export interface TextEntity {
  readonly type: string;
  readonly offset: number;
  readonly length: number;
  readonly url?: string;
  readonly language?: string;
}

export interface RenderedText {
  /** The text to send, in the surface's dialect. */
  readonly text: string;
  /** Telegram only; empty elsewhere. */
  readonly entities: readonly TextEntity[];
  /** The same content without markup, used when the platform rejects the markup. */
  readonly plain: string;
}

/** One platform message. */
export type RenderedPart = Shown & {
  /** People see it without a sound or a banner, where the platform can. */
  readonly silent?: true;
};

type Shown =
  | ({
      readonly kind: "text";
      readonly replyTo?: string;
      /** Goes on with the text of the message before it, which was too long for one. */
      readonly continues?: true;
      readonly buttons?: readonly (readonly Button[])[];
    } & RenderedText)
  | {
      readonly kind: "media";
      readonly media: MediaKind;
      readonly files: readonly MediaFile[];
      readonly caption?: RenderedText;
      readonly shape?: MediaShape;
      readonly replyTo?: string;
    }
  | { readonly kind: "voice"; readonly file: MediaFile; readonly replyTo?: string }
  | {
      readonly kind: "poll";
      readonly question: string;
      readonly options: readonly string[];
      readonly multiple: boolean;
      readonly anonymous: boolean;
      readonly hours?: number;
      readonly replyTo?: string;
    };

/** The platform's answer to a send: enough to edit, remove or quote the message later. */
export interface Receipt {
  /** The platform's message id. */
  readonly messageId: string;
  /** Other values that the driver needs to find the message again. */
  readonly extra?: JsonObject;
}
