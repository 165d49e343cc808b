// Pages fetched from servers on loopback and read in a process: kinds, limits, the cache, and processes
// killed.
import { gzipSync } from "node:zlib";
import { isFault, systemClock, type FaultCode } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterAll, describe, expect, it } from "vitest";
import { dialler } from "../src/dialler.ts";
import {
  pageFetcher,
  type FetchPageOptions,
  type PageFetcher,
  type PageFetcherOptions,
} from "../src/fetch-page.ts";
import { pageReader } from "../src/page-reader.ts";
import type { PageTask } from "../src/page-worker.ts";
import { afterTest, site, testDialler, type Site } from "./site.ts";

const never = new AbortController().signal;

/** A page that keeps readability busy: deep, and wide at each depth. */
const busy = `<body>${`${"<div>".repeat(150)}${"<p>word, word, word</p>".repeat(60)}${"</div>".repeat(150)}`.repeat(100)}</body>`;

interface Shown {
  readonly body: string | Buffer;
  readonly type?: string;
  readonly status?: number;
  readonly headers?: Record<string, string>;
}

interface Stage extends PageFetcher {
  readonly server: Site;
  readonly fetch: (
    path: string,
    options?: FetchPageOptions,
    signal?: AbortSignal,
  ) => ReturnType<PageFetcher["fetchPage"]>;
}

/** A busy machine must not fail a test that would pass. */
const patient = {
  clock: systemClock(),
  read: { readMs: { html: 60_000, text: 60_000, json: 60_000, pdf: 60_000 } },
};

/** A server that shows these pages, each under its path. */
const shows = (shown: Readonly<Record<string, Shown>>): Promise<Site> =>
  site((request, response) => {
    const {
      body,
      type = "text/html",
      status = 200,
      headers = {},
    } = shown[request.url ?? ""] ?? { body: "", status: 404 };
    response.writeHead(status, { "content-type": type, ...headers }).end(body);
  });

/** With a fetcher of its own, and so a process of its own. */
async function stage(
  shown: Readonly<Record<string, Shown>>,
  options: Partial<PageFetcherOptions> = {},
): Promise<Stage> {
  const server = await shows(shown);
  const fetcher = pageFetcher({
    dialler: testDialler([`open.test:${server.port}`]),
    ...patient,
    ...options,
  });
  afterTest(() => fetcher.close());
  return staged(server, fetcher);
}

const staged = (server: Site, fetcher: PageFetcher): Stage => ({
  ...fetcher,
  server,
  fetch: (path, asked = {}, signal = never) =>
    fetcher.fetchPage(server.at("open.test") + path, asked, signal),
});

async function faultOf(promise: Promise<unknown>): Promise<[code: FaultCode | "none", message: string]> {
  try {
    await promise;
    return ["none", ""];
  } catch (error) {
    if (!isFault(error)) throw error;
    return [error.code, error.message];
  }
}

