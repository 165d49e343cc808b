// Webhook mode: forged calls are turned away unread, 200 means durable, everything else comes again.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ChannelEvent } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { TelegramChannel } from "@parley/channels";
import { expectFault } from "../contract.ts";
import { alice, type Rig, telegramRig } from "./rig.ts";

let rig: Rig;
let server: Server;
let channel: TelegramChannel;
let statuses: number[];
const secret = "a-secret";

beforeEach(async () => {
  rig = await telegramRig();
  statuses = [];
  server = createServer((incoming, outgoing) => {
    void channel.webhook?.(incoming.headers, incoming).then(({ status }) => {
      statuses.push(status);
      outgoing.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  channel = await rig.open({ webhook: { url: url(), secret } });
});
afterEach(async () => {
  await rig.close();
  server.closeAllConnections();
  server.close();
});

const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/telegram/default`;
const post = async (headers: Record<string, string>, body: string): Promise<number> =>
  (await fetch(url(), { method: "POST", headers, body })).status;

test("start sets the webhook with the secret, one connection and the update kinds; updates arrive in order", async () => {
  const texts: string[] = [];
  await channel.start(
    async (events) => void texts.push(...events.map((event) => ("address" in event ? event.text : "?"))),
  );
  await expect.poll(() => channel.health().state).toBe("ok");
  expect(rig.fake.calls("setWebhook")[0]?.params).toMatchObject({
    secret_token: secret,
    max_connections: 1,
    drop_pending_updates: false,
  });
  for (const text of ["one", "two", "three"]) rig.fake.as(alice).says(text);
  await expect.poll(() => texts).toEqual(["one", "two", "three"]);
  await expect.poll(() => rig.fake.bot().queue.pending()).toEqual([]);
  expect(rig.fake.calls("getUpdates")).toEqual([]);
  expect(statuses).toEqual([200, 200, 200]);
});

test("an update that receive rejected gets 503 and comes again", async () => {
  const seen: ChannelEvent[] = [];
  await channel.start(async (events) => {
    seen.push(...events);
    if (seen.length === 1) throw new Error("the disk is full");
  });
  await expect.poll(() => channel.health().state).toBe("ok");
  rig.fake.as(alice).says("one");
  await expect.poll(() => statuses, { timeout: 5000 }).toEqual([503, 200]);
  expect(new Set(seen.map((event) => event.id)).size).toBe(1);
});

test("a call without the exact secret in its header is refused with its body unread", async () => {
  const received: unknown[] = [];
  await channel.start(async (events) => void received.push(...events));
  const body = JSON.stringify({ update_id: 1, message: { message_id: 1 }, secret_token: secret });
  expect(await post({}, body)).toBe(401);
  expect(await post({ "x-telegram-bot-api-secret-token": "" }, body)).toBe(401);
  expect(await post({ "x-telegram-bot-api-secret-token": `${secret}x` }, body)).toBe(401);
  expect((await fetch(`${url()}?secret_token=${secret}`, { method: "POST", body })).status).toBe(401);
  let wasRead = false;
  const watched = (async function* () {
    wasRead = true;
    yield new Uint8Array();
  })();
  expect(await channel.webhook?.({ "x-telegram-bot-api-secret-token": "wrong" }, watched)).toEqual({
    status: 401,
  });
  expect([wasRead, received]).toEqual([false, []]);
});

test("before start and after stop a webhook call gets 503", async () => {
  const headers = { "x-telegram-bot-api-secret-token": secret };
  expect(await post(headers, JSON.stringify({ update_id: 1 }))).toBe(503);
  await channel.start(async () => {});
  await expect.poll(() => channel.health().state).toBe("ok");
  expect(await post(headers, JSON.stringify({ update_id: 1 }))).toBe(200);
  expect(await post(headers, "not json")).toBe(400);
  expect(await post(headers, "x".repeat(1024 * 1024 + 1))).toBe(413);
  await channel.stop();
  expect(await post(headers, JSON.stringify({ update_id: 2 }))).toBe(503);
});

test("there is no webhook without a secret", async () => {
  await expectFault(
    "invalid",
    rig.open({ webhook: { url: "https://example.org/telegram/default", secret: "" } }),
  );
  await expectFault(
    "invalid",
    rig.open({ webhook: { url: "https://example.org/telegram/default", secret: "spaces are not allowed" } }),
  );
  expect((await rig.open()).webhook).toBeUndefined();
});
