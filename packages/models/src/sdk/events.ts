// Normalizes event streams so that every SDK can read them: events without blank lines between or after them,
// any line break, and the repairs of a driver that knows its servers. Half an event at the end is dropped, so
// that a torn stream stays torn.
import type { Json, JsonObject } from "@parley/protocol";
import { withPlainCounts } from "./counts.ts";
import { isObject, jsonIn } from "./json.ts";

/**
 * Changes the events of one stream; `end` replaces the mark with which OpenAI's streams end. Created anew for
 * each stream.
 */
export type MendEvents = () => { event(event: JsonObject): JsonObject; end?(): readonly JsonObject[] };

const endMark = "[DONE]";

/** What one stream's events are handed to. */
export interface EventSink {
  /** An event as a driver's repairs left it; of a server's own making, so anything that is JSON. */
  event(event: Json): void;
  /** The mark with which OpenAI's streams end. */
  end(): void;
  /** An event that is no JSON. */
  broken(text: string): void;
}

export interface EventReader {
  /** The next characters of the stream. */
  add(text: string): void;
  /** An event that came by itself and not in a stream of text. */
  event(event: Json): void;
  /** The stream is over. */
  flush(): void;
}

/** `progress` is called for every event except pings. */
export function eventReader(
  progress: () => void,
  mend: MendEvents | undefined,
  sink: EventSink,
): EventReader {
  const mender = mend?.();
  /** Pieces of the unfinished line, so that a long line costs no more than its length. */
  let pieces: string[] = [];
  let wasReturn = false;
  let data: string[] = [];

  function handOver(known: Json): void {
    if (!isPing(known)) progress();
    const plain = isObject(known) ? withPlainCounts(known) : known;
    sink.event(isObject(plain) && mender !== undefined ? mender.event(plain) : plain);
  }

  function dispatch(text: string, known: Json | undefined): void {
    data = [];
    if (known === undefined) {
      if (text.trim() !== "") sink.broken(text.replaceAll("\n", " "));
    } else if (known === endMark) {
      for (const event of mender?.end?.() ?? []) sink.event(event);
      sink.end();
    } else handOver(known);
  }

  /** What was gathered, when it is a whole event. */
  function dispatchWhole(): void {
    const text = data.join("\n");
    const known = parsed(text);
    if (known !== undefined) dispatch(text, known);
  }

  function read(line: string): void {
    if (line === "") {
      if (data.length === 0) return;
      const text = data.join("\n");
      return dispatch(text, parsed(text));
    }
    if (!line.startsWith("data:")) return;
    // Some servers leave out the blank line between two events.
    if (data.length > 0) dispatchWhole();
    data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
  }

  return {
    add(text) {
      let from = 0;
      for (let index = lineBreak(text, 0); index >= 0; index = lineBreak(text, index + 1)) {
        const follows = text[index] === "\n" && (index === 0 ? wasReturn : text[index - 1] === "\r");
        if (!follows) {
          const rest = text.slice(from, index);
          read(pieces.length === 0 ? rest : pieces.join("") + rest);
          pieces = [];
        }
        from = index + 1;
      }
      if (from < text.length) pieces.push(text.slice(from));
      if (text !== "") wasReturn = text.endsWith("\r");
    },
    event: handOver,
    flush() {
      const rest = pieces.join("");
      pieces = [];
      if (rest !== "") read(rest);
      if (data.length > 0) dispatchWhole();
    },
  };
}

function lineBreak(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 10 || code === 13) return at;
  }
  return -1;
}

/** For an SDK, which reads the repaired stream once more. */
export function tidyEvents(
  progress: () => void,
  mend: MendEvents | undefined,
): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let out: TransformStreamDefaultController<Uint8Array>;
  const write = (value: string): void => out.enqueue(encoder.encode(`data: ${value}\n\n`));
  const reader = eventReader(progress, mend, {
    event: (event) => write(JSON.stringify(event)),
    end: () => write(endMark),
    // Not JSON; the SDK says what is wrong with it.
    broken: write,
  });
  return new TransformStream({
    start(controller) {
      out = controller;
    },
    transform: (chunk) => reader.add(decoder.decode(chunk, { stream: true })),
    flush() {
      reader.add(decoder.decode());
      reader.flush();
    },
  });
}

/** Undefined for half an event, or none. */
function parsed(text: string): Json | undefined {
  return text.trim() === endMark ? endMark : jsonIn(text);
}

function isPing(event: Json): boolean {
  return isObject(event) && event["type"] === "ping";
}
