// Events that cannot be read, or only in part: what is kept of them, and who is told to have written them.
import type { ChannelEvent } from "@parley/protocol";
import { afterEach, beforeEach, expect, test } from "vitest";
import { alice, discordRig, type Rig } from "./rig.ts";

let rig: Rig;
let events: ChannelEvent[];
beforeEach(async () => {
  events = [];
  rig = await discordRig();
  await rig.channel.start(async (batch) => void events.push(...batch));
});
afterEach(() => rig.close());

const author = { id: alice.id, username: "alice" };
const broken = {
  type: 0,
  id: "1234567890123456789",
  channel_id: "1234567890123456700",
  author,
  content: "hi",
  webhook_id: "none",
};
async function told(fields: object, event = "MESSAGE_CREATE"): Promise<ChannelEvent | undefined> {
  events = [];
  rig.fake.gateway.push(event, { ...broken, ...fields });
  await expect.poll(() => events.length).toBe(1);
  return events[0];
}

test("a private message that cannot be read says who wrote it; one of a server, of a bot or an edit does not", async () => {
  const from = {
    address: { channel: "discord", account: "default", kind: "dm", peer: alice.id },
    sender: { id: alice.id, name: "", isBot: false },
  };
  expect(await told({})).toMatchObject({
    kind: "unreadable",
    from,
    id: "discord:default:m1234567890123456789",
  });
  expect(await told({ guild_id: null })).toMatchObject({ kind: "unreadable", from });
  for (const [fields, event] of [
    [{ guild_id: rig.guild, channel_id: rig.room }],
    [{ channel_id: rig.room }],
    [{ author: { ...author, bot: true } }],
    [{ edited_timestamp: "2026-11-21T13:00:00.000Z" }, "MESSAGE_UPDATE"],
  ] as const)
    expect(await told(fields, event)).not.toHaveProperty("from");
});

test("of a message that says more than what cannot be read the rest is heard", async () => {
  expect(await told({ webhook_id: null, embeds: 7 })).toMatchObject({ kind: "message", text: "hi" });
  expect(await told({ webhook_id: null, content: "", embeds: 7 })).toMatchObject({
    kind: "unreadable",
    reason: "it says nothing but what cannot be read: message.embeds",
  });
});

test("of an event that cannot be read the first 16,384 characters are kept", async () => {
  const event = await told({ embeds: "x".repeat(20_000) });
  expect(event).toMatchObject({ kind: "unreadable", raw: expect.stringContaining('{"type":0,"id":"12345') });
  expect(event?.kind === "unreadable" && event.raw.length).toBe(16_384);
});
