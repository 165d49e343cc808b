// Encrypts a file by a passphrase, piece by piece, so that its size does not matter: scrypt makes the key,
// AES-256-GCM seals each piece. The number of a piece and whether it is the last one are sealed with it, so
// that nothing can be cut off, left out or put elsewhere without being noticed.
import { createCipheriv, createDecipheriv, createHash, scryptSync } from "node:crypto";
import { closeSync, fsyncSync, openSync, readSync, rmSync, writeSync } from "node:fs";
import { Fault, type Ids } from "@parley/protocol";

const magic = Buffer.from("PARLEY-SEALED-1\n");
const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const pieceBytes = 1 << 20;
/** Of scrypt, as a power of two: 128 MB, what OWASP's cheat sheet on password storage asks for. */
const costBits = 17;
const mostCostBits = 20;
/** The magic, one byte with the cost, and the salt. */
const headBytes = magic.length + 1 + saltBytes;

function keyOf(passphrase: string, salt: Uint8Array, bits: number): Buffer {
  const cost = { N: 2 ** bits, r: 8, p: 1, maxmem: 2 ** (bits + 11) };
  return scryptSync(passphrase.normalize("NFC"), salt, 32, cost);
}

export function isSealed(path: string): boolean {
  const file = openSync(path, "r");
  try {
    const head = Buffer.alloc(magic.length);
    return readSync(file, head, 0, head.length, 0) === head.length && head.equals(magic);
  } finally {
    closeSync(file);
  }
}

/** Writes the new file `to`, mode 0600. A failure leaves none. */
export function sealFile(
  from: string,
  to: string,
  passphrase: string,
  ids: Pick<Ids, "uuid">,
  bits = costBits,
): void {
  const salt = createHash("sha256").update(ids.uuid()).digest().subarray(0, saltBytes);
  const key = keyOf(passphrase, salt, bits);
  copied(from, to, (source, target) => {
    writeSync(target, Buffer.concat([magic, Buffer.from([bits]), salt]));
    let piece = readPiece(source, 0, pieceBytes);
    for (let nth = 0, at = 0; ; nth += 1) {
      at += piece.length;
      const next = readPiece(source, at, pieceBytes);
      const isLast = next.length === 0;
      const cipher = createCipheriv("aes-256-gcm", key, nonceOf(nth));
      cipher.setAAD(sideOf(salt, nth, isLast));
      const sealed = Buffer.concat([cipher.update(piece), cipher.final()]);
      writeSync(target, Buffer.concat([sealed, cipher.getAuthTag()]));
      if (isLast) break;
      piece = next;
    }
  });
}

/** Throws Fault("denied") for another passphrase, and for a file that was changed or cut. */
export function unsealFile(from: string, to: string, passphrase: string): void {
  copied(from, to, (source, target) => {
    const head = readPiece(source, 0, headBytes);
    const bits = head[magic.length] ?? 0;
    if (head.length < headBytes || bits < 1 || bits > mostCostBits)
      throw new Fault("denied", `${from} is damaged or was cut off`);
    const salt = head.subarray(magic.length + 1);
    const key = keyOf(passphrase, salt, bits);
    const whole = pieceBytes + tagBytes;
    let piece = readPiece(source, headBytes, whole);
    for (let nth = 0, at = headBytes; ; nth += 1) {
      at += piece.length;
      const next = readPiece(source, at, whole);
      const isLast = next.length === 0;
      try {
        const decipher = createDecipheriv("aes-256-gcm", key, nonceOf(nth));
        decipher.setAAD(sideOf(salt, nth, isLast));
        decipher.setAuthTag(piece.subarray(-tagBytes));
        writeSync(target, Buffer.concat([decipher.update(piece.subarray(0, -tagBytes)), decipher.final()]));
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).syscall !== undefined) throw cause;
        throw new Fault(
          "denied",
          nth === 0
            ? `${from} cannot be opened: this is not its passphrase, or the file was changed`
            : `${from} is damaged or was cut off`,
          { cause },
        );
      }
      if (isLast) break;
      piece = next;
    }
  });
}

function copied(from: string, to: string, copy: (source: number, target: number) => void): void {
  const source = openSync(from, "r");
  try {
    const target = openSync(to, "wx", 0o600);
    try {
      copy(source, target);
      fsyncSync(target);
    } catch (error) {
      rmSync(to, { force: true });
      throw error;
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}

function readPiece(file: number, at: number, most: number): Buffer {
  const buffer = Buffer.alloc(most);
  let read = 0;
  while (read < most) {
    const count = readSync(file, buffer, read, most - read, at + read);
    if (count === 0) break;
    read += count;
  }
  return buffer.subarray(0, read);
}

/** Each file has a key of its own, so that counting makes a nonce that is used once. */
function nonceOf(nth: number): Buffer {
  const nonce = Buffer.alloc(nonceBytes);
  nonce.writeUInt32BE(nth, nonceBytes - 4);
  return nonce;
}

function sideOf(salt: Buffer, nth: number, isLast: boolean): Buffer {
  return Buffer.concat([magic, salt, Buffer.from(`${nth} ${isLast ? "last" : "more"}`)]);
}
