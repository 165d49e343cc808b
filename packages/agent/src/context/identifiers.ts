// Finds identifiers that a summary must not lose or alter because they only work letter by letter. They are
// found by form, bounded, newest first.

const forms: readonly RegExp[] = [
  /\bhttps?:\/\/[^\s<>"')\]]{1,300}/g,
  /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi,
  // Paths of files, absolute or with at least two parts.
  /(?<![\w/.])(?:~|\.{1,2})?(?:\/[\w.@+-]{1,100}){2,20}/g,
  /\b[A-Z][A-Z0-9]{1,9}-\d{1,9}\b/g,
  // Hashes and long ids: letters and digits mixed.
  /\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}\b/gi,
  /\b[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{1,64}\b/g,
  /\b\d{6,20}\b/g,
];

const longestChars = 200;

/** Only this much of the end is searched: older identifiers were superseded or repeated. */
const lookedChars = 200_000;

/** Returns the newest `most` different identifiers, in the order of the text. */
export function identifiersIn(text: string, most: number): readonly string[] {
  const looked = text.slice(-lookedChars);
  const found = forms
    .flatMap((form) => [...looked.matchAll(form)])
    .map((match) => ({ at: match.index, name: match[0].replace(/[.,;:!?]+$/, "") }))
    .filter(({ name }) => name.length <= longestChars)
    .toSorted((a, b) => a.at - b.at || b.name.length - a.name.length);
  let end = 0;
  const names = new Set<string>();
  for (const { at, name } of found) {
    // It is part of one that is in the list already.
    if (at < end) continue;
    end = at + name.length;
    // Repeated: it counts from its newest place.
    names.delete(name);
    names.add(name);
  }
  return [...names].slice(-most);
}
