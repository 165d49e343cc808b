// Speech to words over a server that answers as scripted: what each answer means to the caller.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
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

test.each([
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

test("a provider that nothing is known about is a mistake in the config, told with the fix", () => {
  expect(() => transcriber({ model: "nobody/x", providers: {}, clock: systemClock() })).toThrow(
    /add models\.providers\.nobody/,
  );
});
