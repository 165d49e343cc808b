// The `fetch` that SDKs are given: what it makes of each kind of response, what it tells of it, and what it
// sends.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { watchedFetch, watching, WrittenRequest, type WireWatch } from "../src/sdk/wire.ts";

let server: Server;
let asked: string[];
let answer: (response: ServerResponse) => void;
beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      asked.push(`${request.method} ${request.url} ${Buffer.concat(chunks as Buffer[]).toString()}`);
      answer(response);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;

/** What came back, in words, and what was told on the way. */
async function fetched(more: Partial<WireWatch> = {}, body: unknown = '{"a":1}'): Promise<unknown> {
  const told: string[] = [];
  const watch: WireWatch = {
    headers: () => void told.push("headers"),
    progress: () => void told.push("progress"),
    sent: (text) => void told.push(`sent ${text}`),
    lines: "events",
    ...more,
  };
  const found = await watching(watch, () =>
    watchedFetch(url(), { method: "POST", headers: { "X-Own": "1" }, body: body as string }),
  ).then(
    async (response) => `${response.status} ${await response.text()}`,
    (error: unknown) => {
      const { name, message, body: kept } = error as Error & { readonly body?: string };
      return kept === undefined
        ? `${name}: ${message}`
        : `${name}: ${message}; ${kept.slice(0, 40)} ${kept.length}`;
    },
  );
  return [found, told.join(" ")];
}
const says = (status: number, body: string): void => {
  answer = (response) => response.writeHead(status).end(body);
};

test("a stream is tidied, JSON in its place is taken apart, and a page is none", async () => {
  const made = async (status: number, body: string, more: Partial<WireWatch> = {}): Promise<unknown> => {
    says(status, body);
    return fetched(more);
  };
  const mendEvents: NonNullable<WireWatch["mendEvents"]> = () => ({
    event: (event) => ({ ...event, mended: true }),
    end: () => [{ last: true }],
  });
  const begun = 'sent {"a":1} headers';
  expect([
    await made(200, 'data: {"n":1}\ndata: {"type":"ping"}\r\n\r\n: hi\n\ndata: [DONE]\n\n'),
    await made(200, 'data: {"n":1}\n\ndata: [DONE]\n\n', { mendEvents }),
    await made(299, ' [{"n":1},{"n":2}]', { mendEvents }),
    await made(200, '[{"n":1},'),
    await made(200, '{"n":'),
    await made(200, '{"n":1}', { mendEvents }),
    await made(201, '{"error":"no"}'),
    await made(200, '{"type":"error"}'),
    await made(200, '{"error":false,"n":1}'),
    await made(200, '{"error":"","n":1}'),
    await made(203, `\n<html>${"x".repeat(5_000)}`),
    await made(200, ""),
    await made(500, "<html>"),
    await made(404, '{"error":"no"}'),
  ]).toEqual([
    ['200 data: {"n":1}\n\ndata: {"type":"ping"}\n\ndata: [DONE]\n\n', `${begun} progress`],
    ['200 data: {"n":1,"mended":true}\n\ndata: {"last":true}\n\ndata: [DONE]\n\n', `${begun} progress`],
    ['299 data: {"n":1,"mended":true}\n\ndata: {"n":2,"mended":true}\n\n', `${begun} progress progress`],
    ["200 ", begun],
    ["200 ", begun],
    ['WholeAnswer: answered with the whole answer instead of a stream; {"n":1,"mended":true} 21', begun],
    ['NotAStream: answered with plain JSON instead of an event stream; {"error":"no"} 14', begun],
    ['NotAStream: answered with plain JSON instead of an event stream; {"type":"error"} 16', begun],
    ['WholeAnswer: answered with the whole answer instead of a stream; {"error":false,"n":1} 21', begun],
    ['WholeAnswer: answered with the whole answer instead of a stream; {"error":"","n":1} 18', begun],
    [
      `NotAStream: answered with a web page instead of an event stream; \n<html>${"x".repeat(33)} 4096`,
      begun,
    ],
    ["200 ", begun],
    ["500 <html>", begun],
    ['404 {"error":"no"}', begun],
  ]);
});

test("of JSON lines each object is progress once it is whole, and every byte goes on unchanged", async () => {
  const lines = '{"n":1}\n\n \n{"n":2}\r\n[1]\n{"n":3}\n{"n":4}';
  answer = (response) => {
    response.write(lines.slice(0, 3), () => response.end(lines.slice(3)));
  };
  expect(await fetched({ lines: "json" })).toEqual([
    `200 ${lines}`,
    'sent {"a":1} headers progress progress progress',
  ]);
  says(200, '{"n":1}');
  expect(await fetched({ lines: "json" })).toEqual(['200 {"n":1}', 'sent {"a":1} headers']);
  says(200, "<html>");
  expect(await fetched({ lines: "json" })).toEqual([
    expect.stringMatching(/^NotAStream/),
    'sent {"a":1} headers',
  ]);
});

test("what has come already, and what is only written, is not sent", async () => {
  says(200, "[]");
  expect(await fetched({ whole: '{"n":1}' })).toEqual(['200 {"n":1}', ""]);
  expect(await fetched({ writesOnly: true })).toEqual([
    'WrittenRequest: the request is written; {"a":1} 7',
    "",
  ]);
  expect(asked).toEqual([]);
  for (const input of [url(), new URL(url()), new Request(url())]) {
    const written = await watching(
      { headers: () => {}, progress: () => {}, lines: "events", writesOnly: true },
      () => watchedFetch(input, { method: "POST", headers: { "X-Own": "1" }, body: "asked" }),
    ).catch((error: unknown) => error);
    expect(written).toBeInstanceOf(WrittenRequest);
    expect(written).toMatchObject({ url: url(), body: "asked", headers: { "x-own": "1" } });
  }
  expect(await fetched({}, new TextEncoder().encode("bytes"))).toEqual(["200 ", "headers"]);
  expect(await fetched({ sent: undefined } as never)).toEqual(["200 ", "headers"]);
  expect(asked).toEqual(["POST /v1 bytes", 'POST /v1 {"a":1}']);
  await expect(watchedFetch(url(), { method: "POST", body: "x" })).rejects.toThrow(
    "an SDK asked its server outside of a call",
  );
});
