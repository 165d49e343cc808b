// Sends spans to an OpenTelemetry collector as OTLP over HTTP in JSON, in batches. What waits is bounded
// (I9): while the collector is away the newest spans beyond the bound are dropped and counted, and no work
// waits.
// The form: github.com/open-telemetry/opentelemetry-proto, docs/specification.md, "OTLP/HTTP".
import { version, type Clock, type Log } from "@parley/protocol";

export interface Span {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits. */
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: keyof typeof kinds;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: { readonly [key: string]: string | number | boolean | readonly string[] | undefined };
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  /** Why it failed; absent when it did not. */
  readonly error?: string;
}

export interface SpanExporterOptions {
  readonly endpoint: string;
  readonly headers: { readonly [name: string]: string };
  /** Attributes of this process. */
  readonly resource: Span["attributes"];
  readonly count: (result: "sent" | "dropped", spans: number) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface SpanExporter {
  add(span: Span): void;
  /** Tries once more to send what waits, for two seconds at most; the rest is dropped. */
  stop(): Promise<void>;
}

/** Numbers of SpanKind in trace.proto. */
const kinds = { internal: 1, server: 2, client: 3, producer: 4, consumer: 5 };
const statusError = 2;
const mostWaiting = 4_096;
const batchSpans = 256;
const gatherMs = 1_000;
const firstBackoffMs = 1_000;
const longestBackoffMs = 60_000;
const answerWithinMs = 10_000;
const stopWithinMs = 2_000;

export function spanExporter({
  endpoint,
  headers,
  resource,
  count,
  clock,
  log,
}: SpanExporterOptions): SpanExporter {
  const url = tracesUrl(endpoint);
  const waiting: Span[] = [];
  let timer: { cancel(): void } | null = null;
  let sending: Promise<void> | null = null;
  let backoffMs = 0;
  let stopped = false;

  function schedule(afterMs: number): void {
    if (timer !== null || stopped) return;
    timer = clock.after(afterMs, () => {
      timer = null;
      sending = send(answerWithinMs).finally(() => {
        sending = null;
        if (waiting.length > 0)
          schedule(backoffMs > 0 ? backoffMs : waiting.length >= batchSpans ? 0 : gatherMs);
      });
    });
  }

  /** One batch. What the collector refuses for good is dropped; in other trouble it is sent again. */
  async function send(withinMs: number): Promise<void> {
    const batch = waiting.slice(0, batchSpans);
    if (batch.length === 0) return;
    const trouble = await post(batch, withinMs);
    if (trouble !== null && trouble.again) {
      if (backoffMs === 0)
        log.warn({ url: shownUrl(url), reason: trouble.reason }, "traces cannot be sent; it is tried again");
      backoffMs = Math.min(longestBackoffMs, Math.max(firstBackoffMs, backoffMs * 2));
      return;
    }
    waiting.splice(0, batch.length);
    if (backoffMs > 0) log.info({ url: shownUrl(url) }, "traces are sent again");
    backoffMs = 0;
    if (trouble === null) return;
    count("dropped", batch.length);
    log.warn(
      { url: shownUrl(url), reason: trouble.reason, spans: batch.length },
      "the collector refused traces",
    );
  }

  async function post(
    batch: readonly Span[],
    withinMs: number,
  ): Promise<{ readonly reason: string; readonly again: boolean } | null> {
    const ending = new AbortController();
    const limit = clock.after(withinMs, () => ending.abort());
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(exportRequest(batch, resource)),
        redirect: "manual",
        signal: ending.signal,
      });
      if (response.ok) {
        const rejected = Math.min(batch.length, rejectedIn(await response.text()));
        count("sent", batch.length - rejected);
        if (rejected > 0) count("dropped", rejected);
        return null;
      }
      await response.body?.cancel();
      const again = [408, 429, 502, 503, 504].includes(response.status);
      return { reason: `it answered with status ${response.status}`, again };
    } catch (error) {
      // The collector is away or slow; its spans are worth no more than a line of the log.
      const { cause } = error as { readonly cause?: { readonly code?: unknown } };
      return {
        reason: String(cause?.code ?? (ending.signal.aborted ? "no answer in time" : error)),
        again: true,
      };
    } finally {
      limit.cancel();
    }
  }

  return {
    add(span) {
      if (stopped || waiting.length >= mostWaiting) {
        count("dropped", 1);
        return;
      }
      waiting.push(span);
      schedule(gatherMs);
    },
    async stop() {
      stopped = true;
      timer?.cancel();
      const untilMs = clock.mono() + stopWithinMs;
      let isOver = false;
      const over = new Promise<void>((resolve) => {
        clock.after(stopWithinMs, () => {
          isOver = true;
          resolve();
        });
      });
      await Promise.race([sending ?? Promise.resolve(), over]);
      while (waiting.length > 0 && !isOver && clock.mono() < untilMs) {
        const before = waiting.length;
        await send(Math.max(1, untilMs - clock.mono()));
        if (waiting.length === before) break;
      }
      if (waiting.length > 0) count("dropped", waiting.splice(0).length);
    },
  };
}

/** Collectors listen at /v1/traces; an address with another path is taken as it is. */
function tracesUrl(endpoint: string): string {
  const url = new URL(endpoint);
  if (url.pathname === "/") url.pathname = "/v1/traces";
  return url.href;
}

function shownUrl(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}

function rejectedIn(body: string): number {
  try {
    const { partialSuccess } = JSON.parse(body) as {
      readonly partialSuccess?: { readonly rejectedSpans?: string | number } | null;
    };
    const rejected = Number(partialSuccess?.rejectedSpans ?? 0);
    return Number.isInteger(rejected) && rejected > 0 ? rejected : 0;
  } catch {
    // An empty answer, or none in JSON: all were taken.
    return 0;
  }
}

function exportRequest(spans: readonly Span[], resource: Span["attributes"]): object {
  return {
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: "parley", version }, spans: spans.map(spanOf) }],
      },
    ],
  };
}

function spanOf({
  traceId,
  spanId,
  parentSpanId,
  name,
  kind,
  startMs,
  endMs,
  attributes,
  links,
  error,
}: Span): object {
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanoseconds(startMs),
    endTimeUnixNano: nanoseconds(Math.max(startMs, endMs)),
    attributes: attributesOf(attributes),
    ...(links === undefined || links.length === 0 ? {} : { links }),
    status: error === undefined ? {} : { code: statusError, message: error },
  };
}

/** 64-bit integers are decimal strings in OTLP's JSON. */
function nanoseconds(ms: number): string {
  return `${Math.max(0, Math.round(ms))}000000`;
}

function attributesOf(attributes: Span["attributes"]): object[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: valueOf(value) }],
  );
}

function valueOf(value: NonNullable<Span["attributes"][string]>): object {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value === "number")
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  return { arrayValue: { values: value.map((each) => ({ stringValue: each })) } };
}
