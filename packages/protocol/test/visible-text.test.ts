// What people are shown of a text that somebody hostile wrote: nothing hides in it, nothing moves, nothing
// looks like something else.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { visibleText } from "../src/index.ts";

describe("visibleText", () => {
  test.each([
    "git log --oneline -n 3 'a b'",
    "Jürgen Müßig, Łódź, İstanbul, Nguyễn",
    "Анна Петрова",
    "Ольга-Мария",
    "Ελένη Ψαρά",
    "東京Tokyo、大阪",
    "김철수",
    "नमस्ते สวัสดี ทำ",
    "דוד לוי",
    "محمد علي",
    "🌸 5€ §3",
  ])("leaves %s as it is", (text) => {
    expect(visibleText(text)).toBe(text);
  });

  test.each([
    ["control characters", "a\nb\tc\u001b[31m\u007f\u0085", "a\\u{a}b\\u{9}c\\u{1b}[31m\\u{7f}\\u{85}"],
    ["directions", "\u202eevil\u2066\u200f\u061c", "\\u{202e}evil\\u{2066}\\u{200f}\\u{61c}"],
    [
      "what has no width",
      "a\u200b\u200d\u2060\ufeff\u00ad\u034f\ufe0f\u{e0041}",
      "a\\u{200b}\\u{200d}\\u{2060}\\u{feff}\\u{ad}\\u{34f}\\u{fe0f}\\u{e0041}",
    ],
    [
      "empty letters",
      "\u2800\u3164\u115f\u1160\uffa0\u17b4",
      "\\u{2800}\\u{3164}\\u{115f}\\u{1160}\\u{ffa0}\\u{17b4}",
    ],
    ["spaces that are none", "a\u00a0b\u2003\u3000\u2028", "a\\u{a0}b\\u{2003}\\u{3000}\\u{2028}"],
    [
      "letters of another script in a word",
      "\u0430dmin p\u03bfst git\u04bb",
      "\\u{430}dmin p\\u{3bf}st git\\u{4bb}",
    ],
    [
      "whole words that look Latin",
      "\u0441\u043e\u0440\u0443 \u039f\u039a",
      "\\u{441}\\u{43e}\\u{440}\\u{443} \\u{39f}\\u{39a}",
    ],
    [
      "scripts that nobody vouched for",
      "\u13aa\u13a1 \ua4e2\ua4f3 \u0555",
      "\\u{13aa}\\u{13a1} \\u{a4e2}\\u{a4f3} \\u{555}",
    ],
    [
      "other forms of Latin letters",
      "\uff52\uff4d \u{1d42b}\u{1d426} \u1d04 \u0251 \u0131 \u017f",
      "\\u{ff52}\\u{ff4d} \\u{1d42b}\\u{1d426} \\u{1d04} \\u{251} \\u{131} \\u{17f}",
    ],
    [
      "signs that look like ASCII",
      "a\u2215b\u2044c\u30ced\uff0f\u2010\u2013\u2212\u01c3\u037e\u2019\u02bc\u2024\u2026\uff1b\u4e00",
      null,
    ],
    ["marks on letters", "e\u0301x\u0336", "e\\u{301}x\\u{336}"],
    ["piles of marks", "\u0e01\u0e48\u0e49\u0e4a\u0e4b", "\\u{e01}\\u{e48}\\u{e49}\\u{e4a}\\u{e4b}"],
    ["letters that reorder signs and numbers", "cp \u05d3\u05d5\u05d3 42", "cp \\u{5d3}\\u{5d5}\\u{5d3} 42"],
    ["other numbers", "\u0661 \u0967 \u00b2", "\\u{661} \\u{967} \\u{b2}"],
    ["halves of characters", "\ud800x\udfff", "\\u{d800}x\\u{dfff}"],
  ])("writes out %s", (_what, text, expected) => {
    const shown = visibleText(text);
    if (expected === null) expect(shown).toMatch(/^[ -~]+$/);
    else expect(shown).toBe(expected);
  });

  test("shows two texts never the same way", () => {
    const piece = fc.constantFrom(
      "\\",
      "u",
      "{",
      "}",
      "a",
      "\\u{a}",
      "\n",
      "\u200b",
      "200b",
      "а",
      "б",
      "e",
      "\u0301",
      "é",
      "ノ",
      "東",
      "ש",
    );
    const text = fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(text, text, (one, other) => {
        if (one !== other) expect(visibleText(one)).not.toBe(visibleText(other));
      }),
      { numRuns: 5_000 },
    );
  });

  test("keeps nothing invisible and nothing that turns the direction, whatever it is given", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
        expect(visibleText(text)).not.toMatch(
          /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u,
        );
      }),
      { numRuns: 5_000 },
    );
  });
});

