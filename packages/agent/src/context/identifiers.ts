// What a summary must not lose or alter: names that only work letter by letter. Found by form, bounded, newest first.

const forms: readonly RegExp[] = [
  /\bhttps?:\/\/[^\s<>"')\]]+/g,
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
  // Paths of files, absolute or with at least two parts.
  /(?<![\w/.])(?:~|\.{1,2})?(?:\/[\w.@+-]+){2,}/g,
  /\b[A-Z][A-Z0-9]{1,9}-\d{1,9}\b/g,
  // Hashes and long ids: letters and digits mixed.
  /\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b/gi,
  /\b[\w.+-]+@[\w-]+\.[\w.-]+\b/g,
  /\b\d{6,20}\b/g,
];

const longest = 200;

/** The newest `most` different identifiers of the text, in the order in which they stand there. */
export function identifiersIn(text: string, most: number): readonly string[] {
  const found = forms
    .flatMap((form) => [...text.matchAll(form)])
    .map((match) => ({ at: match.index, name: match[0].replace(/[.,;:!?]+$/, "") }))
    .filter(({ name }) => name.length <= longest)
    .toSorted((a, b) => b.at - a.at || b.name.length - a.name.length);
  const names: string[] = [];
  for (const { name } of found) {
    if (names.length >= most) break;
    // A part of one that is kept already says nothing more.
    if (!names.some((kept) => kept.includes(name))) names.push(name);
  }
  return names.reverse();
}
