// Cuts a text that is too long to be spoken at once, at its sentences.

/** Pieces of at most `mostChars`, cut behind a sentence where there is one, else behind a word. */
export function atSentences(text: string, mostChars: number): readonly string[] {
  const sentences = [...new Intl.Segmenter("en", { granularity: "sentence" }).segment(text)];
  const pieces: string[] = [];
  let piece = "";
  for (const part of sentences.flatMap(({ segment }) => atWords(segment, mostChars))) {
    if (piece.length + part.length > mostChars) {
      pieces.push(piece);
      piece = "";
    }
    piece += part;
  }
  return [...pieces, piece].map((each) => each.trim()).filter((each) => each !== "");
}

/** A sentence that is too long by itself. */
function atWords(sentence: string, mostChars: number): readonly string[] {
  const parts: string[] = [];
  let rest = sentence;
  while (rest.length > mostChars) {
    const space = rest.lastIndexOf(" ", mostChars);
    const part = rest.slice(0, space > 0 ? space : mostChars).replace(/[\ud800-\udbff]$/, "");
    parts.push(part);
    rest = rest.slice(part.length);
  }
  return [...parts, rest];
}
