// Speech to words over a server that answers as scripted: what each answer means to the caller.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { transcriber, type Transcribe } from "../src/index.ts";

let answer: { readonly status: number; readonly body: string } | null;
let transcribe: Transcribe;
let close: () => Promise<void>;

beforeEach(async () => {
  const server = createServer((request, response) => {
    request.resume();
    if (answer !== null) response.writeHead(answer.status).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`;
  transcribe = transcriber({
    model: "local/whisper",
    providers: { local: { baseUrl } },
    clock: systemClock(),
  });
  close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
});
afterEach(() => close());

const speech = { bytes: new Uint8Array([1]), mediaType: "audio/ogg" };

test("the text of the answer is what was said", async () => {
  answer = { status: 200, body: '{"text":"hello","usage":{}}' };
  expect(await transcribe(speech, new AbortController().signal)).toBe("hello");
});

test("a server is asked with the model's own name, the key, and a file whose ending says its kind", async () => {
  const seen: unknown[] = [];
  const server = createServer((request, response) => {
    void request.toArray().then(async (chunks: Buffer[]) => {
      const type = request.headers["content-type"] ?? "";
      const form = await new Response(Buffer.concat(chunks), {
        headers: { "content-type": type },
      }).formData();
      const file = form.get("file") as File;
      const { authorization, "x-own": own } = request.headers;
      seen.push([
        request.method,
        request.url,
        authorization,
        own,
        form.get("model"),
        form.get("response_format"),
      ]);
      seen.push([file.name, file.type, await file.text()]);
      response.end('{"text":""}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1//`;
  const hear = transcriber({
    model: "own/vendor/whisper",
    providers: {
      own: { baseUrl, apiKey: "k", headers: { "x-own": "1" } },
      local: { baseUrl: "http://127.0.0.1:9" },
    },
    clock: systemClock(),
  });
  const names = {
    "audio/ogg": "ogg",
    "audio/mpeg": "mp3",
    "audio/mp4": "m4a",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/opus": "ogg",
    "AUDIO/WebM;codecs=opus": "webm",
    unknown: "ogg",
  };
  for (const mediaType of Object.keys(names))
    // Silence is no failure.
    expect(await hear({ bytes: Buffer.from("ab"), mediaType }, new AbortController().signal)).toBe("");
  expect(seen[0]).toEqual(["POST", "/v1/audio/transcriptions", "Bearer k", "1", "vendor/whisper", "json"]);
  const files = seen.filter((_, at) => at % 2 === 1) as readonly (readonly string[])[];
  expect(files.map(([name]) => name)).toEqual(Object.values(names).map((ending) => `voice.${ending}`));
  expect(files[1]).toEqual(["voice.mp3", "audio/mpeg", "ab"]);
});

test("a server has a minute for it, and not one millisecond more", async () => {
  const clock = virtualClock();
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const asked = new Promise((resolve) => server.once("request", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const hear = transcriber({ model: "own/m", providers: { own: { baseUrl } }, clock });
  let ended: unknown = null;
  const hearing = hear(speech, new AbortController().signal).catch((error: unknown) => (ended = error));
  await asked;
  await clock.advance(59_999);
  expect(ended).toBeNull();
  await clock.advance(1);
  await hearing;
  expect(ended).toMatchObject({ code: "unavailable", message: "the transcription could not be reached" });
});

test.each([
  [403, "{}", "denied"],
  [499, "{}", "invalid"],
  [500, "{}", "unavailable"],
  [429, "{}", "rate_limited"],
  [401, "{}", "denied"],
  [400, "{}", "invalid"],
  [503, "<html>", "unavailable"],
  [200, "<html>", "unavailable"],
  [200, '{"words":[]}', "unavailable"],
])("%i %s is Fault %s", async (status, body, code) => {
  answer = { status, body };
  await expect(transcribe(speech, new AbortController().signal)).rejects.toMatchObject({ code });
});

test("a server that is not there is Fault unavailable, and one that never answers is left when the caller says so", async () => {
  answer = null;
  const stop = new AbortController();
  const waiting = transcribe(speech, stop.signal);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: "aborted" });
  await close();
  await expect(transcribe(speech, new AbortController().signal)).rejects.toMatchObject({
    code: "unavailable",
  });
  close = async () => {};
});

test("each failure is told in its words, and none leaves a timer", async () => {
  const clock = virtualClock();
  const server = createServer((request, response) => {
    request.resume();
    if (answer !== null) response.writeHead(answer.status).end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const hear = transcriber({ model: "own/m", providers: { own: { baseUrl } }, clock });
  const words = async (
    status: number,
    body: string,
    signal = new AbortController().signal,
  ): Promise<string> => {
    answer = { status, body };
    return hear(speech, signal).then(
      (text) => `heard ${text.length}`,
      (error: unknown) => `${(error as { code: string }).code}: ${(error as Error).message}`,
    );
  };
  const long = (chars: number): string => `{"text":"${"x".repeat(chars - 11)}"}`;
  expect([
    await words(200, '{"text":"hi"}'),
    await words(299, '{"text":""}'),
    await words(418, '{"text":"hi"}'),
    await words(503, ""),
    await words(200, "null"),
    await words(200, '{"text":7}'),
    await words(200, long(500_000)),
    await words(200, long(500_001)),
    await words(200, "{}", AbortSignal.abort()),
  ]).toEqual([
    "heard 2",
    "heard 0",
    "invalid: the transcription answered 418",
    "unavailable: the transcription answered 503",
    "unavailable: the transcription answered without a text",
    "unavailable: the transcription answered without a text",
    "heard 499989",
    "unavailable: the transcription answered without a text",
    "aborted: the transcription was stopped",
  ]);
  expect(clock.armed()).toBe(0);
});

test("a provider that nothing is known about is a mistake in the config, told with the fix", () => {
  const words = (name: string) =>
    `nothing is known about the provider of "${name}/x": add models.providers.${name} with its baseUrl and apiKey`;
  expect(() => transcriber({ model: "nobody/x", providers: {}, clock: systemClock() })).toThrow(
    words("nobody"),
  );
  // A well-known one has to be named in the config, and one of one's own needs its address.
  expect(() => transcriber({ model: "openai/x", providers: {}, clock: systemClock() })).toThrow(
    words("openai"),
  );
  expect(() => transcriber({ model: "own/x", providers: { own: {} }, clock: systemClock() })).toThrow(
    words("own"),
  );
  expect(() =>
    transcriber({ model: "own/x", providers: { own: { baseUrl: "" } }, clock: systemClock() }),
  ).toThrow(words("own"));
  transcriber({ model: "openai/x", providers: { openai: { apiKey: "k" } }, clock: systemClock() });
});
