// Reads the Opus packets of a WebM recording, which is what most browsers make of a microphone. The same
// packets in Ogg are what platforms, programs and services for speech take.
// Source: RFC 8794 (EBML), RFC 9559 (Matroska), RFC 6716 3.1 (how long a packet is).

/** `preSkip`: samples at 48 kHz that the decoder drops at the beginning. */
export interface OpusSound {
  readonly packets: readonly Uint8Array[];
  readonly preSkip: number;
  readonly channels: number;
}

/** Elements whose own elements are read. A live recording does not know how long they are. */
const opened: ReadonlySet<number> = new Set([
  0x18538067, // Segment
  0x1654ae6b, // Tracks
  0xae, // TrackEntry
  0x1f43b675, // Cluster
  0xa0, // BlockGroup
]);
const [trackEntry, trackNumber, codec, codecPrivate] = [0xae, 0xd7, 0x86, 0x63a2];
const blocks: ReadonlySet<number> = new Set([0xa3, 0xa1]);
const laced = 0x06;

export function isWebm(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1a && bytes[1] === 0x45 && bytes[2] === 0xdf && bytes[3] === 0xa3;
}

/** Null for bytes that are no WebM with Opus of one or two channels. Ends where the recording is torn. */
export function webmOpus(bytes: Uint8Array): OpusSound | null {
  if (!isWebm(bytes)) return null;
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const packets: Uint8Array[] = [];
  let head: Buffer | null = null;
  let [track, seen, isOpus] = [0, 0, false];
  for (let at = 0; at < data.length;) {
    const id = numberAt(data, at, true);
    const size = id === null ? null : numberAt(data, at + id.length, false);
    if (id === null || size === null) break;
    const from = at + id.length + size.length;
    if (opened.has(id.value)) {
      if (id.value === trackEntry) [seen, isOpus] = [0, false];
      at = from;
      continue;
    }
    const body = data.subarray(from, from + size.value);
    if (body.length < size.value) break;
    if (id.value === trackNumber && body.length === 1) seen = body[0] ?? 0;
    if (id.value === codec) isOpus = body.toString("latin1") === "A_OPUS";
    if (id.value === codecPrivate && isOpus && head === null) [head, track] = [body, seen];
    if (blocks.has(id.value) && head !== null && body.length > 4 && (body[0] ?? 0) === (0x80 | track)) {
      if (((body[3] ?? 0) & laced) !== 0) return null;
      packets.push(body.subarray(4));
    }
    at = from + size.value;
  }
  if (head === null || head.length < 19 || head.toString("latin1", 0, 8) !== "OpusHead") return null;
  const channels = head[9] ?? 0;
  if (channels < 1 || channels > 2 || packets.length === 0) return null;
  return { packets, preSkip: head.readUInt16LE(10), channels };
}

/** A number of EBML: its length stands in the first byte, which belongs to ids and not to sizes. */
function numberAt(
  data: Buffer,
  at: number,
  isId: boolean,
): { readonly value: number; readonly length: number } | null {
  const first = data[at] ?? 0;
  const length = Math.clz32(first) - 23;
  if (first === 0 || length > (isId ? 4 : 8) || at + length > data.length) return null;
  let value = isId ? first : first & (0xff >> length);
  for (let next = 1; next < length; next += 1) value = value * 256 + (data[at + next] ?? 0);
  return { value, length };
}

const silkMs = [10, 20, 40, 60];
const celtMs = [2.5, 5, 10, 20];

/** Samples at 48 kHz in one packet; 0 for one that is broken. */
export function opusSamples(packet: Uint8Array): number {
  const first = packet[0];
  if (first === undefined) return 0;
  const kind = first >> 3;
  const ms = kind < 12 ? silkMs[kind & 3] : kind < 16 ? silkMs[kind & 1] : celtMs[kind & 3];
  const frames = [1, 2, 2, (packet[1] ?? 0) & 0x3f][first & 3] ?? 0;
  return (ms ?? 0) * 48 * frames;
}
