// Reads the answer to one request as the SDKs' stream parts, without an SDK: each piece of the stream is
// parsed once, as it comes. It refuses what the HTTP layer under the SDKs refuses (sdk/wire.ts), with the
// same errors, and takes part in the same watch.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import type { Json, JsonObject } from "@parley/protocol";
import { eventReader, type EventReader } from "../sdk/events.ts";
import { isObject } from "../sdk/json.ts";
import {
  NotAStream,
  beginningOf,
  errorBodyChars,
  eventsIn,
  longestAnswerBytes,
  tooLarge,
  type WireWatch,
} from "../sdk/wire.ts";
import { post, type Head, type Letter, type Post } from "./post.ts";
import { Refused } from "./refused.ts";

type Part = LanguageModelV4StreamPart;

/** Turns the events of one answer into parts; made anew for each answer. */
export interface EventParts {
  event(event: JsonObject, hand: (part: Part) => void): void;
  /** The stream is over: what is still open, and the finish where the answer was whole. */
  end(hand: (part: Part) => void): void;
}

/** How a provider's API is spoken without its SDK. */
export interface Wire {
  /** `open` loads the SDK, for an API whose requests it writes. */
  letter(written: Written, open: () => Promise<LanguageModelV4>): Letter | Promise<Letter>;
  parts(): EventParts;
}

/** A request as call-options.ts writes it. */
type Written = LanguageModelV4CallOptions;

/** What a stream's own reader offers too. */
export type PartReader = Pick<ReadableStreamDefaultReader<Part>, "read" | "cancel">;

export interface WireReader extends PartReader {
  /** Resolves when a stream began; rejects with a refusal, a lost connection, or what is no stream. */
  readonly begun: Promise<void>;
}

/** The server answered with another address: an SDK's `fetch` goes there. */
export class Elsewhere extends Error {
  override readonly name = "Elsewhere";
}

/** A reader that is behind by so many parts lets the server wait. */
const mostWaiting = 512;
const fewWaiting = 64;
/** Of a refusal, only its beginning is read. */
const mostErrorBytes = 256 * 1024;
const over = { done: true, value: undefined } as const;

/** A read that waits for the server. */
interface Wants {
  resolve(found: Awaited<ReturnType<PartReader["read"]>>): void;
  reject(error: unknown): void;
}

export function wireReader(letter: Letter, parts: EventParts, watch: WireWatch): WireReader {
  const waiting: Part[] = [];
  let taken = 0;
  let wants: Wants | null = null;
  let isOver = false;
  let failure: { readonly error: unknown } | null = null;
  let isPaused = false;
  let begin: () => void = () => {};
  let refuse: (error: unknown) => void = () => {};
  const begun = new Promise<void>((resolve, reject) => {
    begin = resolve;
    refuse = reject;
  });
  begun.catch(() => {
    // The caller waits for it; a caller that went away no longer does.
  });

  const hand = (part: Part): void => {
    if (wants !== null) {
      const { resolve } = wants;
      wants = null;
      resolve({ done: false, value: part });
    } else waiting.push(part);
  };
  const finish = (): void => {
    begin();
    isOver = true;
    wants?.resolve(over);
    wants = null;
  };
  const fail = (error: unknown): void => {
    if (isOver) return;
    isOver = true;
    failure = { error };
    sent.drop();
    refuse(error);
    wants?.reject(error);
    wants = null;
  };
  /** Whatever a server sends must end as a value and never in the event loop. */
  const guarded = (work: () => void): void => {
    if (isOver) return;
    try {
      work();
    } catch (error) {
      fail(error);
    }
  };

  const events: EventReader = eventReader(watch.progress, watch.mendEvents, {
    event(event) {
      if (isOver) return;
      if (isObject(event)) parts.event(event, hand);
      else hand(noEvent(event));
    },
    // Some servers leave the connection open behind it.
    end() {
      if (isOver) return;
      parts.end(hand);
      finish();
      sent.settle();
    },
    broken: (text) => hand({ type: "error", error: new Error(`an event is no JSON: ${text}`) }),
  });
  const decoder = new TextDecoder();
  let head: Head = { status: 0, statusText: "", headers: {} };
  let form: "unknown" | "stream" | "json" | "page" | "refusal" = "unknown";
  let bytes = 0;
  let pieces: Buffer[] = [];

  const endWhole = (): void => {
    const text = decoder.decode(Buffer.concat(pieces));
    if (form === "refusal") throw new Refused(head, text);
    if (form === "page") throw new NotAStream(head.status, "a web page", text.slice(0, errorBodyChars));
    for (const event of eventsIn(text, head.status, watch) ?? []) events.event(event);
  };

  const sent: Post = post(letter, {
    headers: (response) =>
      guarded(() => {
        head = response;
        watch.headers();
        const { status } = head;
        if (status >= 300 && status < 400 && head.headers["location"] !== undefined) throw new Elsewhere();
        if (status < 200 || status >= 300) form = "refusal";
      }),
    data: (chunk) =>
      guarded(() => {
        bytes += chunk.length;
        if (form === "stream") events.add(decoder.decode(chunk, { stream: true }));
        else if (form !== "unknown") pieces.push(chunk);
        else {
          pieces.push(chunk);
          const begins = beginningOf(chunk);
          if (begins === "") return;
          form = begins === "<" ? "page" : begins === "{" || begins === "[" ? "json" : "stream";
          if (form === "stream") {
            begin();
            for (const piece of pieces) events.add(decoder.decode(piece, { stream: true }));
            pieces = [];
          }
        }
        if (form === "refusal" && bytes > mostErrorBytes) endWhole();
        if (bytes > longestAnswerBytes) throw tooLarge();
        if (waiting.length - taken > mostWaiting && !isPaused) {
          isPaused = true;
          sent.pause();
        }
      }),
    end: () =>
      guarded(() => {
        if (form === "stream") {
          events.add(decoder.decode());
          events.flush();
        } else if (form !== "unknown") endWhole();
        if (isOver) return;
        parts.end(hand);
        finish();
      }),
    lost: fail,
  });

  return {
    begun,
    read() {
      if (taken < waiting.length) {
        const value = waiting[taken] as Part;
        taken += 1;
        if (taken === waiting.length) {
          waiting.length = 0;
          taken = 0;
        }
        if (isPaused && waiting.length - taken < fewWaiting) {
          isPaused = false;
          sent.resume();
        }
        return Promise.resolve({ done: false, value });
      }
      if (failure !== null) return Promise.reject(failure.error as Error);
      if (isOver) return Promise.resolve(over);
      return new Promise((resolve, reject) => {
        wants = { resolve, reject };
      });
    },
    async cancel() {
      if (isOver) return;
      fail(new Error("the call is over"));
    },
  };
}

function noEvent(event: Json): Part {
  return { type: "error", error: new Error(`an event is no object: ${JSON.stringify(event)}`) };
}
