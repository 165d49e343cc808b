// Runs one call of a language model as our stream of events: over our own wire where a driver has one, else
// by its SDK, which also reads what the wire does not (whole answers, other addresses). Whatever a server
// does, it keeps three promises: it ends with exactly one `end` event; a stream without its terminal event is
// `torn` and never an answer; tool calls appear only after a whole answer.
import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import type { Model, ModelError, ModelEvent, ModelRequest } from "./model.ts";
import { chargedBytes } from "./sdk/charged-bytes.ts";
import { classify } from "./sdk/classify.ts";
import { collectAnswer } from "./sdk/collect-answer.ts";
import { timeouts } from "./sdk/timeouts.ts";
import { defaultTimers, type ModelTimers, type ProviderOptions } from "./provider.ts";
import { signerOf } from "./sdk/call-options.ts";
import type { MendEvents } from "./sdk/events.ts";
import { partsOfWhole, streamed } from "./sdk/whole-answer.ts";
import { WholeAnswer, watchedFetch, watching, type WireWatch } from "./sdk/wire.ts";
import { Elsewhere, wireReader, type PartReader, type Wire } from "./wire/wire-reader.ts";

/** A provider's own part: how to create its SDK, and how to write a request for it. */
export interface Driver {
  /** The name under which the SDK keeps this provider's options and metadata. */
  readonly provider: string;
  /** Loads the SDK; called once. Its requests go through `watched`. */
  open(watched: typeof fetch): Promise<LanguageModelV4>;
  write(request: ModelRequest): Promise<LanguageModelV4CallOptions>;
  /** Absent: every request goes through the SDK. */
  readonly wire?: Wire | undefined;
  /**
   * Timers that differ from the defaults, for example because a local server loads its model before it
   * answers.
   */
  readonly timers?: Partial<ModelTimers>;
  /** Form of its stream: events of `data:` lines, or one JSON object per line. Default `events`. */
  readonly lines?: "events" | "json";
  /** Repairs for its servers' events; see events.ts. */
  readonly mendEvents?: MendEvents;
  /**
   * True when `raw` says that it ended the answer for a reason of its own that is neither the end nor a
   * limit.
   */
  readonly wasCut?: (raw: string) => boolean;
  /** True when `raw` says that it stopped only to be asked to go on from its own words. */
  readonly pauses?: (raw: string) => boolean;
}

export function sdkModel(options: ProviderOptions, driver: Driver): Model {
  const { id, facts } = options;
  let opened: Promise<LanguageModelV4> | null = null;
  /** When loading fails, the next call tries again. */
  const open = (): Promise<LanguageModelV4> => {
    opened ??= driver.open(watchedFetch).catch((error: unknown) => {
      opened = null;
      throw error;
    });
    return opened;
  };
  return {
    id,
    contextWindow: facts.contextWindow,
    maxTokens: facts.maxTokens,
    vision: facts.input.includes("image"),
    reasoning: facts.reasoning,
    thinking: facts.thinking,
    priced: facts.cost !== undefined,
    stream: (request, signal) => call(request, signal, options, { ...driver, open }),
  };
}

type OpenDriver = Omit<Driver, "open"> & { open(): Promise<LanguageModelV4> };

/** A provider that pauses without end must not hold a turn. */
const mostPauses = 8;

