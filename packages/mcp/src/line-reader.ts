// Cuts a server's output into messages. A line that is too long is read past, and whoever waits for the
// answer in it gets an error instead; lines that are no message are skipped, up to a limit.
import { isObject } from "./definition.ts";

export interface LineReaderOptions {
  readonly messageBytes: number;
  readonly junkBytes: number;
  readonly onMessage: (message: { readonly [key: string]: unknown }) => void;
  readonly onJunk: () => void;
}

/** The id of an answer stands at its beginning or its end. */
const edgeBytes = 512;
const newline = 0x0a;

export function lineReader({ messageBytes, junkBytes, onMessage, onJunk }: LineReaderOptions) {
  let parts: Buffer[] = [];
  let bytes = 0;
  /** First and last bytes of a line that is too long; null while it is not. */
  let long: { readonly head: Buffer; tail: Buffer } | null = null;
  let junk = 0;

  const skipped = (more: number): void => {
    const before = junk;
    junk += more;
    if (before <= junkBytes && junk > junkBytes) onJunk();
  };

  const add = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (long !== null) {
      skipped(chunk.length);
      long.tail = Buffer.concat([long.tail, chunk.subarray(-edgeBytes)]).subarray(-edgeBytes);
      return;
    }
    parts.push(chunk);
    if (bytes <= messageBytes) return;
    const all = Buffer.concat(parts);
    parts = [];
    skipped(all.length);
    long = { head: Buffer.from(all.subarray(0, edgeBytes)), tail: Buffer.from(all.subarray(-edgeBytes)) };
  };

  const end = (): void => {
    if (long !== null) {
      const id = idIn(long.head.toString("latin1"), long.tail.toString("latin1"));
      if (id !== null)
        onMessage({
          jsonrpc: "2.0",
          id,
          error: { code: -32_603, message: `the answer is larger than ${messageBytes / 1_000_000} MB` },
        });
    } else {
      const line = Buffer.concat(parts).toString("utf8").trim();
      const message = messageIn(line);
      if (message === null) skipped(bytes);
      else {
        junk = 0;
        onMessage(message);
      }
    }
    parts = [];
    bytes = 0;
    long = null;
  };

  return {
    read(chunk: Buffer): void {
      let from = 0;
      for (;;) {
        const at = chunk.indexOf(newline, from);
        add(chunk.subarray(from, at === -1 ? undefined : at));
        if (at === -1) return;
        end();
        from = at + 1;
      }
    },
  };
}

function messageIn(line: string): { readonly [key: string]: unknown } | null {
  if (!line.startsWith("{")) return null;
  try {
    const value: unknown = JSON.parse(line);
    return isObject(value) && value["jsonrpc"] === "2.0" ? value : null;
  } catch {
    // Many servers log to standard output.
    return null;
  }
}

/** Our ids are numbers. Only an answer of the outermost object counts: its first key, or its last. */
function idIn(head: string, tail: string): number | null {
  const found =
    /^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(\d{1,15})\s*,/.exec(head) ??
    /,\s*"id"\s*:\s*(\d{1,15})\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(tail);
  return found?.[1] === undefined ? null : Number(found[1]);
}
