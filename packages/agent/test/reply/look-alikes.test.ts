// Characters that read as others: the table stands here a second time, so that no way to draw a token is lost
// unseen.
import { expect, test } from "vitest";
import { folded, readAs } from "../../src/reply/look-alikes.ts";

const table = `
  A ΑАᎪꓮᴀ
  B ΒВᏴꓐʙ
  C СᏟꓚϹᴄ
  D ᎠꓓᴅÐ
  E ΕЕᎬꓰᴇ
  F ꓝϜꜰ
  G ᏀԌꓖɢ
  H ΗНᎻꓧʜ
  I ΙІӀꓲɪ
  J ЈᎫꓙᴊ
  K ΚКᏦꓗᴋ
  L ᏞꓡʟⱠ
  M ΜМᎷꓟᴍ
  N Νꓠɴ
  O ΟОՕꓳᴏØ
  P ΡРᏢꓑᴘ
  R ᎡᏒꓣʀ
  S ЅՏꓢꜱ
  T ΤТᎢꓔᴛ
  U ՍꓴᴜԱ
  V ᏙꓦѴᴠ
  W ᎳꓪԜᴡ
  X ΧХꓫ
  Y ΥҮУᎩꓬʏ
  Z ΖᏃꓜᴢ
  a аɑα
  c сϲ
  d ԁ
  e еҽ
  g ɡ
  h һ
  i іıι
  j ј
  k κк
  l ӏ
  n ոп
  o оοօ
  p рρ
  q ԛ
  r г
  s ѕ
  t т
  u υս
  v νѵ
  w ԝ
  x хχ
  y уү
  _ ˍ‗⎽▁
  < ◁⟨〈〈‹˂ᐸ❮❬⧼
  > ▷⟩〉〉›˃ᐳ❯❭⧽
  [ 【〔⟦
  ] 】〕⟧
  | │∣┃❘ǀ￨
  / ⁄∕⧸
`;

test.each(
  table
    .trim()
    .split("\n")
    .map((row) => row.trim().split(" ")),
)("as %s read %s", (plain = "", others = "") => {
  expect(new Set(Array.from(others, readAs))).toEqual(new Set([plain]));
});

test("forms of one character read as it, from the first of each block to the last; what is unseen is nothing", () => {
  expect(folded("！～ＡｚＺ０")).toBe("!~AzZ0");
  expect(folded("ⒶⓏⓐⓩ")).toBe("AZaz");
  expect(folded("𝐀𝟿🄰🅉")).toBe("A9AZ");
  expect(folded("ℂ﹫︳ⅉ℀")).toBe("C@_j℀");
  expect(folded("🅐🅩🅰🆉🇦🇿")).toBe("AZAZAZ");
  expect(folded("a\u200b\u00ad\u2060b")).toBe("ab");
  expect(folded("日本 ж\n")).toBe("日本 ж\n");
});

test("a sign is unseen, a space or itself", () => {
  const of = (codes: readonly number[]): string[] => codes.map((code) => readAs(String.fromCodePoint(code)));
  const unseen = [
    0x00, 0x07, 0x1f, 0x7f, 0xad, 0x301, 0x34f, 0x489, 0x61c, 0x115f, 0x180b, 0x180e, 0x200b, 0x200f, 0x202a,
    0x2060, 0x206f, 0x20dd, 0x2800, 0x3164, 0xfe0f, 0xfeff, 0xffa0, 0xfff0, 0x1bca0, 0x1d173, 0xe0001,
    0xe0fff,
  ];
  expect(of(unseen)).toEqual(unseen.map(() => ""));
  const spaces = [
    0x09, 0x0a, 0x0d, 0x20, 0xa0, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000,
  ];
  expect(of(spaces)).toEqual(spaces.map(() => " "));
  const kept = [0x903, 0x2801, 0x27ff, 0x3b2, 0x416, 0x4e2d, 0x1f600, 0x2150, 0x20ff, 0xfe32, 0x1d800];
  expect(of(kept)).toEqual(kept.map((code) => String.fromCodePoint(code)));
  // As a text is read its own spaces stay what they are.
  expect(folded("a\u00a0b\n\tc\u2800d")).toBe("a\u00a0b\n\tcd");
  expect([0x21, 0x41, 0x7e].map((code) => readAs(String.fromCodePoint(code)))).toEqual(["!", "A", "~"]);
});
