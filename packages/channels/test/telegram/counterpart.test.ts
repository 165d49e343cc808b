// A cross-check against a Telegram emulator that others wrote (telegram-test-api), so that the driver does
// not lean on our own fake's habits. It knows no media and no errors, marks updates read as it sends them,
// and does not hold polls.
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { type ChannelEvent, silentLog, systemClock } from "@parley/protocol";
import { seededIds } from "@parley/testkit";
import { TelegramServer } from "telegram-test-api/lib/telegramServer.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { telegram, type TelegramChannel } from "@parley/channels";
import { text } from "../contract.ts";

const token = "123456:independent";
let server: TelegramServer;
let channel: TelegramChannel;
let events: ChannelEvent[];

beforeEach(async () => {
  events = [];
  server = new TelegramServer({ port: await freePort(), host: "127.0.0.1" });
  await server.start();
  channel = await telegram({
    account: "default",
    token,
    apiRoot: server.config.apiURL,
    mediaFolder: import.meta.dirname,
    clock: systemClock(),
    ids: seededIds(1),
    log: silentLog,
  });
});
afterEach(async () => {
  await channel.stop();
  await server.stop();
});

const options = () => ({ idempotencyKey: "k", signal: new AbortController().signal });

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

test("a message, a command and an answer travel, and an edit reaches the person", async () => {
  const person = server.getClient(token, { userId: 7, chatId: 7, firstName: "Ada", type: "private" });
  await channel.start(async (batch) => void events.push(...batch));
  await person.sendMessage(person.makeMessage("hello"));
  await person.sendCommand(person.makeCommand("/status now"));
  await expect.poll(() => events.length, { timeout: 5_000 }).toBe(2);
  const [message, command] = events;
  expect(message).toMatchObject({
    kind: "message",
    text: "hello",
    addressed: true,
    sender: { id: "7", name: "Ada" },
  });
  expect(command).toMatchObject({ kind: "command", text: "/status now" });
  if (message === undefined || !("address" in message)) throw new Error("the message could not be read");

  const { messageId } = await channel.send(message.address, { ...text("answer") }, options());
  const shown = await person.getUpdates();
  expect(shown.result.map((update) => update.message.text)).toEqual(["answer"]);
  await channel.act?.(message.address, { kind: "remove", messageId }, options());
});

test("a pressed button comes in as a callback", async () => {
  const person = server.getClient(token, { userId: 7, chatId: 7, firstName: "Ada", type: "private" });
  await channel.start(async (batch) => void events.push(...batch));
  await person.sendCallback(person.makeCallbackQuery("approve:7", { message: { message_id: 5 } } as object));
  await expect.poll(() => events.length, { timeout: 5_000 }).toBe(1);
  expect(events[0]).toMatchObject({
    kind: "callback",
    callback: { value: "approve:7" },
    sender: { id: "7" },
  });
});
