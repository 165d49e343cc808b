// Whole tables of what sounds, pictures and spoken texts become, and of what a drawing service is asked and
// answers, with both sides of every limit. After a wanted change: `vitest run --project @parley/media tables
// -u`.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { answerTable, laterAnswerTable, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { draw } from "../src/draw.ts";
import { oggOpusFile, opusPacketsIn } from "../src/ogg-pages.ts";
import { readablePicture, whyUnreadable } from "../src/picture-kind.ts";
import { atSentences } from "../src/sentences.ts";
import { samplesOf, wavOf } from "../src/wav.ts";

const packet = (length: number, byte = 7): Uint8Array => new Uint8Array(length).fill(byte);

test("packets of Opus come back from the file whole, in their order, over every edge of a page", () => {
  for (const count of [1, 49, 50, 51, 100, 101, 260]) {
    const packets = Array.from({ length: count }, (_, n) => packet(1 + ((n * 97) % 300), n % 256));
    const file = oggOpusFile(packets, { preSkip: 312, samples: count * 960 - 500 });
    expect(opusPacketsIn(file)?.map((each) => [...each])).toEqual(packets.map((each) => [...each]));
    // A page that is broken off takes what came before it along.
    expect(opusPacketsIn(Buffer.concat([file, Buffer.from("OggX")]))).toHaveLength(count);
  }
  for (const length of [254, 255, 256, 510, 511])
    expect(opusPacketsIn(oggOpusFile([packet(length)], { preSkip: 0, samples: 1 }))?.[0]).toHaveLength(
      length,
    );
  const pages = oggOpusFile([packet(3), packet(255)], { preSkip: 312, samples: 1_420 });
  expect(opusPacketsIn(pages.subarray(0, 47))).toBeNull();
  expect(opusPacketsIn(Buffer.from("RIFF"))).toBeNull();
  expect(pages.toString("hex")).toMatchSnapshot();
  expect(
    oggOpusFile(
      // One frame of 20 ms each.
      Array.from({ length: 51 }, () => Buffer.from([0x08])),
      { preSkip: 1, samples: 5 },
    ).toString("hex"),
  ).toMatchSnapshot();
});

test("recordings become samples at 48 kHz", async () => {
  const wav = (
    pcm: readonly number[],
    change: { readonly [offset: number]: number } = {},
    bits = 16,
  ): Buffer => {
    const file = wavOf(bits === 16 ? Buffer.from(new Int16Array(pcm).buffer) : Buffer.from(pcm), 48_000);
    for (const [at, value] of Object.entries(change)) file.writeUInt16LE(value, Number(at));
    return file;
  };
  const files: { readonly [name: string]: Buffer } = {
    "as it is": wav([1, -2, 300]),
    "half the rate": wav([0, 100, 200], { 24: 24_000 }),
    "twice the rate": wav([0, 100, 200, 300], { 24: 31_072, 26: 1 }),
    "too slow": wav([1], { 24: 3_999 }),
    slowest: wav([1, 2], { 24: 4_000 }),
    "too fast": wav([1, 2, 3, 4], { 24: 60_929, 26: 2 }),
    "two channels": wav([0, 100, 50, 51], { 22: 2 }),
    "no channel": wav([1], { 22: 0 }),
    "eight channels": wav([8, 8, 8, 8, 8, 8, 8, 16], { 22: 8 }),
    "nine channels": wav([8, 8, 8, 8, 8, 8, 8, 16, 9], { 22: 9 }),
    "eight bits": wav([0, 128, 255, 129], { 34: 8 }, 8),
    "24 bits": wav([1, 2, 3], { 34: 24 }),
    "newer header": wav([5], { 20: 0xfffe }),
    floats: wav([5], { 20: 3 }),
    "no length": wav([5, 6], { 40: 0 }),
    "too long a length": wav([5, 6], { 40: 400 }),
    "shorter length": wav([5, 6], { 40: 2 }),
    "half a frame": wav([5, 6], { 40: 3 }),
    "a part before, of an odd length": Buffer.concat([
      Buffer.from("RIFF____WAVELIST\u0003\0\0\0abc\0"),
      wav([5, 6]).subarray(12),
    ]),
    "no format": Buffer.concat([Buffer.from("RIFF____WAVE"), wav([5]).subarray(36)]),
    "another kind": Buffer.from("RIFF____AVI "),
    empty: Buffer.alloc(0),
  };
  const table = answerTable(Object.keys(files), (name) => {
    const samples = samplesOf(files[name] ?? Buffer.alloc(0));
    return samples === null ? null : [...samples].slice(0, 12);
  });
  await expect(table).toMatchFileSnapshot("tables/recordings.txt");
});

