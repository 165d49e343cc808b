// Maps characters to the Latin letter or sign that they read as, and finds those that are invisible: a
// model's token or tag counts however it is drawn (I8). Compatibility forms come from Unicode's own
// normalization; the list below adds similar letters of other scripts.

const drawnAlike: readonly (readonly [string, string])[] = [
  ["A", "ΑАᎪꓮᴀ"],
  ["B", "ΒВᏴꓐʙ"],
  ["C", "СᏟꓚϹᴄ"],
  ["D", "ᎠꓓᴅÐ"],
  ["E", "ΕЕᎬꓰᴇ"],
  ["F", "ꓝϜꜰ"],
  ["G", "ᏀԌꓖɢ"],
  ["H", "ΗНᎻꓧʜ"],
  ["I", "ΙІӀꓲɪ"],
  ["J", "ЈᎫꓙᴊ"],
  ["K", "ΚКᏦꓗᴋ"],
  ["L", "ᏞꓡʟⱠ"],
  ["M", "ΜМᎷꓟᴍ"],
  ["N", "Νꓠɴ"],
  ["O", "ΟОՕꓳᴏØ"],
  ["P", "ΡРᏢꓑᴘ"],
  ["R", "ᎡᏒꓣʀ"],
  ["S", "ЅՏꓢꜱ"],
  ["T", "ΤТᎢꓔᴛ"],
  ["U", "ՍꓴᴜԱ"],
  ["V", "ᏙꓦѴᴠ"],
  ["W", "ᎳꓪԜᴡ"],
  ["X", "ΧХꓫ"],
  ["Y", "ΥҮУᎩꓬʏ"],
  ["Z", "ΖᏃꓜᴢ"],
  ["a", "аɑα"],
  ["c", "сϲ"],
  ["d", "ԁ"],
  ["e", "еҽ"],
  ["g", "ɡ"],
  ["h", "һ"],
  ["i", "іıι"],
  ["j", "ј"],
  ["k", "κк"],
  ["l", "ӏ"],
  ["n", "ոп"],
  ["o", "оοօ"],
  ["p", "рρ"],
  ["q", "ԛ"],
  ["r", "г"],
  ["s", "ѕ"],
  ["t", "т"],
  ["u", "υս"],
  ["v", "νѵ"],
  ["w", "ԝ"],
  ["x", "хχ"],
  ["y", "уү"],
  ["_", "ˍ‗⎽"],
  ["<", "◁⟨〈〈‹˂ᐸ❮❬⧼"],
  [">", "▷⟩〉〉›˃ᐳ❯❭⧽"],
  ["[", "【〔⟦"],
  ["]", "】〕⟧"],
  ["|", "│∣┃❘ǀ￨"],
  ["/", "⁄∕⧸"],
  // How tokenizers write a space inside a template token.
  ["_", "▁"],
];

/** Blocks whose compatibility forms are letters or ASCII signs. */
const compatibility: readonly (readonly [number, number])[] = [
  [0x2100, 0x214f],
  [0x24b6, 0x24e9],
  [0xfe33, 0xfe6b],
  [0xff01, 0xff5e],
  [0x1d400, 0x1d7ff],
  [0x1f130, 0x1f149],
];

/**
 * White letters on black, and the halves of flags: no compatibility forms, and they read as letters all the
 * same.
 */
const drawnInBoxes = [0x1f150, 0x1f170, 0x1f1e6];

function table(): ReadonlyMap<string, string> {
  const seen = new Map<string, string>();
  for (const [first, last] of compatibility) {
    for (let code = first; code <= last; code += 1) {
      const char = String.fromCodePoint(code);
      const plain = char.normalize("NFKC");
      if (/^[!-~]$/u.test(plain)) seen.set(char, plain);
    }
  }
  for (const first of drawnInBoxes) {
    for (let letter = 0; letter < 26; letter += 1) {
      seen.set(String.fromCodePoint(first + letter), String.fromCharCode(0x41 + letter));
    }
  }
  for (const [plain, others] of drawnAlike) for (const other of others) seen.set(other, plain);
  return seen;
}

const readsAs = table();
const unseen = /^[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Mn}\p{Me}\p{Cc}\u2800]$/u;
/** The byte order mark is none, whatever JavaScript says: it is not seen. */
const spaces = /^[\s--\uFEFF]$/v;

/** How one code point reads: an ASCII character, a space, nothing at all, or itself. */
export function readAs(char: string): string {
  if (char >= "!" && char <= "~") return char;
  const known = readsAs.get(char);
  if (known !== undefined) return known;
  if (spaces.test(char)) return " ";
  return unseen.test(char) ? "" : char;
}

/** The whole text as it reads. */
export function folded(text: string): string {
  let out = "";
  for (const char of text) out += spaces.test(char) ? char : readAs(char);
  return out;
}

/** Regular expression source of what reads as this character, drawn in any way. */
export function drawn(char: string, ...more: string[]): string {
  const others = [...readsAs].flatMap(([other, plain]) => (plain === char ? [other] : []));
  const all = [char, ...others, ...more].map((each) => each.replace(/[\\\]^[\-/]/u, String.raw`\$&`));
  return `[${all.join("")}]`;
}

/** What may stand unseen between two characters of a token. */
export const unseenRun = String.raw`[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Mn}\p{Me}\u2800]{0,8}`;
