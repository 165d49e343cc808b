// Checks how a skill may be called. People and the model tell skills apart by name, so a name that can be
// read as another is refused, and of two that look alike only the first is used.
import unhomoglyph from "unhomoglyph";

export const nameChars = 64;

export type NameReading =
  | { readonly ok: true; readonly name: string }
  | { readonly ok: false; readonly reason: string };

export function readSkillName(raw: string): NameReading {
  const name = raw.normalize("NFKC").trim();
  const isPlain =
    name.length <= nameChars && /^[\p{L}\p{N}][\p{L}\p{N}\p{M} ._-]*$/u.test(name) && !name.includes("..");
  // Variation selectors, joiners and fillers count as marks and letters, and show nothing.
  if (!isPlain || /\p{Default_Ignorable_Code_Point}/u.test(name)) {
    return {
      ok: false,
      reason: `cannot be used: a name has letters, digits, "-", "_", "." and spaces, begins with a letter or digit, and has at most ${nameChars} characters`,
    };
  }
  const mixed = name.split(/[ ._-]+/).find((word) => !isOneScript(word));
  if (mixed !== undefined)
    return {
      ok: false,
      reason: "cannot be used: a word in it has letters of several scripts, or of a rare one",
    };
  if (!isAscii(name) && isAscii(unhomoglyph(name)))
    return { ok: false, reason: "cannot be used: its letters look like others" };
  return { ok: true, name };
}

/** Two names are the same when this is equal: case and width do not make another. */
export function skillId(name: string): string {
  return name.normalize("NFKC").toLowerCase();
}

/**
 * Equal for names that a person may take for each other: by Unicode's table of confusable characters,
 * whatever marks they bear.
 */
export function lookOf(name: string): string {
  return unhomoglyph(skillId(name).normalize("NFKD")).replaceAll(/\p{M}/gu, "").toLowerCase();
}

const alone = [
  "Arabic",
  "Armenian",
  "Bengali",
  "Cyrillic",
  "Devanagari",
  "Ethiopic",
  "Georgian",
  "Greek",
  "Gujarati",
  "Gurmukhi",
  "Hebrew",
  "Kannada",
  "Khmer",
  "Lao",
  "Latin",
  "Malayalam",
  "Myanmar",
  "Oriya",
  "Sinhala",
  "Tamil",
  "Telugu",
  "Thaana",
  "Thai",
  "Tibetan",
];

/**
 * The scripts that Unicode recommends for identifiers (UAX 31, table 5), and those of them that one word may
 * mix (UTS 39, 5.2).
 */
const oneScript: readonly RegExp[] = [
  ...alone.map((script) => new RegExp(`^\\p{Script=${script}}*$`, "u")),
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Latin}]*$/u,
  /^[\p{Script=Han}\p{Script=Hangul}\p{Script=Latin}]*$/u,
  /^[\p{Script=Han}\p{Script=Bopomofo}\p{Script=Latin}]*$/u,
];

function isOneScript(word: string): boolean {
  const letters = word.replaceAll(/[\p{Script=Common}\p{Script=Inherited}]/gu, "");
  return oneScript.some((script) => script.test(letters));
}

function isAscii(text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text);
}
