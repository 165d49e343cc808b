// A body's reader undoes the compression and counts what comes out of it, so that a small answer cannot
// become a large one (I9).
import type { Readable } from "node:stream";
import { pipeline } from "node:stream";
import { constants, createBrotliDecompress, createGunzip } from "node:zlib";
import { Fault } from "@parley/protocol";

export interface BodyBytes {
  readonly bytes: Uint8Array;
  /** True when there was more. */
  readonly cut: boolean;
}

/** What requests ask for; an answer in anything else is refused. */
export const acceptEncoding = "gzip, br";

/** Throws Fault("unsupported") for a compression that was not asked for. */
export function decoded(body: Readable, encoding: string, host: string): Readable {
  const name = encoding.trim().toLowerCase();
  if (name === "" || name === "identity") return body;
  // Servers leave out the end of a stream often enough that browsers read what is there.
  const decoder =
    name === "gzip" || name === "x-gzip"
      ? createGunzip({ flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH })
      : name === "br"
        ? createBrotliDecompress({
            flush: constants.BROTLI_OPERATION_FLUSH,
            finishFlush: constants.BROTLI_OPERATION_FLUSH,
          })
        : null;
  if (decoder === null) {
    body.destroy();
    throw new Fault("unsupported", `${host} answers in a compression that was not asked for`);
  }
  // Errors reach whoever reads the decoder.
  return pipeline(body, decoder, () => {});
}

/** Hands on at most `maxBytes`; then `tooMuch` throws, or the body ends there. */
export async function* counted(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooMuch: () => void,
): AsyncGenerator<Uint8Array, void> {
  let leftBytes = maxBytes;
  for await (const chunk of body) {
    if (chunk.byteLength > leftBytes) {
      if (leftBytes > 0) yield chunk.subarray(0, leftBytes);
      return tooMuch();
    }
    leftBytes -= chunk.byteLength;
    yield chunk;
  }
}
