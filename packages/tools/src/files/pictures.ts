// Words and content for a picture that a tool shows to a model.
import type { ImageContent } from "@parley/protocol";
import type { KeptPicture } from "../ports/pictures.ts";

export function imageOf({ path, mediaType }: KeptPicture): ImageContent {
  return { type: "image", mediaType, path };
}

/** `a.png (4000 x 3000, shown at 2000 x 1500)`. */
export function pictureLine(name: string, { width, height, original }: KeptPicture): string {
  const size = `${original.width} x ${original.height}`;
  const isScaled = Math.max(original.width, original.height) > Math.max(width, height);
  const scaled = isScaled ? `, shown at ${width} x ${height}` : "";
  const frames = original.frames > 1 ? `, the first of ${original.frames} pictures in it` : "";
  return `${name} (${size}${scaled}${frames})`;
}
