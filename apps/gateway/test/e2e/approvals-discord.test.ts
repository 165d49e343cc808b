// A command behind a button on Discord: pressed by somebody else it does nothing, pressed twice it runs once.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cleanUp, eventually, freshHome } from "./daemon.ts";
import { discordWorld, type DiscordWorld } from "./discord-world.ts";

const alice = { id: "100000000000000042", name: "Alice" };
const bob = { id: "100000000000000043", name: "Bob" };
let w: DiscordWorld;
beforeEach(async () => {
  w = await discordWorld();
});
afterEach(async () => {
  await cleanUp();
  expect(w.discord.violations()).toEqual([]);
  await w.close();
});

test("a command waits for its approver's press in the channel, and runs once", async () => {
  const guild = w.discord.guild({ name: "Tea House" });
  const room = w.discord.channel({ guild, name: "general" });
  const home = await freshHome();
  w.models.reply(({ lastToolResult }) =>
    lastToolResult === null
      ? { toolCalls: [{ name: "exec", args: { command: "echo ran >> runs.txt" } }] }
      : `so: ${lastToolResult}`,
  );
  const config = {
    commands: { ownerAllowFrom: [`discord:${alice.id}`] },
    approvals: { exec: { target: "channel" } },
  };
  await w.start({ home, config });
  await w.live();
  const [owner, other] = [w.discord.as(alice), w.discord.as(bob)];
  other.says(`<@${w.discord.bot().id}> do it`, { channel: room });
  const card = await eventually(
    () => w.answers(room).find(({ buttons }) => buttons.length > 0),
    15_000,
    "the card",
  );
  expect(card.buttons.flat().join(" ")).toMatch(/Once.*Deny/);
  const call = w.discord
    .calls("POST /channels/:channel/messages")
    .findLast(({ body }) => JSON.stringify(body).includes("Once"));
  const rows = call?.body.components as {
    readonly components: readonly { readonly label: string; readonly custom_id: string }[];
  }[];
  const once =
    rows.flatMap(({ components }) => components).find(({ label }) => label.includes("Once"))?.custom_id ?? "";
  const runs = (): Promise<string> => readFile(join(home, "workspace", "runs.txt"), "utf8").catch(() => "");

  other.presses(card.id, once, { channel: room });
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(await runs()).toBe("");
  owner.presses(card.id, once, { channel: room });
  owner.presses(card.id, once, { channel: room });
  await eventually(() => w.answers(room).some(({ text }) => text.startsWith("so: ")), 15_000, "the answer");
  await eventually(
    () => w.answers(room).some(({ text }) => text.includes(`Allowed once by discord:${alice.id}`)),
    15_000,
    "the settled card",
  );
  expect(await runs()).toBe("ran\n");
  expect(w.answers(room).filter(({ text }) => text.startsWith("so: "))).toHaveLength(1);
}, 40_000);
