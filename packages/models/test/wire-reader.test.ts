// What becomes of every kind of answer that a server can give, whole or not: the parts, how the call began,
// and with which error it ended. A diff in test/tables/wire-answers.txt is a diff in behaviour.
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { WireWatch } from "../src/sdk/wire.ts";
import { wireReader, type EventParts, type WireReader } from "../src/wire/wire-reader.ts";

type Answer = (response: ServerResponse) => void | Promise<void>;

let server: Server;
let answer: Answer;
let asked: string[];
beforeEach(async () => {
  asked = [];
  server = createServer((request, response) => {
    void request.toArray().then((chunks: Buffer[]) => {
      const { method, headers } = request;
      asked.push(`${method} ${String(headers["x-mark"])} ${Buffer.concat(chunks).toString()}`);
      return answer(response);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

interface Call {
  readonly reader: WireReader;
  /** What was told of it to the watch and the parts, in order. */
  readonly told: string[];
}

function call(mendEvents?: WireWatch["mendEvents"]): Call {
  const told: string[] = [];
  const parts: EventParts = {
    event(event, hand) {
      if (event["throws"] === true) throw new Error("the parts broke");
      hand({ type: "raw", rawValue: event });
    },
    end: (hand) => hand({ type: "raw", rawValue: "end" }),
  };
  const { port } = server.address() as AddressInfo;
  const letter = { url: `http://127.0.0.1:${port}/v1`, headers: { "x-mark": "m" }, body: "asked" };
  const watch: WireWatch = {
    headers: () => void told.push("headers"),
    progress: () => void told.push("progress"),
    lines: "events",
    mendEvents,
  };
  return { reader: wireReader(letter, parts, watch), told };
}

const errorWords = (error: unknown): string => {
  const { name, message, ...more } = error as Error & Record<string, unknown>;
  const { responseHeaders, ...shown } = more;
  const retry = (responseHeaders as Record<string, string> | undefined)?.["retry-after"];
  const body = JSON.stringify({ ...shown, retry }, (_, value: unknown) =>
    typeof value === "string" && value.length > 60 ? `${value.slice(0, 10)}… ${value.length}` : value,
  );
  return `${name}: ${message} ${body}`;
};

/** Reads all that there is, and once more behind its end. */
async function whole({ reader, told }: Call): Promise<string> {
  const begun = await reader.begun.then(
    () => "begins",
    () => "does not begin",
  );
  const parts: string[] = [];
  for (;;) {
    // eslint-disable-next-line no-await-in-loop
    const read = await reader.read().catch((error: unknown) => errorWords(error));
    if (typeof read === "string" || read.done) {
      const again = await reader.read().catch((error: unknown) => errorWords(error));
      const isSame = JSON.stringify(again) === JSON.stringify(read);
      parts.push(typeof read === "string" ? read : "done", ...(isSame ? [] : ["and then another"]));
      break;
    }
    const { value } = read;
    parts.push(
      value.type === "raw"
        ? JSON.stringify(value.rawValue)
        : value.type === "error"
          ? errorWords(value.error)
          : value.type,
    );
  }
  return [`  ${begun}; ${told.join(" ")}`, ...parts.map((part) => `    ${part}`)].join("\n");
}

/**
 * The pieces one after the other, each read by the other side before the next where the network allows it.
 */
const stream =
  (...pieces: readonly (string | Uint8Array)[]): Answer =>
  async (response) => {
    for (const piece of pieces) {
      await new Promise((written) => response.write(piece, written));
      await new Promise(setImmediate);
    }
    response.end();
  };
const status =
  (code: number, body: string | Uint8Array, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(code, headers).end(body);
  };
const events = 'data: {"n":1}\n\ndata: {"n":2}\n\n';
const snow = Buffer.from('data: {"n":"☃é"}\n\n');

const answers: readonly (readonly [string, Answer])[] = [
  ["a stream", stream(events, "data: [DONE]\n\n")],
  [
    "blanks first, and characters cut in two",
    stream(" \r\n", "\n", snow.subarray(0, 13), snow.subarray(13, 16), snow.subarray(16)),
  ],
  ["a byte order mark", stream(Buffer.from([0xef, 0xbb, 0xbf]), events)],
  [
    "every line break, and no blank line between",
    stream('event: x\r\ndata:{"n":1}\r', '\ndata: {"n":\rdata: 2}\r\rid: 1\ndata: {"n":3}\n'),
  ],
  ["pings and comments", stream(': hello\n\ndata: {"type":"ping"}\n\n', ': hello\n\ndata: {"n":1}\n\n')],
  [
    "events that are no object, no JSON, nothing",
    stream("data: 7\n\ndata: [1]\n\n", "data: {oh\ndata: no\n\ndata:\n\n", events),
  ],
  ["half an event at the end", stream(events, 'data: {"n":')],
  ["a whole one without its line break", stream(events, 'data: {"n":3}')],
  ["an event that the parts cannot take", stream(events, 'data: {"throws":true}\n\n', events)],
  ["a list", stream(' [{"n":1},', '{"n":2}]')],
  ["a list that is cut off", stream('[{"n":1},')],
  ["a list behind a byte order mark", stream(Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('[{"n":1}]'))],
  [
    "a list behind a byte order mark in one piece",
    stream(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from('[{"n":1}]')])),
  ],
  ["a list behind blanks", stream('\r\n\t [{"n":1}]')],
  [
    "a whole event and half a character",
    stream(Buffer.concat([Buffer.from('data: {"n":1}'), snow.subarray(12, 13)])),
  ],
  ["a whole answer", stream('{"n":', "1}")],
  ["an error in plain JSON", stream('{"error":{"message":"no"}}')],
  ["an error that is none", stream('{"error":null,"n":1}')],
  ["a page", stream("\n<html>", "x".repeat(5_000))],
  ["nothing", stream()],
  ["nothing but blanks", stream(" \n", "\n")],
  ["299", status(299, events)],
  ["304 without an address", status(304, "")],
  ["302 with one", status(302, "", { location: "/there" })],
  ["300 with one", status(300, "", { location: "/there" })],
  ["300 without one", status(300, "which?")],
  ["400 with an address", status(400, "no", { location: "/there" })],
  ["404 with words", status(404, '{"error":{"message":"no such model"}}')],
  ["401 with Ollama's words", status(401, '{"error":"who are you"}')],
  ["429 with a wait", status(429, "slow down", { "retry-after": "7" })],
  ["500 without a word", status(500, "")],
  ["503 with a page", status(503, "<html>down</html>")],
  [
    "a refusal in two pieces",
    (response) => {
      response.writeHead(418);
      return stream('{"error":', '"teapot"}')(response);
    },
  ],
  ["gzip", status(200, gzipSync(events), { "content-encoding": "GZIP" })],
  ["x-gzip", status(200, gzipSync(events), { "content-encoding": "x-gzip" })],
  ["deflate", status(200, deflateSync(events), { "content-encoding": "deflate" })],
  ["br", status(200, brotliCompressSync(events), { "content-encoding": "br" })],
  ["a refusal in br", status(403, brotliCompressSync("no"), { "content-encoding": "br" })],
];

test("a server's answers are read like this", async () => {
  const told: string[] = [];
  for (const [title, each] of answers) {
    answer = each;
    // eslint-disable-next-line no-await-in-loop
    told.push(`# ${title}`, await whole(call()));
  }
  expect(new Set(asked)).toEqual(new Set(["POST m asked"]));
  await expect(`${told.join("\n")}\n`).toMatchFileSnapshot("tables/wire-answers.txt");
});

test("events are repaired as they come, and the end is what the repair says", async () => {
  const mend = () => {
    let seen = 0;
    return {
      event: (event: object) => ({ ...event, seen: (seen += 1) }),
      end: () => [{ seen }],
    };
  };
  for (const [pieces, parts] of [
    [
      [events, "data: [DONE]\n\n"],
      [{ n: 1, seen: 1 }, { n: 2, seen: 2 }, { seen: 2 }, "end"],
    ],
    [['[{"n":1},{"n":2}]'], [{ n: 1, seen: 1 }, { n: 2, seen: 2 }, "end"]],
  ] as const) {
    answer = stream(...pieces);
    const { reader } = call(mend);
    const read: unknown[] = [];
    for (let part = await reader.read(); !part.done; part = await reader.read())
      read.push(part.value.type === "raw" ? part.value.rawValue : part.value.type);
    expect(read).toEqual(parts);
  }
});

test("a line that breaks gives what came before, and then the failure, again and again", async () => {
  answer = (response) => void response.write(events, () => setImmediate(() => response.destroy()));
  const { reader } = call();
  await reader.begun;
  expect([await reader.read(), await reader.read()]).toMatchObject([
    { done: false, value: { rawValue: { n: 1 } } },
    { done: false, value: { rawValue: { n: 2 } } },
  ]);
  for (let at = 0; at < 2; at += 1) await expect(reader.read()).rejects.toMatchObject({ code: "ECONNRESET" });
});

test("a read that waits gets the next part, and the end once there is none", async () => {
  let more: () => void = () => {};
  answer = (response) => {
    response.write(events);
    more = () => response.end('data: {"n":3}\n\n');
  };
  const { reader } = call();
  const first = [await reader.read(), await reader.read()];
  const next = reader.read();
  more();
  const rest = [await next, await reader.read(), await reader.read(), await reader.read()];
  expect([...first, ...rest].map((read) => (read.done ? "done" : read.value))).toEqual([
    ...[1, 2, 3].map((n) => ({ type: "raw", rawValue: { n } })),
    { type: "raw", rawValue: "end" },
    "done",
    "done",
  ]);
});

test("a reader that is far behind gets every part, once and in order, and the end", async () => {
  const most = 3_000;
  answer = (response) =>
    void response.end(Array.from({ length: most }, (_, n) => `data: {"n":${n}}\n\n`).join(""));
  const { reader, told } = call();
  await reader.begun;
  // Nobody reads for a while.
  for (let at = 0; at < 20; at += 1) await new Promise(setImmediate);
  const read: unknown[] = [];
  for (let part = await reader.read(); !part.done; part = await reader.read())
    read.push(part.value.type === "raw" ? part.value.rawValue : part.value.type);
  expect(read).toEqual([...Array.from({ length: most }, (_, n) => ({ n })), "end"]);
  expect(told.filter((each) => each === "progress")).toHaveLength(most);
});

test("a call that is given up drops its connection and tells whoever waits; after the end nothing is left to give up", async () => {
  const closed = new Promise<void>((resolve) => {
    answer = (response) => {
      response.on("close", resolve);
      response.write(" ");
      server.emit("asked");
    };
  });
  const arrived = once(server, "asked");
  const { reader } = call();
  const waits = reader.read();
  await arrived;
  await reader.cancel();
  await expect(waits).rejects.toThrow("the call is over");
  await expect(reader.begun).rejects.toThrow("the call is over");
  await expect(reader.read()).rejects.toThrow("the call is over");
  await closed;
  answer = stream(events);
  const ended = call();
  await ended.reader.begun;
  for (let read = await ended.reader.read(); !read.done;) read = await ended.reader.read();
  await ended.reader.cancel();
  expect(await ended.reader.read()).toEqual({ done: true, value: undefined });
});

test("the end mark ends an answer whose connection stays open; what follows it is not read and ends the connection", async () => {
  const closed = new Promise<void>((resolve) => {
    answer = (response) => {
      response.on("close", resolve);
      response.write(`${events}data: [DONE]\n\n${events}`);
      more = () => void response.write(events);
    };
  });
  let more: () => void = () => {};
  const { reader } = call();
  const read: unknown[] = [];
  for (let part = await reader.read(); !part.done; part = await reader.read())
    read.push(part.value.type === "raw" ? part.value.rawValue : part.value.type);
  expect(read).toEqual([{ n: 1 }, { n: 2 }, "end"]);
  await reader.cancel();
  more();
  await closed;
});

test("of a refusal that never ends the beginning is enough", async () => {
  answer = (response) => void response.writeHead(500).write("x".repeat(256 * 1024 + 1));
  const { reader } = call();
  const error = await reader.begun.catch((refused: unknown) => refused);
  expect(error).toMatchObject({
    name: "Refused",
    statusCode: 500,
    responseBody: expect.stringMatching(/^x+$/u),
  });
  expect((error as { responseBody: string }).responseBody).toHaveLength(256 * 1024 + 1);
});
