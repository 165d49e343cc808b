// Randomness as a port. Only this file draws random values; tests pass in a seeded source.

export interface Ids {
  /** A fresh, unguessable id of 128 bits. */
  uuid(): string;
  /** `length` characters drawn evenly from `alphabet` (at most 256 characters) by a cryptographic source. */
  code(alphabet: string, length: number): string;
  /** A number in [0, 1). For jitter only, because it is not cryptographic. */
  chance(): number;
}

export function systemIds(): Ids {
  return {
    uuid: () => crypto.randomUUID(),
    code(alphabet, length) {
      const limit = 256 - (256 % alphabet.length);
      let text = "";
      while (text.length < length) {
        for (const byte of crypto.getRandomValues(new Uint8Array(length))) {
          // A byte past the last whole multiple of the alphabet's length is dropped, because it would favour
          // the first letters.
          if (byte < limit && text.length < length) text += alphabet.charAt(byte % alphabet.length);
        }
      }
      return text;
    },
    chance: () => Math.random(),
  };
}
