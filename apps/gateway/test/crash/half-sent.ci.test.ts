// A reply of several messages that was half sent when the process died: it goes on where it stopped, it never
// starts again.
import { afterEach, expect, test } from "vitest";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { createRoute } from "./discord-side.ts";
import { stage } from "./stage.ts";

afterEach(cleanUp);

const ended = { ambiguous: [], openRows: 0, openDeliveries: 0, dead: [] };
const startsOf = (texts: readonly string[]) =>
  texts.map((text) => /^(?:re m1 )?(\w+(?: m2)?)/.exec(text)?.[1]);

/** More than one Telegram message of 4,096 units holds. */
const paragraph = (name: string): string => `${name} ${"words and ".repeat(350)}end.`;

test("killed when the second of three messages was shown but not answered: only that one repeats, flagged", async () => {
  const at = await stage();
  try {
    at.onModel(() => ["re m1 One", "Two", "Three"].map(paragraph).join("\n\n"));
    await at.start();
    at.w.telegram.inject({ method: "sendMessage", skip: 1, when: "after", trouble: { kind: "hang" } });
    at.says("telegram");
    const second = await at.called("sendMessage", 2);
    await eventually(() => second.acted);
    await at.kill();
    at.says("telegram");
    await at.start();
    await at.quiet("telegram");
    expect(startsOf(at.texts("telegram"))).toEqual(["One", "Two", "Two", "Three", "re m2"]);
    const { flagged, ...left } = await at.end();
    expect(left).toEqual(ended);
    expect(flagged).toEqual([expect.stringContaining("Two words")]);
  } finally {
    await at.close();
  }
});

/** More than half of a Discord message of 2,000 units. */
const shorter = (name: string): string => `${name} ${"words and ".repeat(150)}end.`;

test("the same on Discord: what was shown is found there, nothing repeats and nothing is flagged", async () => {
  const at = await stage({ discord: {} });
  try {
    at.onModel(() => ["re m1 One", "Two", "Three"].map(shorter).join("\n\n"));
    await at.start();
    at.discord.inject({ method: createRoute, skip: 1, when: "after", trouble: { kind: "hang" } });
    at.says("discord");
    const second = await at.called(createRoute, 2);
    await eventually(() => second.acted);
    await at.kill();
    at.says("discord");
    await at.start();
    await at.quiet("discord");
    expect(startsOf(at.texts("discord"))).toEqual(["One", "Two", "Three", "re m2"]);
    expect(await at.end()).toEqual({ ...ended, flagged: [] });
  } finally {
    await at.close();
  }
});
