// Implements files, albums, polls and places, sent and fetched. Sizes are those of the Bot API server that
// Telegram runs: 50 MB up, 10 MB a photo, 20 MB down.
import { badRequest, Refusal } from "../refusal.ts";
import { shownText } from "../text.ts";
import { fileFor, type Method, type MethodCall, type Methods, post } from "./call.ts";
import { textFields } from "./messages.ts";

const uploadLimit = 50 * 1024 * 1024;
const photoLimit = 10 * 1024 * 1024;
const downloadLimit = 20 * 1024 * 1024;

export const mediaMethods: Methods = {
  sendPhoto: sends("photo"),
  sendDocument: sends("document"),
  sendAudio: sends("audio"),
  sendVideo: sends("video"),
  sendAnimation: sends("animation"),
  sendVideoNote(call) {
    const { id, bytes } = fileFor(call, call.params["video_note"]);
    if (call.params["caption"] !== undefined) throw badRequest("a video note has no caption");
    if (!Buffer.from(bytes.subarray(4, 8)).equals(Buffer.from("ftyp"))) throw badRequest("wrong file type");
    return post(call, mediaFields(call, "video_note", id));
  },
  sendSticker(call) {
    const { id, bytes } = fileFor(call, call.params["sticker"]);
    if (call.params["caption"] !== undefined) throw badRequest("a sticker has no caption");
    if (Buffer.from(bytes.subarray(8, 12)).toString("latin1") !== "WEBP")
      throw badRequest("STICKER_FILE_INVALID");
    return post(call, mediaFields(call, "sticker", id));
  },
  sendVoice(call) {
    const { id, bytes } = fileFor(call, call.params["voice"]);
    const kind = isVoice(bytes) ? "voice" : "document";
    return post(call, { ...mediaFields(call, kind, id), ...textFields(call, "caption") });
  },
  sendMediaGroup(call) {
    const media = call.params["media"] as readonly {
      readonly type: string;
      readonly media: string;
      readonly caption?: string;
    }[];
    if (media.length === 0) throw badRequest("There are no messages to send");
    if (media.length === 1) throw badRequest("Too few messages to send as an album");
    if (media.length > 10) throw badRequest("Too many messages to send as an album");
    const kinds = new Set(media.map((item) => item.type));
    if ((kinds.has("audio") || kinds.has("document")) && kinds.size > 1)
      throw badRequest("DOCUMENT_MEDIA_INVALID");
    const contents = media.map((item) => ({
      ...mediaFields(call, item.type, item.media),
      ...textFields({ ...call, params: { ...item } }, "caption"),
    }));
    const group = `album-${call.state.files.size}`;
    return contents.map((content) => post(call, { ...content, media_group_id: group }));
  },
  sendPoll(call) {
    const { question, options } = call.params as {
      question: string;
      options: readonly { readonly text: string }[];
    };
    if (question.length < 1 || question.length > 300)
      throw badRequest("poll question length must not exceed 300");
    // Bot API 10: 1 to 12; before it 2 to 10.
    if (options.length < 1) throw badRequest("poll must have at least 1 option");
    if (options.length > 12) throw badRequest("poll can't have more than 12 options");
    if (options.some(({ text }) => text.length < 1 || text.length > 100))
      throw badRequest("poll options length must not exceed 100");
    const openSeconds = Number(call.params["open_period"] ?? 5);
    if (openSeconds < 5 || openSeconds > 2_628_000) throw badRequest("poll can't be closed at that time");
    const anonymous = call.params["is_anonymous"] !== false;
    const multiple = call.params["allows_multiple_answers"] === true;
    return post(call, {
      poll: {
        id: "poll",
        question,
        options: options.map(({ text }) => ({ text, voter_count: 0 })),
        is_anonymous: anonymous,
        allows_multiple_answers: multiple,
      },
    });
  },
  sendLocation(call) {
    const { latitude, longitude } = call.params;
    return post(call, { location: { latitude, longitude } });
  },
  getFile({ state, params }) {
    const file = state.files.get(String(params["file_id"]));
    if (file === undefined) throw badRequest("invalid file_id");
    if (file.statedBytes > downloadLimit) throw badRequest("file is too big");
    return {
      file_id: file.id,
      file_unique_id: `unique-${file.id}`,
      file_size: file.statedBytes,
      file_path: file.path,
    };
  },
};

function sends(kind: string): Method {
  return (call) =>
    post(call, { ...mediaFields(call, kind, call.params[kind]), ...textFields(call, "caption") });
}

function mediaFields(
  call: MethodCall,
  kind: string,
  reference: unknown,
): { readonly [field: string]: unknown } {
  const file = fileFor(call, reference);
  if (file.bytes.length > uploadLimit) throw new Refusal(413, "Request Entity Too Large");
  if (kind === "photo" && file.bytes.length > photoLimit) throw badRequest("too big for a photo");
  const shown = { file_id: file.id, file_unique_id: `unique-${file.id}`, file_size: file.bytes.length };
  if (kind === "photo") return { photo: [{ ...shown, width: 90, height: 60 }] };
  return { [kind]: { ...shown, file_name: file.name, mime_type: file.mediaType } };
}

/** Ogg Opus, MP3 or M4A; the real server shows anything else as a file. */
function isVoice(bytes: Uint8Array): boolean {
  const head = Buffer.from(bytes.subarray(0, 64)).toString("latin1");
  return (
    (head.startsWith("OggS") && head.includes("OpusHead")) ||
    /^(?:ID3|\xFF[\xF2\xF3\xFB]|.{4}ftyp)/s.test(head)
  );
}

/** For captions of people's own media. */
export function captionOf(caption: string | undefined): { readonly [field: string]: unknown } {
  return caption === undefined ? {} : { caption: shownText(caption, [], "caption").text };
}
