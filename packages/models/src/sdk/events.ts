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

/** `progress` is called for every event except pings. */
export function tidyEvents(
  progress: () => void,
  mend: MendEvents | undefined,
): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const mender = mend?.();
  /** Pieces of the unfinished line, so that a long line costs no more than its length. */
  let pieces: string[] = [];
  let wasReturn = false;
  let data: string[] = [];

  const written = (value: string): Uint8Array => encoder.encode(`data: ${value}\n\n`);

  function* dispatched(): Generator<Uint8Array> {
    const text = data.join("\n");
    const known = data.length === 0 ? undefined : parsed(text);
    data = [];
    if (known === undefined) {
      // Not JSON; the SDK says what is wrong with it.
      if (text.trim() !== "") yield written(text.replaceAll("\n", " "));
      return;
    }
    if (known === endMark) {
      for (const event of mender?.end?.() ?? []) yield written(JSON.stringify(event));
      yield written(endMark);
      return;
    }
    if (!isPing(known)) progress();
    const plain = isObject(known) ? withPlainCounts(known) : known;
    yield written(JSON.stringify(isObject(plain) && mender !== undefined ? mender.event(plain) : plain));
  }

  function* read(line: string): Generator<Uint8Array> {
    if (line === "") return yield* dispatched();
    if (!line.startsWith("data:")) return;
    // Some servers leave out the blank line between two events.
    if (data.length > 0 && parsed(data.join("\n")) !== undefined) yield* dispatched();
    data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
  }

  function* readAll(text: string): Generator<Uint8Array> {
    let from = 0;
    for (const { index } of text.matchAll(/[\r\n]/g)) {
      const follows = text[index] === "\n" && (index === 0 ? wasReturn : text[index - 1] === "\r");
      if (!follows) {
        pieces.push(text.slice(from, index));
        yield* read(pieces.join(""));
        pieces = [];
      }
      from = index + 1;
    }
    if (from < text.length) pieces.push(text.slice(from));
    if (text !== "") wasReturn = text.endsWith("\r");
  }

  return new TransformStream({
    transform(chunk, controller) {
      for (const event of readAll(decoder.decode(chunk, { stream: true }))) controller.enqueue(event);
    },
    flush(controller) {
      const rest = pieces.join("") + decoder.decode();
      if (rest !== "") for (const event of read(rest)) controller.enqueue(event);
      if (data.length > 0 && parsed(data.join("\n")) !== undefined)
        for (const event of dispatched()) controller.enqueue(event);
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
