// Reads a request's body within a limit. The limit is checked while bytes arrive, because a promised length
// proves nothing (I9). What comes beyond it is thrown away for a while and not cut off: a connection that
// ends in the middle of a body loses the answer that says why.
import type { IncomingMessage } from "node:http";
import { Fault } from "@parley/protocol";

/** Of a body that is too large, what is still taken in, so that its sender reads the answer. */
const drainedBytes = 16_777_216;

/** Rejects with Fault: "invalid" beyond the limit, "aborted" when the client leaves before the end. */
export function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const left = (cause?: unknown): void =>
      reject(
        new Fault(
          "aborted",
          "the client left before it had sent its body",
          cause === undefined ? {} : { cause },
        ),
      );
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= limitBytes) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      reject(new TooLarge(limitBytes));
      if (bytes > limitBytes + drainedBytes) request.destroy();
    });
    request.on("end", () => resolve(Buffer.concat(chunks)));
    request.on("error", left);
    request.on("close", () => left());
    if (request.destroyed) left();
  });
}

export class TooLarge extends Fault {
  constructor(limitBytes: number) {
    super("invalid", `the body has more than ${limitBytes} bytes`);
  }
}
