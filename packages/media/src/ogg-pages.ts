// Writes Opus packets as an Ogg stream, which the platforms show as a voice note, and reads them from one.
// Source: RFC 3533 (Ogg), RFC 7845 (Ogg Opus).

import { opusSamples } from "./webm-opus.ts";

const packetsPerPage = 50;
const segmentsPerPage = 255;
const begins = 2;
const ends = 4;

export interface OpusFacts {
  /** Samples at 48 kHz that a decoder drops at the beginning. */
  readonly preSkip: number;
  readonly channels?: number;
  /** Behind `preSkip`; absent: all that the packets have. */
  readonly samples?: number;
}

export function oggOpusFile(
  packets: readonly Uint8Array[],
  { preSkip, channels = 1, samples }: OpusFacts,
): Buffer {
  const head = Buffer.alloc(19);
  head.write("OpusHead");
  head[8] = 1;
  head[9] = channels;
  head.writeUInt16LE(preSkip, 10);
  head.writeUInt32LE(48_000, 12);
  const vendor = Buffer.from("parley");
  const tags = Buffer.alloc(16 + vendor.length);
  tags.write("OpusTags");
  tags.writeUInt32LE(vendor.length, 8);
  vendor.copy(tags, 12);
  const pages = [pageOf([head], 0n, 0, begins), pageOf([tags], 0n, 1, 0)];
  let [page, segments, granule]: [Uint8Array[], number, number] = [[], 0, 0];
  const close = (isLast: boolean): void => {
    // The last page says where the sound ends, since its last packet is filled up with silence.
    const end = isLast && samples !== undefined ? samples + preSkip : granule;
    pages.push(pageOf(page, BigInt(end), pages.length, isLast ? ends : 0));
    [page, segments] = [[], 0];
  };
  for (const packet of packets) {
    const own = Math.floor(packet.length / 255) + 1;
    if (own > segmentsPerPage) continue;
    if (page.length === packetsPerPage || segments + own > segmentsPerPage) close(false);
    page.push(packet);
    segments += own;
    granule += opusSamples(packet);
  }
  close(true);
  return Buffer.concat(pages);
}

function pageOf(packets: readonly Uint8Array[], granule: bigint, sequence: number, flags: number): Buffer {
  const lacing = packets.flatMap(({ length }) => [
    ...Array.from({ length: Math.floor(length / 255) }, () => 255),
    length % 255,
  ]);
  const head = Buffer.alloc(27 + lacing.length);
  head.write("OggS");
  head[5] = flags;
  head.writeBigUInt64LE(granule, 6);
  head.writeUInt32LE(serial, 14);
  head.writeUInt32LE(sequence, 18);
  head[26] = lacing.length;
  head.set(lacing, 27);
  const page = Buffer.concat([head, ...packets]);
  page.writeUInt32LE(checksum(page), 22);
  return page;
}

/** One stream a file, so any number does; the same speech then gives the same file. */
const serial = 0x70_61_72_6c;

/** CRC-32 as Ogg has it: polynomial 0x04c11db7, not reflected. */
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24;
  for (let bit = 0; bit < 8; bit += 1)
    value = value & 0x80_00_00_00 ? (value << 1) ^ 0x04_c1_1d_b7 : value << 1;
  return value >>> 0;
});

function checksum(page: Buffer): number {
  let crc = 0;
  for (const byte of page) crc = ((crc << 8) ^ (table[((crc >>> 24) ^ byte) & 255] ?? 0)) >>> 0;
  return crc;
}

/** The packets of sound; null for bytes that are no Ogg Opus. Ends at the first page that is broken. */
export function opusPacketsIn(bytes: Uint8Array): readonly Uint8Array[] | null {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const packets: Buffer[] = [];
  let open: Buffer[] = [];
  for (let at = 0; at + 27 <= data.length && data.toString("latin1", at, at + 4) === "OggS";) {
    const segments = data[at + 26] ?? 0;
    const lacing = data.subarray(at + 27, at + 27 + segments);
    let from = at + 27 + segments;
    for (const segment of lacing) {
      open.push(data.subarray(from, from + segment));
      from += segment;
      if (segment === 255) continue;
      packets.push(Buffer.concat(open));
      open = [];
    }
    at = from;
  }
  const [head, tags, ...sound] = packets;
  if (head?.toString("latin1", 0, 8) !== "OpusHead" || tags === undefined) return null;
  return sound.filter(({ length }) => length > 0);
}