test("pictures by their first bytes, and texts cut to be spoken", async () => {
  const heads = [
    "ffd8ffe0",
    "ffd8",
    "89504e470d0a1a0a00",
    "89504e470d0a1a",
    "GIF87a",
    "GIF89a",
    "GIF88a",
    "RIFF1234WEBP",
    "RIFF1234WAVE",
    "0000ftypavif",
    "0000ftypavis",
    "0000ftypheic",
    "II*\0",
    "MM\0*",
    "MM*\0",
    "%PDF-1.7",
    "<svg",
    "<?xml",
    "BM",
    "0000ftypmif1",
    "",
    "text",
  ];
  const bytes = (head: string): Buffer =>
    /^(?:[\da-f]{2})+$/.test(head) ? Buffer.from(head, "hex") : Buffer.from(head, "latin1");
  const spoken = [
    ["", 9],
    ["One. Two. Three.", 20],
    ["One. Two. Three.", 10],
    ["One. Two. Three.", 9],
    ["abcdefghij", 4],
    ["abc defghi jk", 6],
    ["abc\u{1F600}def", 4],
    ["  a  ", 2],
  ] as const;
  const table = [
    answerTable(heads, (head) => [readablePicture(bytes(head)), whyUnreadable(bytes(head))]),
    answerTable(spoken, ([text, most]) => atSentences(text, most)),
  ];
  await expect(table.join("\n")).toMatchFileSnapshot("tables/pictures.txt");
});

const png = Buffer.from("89504e470d0a1a0a00", "hex").toString("base64");

interface Case {
  readonly kind: "openai" | "google";
  readonly model?: string;
  readonly count?: number;
  readonly size?: string;
  /** Of each call in turn; the last one again and again. */
  readonly answers: readonly { readonly status?: number; readonly body: unknown }[];
}

const gemini = (data: string): object => ({
  candidates: [{ content: { parts: [{ text: "here" }, { inlineData: { data } }] } }, { content: null }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4 },
});

test("what a drawing service is asked, and what becomes of its answers", async () => {
  const seen: unknown[] = [];
  let answers: Case["answers"] = [];
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => (text += String(chunk)));
    request.on("end", () => {
      const { authorization, "x-goog-api-key": key, "x-own": own } = request.headers;
      const { status = 200, body } = answers[Math.min(seen.length, answers.length - 1)] ?? { body: {} };
      seen.push([request.method, request.url, { authorization, key, own }, JSON.parse(text)]);
      response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));
    });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const two = {
    data: [{ b64_json: png }, { b64_json: png }, { url: "x" }],
    usage: { input_tokens: 5, output_tokens: 6 },
  };
  const one = [{ body: gemini(png) }];
  const cases: readonly Case[] = [
    { kind: "openai", answers: [{ body: two }] },
    { kind: "openai", model: "gpt-image-1", size: "10x20", count: 2, answers: [{ body: two }] },
    { kind: "openai", model: "chatgpt-image", answers: [{ body: { data: [{ b64_json: png }] } }] },
    { kind: "openai", answers: [{ body: { data: [{ b64_json: "dGV4dA==" }] } }] },
    { kind: "openai", answers: [{ body: { data: "none", usage: null } }] },
    ...[400, 401, 403, 429, 499, 500, 503].map((status): Case => ({
      kind: "openai",
      answers: [{ status, body: { error: { message: `no ${"x".repeat(300)}` } } }],
    })),
    { kind: "openai", answers: [{ status: 400, body: "plain" }] },
    { kind: "openai", answers: [{ status: 400, body: { error: { message: 7 } } }] },
    { kind: "openai", answers: [{ body: "no json" }] },
    { kind: "openai", answers: [{ body: "null" }] },
    { kind: "google", answers: [{ body: "null" }] },
    {
      kind: "openai",
      answers: [
        { body: { data: [null, { b64_json: png }], usage: { input_tokens: -5, output_tokens: 1e99 } } },
      ],
    },
    { kind: "google", answers: one },
    { kind: "google", model: "a/b", count: 2, answers: one },
    { kind: "google", count: 3, answers: [...one, { status: 500, body: {} }] },
    { kind: "google", count: 2, answers: [{ status: 500, body: {} }, ...one] },
    { kind: "google", answers: [{ body: { candidates: [{ content: { parts: [{ text: "no" }] } }] } }] },
    ...["1024x1024", "1536x1024", "1024x1536", "1200x900", "900x1200", "1792x1024", "900x1600", "100x1"].map(
      (size): Case => ({ kind: "google", size, answers: one }),
    ),
  ];
  const table = await laterAnswerTable(cases, async ({ kind, model = "m", count = 1, size, ...each }) => {
    seen.length = 0;
    answers = each.answers;
    const engine = { kind, baseUrl: `http://${host}/v1//`, apiKey: "k", headers: { "x-own": "1" }, model };
    const request = { prompt: "a cat", count, ...(size === undefined ? {} : { size }) };
    const done = await draw(engine, request, virtualClock(), new AbortController().signal).then(
      ({ pictures, usage }) => ({
        pictures: pictures.map(({ bytes, ...kindOf }) => [kindOf, bytes.length]),
        usage,
      }),
      (error: unknown) => String(error),
    );
    return { seen: [...seen], done };
  });
  await expect(table.replaceAll(host, "<host>")).toMatchFileSnapshot("tables/drawn.txt");
});

