// How much of a conversation is closed by a refusal, on each platform.
import { Fault, type Address } from "@parley/protocol";
import { expect, test } from "vitest";
import { chatIsClosed, closedPlace, fileIsTooLarge } from "@parley/channels";
import { DiscordRefusal, faultOf as discordFault } from "../src/discord/refusals.ts";
import { overLimit } from "../src/over-limit.ts";
import { faultOf as telegramFault } from "../src/telegram/refusals.ts";

const thread: Address = { channel: "c", account: "a", kind: "channel", peer: "1", thread: "2" };
const { thread: _, ...chat } = thread;
const discord = (status: number, code: number): Fault =>
  discordFault(new DiscordRefusal("POST /channels/2/messages", status, code, "words"));
const telegram = (error_code: number, description: string): Fault =>
  telegramFault("sendMessage", { ok: false, error_code, description });

test("a thread of Discord's that is gone closes itself alone; everything else that closes closes all of the chat", () => {
  const rows: readonly (readonly [Fault, closed: boolean, place: Address])[] = [
    [discord(404, 10003), true, thread],
    [discord(403, 50001), true, chat],
    [discord(403, 50013), false, chat],
    [telegram(403, "Forbidden: bot was kicked"), true, chat],
    [telegram(400, "Bad Request: message thread not found"), false, chat],
    [telegram(400, "Bad Request: chat not found"), true, chat],
    [new Fault("denied", "of nobody's"), false, chat],
  ];
  expect(rows.map(([fault]) => [fault, chatIsClosed(fault), closedPlace(fault, thread)])).toEqual(rows);
  expect(closedPlace(discord(404, 10003), chat)).toEqual(chat);
});

test("a file is too large where we know it before, or where either platform says so", () => {
  const faults = [
    overLimit("too large"),
    discord(413, 0),
    discord(400, 40005),
    telegram(413, "Request Entity Too Large"),
    telegram(400, "Bad Request: file is too big"),
    discord(400, 50035),
    telegram(400, "Bad Request: message is too long"),
    new Fault("invalid", "too large"),
  ];
  expect(faults.map(fileIsTooLarge)).toEqual([true, true, true, true, true, false, false, false]);
  expect([overLimit("words").code, overLimit("words").message]).toEqual(["invalid", "words"]);
});
