import fc from "fast-check";
import { expect, test } from "vitest";
import { printable, printableJson } from "../src/index.ts";

test.for([
  ["Hello, world! 100% [ok]\n\tindented", "Hello, world! 100% [ok]\n\tindented"],
  ["Grüße, naïve “quotes” – dash… • → ✅", "Grüße, naïve “quotes” – dash… • → ✅"],
  [
    "Привет, как дела? שלום עולם 1, مرحبا ٣، 你好，世界。",
    "Привет, как дела? שלום עולם 1, مرحبا ٣، 你好，世界。",
  ],
  ["👨‍👩‍👧 ❤️ 1️⃣ 🇩🇪 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👍🏽", "👨‍👩‍👧 ❤️ 1️⃣ 🇩🇪 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👍🏽"],
  ["a\u202eb\u2066c\u2069\u200ed\u061c", "a\\u{202e}b\\u{2066}c\\u{2069}\\u{200e}d\\u{61c}"],
  ["ze\u200bro\u200c\u200d\u2060\ufeff\u00ad", "ze\\u{200b}ro\\u{200c}\\u{200d}\\u{2060}\\u{feff}\\u{ad}"],
  [
    "x\ufe0f\u034f\u2800\u3164\u115f\uffa0\u180e",
    "x\\u{fe0f}\\u{34f}\\u{2800}\\u{3164}\\u{115f}\\u{ffa0}\\u{180e}",
  ],
  ["\u001b[31mred\u001b[0m \u009b2J \u0007\b\r", "\\u{1b}[31mred\\u{1b}[0m \\u{9b}2J \\u{7}\\u{8}\\u{d}"],
  ["\u2028\u2029 \ue000 \ud800 \u{e0041}", "\\u{2028}\\u{2029} \\u{e000} \\u{d800} \\u{e0041}"],
  ["em\u2003quad\u1680", "em\\u{2003}quad\\u{1680}"],
] as const)("%j", ([text, shown]) => {
  expect(printable(text)).toBe(shown);
  expect(printable(shown)).toBe(shown);
});

test("whatever a text holds, nothing in it steers a terminal, reorders or hides; a line of JSON means what it meant", () => {
  const anything = fc
    .array(
      fc.oneof(
        fc.integer({ min: 0, max: 0xffff }),
        fc.integer({ min: 0xe0000, max: 0xe01ef }),
        fc.integer({ min: 0x10000, max: 0x1ffff }),
      ),
    )
    .map((codes) => String.fromCodePoint(...codes));
  fc.assert(
    fc.property(anything, (text) => {
      // Emoji are sequences that need their joiners.
      const rest = printable(text).replaceAll(/\p{RGI_Emoji}/gv, "");
      expect(rest).not.toMatch(
        /[^\P{Cc}\n\t]|\p{Cf}|\p{Cs}|\p{Co}|\p{Cn}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}/u,
      );
      const line = JSON.stringify({ text });
      expect(JSON.parse(printableJson(line))).toEqual(JSON.parse(line));
      expect(printableJson(line).replaceAll(/\p{RGI_Emoji}/gv, "")).not.toMatch(
        /\p{Cf}|\p{Default_Ignorable_Code_Point}/u,
      );
    }),
    { numRuns: 2_000 },
  );
});