async function* call(
  request: ModelRequest,
  signal: AbortSignal,
  options: ProviderOptions,
  driver: OpenDriver,
): AsyncGenerator<ModelEvent> {
  const { clock, facts, log } = options;
  const halt = haltable(signal);
  let sent = "";
  const answer = collectAnswer({
    provider: driver.provider,
    signer: signerOf(options),
    price: facts.cost,
    contextWindow: facts.contextWindow,
    requestBytes: () => chargedBytes(sent),
    wasCut: driver.wasCut,
  });
  let answering = false;
  const wait = timeouts({ ...defaultTimers, ...driver.timers, ...options.timers }, clock, (stage, waitedMs) =>
    halt.stop({ kind: "timeout", message: `no ${stage} within ${waitedMs / 1000} s` }),
  );
  let reader: PartReader | undefined;
  try {
    if (signal.aborted) return yield answer.failed(stopped);
    const watch: WireWatch = {
      headers() {
        answering = true;
        wait.headers();
      },
      progress: wait.progress,
      sent: (body) => (sent = body),
      lines: driver.lines ?? "events",
      mendEvents: driver.mendEvents,
    };
    let asked = request;
    for (let pauses = 0; ;) {
      const written = await driver.write(asked);
      reader = await opened(driver, written, watch, halt);
      let isPaused = false;
      while (!isPaused) {
        wait.reading(true);
        const next = await halt.orStopped(reader.read());
        wait.reading(false);
        // The SDK marks a broken answer as interrupted; for a stream that just stops it says nothing.
        if (next.done === true || (next.value.type === "finish" && brokenOff(next.value))) {
          return yield answer.failed({ kind: "torn", message: "the stream ended before the answer did" });
        }
        const part = next.value;
        if (part.type === "error") return yield answer.failed(classify(part.error, context()));
        if (part.type === "finish") {
          isPaused = pauses < mostPauses && driver.pauses?.(part.finishReason.raw ?? "") === true;
          if (!isPaused) {
            const events = answer.finished(part);
            const end = events.at(-1);
            if (end?.type === "end" && end.usage.estimated === true)
              log.warn({}, "the token counts were missing or cannot be true: estimated");
            return yield* events;
          }
          pauses += 1;
          asked = {
            ...request,
            messages: [...request.messages, { role: "assistant", content: answer.paused(part) }],
          };
        }
        const event = answer.add(part);
        if (event !== undefined) {
          wait.firstToken();
          if (event.type !== "started") yield event;
        }
      }
    }
  } catch (error) {
    const failure = halt.reason() ?? classify(error, context());
    if (failure.kind !== "aborted") log.debug({ err: error, kind: failure.kind }, "a model call failed");
    yield answer.failed(failure);
  } finally {
    wait.end();
    halt.end();
    // Not awaited, because cancelling a body that hangs may hang too.
    reader?.cancel().catch(() => {});
  }

  function context(): { nowMs: number; answering: boolean; secret: string | undefined } {
    return { nowMs: clock.now(), answering, secret: options.apiKey };
  }
}

const stopped: ModelError = { kind: "aborted", message: "stopped" };

function brokenOff(finish: Extract<LanguageModelV4StreamPart, { type: "finish" }>): boolean {
  const { unified } = finish.finishReason;
  return unified === "interrupted" || unified === "error";
}

/** Made once, because an exception with its stack for every call costs more than what it says. */
const over = new Error("the call is over");

/** A reader of the answer's parts, once the answer began. */
async function opened(
  { wire, open }: OpenDriver,
  written: LanguageModelV4CallOptions,
  watch: WireWatch,
  halt: Halt,
): Promise<PartReader> {
  if (wire !== undefined) {
    const letter = await wire.letter(written, open);
    watch.sent?.(letter.body);
    const reader = wireReader(letter, wire.parts(), watch);
    halt.onStop(() => void reader.cancel());
    try {
      await halt.orStopped(reader.begun);
      return reader;
    } catch (error) {
      if (error instanceof WholeAnswer) {
        const whole = await partsOfWhole(await open(), written, watch, error.body);
        return ReadableStream.from(whole).getReader();
      }
      if (!(error instanceof Elsewhere)) throw error;
    }
  }
  const model = await open();
  const stream = await halt.orStopped(
    watching(watch, () => streamed(model, { ...written, abortSignal: halt.signal() }, watch)),
  );
  return stream.getReader();
}

interface Halt {
  /** For an SDK; made when first asked for. */
  signal(): AbortSignal;
  onStop(drop: () => void): void;
  stop(why: ModelError): void;
  reason(): ModelError | undefined;
  orStopped<T>(work: Promise<T> | PromiseLike<T>): Promise<T>;
  end(): void;
}

/** Drops the request when the caller's signal or a timer fires, and stops waiting for it at once. */
function haltable(signal: AbortSignal): Halt {
  let controller: AbortController | null = null;
  let drop: () => void = () => {};
  let why: ModelError | undefined;
  let reject: (reason: unknown) => void = () => {};
  const halted = new Promise<never>((_, refuse) => {
    reject = refuse;
  });
  halted.catch(() => {
    // A waiting caller learns it through orStopped; without one it is no failure.
  });
  const stop = (reason: ModelError): void => {
    why ??= reason;
    reject(new Error(reason.message));
    controller?.abort();
    drop();
  };
  const onAbort = (): void => stop(stopped);
  signal.addEventListener("abort", onAbort, { once: true });
  return {
    signal() {
      controller ??= new AbortController();
      if (why !== undefined) controller.abort();
      return controller.signal;
    },
    onStop(act) {
      drop = act;
      if (why !== undefined) act();
    },
    stop,
    reason: () => why,
    orStopped: (work) => Promise.race([work, halted]),
    end() {
      signal.removeEventListener("abort", onAbort);
      controller?.abort(over);
    },
  };
}
