// Makes a small Ogg Opus file for tests, of packets of 20 ms whose sizes the test chooses. It sounds like
// nothing: platforms and drivers read only its frame.

const samplesPerPacket = 960;
const preSkip = 312;
const packetsPerPage = 50;

export function oggOpusFile(packetBytes: readonly number[]): Buffer {
  const head = Buffer.alloc(19);
  head.write("OpusHead", 0, "latin1");
  head.writeUInt8(1, 8);
  head.writeUInt8(1, 9);
  head.writeUInt16LE(preSkip, 10);
  head.writeUInt32LE(48_000, 12);
  const tags = Buffer.alloc(16);
  tags.write("OpusTags", 0, "latin1");
  const pages = [page([head], 0, 0), page([tags], 0, 1)];
  for (let from = 0; from < packetBytes.length; from += packetsPerPage) {
    const packets = packetBytes.slice(from, from + packetsPerPage).map((bytes) => Buffer.alloc(bytes, 7));
    const end = (from + packets.length) * samplesPerPacket + preSkip;
    pages.push(page(packets, end, pages.length));
  }
  return Buffer.concat(pages);
}

function page(packets: readonly Buffer[], granule: number, number: number): Buffer {
  const lacing = packets.flatMap(({ length }) => [
    ...Array.from({ length: Math.floor(length / 255) }, () => 255),
    length % 255,
  ]);
  const head = Buffer.alloc(27);
  head.write("OggS", 0, "latin1");
  head.writeUInt8(number === 0 ? 2 : 0, 5);
  head.writeBigInt64LE(BigInt(granule), 6);
  head.writeUInt32LE(7, 14);
  head.writeUInt32LE(number, 18);
  head.writeUInt8(lacing.length, 26);
  return Buffer.concat([head, Buffer.from(lacing), ...packets]);
}
