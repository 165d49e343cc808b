// Characters that read as others: the table stands here a second time, so that no way to draw a token is lost unseen.
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
  expect(folded("ℂ﹫︳")).toBe("C@_");
  expect(folded("🅐🅩🅰🆉🇦🇿")).toBe("AZAZAZ");
  expect(folded("a\u200b\u00ad\u2060b")).toBe("ab");
  expect(folded("日本 ж\n")).toBe("日本 ж\n");
});