/** A PDF with a page for each of these words, as small as the format allows. */
function pdf(...words: readonly string[]): Buffer {
  const pages = words.flatMap((each, n) => {
    const stream = `BT /F1 12 Tf 72 720 Td (${each}) Tj ET`;
    return [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${6 + 2 * n} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
      `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    ];
  });
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${words.map((_, n) => `${5 + 2 * n} 0 R`).join(" ")}] /Count ${words.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    "<< /Title (A report) /Author (Ada Example) >>",
    ...pages,
  ];
  let file = "%PDF-1.4\n";
  const places = objects.map((object, at) => {
    const place = file.length;
    file += `${at + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const table = file.length;
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n`;
  for (const place of places) file += `${String(place).padStart(10, "0")} 00000 n \n`;
  return Buffer.from(
    `${file}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R /Info 4 0 R >>\nstartxref\n${table}\n%%EOF\n`,
  );
}

describe("a fetched page", () => {
  // One process reads for all of these: to start it takes most of their time.
  const web = dialler({
    clock: systemClock(),
    rules: { allowedHosts: ["open.test"] },
    refused: () => undefined,
    resolve: async () => ["127.0.0.1"],
  });
  // Two servers may get one port after another: what the first one showed must not be kept for the second.
  const reading = pageFetcher({ dialler: web, ...patient, cache: { entries: 0 } });
  afterAll(async () => {
    await reading.close();
    await web.close();
  });
  const shared = async (shown: Readonly<Record<string, Shown>>): Promise<Stage> =>
    staged(await shows(shown), reading);

  it("is read by its kind", async () => {
    const { fetch, server, processes } = await shared({
      "/html": {
        body: gzipSync("<title>T</title><p>caf\u00e9 <b>bold</b>"),
        headers: { "content-encoding": "gzip" },
      },
      "/text": { body: Buffer.from("caf\u00e9 <b>", "latin1"), type: "text/plain; charset=latin1" },
      "/md": { body: "# Title\n\n\n\nwords", type: "text/markdown" },
      "/json": { body: '{"a":[1,2]}', type: "application/ld+json" },
      "/lines": { body: '{"a":1}\n{"a":2}', type: "application/json" },
      "/feed": { body: "<rss><title>x</title></rss>", type: "application/rss+xml" },
      "/pdf": { body: pdf("Hello from a PDF"), type: "application/pdf" },
      "/pages": { body: pdf("one", "", "two", "three"), type: "application/x-pdf" },
      "/untitled": {
        body: Buffer.from(
          pdf("words").toString().replace("(A report)", "(  )      ").replace("/Author", "/Writer"),
        ),
        type: "application/pdf",
      },
    });
    expect(await fetch("/html")).toEqual({
      url: `${server.at("open.test")}/html`,
      status: 200,
      kind: "html",
      contentType: "text/html",
      title: "T",
      byline: null,
      text: "café **bold**",
      truncated: false,
      bytes: 36,
      cached: false,
    });
    const texts = ["/text", "/md", "/json", "/lines", "/feed"].map(async (path) => (await fetch(path)).text);
    expect(await Promise.all(texts)).toEqual([
      "café <b>",
      "# Title\n\nwords",
      '{\n  "a": [\n    1,\n    2\n  ]\n}',
      '{"a":1}\n{"a":2}',
      "<rss><title>x</title></rss>",
    ]);
    expect(await fetch("/pdf")).toMatchObject({
      kind: "pdf",
      title: "A report",
      byline: "Ada Example",
      text: "Hello from a PDF",
      truncated: false,
    });
    expect(await fetch("/pages")).toMatchObject({ text: "one\n\ntwo\n\nthree", truncated: false });
    // Pages behind the limit are not read.
    expect(await fetch("/pages", { textChars: 4 })).toMatchObject({ text: "one\n", truncated: true });
    expect(await fetch("/pages", { textChars: 2 })).toMatchObject({ text: "on", truncated: true });
    expect(await fetch("/untitled")).toMatchObject({ title: null, byline: null, text: "words" });
    // All of them by one process.
    expect(processes()).toBe(1);
  });

  it("is the one that the last redirect names", async () => {
    const { fetch, server } = await shared({
      "/from": { body: "", status: 302, headers: { location: "/to/page" } },
      "/to/page": { body: '<p><a href="x">words</a>' },
    });
    expect(await fetch("/from")).toMatchObject({
      url: `${server.at("open.test")}/to/page`,
      text: `[words](${server.at("open.test")}/to/x)`,
    });
  });

  it("is cut at the limits of characters and of bytes, and says so", async () => {
    const { fetch } = await shared({
      "/long": { body: "abcdefghi👩", type: "text/plain" },
      "/large": {
        body: gzipSync("words ".repeat(500_000)),
        type: "text/plain",
        headers: { "content-encoding": "gzip" },
      },
      "/json": { body: JSON.stringify("x".repeat(6_000_000)), type: "application/json" },
      "/pdf": { body: Buffer.alloc(21_000_000), type: "application/pdf" },
    });
    expect(await fetch("/long", { textChars: 10 })).toMatchObject({ text: "abcdefghi", truncated: true });
    expect(await fetch("/long", { textChars: 11 })).toMatchObject({ text: "abcdefghi👩", truncated: false });
    const large = await fetch("/large", { textChars: 1_000_000 });
    expect([large.bytes, large.truncated, large.text.length]).toEqual([2_000_000, true, 1_000_000]);
    expect((await faultOf(fetch("/json")))[1]).toBe("open.test answers with more than 5 MB");
    expect((await faultOf(fetch("/pdf")))[1]).toBe("open.test answers with more than 20 MB");
  });

  it("is a fault by what the server says", async () => {
    const { fetch } = await shared({
      "/401": { body: "", status: 401 },
      "/403": { body: "", status: 403 },
      "/451": { body: "", status: 451 },
      "/429": { body: "", status: 429, headers: { "retry-after": "7" } },
      "/418": { body: "", status: 418 },
      "/503": { body: "", status: 503 },
      "/304": { body: "", status: 304 },
      "/png": { body: "x", type: "image/png" },
      "/zip": { body: "x", type: "application/zip" },
      "/broken.pdf": { body: "%PDF-1.4 broken", type: "application/pdf" },
      "/deep": { body: "<div>".repeat(20_000) },
    });
    const expected: readonly (readonly [string, FaultCode, string])[] = [
      ["/gone", "missing", "open.test answered 404"],
      ["/401", "denied", "open.test answered 401"],
      ["/403", "denied", "open.test answered 403"],
      ["/451", "denied", "open.test answered 451"],
      ["/429", "rate_limited", "open.test answered 429"],
      ["/418", "invalid", "open.test answered 418"],
      ["/503", "unavailable", "open.test answered 503"],
      ["/304", "invalid", "open.test answered 304"],
      ["/png", "unsupported", "open.test answers with image/png, which is no text to read"],
      ["/zip", "unsupported", "open.test answers with application/zip, which is no text to read"],
      ["/broken.pdf", "unsupported", "open.test: its PDF cannot be read"],
      ["/deep", "unsupported", "open.test: its HTML is nested more than 200 deep"],
    ];
    for (const [path, ...fault] of expected) expect(await faultOf(fetch(path)), path).toEqual(fault);
    await expect(fetch("/429")).rejects.toMatchObject({ retryAfterMs: 7_000 });
  });

  it("is of the kind that its type says, asked for as what a reader can use, and read no further than that is worth", async () => {
    const long = "words ".repeat(50_000);
    const types: readonly (readonly [string, string])[] = [
      ["application/xhtml+xml", "html"],
      ["TEXT/HTML; charset=utf-8", "html"],
      ["", "html"],
      ["text/json", "json"],
      ["application/activity+json", "json"],
      ["application/xml", "text"],
      ["application/atom+xml", "text"],
      ["application/yaml", "text"],
      ["application/x-yaml", "text"],
      ["application/toml", "text"],
      ["application/javascript", "text"],
      ["application/x-ndjson", "text"],
      ["text/x-anything", "text"],
      [
        "application/octet-stream",
        "open.test answers with application/octet-stream, which is no text to read",
      ],
      ["application/jsonp", "open.test answers with application/jsonp, which is no text to read"],
      ["image/svg+xml", "open.test answers with image/svg+xml, which is no text to read"],
      ["video/mp4;codecs=x", "open.test answers with video/mp4, which is no text to read"],
    ];
    const { fetch, server } = await stage({
      ...Object.fromEntries(
        types.map(([type], n) => [`/${n}`, { body: "1", type, headers: { "content-type": type } }]),
      ),
      "/refusal": { body: long, type: "text/plain", status: 500 },
      "/most": { body: "x".repeat(1_000_001), type: "text/plain" },
      "/busy": { body: " \n", type: "text/plain", status: 429, headers: { "retry-after": "7200" } },
      "/soon": { body: "", status: 429, headers: { "retry-after": "soon" } },
      "/410": { body: "", status: 410 },
      "/407": { body: "", status: 407 },
      "/404.png": { body: "x", type: "image/png", status: 404 },
      "/500.pdf": { body: "x", type: "application/pdf", status: 500 },
    });
    const found: unknown[] = [];
    for (const [n, [type]] of types.entries())
      found.push([
        type,
        await fetch(`/${n}`).then(
          ({ kind }) => kind,
          ({ message }: Error) => message,
        ),
      ]);
    expect(found).toEqual(types);
    server.seen.length = 0;
    const refusal = await fetch("/refusal", { textChars: 1_000_000 });
    expect([refusal.status, refusal.bytes, refusal.truncated]).toEqual([500, 200_000, true]);
    expect(server.seen[0]?.headers.accept).toBe(
      "text/html,application/xhtml+xml,text/markdown;q=0.9,text/plain;q=0.8,application/json;q=0.8,application/pdf;q=0.7,*/*;q=0.1",
    );
    const most = await fetch("/most", { textChars: 9_000_000 });
    expect([most.text.length, most.truncated]).toEqual([1_000_000, true]);
    const plain = await fetch("/most");
    expect([plain.text.length, plain.truncated, plain.cached]).toEqual([200_000, true, false]);
    // Other limits may bring another page.
    expect((await fetch("/most", { limits: { bodyBytes: 9 } })).text).toBe("x".repeat(9));
    expect((await fetch("/most", { limits: { bodyBytes: 9 } })).cached).toBe(true);
    await expect(fetch("/busy")).rejects.toMatchObject({ code: "rate_limited", retryAfterMs: 3_600_000 });
    await expect(fetch("/soon")).rejects.toMatchObject({ code: "rate_limited", retryAfterMs: undefined });
    const codes = ["/410", "/407", "/404.png", "/500.pdf"].map(async (path) => faultOf(fetch(path)));
    expect(await Promise.all(codes)).toEqual([
      ["missing", "open.test answered 410"],
      ["invalid", "open.test answered 407"],
      ["missing", "open.test answered 404"],
      ["unavailable", "open.test answered 500"],
    ]);
  });

  it("that is not there is what the server says to it, with its status, and is asked for again", async () => {
    const { fetch, server } = await stage({
      "/moved": { body: "<title>Gone</title><p>It moved to <a href='/b'>b</a>.", status: 404 },
      "/busy": { body: '{"error":"too many"}', type: "application/json", status: 429 },
      "/deep": { body: "<div>".repeat(20_000), status: 500 },
    });
    for (let time = 0; time < 2; time += 1)
      expect(await fetch("/moved")).toMatchObject({
        status: 404,
        cached: false,
        text: expect.stringContaining("moved to"),
      });
    expect(await fetch("/busy")).toMatchObject({ status: 429, text: expect.stringContaining("too many") });
    expect(await faultOf(fetch("/deep"))).toEqual(["unavailable", "open.test answered 500"]);
    expect(server.seen.map(({ url }) => url)).toEqual(["/moved", "/moved", "/busy", "/deep"]);
  });

  it("is kept for fifteen minutes by address and options", async () => {
    const clock = virtualClock();
    const { fetch, server } = await stage(
      { "/a": { body: "words", type: "text/plain" }, "/b?x": { body: "b", type: "text/plain" } },
      { clock },
    );
    expect((await fetch("/a")).cached).toBe(false);
    expect(await fetch("/a#part")).toMatchObject({ cached: true, text: "words" });
    await fetch("/a", { textChars: 3 });
    await fetch("/b?x");
    expect(server.seen).toHaveLength(3);
    expect((await fetch("/a", { fresh: true })).cached).toBe(false);
    await clock.advance(15 * 60_000);
    expect((await fetch("/a")).cached).toBe(false);
    await faultOf(fetch("/gone"));
    await faultOf(fetch("/gone"));
    expect(server.seen).toHaveLength(7);
  });
});

describe("the process that reads", () => {
  const quick = "<p>quick words";

  it("is killed on a busy page, and the next page is read by another", async () => {
    const { fetch, processes } = await stage(
      { "/busy": { body: busy }, "/quick": { body: "quick words", type: "text/plain" } },
      { read: { readMs: { html: 300, text: 60_000, json: 60_000, pdf: 60_000 } } },
    );
    expect(await faultOf(fetch("/busy"))).toEqual([
      "unsupported",
      "open.test: its page takes longer than 0.3 s to be read",
    ]);
    expect(processes()).toBe(0);
    expect((await fetch("/quick")).text).toBe("quick words");
  });

  it("is killed when the caller stops, and serves those who wait after that", async () => {
    const reader = pageReader({ clock: systemClock() });
    afterTest(() => reader.close());
    const task = (source: string): PageTask => ({
      kind: "html",
      bytes: new TextEncoder().encode(source),
      contentType: "text/html",
      url: "https://open.test/",
      textChars: 1_000,
    });
    await reader.read(task(quick), never);
    const stop = new AbortController();
    const stopped = faultOf(reader.read(task(busy), stop.signal));
    const next = reader.read(task(quick), never);
    // The idle process has the page by now.
    setImmediate(() => stop.abort());
    expect(await stopped).toEqual(["aborted", "reading the page was stopped"]);
    expect((await next).text).toBe("quick words");
    expect(reader.processes()).toBe(1);
  });

  it("that runs out of memory ends alone", async () => {
    const { fetch, processes } = await stage(
      {
        "/heavy": { body: `[${"{},".repeat(1_600_000)}{}]`, type: "application/json" },
        "/quick": { body: "quick words", type: "text/plain" },
      },
      { read: { heapMb: 64, readMs: { html: 60_000, text: 60_000, json: 60_000, pdf: 60_000 } } },
    );
    expect((await faultOf(fetch("/heavy")))[1]).toBe("open.test: its page takes too much memory to be read");
    expect(processes()).toBe(0);
    expect((await fetch("/quick")).text).toBe("quick words");
  });

  it("ends when it is idle", async () => {
    const clock = virtualClock();
    const { fetch, processes } = await stage(
      { "/quick": { body: "quick words", type: "text/plain" } },
      { clock },
    );
    expect(processes()).toBe(0);
    await fetch("/quick");
    expect(processes()).toBe(1);
    expect(clock.armed()).toBe(1);
    await clock.advance(30_000);
    while (processes() > 0) await new Promise((next) => setImmediate(next));
    expect(clock.armed()).toBe(0);
    expect((await fetch("/quick", { fresh: true })).text).toBe("quick words");
    // Each page begins the time anew.
    for (let page = 0; page < 3; page += 1) {
      await clock.advance(29_999);
      await fetch("/quick", { fresh: true });
      expect([processes(), clock.armed()]).toEqual([1, 1]);
    }
  });

  it("has one page before it and so many behind that; more than those are told to come later", async () => {
    const reader = pageReader({ clock: systemClock() });
    afterTest(() => reader.close());
    const stop = new AbortController();
    stop.abort();
    const task: PageTask = {
      kind: "text",
      bytes: new TextEncoder().encode("words"),
      contentType: "text/plain",
      url: "https://open.test/",
      textChars: 1_000,
    };
    const asked = Array.from({ length: 33 }, () => faultOf(reader.read(task, stop.signal)));
    const told = await Promise.all(asked);
    expect(told.slice(0, 32)).toEqual(
      Array.from({ length: 32 }, () => ["aborted", "reading the page was stopped"]),
    );
    expect(told[32]).toEqual(["rate_limited", "too many pages wait to be read"]);
    // Nobody waits any more, and no process was started for those who had gone.
    expect(reader.processes()).toBe(0);
    expect((await reader.read(task, never)).text).toBe("words");
  });

  it("leaves no timer when it is closed", async () => {
    const clock = virtualClock();
    const { fetch, processes, close } = await stage(
      { "/quick": { body: "quick words", type: "text/plain" } },
      { clock },
    );
    await fetch("/quick");
    await close();
    expect([processes(), clock.armed()]).toEqual([0, 0]);
  });
});