test("every Latin letter beside a word of another script makes it one word of two, from the first letter of each range to the last", () => {
  const letters = "AZazÀÖØöøİĲķĹľŁňŊžƠơƯưǍǜȘțḀẙẠỹ";
  for (const letter of letters)
    for (const other of ["Ждя", "Ωδ"]) {
      expect(visibleText(letter)).toBe(letter);
      expect(visibleText(`${letter}${other}`)).toMatch(/^.\\u\{/u);
      expect(visibleText(`${other}${letter}`)).toMatch(/\}.$/u);
      expect(visibleText(`${letter} ${other}`)).toBe(`${letter} ${other}`);
    }
});

test.each([
  ["Devanagari", "नमस्ते"],
  ["Bengali", "নমস্কার"],
  ["Gurmukhi", "ਸਤਿ"],
  ["Gujarati", "નમસ્તે"],
  ["Tamil", "வணக்கம்"],
  ["Telugu", "నమస్తే"],
  ["Kannada", "ನಮಸ್ತೆ"],
  ["Malayalam", "നമസ്തേ"],
  ["Sinhala", "ආයුබෝවන්"],
  ["Thai", "สวัสดี"],
  ["Lao", "ສະບາຍດີ"],
  ["Khmer", "សួស្តី"],
  ["Georgian", "გამარჯობა"],
  ["Hangul", "안녕"],
  ["Katakana", "カメラ"],
])("a word in %s is shown as it is, beside Latin too", (_script, said) => {
  expect(visibleText(`a ${said} 1 ${said}x`)).toBe(`a ${said} 1 ${said}x`);
});

const range = (from: string, to: string): readonly string[] => {
  const [first, last] = [from, to].map((each) => each.codePointAt(0) ?? 0) as [number, number];
  return Array.from({ length: last - first + 1 }, (_, n) => String.fromCodePoint(first + n));
};
const isShown = (text: string): boolean => visibleText(text) === text;

test("of Cyrillic, Greek and the strokes of East Asia just those that look Latin are written out where they stand alone", () => {
  const cyrillic = [...range("А", "я"), ...Array.from("ЁёЇїЄєІіЈјЅѕЎўЉљ")];
  expect(cyrillic.filter((letter) => !isShown(letter)).join("")).toBe(
    "АВЕЗКМНОРСТУХЬабгезкопрсухьЁёІіЈјЅѕЎўЉљ",
  );
  const greek = [...range("Α", "Ω"), ...range("α", "ω")].filter((letter) => /\p{L}/u.test(letter));
  expect(greek.filter((letter) => !isShown(letter)).join("")).toBe("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧαγικμνορστυχ");
  const strokes = "ーノ・ニハエロ一二三丨丶丿〇口工八卜へヘ々〆";
  expect(Array.from(strokes).filter(isShown)).toEqual([]);
  // Beside a character that is no such stroke each is a part of a word, but for two of no script.
  expect(
    Array.from(strokes)
      .filter((stroke) => !isShown(`東${stroke}`))
      .join(""),
  ).toBe("・〆");
});

test("Hebrew and Arabic are shown where two letters of theirs follow each other, and nothing but words stands there", () => {
  expect(["אב", "אב גד", "مح", "שלוֹם"].map(isShown)).toEqual([true, true, true, true]);
  expect(["א", "ם", "מַיִם", "م", "אב.", "אב 1", "a אב-"].map(isShown)).toEqual(
    Array.from({ length: 7 }, () => false),
  );
});

test("three marks on one letter are shown, four are not; one letter of a script of marks alone is none of its words", () => {
  expect([isShown("กุ้ง"), isShown("ก่่่"), isShown("ก่่่่")]).toEqual([true, true, false]);
  expect([isShown("न"), isShown("नम"), isShown("ก"), isShown("กา")]).toEqual([false, true, false, true]);
});
