// Archives as an attacker packs them: no library would write most of these.
import { crc32, deflateRawSync, gzipSync } from "node:zlib";

export interface Packed {
  readonly name: string;
  readonly data?: string | Uint8Array;
  /** Unix mode with its file type; default a regular file. */
  readonly mode?: number;
  /** Of a tar entry; default "0", a regular file. */
  readonly type?: string;
  readonly link?: string;
  /** What the headers say of the size, in place of the truth. */
  readonly claims?: number;
  readonly encrypted?: boolean;
  readonly deflate?: boolean;
}

export function zip(entries: readonly Packed[]): Buffer {
  const bodies: Buffer[] = [];
  const directory: Buffer[] = [];
  let at = 0;
  for (const { name, data = "", mode = 0o100644, claims, encrypted = false, deflate = false } of entries) {
    const plain = Buffer.from(data as string);
    // What is encrypted begins with twelve bytes of its own.
    const packed = encrypted
      ? Buffer.concat([Buffer.alloc(12), plain])
      : deflate
        ? deflateRawSync(plain)
        : plain;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE((encrypted ? 1 : 0) | 0x800, 2);
    common.writeUInt16LE(deflate ? 8 : 0, 4);
    common.writeUInt32LE(crc32(plain), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(claims ?? plain.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, Buffer.from(name), packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE((mode << 16) >>> 0, 6);
    tail.writeUInt32LE(at, 10);
    directory.push(
      Buffer.concat([
        Buffer.from("PK\x01\x02", "latin1"),
        Buffer.from([20, 3]),
        common,
        tail,
        Buffer.from(name),
      ]),
    );
    bodies.push(local);
    at += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...bodies, central, end]);
}

export function tar(entries: readonly Packed[]): Buffer {
  const blocks = entries.flatMap(({ name, data = "", mode = 0o644, type = "0", link = "", claims }) => {
    const body = Buffer.from(data as string);
    const head = Buffer.alloc(512);
    head.write(name, 0, 100);
    head.write(`${(mode & 0o7777).toString(8).padStart(7, "0")}\0`, 100);
    head.write("0000000\0", 108);
    head.write("0000000\0", 116);
    head.write(`${(claims ?? body.length).toString(8).padStart(11, "0")}\0`, 124);
    head.write("00000000000\0", 136);
    head.write("        ", 148);
    head.write(type, 156);
    head.write(link, 157, 100);
    head.write("ustar\x0000", 257, "latin1");
    const sum = head.reduce((total, byte) => total + byte, 0);
    head.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
    return [head, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

export const tgz = (entries: readonly Packed[]): Buffer => gzipSync(tar(entries));