test("pictures to change go along: as files of a form to OpenAI's edits, beside the words to Gemini", async () => {
  const seen: { readonly url: string; readonly type: string; readonly body: Buffer }[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const type = request.headers["content-type"] ?? "";
      seen.push({ url: request.url ?? "", type, body: Buffer.concat(parts) });
      response.end(JSON.stringify({ data: [{ b64_json: png }], ...gemini(png) }));
    });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once("listening", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const picture = { bytes: Buffer.from("one picture"), mediaType: "image/png" };
  const second = { bytes: Buffer.from("another"), mediaType: "image/webp" };
  const asked = (kind: "openai" | "google", count: number) =>
    draw(
      { kind, baseUrl, headers: {}, model: "gpt-image-1" },
      { prompt: "without the hat", count: 1, images: [picture, second].slice(0, count) },
      virtualClock(),
      new AbortController().signal,
    );
  for (const count of [1, 2]) expect((await asked("openai", count)).pictures).toHaveLength(1);
  expect((await asked("google", 2)).pictures).toHaveLength(1);
  const [single, several, google] = seen;
  expect([single?.url, several?.url]).toEqual(["/images/edits", "/images/edits"]);
  const formIn = async (sent: (typeof seen)[number] | undefined) =>
    new Response(Buffer.from(sent?.body ?? []), { headers: { "content-type": sent?.type ?? "" } }).formData();
  const form = await formIn(single);
  expect([form.get("model"), form.get("prompt"), form.get("n")]).toEqual([
    "gpt-image-1",
    "without the hat",
    "1",
  ]);
  expect(await (form.get("image") as File).text()).toBe("one picture");
  const files = (await formIn(several)).getAll("image[]") as File[];
  expect(await Promise.all(files.map(async (file) => [file.name, file.type, await file.text()]))).toEqual([
    ["image-1.png", "image/png", "one picture"],
    ["image-2.webp", "image/webp", "another"],
  ]);
  const { contents } = JSON.parse(String(google?.body)) as { contents: { parts: object[] }[] };
  const data = Buffer.from("one picture").toString("base64");
  expect(contents[0]?.parts).toEqual([
    { inlineData: { mimeType: "image/png", data } },
    { inlineData: { mimeType: "image/webp", data: Buffer.from("another").toString("base64") } },
    { text: "without the hat" },
  ]);
});

test("a drawing that is stopped is told as that, before it is asked for and while it is awaited", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((resolve) => server.once("listening", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const kind of ["openai", "google"] as const) {
    const stop = new AbortController();
    const asked = new Promise((resolve) => server.once("request", resolve));
    const drawing = (images: number) =>
      draw(
        { kind, baseUrl, headers: {}, model: "m" },
        {
          prompt: "a cat",
          count: 1,
          images: Array.from({ length: images }, () => ({ bytes: Buffer.from("x"), mediaType: "image/png" })),
        },
        virtualClock(),
        stop.signal,
      ).catch((error: unknown) => error);
    const awaited = drawing(0);
    await asked;
    stop.abort();
    for (const each of [awaited, drawing(0), drawing(1)])
      expect(await each).toMatchObject({ code: "aborted", message: "drawing was stopped" });
  }
});

test("a drawing service has four minutes, and not one millisecond more", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise((resolve) => server.once("listening", resolve));
  const clock = virtualClock();
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const asked = new Promise((resolve) => server.once("request", resolve));
  let ended = "";
  const drawing = draw(
    { kind: "openai", baseUrl, headers: {}, model: "m" },
    { prompt: "a cat", count: 1 },
    clock,
    new AbortController().signal,
  ).catch((error: unknown) => (ended = String(error)));
  await asked;
  await clock.advance(239_999);
  expect(ended).toBe("");
  await clock.advance(1);
  await drawing;
  expect(ended).toMatch(/gave no answer; it may have made a picture all the same/);
});
