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
    uuid: () => randomUuid(crypto),
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

/** Browsers have `randomUUID` only on this machine or over https; a page in a LAN over http has the bytes. */
export function randomUuid(source: {
  readonly randomUUID?: () => string;
  readonly getRandomValues: (into: Uint8Array<ArrayBuffer>) => Uint8Array;
}): string {
  if (source.randomUUID !== undefined) return source.randomUUID();
  const bytes = source.getRandomValues(new Uint8Array(16));
  // Version 4, variant 10 (RFC 9562, section 5.4).
  const signed = bytes.map((byte, at) =>
    at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte,
  );
  return [...signed]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("")
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
