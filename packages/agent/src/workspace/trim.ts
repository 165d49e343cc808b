// Caps on what workspace files may put into the prompt: per file and in total. A cut keeps 70 % from the
// head, 20 % from the tail and spends the rest on a marker that tells where the whole text is.
import { headOf, tailOf } from "../plain-line.ts";
import type { BootstrapFile, BootstrapSnapshot } from "./snapshot.ts";

/** UTF-16 units. */
export interface BootstrapCaps {
  readonly fileChars: number;
  readonly totalChars: number;
}

export const defaultCaps: BootstrapCaps = { fileChars: 20_000, totalChars: 60_000 };

const headShare = 0.7;
const tailShare = 0.2;

/** Stands where a file was cut, for an agent that can read it. */
export function cutMarker(name: string): string {
  return `\n\n[...truncated, read ${name} for full content...]\n\n`;
}

/** Never longer than `maxChars`; empty when not even the marker fits. */
export function trimText(name: string, text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const marker = cutMarker(name);
  const room = Math.min(maxChars - marker.length, Math.floor(maxChars * (headShare + tailShare)));
  if (room < 0) return "";
  const headChars = Math.floor((room * headShare) / (headShare + tailShare));
  return headOf(text, headChars) + marker + tailOf(text, room - headChars);
}

/** Files are served in their order; a later one gets what the earlier ones left of the total. */
export function trimToCaps(snapshot: BootstrapSnapshot, caps: BootstrapCaps): BootstrapSnapshot {
  let leftChars = caps.totalChars;
  const files = snapshot.files.map((file): BootstrapFile => {
    if (file.state !== "present") return file;
    const text = trimText(file.name, file.text, Math.min(caps.fileChars, leftChars));
    leftChars -= text.length;
    return text === file.text ? file : { ...file, text, truncated: true };
  });
  return { files };
}
