// Encodes one part of a session or conversation key, so that ":" always separates parts and never occurs
// inside one. Each part has exactly one spelling, which makes keys injective (I14).
import { Fault } from "./fault.ts";

// oxlint-disable-next-line no-control-regex -- control characters are what this encodes
const unsafe = /[:%/\u0000-\u001f\u007f-\u009f]/g;

/** Most parts are ids, which are written as they are. */
const plain = /^[\w.@+-]+$/;

/**
 * Percent-encodes ":", "%", "/" and control characters as UTF-8. Throws Fault("invalid") for an empty part or
 * a lone surrogate.
 */
export function encodeKeyPart(text: string): string {
  if (plain.test(text)) return text;
  if (text === "") throw new Fault("invalid", "a key part must not be empty");
  if (!text.isWellFormed()) throw new Fault("invalid", "a key part must be well-formed Unicode");
  return text.replace(unsafe, (character) =>
    character === "/" ? "%2F" : character === ":" ? "%3A" : encodeURIComponent(character),
  );
}

/**
 * Inverse of `encodeKeyPart`. Throws Fault("invalid") for text that `encodeKeyPart` would not have written.
 */
export function decodeKeyPart(part: string): string {
  if (plain.test(part)) return part;
  let text: string;
  try {
    text = decodeURIComponent(part);
  } catch (cause) {
    throw new Fault("invalid", `key part "${part}" is not percent-encoded correctly`, { cause });
  }
  if (encodeKeyPart(text) !== part) throw new Fault("invalid", `key part "${part}" is not in canonical form`);
  return text;
}
