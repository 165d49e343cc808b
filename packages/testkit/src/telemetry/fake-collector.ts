// Plays an OpenTelemetry collector: takes OTLP over HTTP in JSON at /v1/traces, checks its form, and keeps
// the spans.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: { readonly [key: string]: unknown };
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly failed: boolean;
}

interface FakeCollector {
  readonly url: string;
  /** In the order in which they came; the same span id twice is the same span. */
  spans(): readonly CollectedSpan[];
  /** Headers of every request. */
  readonly requests: readonly { readonly [name: string]: string | string[] | undefined }[];
  /** What was not OTLP, in words. */
  readonly mistakes: readonly string[];
  /** All bodies that came. */
  readonly bodies: readonly string[];
  /** Answers with this status from now on; 200 takes spans again. */
  answers(status: number): void;
  close(): Promise<void>;
}

interface SentSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: SentValue }[];
  readonly links?: CollectedSpan["links"];
  readonly status?: { readonly code?: number };
}

interface SentValue {
  readonly stringValue?: string;
  readonly intValue?: string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values: readonly SentValue[] };
}

interface SentTraces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly SentSpan[] }[];
  }[];
}

export async function fakeCollector(): Promise<FakeCollector> {
  const taken = new Map<string, CollectedSpan>();
  const requests: FakeCollector["requests"][number][] = [];
  const mistakes: string[] = [];
  const bodies: string[] = [];
  let status = 200;
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      requests.push(request.headers);
      bodies.push(body);
      if (request.method !== "POST" || request.url !== "/v1/traces")
        mistakes.push(`${request.method} ${request.url}`);
      if (status === 200)
        for (const { scopeSpans } of (JSON.parse(body) as SentTraces).resourceSpans)
          for (const { spans } of scopeSpans) for (const span of spans) take(span);
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  function take(span: SentSpan): void {
    if (!/^[0-9a-f]{32}$/.test(span.traceId)) mistakes.push(`trace id ${span.traceId}`);
    for (const id of [span.spanId, span.parentSpanId])
      if (id !== undefined && !/^[0-9a-f]{16}$/.test(id)) mistakes.push(`span id ${id}`);
    for (const time of [span.startTimeUnixNano, span.endTimeUnixNano])
      if (!/^\d+$/.test(time)) mistakes.push(`time ${String(time)}`);
    if (BigInt(span.startTimeUnixNano) > BigInt(span.endTimeUnixNano))
      mistakes.push(`${span.name} ends first`);
    taken.set(span.spanId, {
      traceId: span.traceId,
      spanId: span.spanId,
      parentSpanId: span.parentSpanId ?? null,
      name: span.name,
      kind: span.kind,
      startMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
      endMs: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
      attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, valueIn(value)])),
      links: span.links ?? [],
      failed: span.status?.code === 2,
    });
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans: () => [...taken.values()],
    requests,
    mistakes,
    bodies,
    answers(next) {
      status = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function valueIn({ stringValue, intValue, doubleValue, boolValue, arrayValue }: SentValue): unknown {
  if (arrayValue !== undefined) return arrayValue.values.map(valueIn);
  return stringValue ?? (intValue === undefined ? (doubleValue ?? boolValue) : Number(intValue));
}
