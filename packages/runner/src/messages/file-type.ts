// Tells the type of a file that an agent sends: a picture by its bytes, because platforms look at them, and
// anything else by its name.
import { extensionOf } from "../media/media-store.ts";
import { pictureKind } from "../media/media-type.ts";

const types: { readonly [extension: string]: string } = {
  mp4: "video/mp4",
  mov: "video/quicktime",
  webm: "video/webm",
  mp3: "audio/mpeg",
  m4a: "audio/mp4",
  ogg: "audio/ogg",
  oga: "audio/ogg",
  opus: "audio/ogg",
  wav: "audio/wav",
  flac: "audio/flac",
  pdf: "application/pdf",
  zip: "application/zip",
  json: "application/json",
  md: "text/markdown",
  txt: "text/plain",
  csv: "text/csv",
  html: "text/html",
};

export function fileType(
  bytes: Uint8Array,
  name: string,
): { readonly mediaType: string; readonly extension: string } {
  const extension = extensionOf(name);
  return pictureKind(bytes) ?? { mediaType: types[extension] ?? "application/octet-stream", extension };
}
