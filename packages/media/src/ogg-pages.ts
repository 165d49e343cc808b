// Writes Opus packets as an Ogg stream, which the platforms show as a voice note, and reads them from one.
// Source: RFC 3533 (Ogg), RFC 7845 (Ogg Opus).

const samplesPerPacket = 960;
/** Of at most 255 segments; a packet of speech has one or two. */
const packetsPerPage = 50;
const begins = 2;
const ends = 4;

export function oggOpusFile(
  packets: readonly Uint8Array[],
  { preSkip, samples }: { readonly preSkip: number; readonly samples: number },
): Buffer {
  const head = Buffer.alloc(19);
  head.write("OpusHead");
  head[8] = 1;
  head[9] = 1;
  head.writeUInt16LE(preSkip, 10);
  head.writeUInt32LE(48_000, 12);
  const vendor = Buffer.from("parley");
  const tags = Buffer.alloc(16 + vendor.length);
  tags.write("OpusTags");
  tags.writeUInt32LE(vendor.length, 8);
  vendor.copy(tags, 12);
  const pages = [pageOf([head], 0n, 0, begins), pageOf([tags], 0n, 1, 0)];
  for (let at = 0; at < packets.length; at += packetsPerPage) {
    const some = packets.slice(at, at + packetsPerPage);
    const isLast = at + packetsPerPage >= packets.length;
    // The last page says where the sound ends, since its last packet is filled up with silence.
    const granule = isLast ? samples + preSkip : (at + some.length) * samplesPerPacket;
    pages.push(pageOf(some, BigInt(granule), pages.length, isLast ? ends : 0));
  }
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
