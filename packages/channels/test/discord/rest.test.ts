// What Discord's REST API is sent, and what becomes of each of its answers: the value or the Fault, and what
// is told of the token. A diff in test/tables/discord-calls.txt is a diff in behaviour.
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Fault } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { discordLimitReach, refusalCode, refusalStatus } from "../../src/discord/refusals.ts";
import { discordRest, type DiscordRest } from "../../src/discord/rest.ts";

type Call = Parameters<DiscordRest["call"]>[0];
type Answer = (response: ServerResponse) => void;

let server: Server;
let answer: Answer;
let asked: string[];
beforeEach(async () => {
  asked = [];
  const seen = async (request: IncomingMessage): Promise<string> => {
    const body = Buffer.concat((await request.toArray()) as Buffer[]).toString();
    const {
      authorization,
      "content-type": type = "no type",
      "content-length": length = "chunks",
    } = request.headers;
    const boundary = /boundary=(\S+)/u.exec(type)?.[1];
    const said =
      boundary === undefined
        ? `${type} ${length} ${body}`
        : `${type} ${length} ${body}`.replaceAll(boundary, "~");
    return `${request.method} ${request.url} ${authorization} ${said}`.replaceAll("\r\n", " ").trim();
  };
  server = createServer((request, response) => {
    void seen(request).then((words) => {
      asked.push(words);
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

const root = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const opened = async (news: string[]): Promise<DiscordRest> =>
  discordRest({
    token: "T",
    apiRoot: `${root()}/api//`,
    onToken: {
      accepted: () => void news.push("accepted"),
      refused: (why) => void news.push(`refused: ${why}`),
    },
    clock: virtualClock(),
  });

const faultWords = (error: unknown): string => {
  if (!(error instanceof Fault)) return String(error);
  const { code, message, retryAfterMs } = error;
  const more = [
    ...(retryAfterMs === undefined ? [] : [`wait ${retryAfterMs}`]),
    ...(discordLimitReach(error) === null ? [] : [`of the ${discordLimitReach(error)}`]),
    ...(refusalStatus(error) === 0 ? [] : [`status ${refusalStatus(error)}, code ${refusalCode(error)}`]),
  ];
  return `${code} (${more.join("; ")}): ${message.replaceAll(/(x{20})x+/gu, (all, some: string) => `${some}… ${all.length}`)}`;
};

async function told(title: string, each: Answer, request: Call): Promise<string> {
  answer = each;
  asked.length = 0;
  const news: string[] = [];
  const rest = await opened(news);
  const found = await rest.call(request).then((value) => JSON.stringify(value) ?? "nothing", faultWords);
  rest.close();
  return [`# ${title}`, ...asked, found, ...news.map((each_) => `token ${each_}`), ""].join("\n");
}

const says =
  (status: number, body?: unknown, headers: Record<string, string> = {}): Answer =>
  (response) => {
    const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
    response
      .writeHead(status, {
        ...(typeof body === "object" ? { "content-type": "application/json" } : {}),
        ...headers,
      })
      .end(text);
  };
const get: Call = { method: "GET", route: "/channels/1/messages" };
const post: Call = { method: "POST", route: "/channels/1/messages", body: { content: "hé" } };
const hook = (kind: "webhooks" | "interactions"): Call => ({
  ...post,
  route: `/${kind}/12/secret-token/callback`,
});
const form = (): FormData => {
  const made = new FormData();
  made.set("payload_json", '{"a":1}');
  made.set("files[0]", new Blob(["bytes"], { type: "text/plain" }), "a.txt");
  return made;
};

test("calls go out and come back like this", async () => {
  const limited = { message: "slow", retry_after: 1.5, global: false };
  const lines = [
    await told("a list", says(200, [{ id: "1" }]), { ...get, query: { limit: "5", after: "a b" } }),
    await told("nothing", says(204), { method: "PUT", route: "/channels/1/pins/2" }),
    await told("a message", says(201, { id: "9" }), post),
    await told("a form", says(200, { id: "9" }), {
      method: "PATCH",
      route: "/channels/1/messages/2",
      form: form(),
    }),
    await told("a deletion", says(200), { method: "DELETE", route: "/channels/1/messages/2" }),
    await told("a page in place of an answer to a write", says(200, "<html>"), post),
    await told("and to a read", says(200, "<html>"), get),
    await told("300", says(300), post),
    await told("299", says(299, { id: 1 }), post),
    await told("a redirection of a read", says(302, "", { location: "/x" }), get),
    await told("a limit", says(429, limited, { "retry-after": "9" }), post),
    await told("a limit by its header alone", says(429, "no JSON", { "retry-after": "2" }), post),
    await told("a limit without a wait", says(429, {}), post),
    await told("a limit of the account", says(429, { ...limited, global: true }), post),
    await told("a limit of what others share", says(429, limited, { "x-ratelimit-scope": "shared" }), post),
    await told("a limit of two days", says(429, { retry_after: 172_800 }), post),
    await told("a limit of no time", says(429, { retry_after: 0 }), get),
    await told(
      "a refusal",
      says(400, { code: 50035, message: "Invalid Form Body", errors: { content: "x".repeat(500) } }),
      post,
    ),
    await told("a refusal without a code", says(403, { message: "no" }), post),
    await told("a refusal without words", says(404, "oh"), get),
    await told("a failure of a write", says(500, "oh"), post),
    await told("a failure of a read", says(502, "oh"), get),
    await told("a token that is refused", says(401, { code: 0, message: "401: Unauthorized" }), get),
    await told("a webhook's token that is refused", says(401, { message: "no" }), hook("webhooks")),
    await told("an interaction's answer", says(200, {}), hook("interactions")),
    await told(
      "a webhook that is gone",
      says(404, { code: 10015, message: "Unknown Webhook" }),
      hook("webhooks"),
    ),
    await told(
      "an answer that breaks off",
      (response) =>
        void response.writeHead(200, { "content-length": "9" }).write("{", () => response.destroy()),
      post,
    ),
    await told(
      "and one to a read",
      (response) =>
        void response.writeHead(200, { "content-length": "9" }).write("{", () => response.destroy()),
      get,
    ),
    await told("a call that was given up before", says(200, {}), { ...post, signal: AbortSignal.abort() }),
  ];
  await expect(lines.join("\n")).toMatchFileSnapshot("../tables/discord-calls.txt");
});

test("a bucket that is known to be empty is not asked, which says nothing of the account", async () => {
  answer = says(
    200,
    {},
    {
      "x-ratelimit-limit": "1",
      "x-ratelimit-remaining": "0",
      "x-ratelimit-reset-after": "50",
      "x-ratelimit-bucket": "b",
    },
  );
  const rest = await opened([]);
  // The first answer names the bucket, the second says what is left in it.
  await rest.call(post);
  await rest.call(post);
  const fault = await rest.call(post).catch((error: unknown) => error as Fault);
  expect(fault).toMatchObject({ code: "rate_limited" });
  expect([discordLimitReach(fault), asked.length]).toEqual(["chat", 2]);
  expect((fault as Fault).retryAfterMs).toBeGreaterThan(1_000);
  rest.close();
});

test("a call that is given up while it waits is ambiguous, for it may have arrived", async () => {
  const stop = new AbortController();
  answer = () => stop.abort();
  const rest = await opened([]);
  const fault = await rest.call({ ...post, signal: stop.signal }).catch((error: unknown) => error);
  expect(fault).toMatchObject({ code: "ambiguous" });
  rest.close();
});

test("a file comes whole up to the limit; one that is gone is missing, and every other failure is the moment's", async () => {
  const rest = await opened([]);
  const fetched = async (status: number, limit = 5): Promise<string> => {
    answer = says(status, "bytes");
    return rest
      .fetch(`${root()}/file?sign=secret`, limit, new AbortController().signal)
      .then((bytes) => Buffer.from(bytes).toString(), faultWords);
  };
  const found: string[] = [];
  for (const status of [200, 201, 206, 302, 400, 401, 403, 404, 410, 429, 500])
    found.push(`${status} ${await fetched(status)}`);
  found.push(await fetched(200, 4));
  expect(found).toMatchInlineSnapshot(`
    [
      "200 bytes",
      "201 unavailable (): Discord answered 201 for the file",
      "206 unavailable (): Discord answered 206 for the file",
      "302 unavailable (): Discord answered 302 for the file",
      "400 unavailable (): Discord answered 400 for the file",
      "401 unavailable (): Discord answered 401 for the file",
      "403 missing (): Discord answered 403 for the file",
      "404 missing (): Discord answered 404 for the file",
      "410 missing (): Discord answered 410 for the file",
      "429 unavailable (): Discord answered 429 for the file",
      "500 unavailable (): Discord answered 500 for the file",
      "invalid (): Discord's answer is longer than 4 bytes",
    ]
  `);
  expect(new Set(asked)).toEqual(new Set(["GET /file?sign=secret undefined no type chunks"]));
  rest.close();
});
