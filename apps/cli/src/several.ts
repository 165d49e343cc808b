// Collects the values of an option that may be given several times. One that took all words after it would
// swallow the message too.

export function several(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value];
}
