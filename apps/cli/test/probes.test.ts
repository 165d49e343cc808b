// A bot's token is tried by one harmless call, and whatever comes of it is told without the token.
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { pass, stopTime } from "./passing-time.ts";
import { probeDiscord, probeTelegram, type Probe } from "../src/probes.ts";

const token = "123:secret-of-the-bot";

async function tried(
  probe: (token: string, apiRoot: string) => Promise<Probe>,
  answer: RequestListener | null,
): Promise<{ readonly probe: Probe; readonly asked: readonly string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? ""}`.trim());
    answer?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api//`;
  onTestFinished(() => void server.close());
  if (answer === null) await new Promise((resolve) => server.close(resolve));
  const found = await probe(token, root);
  expect(JSON.stringify(found)).not.toContain(token);
  return { probe: JSON.parse(JSON.stringify(found).replaceAll(root, "ROOT")) as Probe, asked };
}

const json =
  (status: number, body: unknown): RequestListener =>
  (_, response) =>
    void response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body));

const again = "Copy it again from @BotFather (/mybots, API Token)";
const reset = "Reset and copy it at https://discord.com/developers/applications (Bot, Token)";
const telegramNet = "Check the network, or channels.telegram.apiRoot";
const discordNet = "Check the network, or channels.discord.apiRoot";

test.each<[string, RequestListener | null, Probe]>([
  [
    "who it is",
    json(200, { ok: true, result: { id: 7, username: "a_bot" } }),
    { ok: true, words: "@a_bot", id: "7" },
  ],
  [
    "that it is nobody's",
    json(401, { ok: false, description: "Unauthorized" }),
    { ok: false, words: "Telegram refuses the token: Unauthorized", fix: again },
  ],
  [
    "a name and that it is not well",
    json(200, { ok: false, result: { id: 7, username: "a_bot" } }),
    { ok: false, words: "Telegram refuses the token: HTTP 200", fix: again },
  ],
  [
    "no name",
    json(200, { ok: true, result: {} }),
    { ok: false, words: "Telegram refuses the token: HTTP 200", fix: again },
  ],
  ["a page", json(502, "<html>"), { ok: false, words: "Telegram refuses the token: HTTP 502", fix: again }],
  ["null", json(200, "null"), { ok: false, words: "Telegram refuses the token: HTTP 200", fix: again }],
  [
    "another address",
    (request, response) => void response.writeHead(302, { location: request.url ?? "" }).end(),
    { ok: false, words: "Telegram at ROOT: unexpected redirect", fix: telegramNet },
  ],
  [
    "nothing",
    (request) => void request.socket.destroy(),
    { ok: false, words: "Telegram at ROOT: UND_ERR_SOCKET", fix: telegramNet },
  ],
  ["a closed port", null, { ok: false, words: "Telegram at ROOT: ECONNREFUSED", fix: telegramNet }],
])("of a token Telegram tells %s", async (_what, answer, probe) => {
  expect(await tried(probeTelegram, answer)).toEqual({
    probe,
    asked: answer === null ? [] : [`GET /api/bot${token}/getMe`],
  });
});

test.each<[string, RequestListener | null, Probe]>([
  ["who it is", json(200, { id: "9", username: "bot" }), { ok: true, words: "bot", id: "9" }],
  ["an id alone", json(200, { id: "9" }), { ok: true, words: "9", id: "9" }],
  [
    "that it is nobody's",
    json(401, { message: "401: Unauthorized", code: 0 }),
    { ok: false, words: "Discord refuses the token: 401: Unauthorized", fix: reset },
  ],
  [
    "who it is with another code",
    json(203, { id: "9" }),
    { ok: false, words: "Discord refuses the token: HTTP 203", fix: reset },
  ],
  ["a page", json(502, "<html>"), { ok: false, words: "Discord refuses the token: HTTP 502", fix: reset }],
  ["a closed port", null, { ok: false, words: "Discord at ROOT: ECONNREFUSED", fix: discordNet }],
])("of a token Discord tells %s", async (_what, answer, probe) => {
  expect(await tried(probeDiscord, answer)).toEqual({
    probe,
    asked: answer === null ? [] : [`GET /api/v10/users/@me Bot ${token}`],
  });
});

test("a password in the address of the platform is told with nothing that goes wrong there", async () => {
  for (const probe of [probeTelegram, probeDiscord]) {
    const { ok, words } = await probe(token, "http://me:pass-of-the-proxy@127.0.0.1:9/");
    expect([ok, words.includes("http://me:[secret]@127.0.0.1:9")]).toEqual([false, true]);
    expect(words).not.toContain("pass-of-the-proxy");
  }
});

test("a server that does not answer is waited for a quarter of a minute", async () => {
  const server = createServer(() => {}).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  const root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stopTime();
  let end: unknown = null;
  const running = probeTelegram(token, root).then((probe) => (end = probe));
  await once(server, "request");
  await pass(14_999);
  expect(end).toBeNull();
  await pass(1);
  expect(await running).toEqual({
    ok: false,
    words: `Telegram at ${root}: no answer within 15 s`,
    fix: telegramNet,
  });
});
