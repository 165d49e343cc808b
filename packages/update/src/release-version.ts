// Orders the versions of releases, as semver does.

const form = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]{1,64}))?$/;

export function isVersion(text: string): boolean {
  return form.test(text);
}

/** Below zero when `a` is older. A version with a suffix is older than the one without. */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [form.exec(a), form.exec(b)];
  if (left === null || right === null) return a < b ? -1 : a > b ? 1 : 0;
  for (const n of [1, 2, 3]) {
    const apart = Number(left[n]) - Number(right[n]);
    if (apart !== 0) return apart;
  }
  const [mine, theirs] = [left[4], right[4]];
  if (mine === theirs) return 0;
  if (mine === undefined) return 1;
  if (theirs === undefined) return -1;
  return compareSuffixes(mine.split("."), theirs.split("."));
}

function compareSuffixes(mine: readonly string[], theirs: readonly string[]): number {
  for (const [n, word] of mine.entries()) {
    const other = theirs[n];
    if (other === undefined) return 1;
    const [isNumber, isOtherNumber] = [/^\d+$/.test(word), /^\d+$/.test(other)];
    // Numbers come before words.
    if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
    const apart = isNumber ? Number(word) - Number(other) : word < other ? -1 : word > other ? 1 : 0;
    if (apart !== 0) return apart;
  }
  return mine.length - theirs.length;
}
