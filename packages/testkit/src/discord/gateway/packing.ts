// Packs a payload into one WebSocket frame: plain JSON, one compressed stream per connection (zlib or zstd),
// or each payload compressed alone when the client asked for that at identify. Frames keep their order,
// whatever the compressor's pace.
import { constants, createDeflate, createZstdCompress, deflateSync } from "node:zlib";
import type { Transform } from "node:stream";

export type Packing = "plain" | "zlib-stream" | "zstd-stream" | "each";

export type Pack = (text: string) => Promise<string | Buffer>;

export function packer(packing: Packing): Pack {
  switch (packing) {
    case "plain":
      return (text) => Promise.resolve(text);
    case "each":
      return (text) => Promise.resolve(deflateSync(text));
    case "zlib-stream":
      return streamed(createDeflate(), constants.Z_SYNC_FLUSH);
    case "zstd-stream":
      return streamed(createZstdCompress(), constants.ZSTD_e_flush);
  }
}

/** Every frame ends with the compressor's flush: a client can read each one as soon as it has it. */
function streamed(
  compressor: Transform & { flush(kind: number, done: () => void): void },
  kind: number,
): Pack {
  let chunks: Buffer[] = [];
  compressor.on("data", (chunk: Buffer) => chunks.push(chunk));
  let turn: Promise<unknown> = Promise.resolve();
  return (text) => {
    const mine = turn.then(
      () =>
        new Promise<Buffer>((resolve) => {
          compressor.write(text);
          compressor.flush(kind, () => {
            const frame = Buffer.concat(chunks);
            chunks = [];
            resolve(frame);
          });
        }),
    );
    turn = mine;
    return mine;
  };
}
