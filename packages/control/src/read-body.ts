// Reads a request's body within a limit. The limit is checked while bytes arrive, because a promised length
// proves nothing (I9).
import type { IncomingMessage } from "node:http";
import { Fault } from "@parley/protocol";

/** Rejects with Fault: "invalid" beyond the limit, "aborted" when the client leaves before the end. */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > limitBytes) throw new TooLarge(limitBytes);
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause !== request.errored) throw cause;
    throw new Fault("aborted", "the client left before it had sent its body", { cause });
  }
  return Buffer.concat(chunks);
}

export class TooLarge extends Fault {
  constructor(limitBytes: number) {
    super("invalid", `the body has more than ${limitBytes} bytes`);
  }
}
