// The message tool over the wire, on Telegram and on Discord: what it sends looks there as a person of that
// platform expects.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { oggOpusFile, type ModelAnswer, type ModelCall } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, eventually, freshHome } from "./daemon.ts";
import { discordWorld } from "./discord-world.ts";
import { world } from "./world.ts";

let closing: (() => Promise<void>) | null = null;
afterEach(async () => {
  await cleanUp();
  await closing?.();
});

const png = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");

type Step = (handle: string) => Record<string, unknown>;

const steps: readonly Step[] = [
  () => ({
    action: "send",
    text: "Shall I?",
    buttons: [[{ label: "Yes", value: "yes, do it" }, { label: "No" }]],
  }),
  (handle) => ({ action: "react", handle, emoji: "👍" }),
  (handle) => ({ action: "pin", handle }),
  () => ({ action: "poll", poll: { question: "Tea?", options: ["Green", "Black"] } }),
  () => ({ action: "send", media: ["a.png", "b.png"], text: "Two **pictures**" }),
  () => ({ action: "send", media: ["note.ogg"], voice: true }),
  (handle) => ({
    action: "edit",
    handle,
    text: "Shall I, then?",
    buttons: [[{ label: "Yes", value: "yes, do it" }]],
  }),
];

/** Makes these calls one after the other when asked to, and says what else it is told. */
function model(order: readonly Step[] = steps): (call: ModelCall) => ModelAnswer {
  let handle = "";
  let next = 0;
  return ({ lastUserText, lastToolResult }) => {
    if (!lastUserText.endsWith("begin the day")) return `heard: ${lastUserText}`;
    if (handle === "") handle = /Handle: (\S+)/.exec(lastToolResult ?? "")?.[1] ?? "";
    const step = order[next];
    next += 1;
    return step === undefined ? "NO_REPLY" : { toolCalls: [{ name: "message", args: step(handle) }] };
  };
}

async function homeWithFiles(): Promise<string> {
  const home = await freshHome();
  const workspace = join(home, "workspace");
  await mkdir(workspace, { recursive: true });
  await writeFile(join(workspace, "a.png"), png);
  await writeFile(join(workspace, "b.png"), Buffer.concat([png, png]));
  await writeFile(join(workspace, "note.ogg"), oggOpusFile([40, 60, 50]));
  return home;
}

describe("on Telegram", () => {
  test("buttons that come back, a reaction, a pin, a poll, an album, a voice note and an edit", async () => {
    const w = await world();
    closing = w.close;
    w.models.reply(model());
    const me = 4242;
    await w.start({ home: await homeWithFiles() });
    const olga = w.telegram.as(me);
    olga.says("begin the day");
    await eventually(() => w.answers(me)[0]?.edited === true, 30_000, "the edit");
    const [asked, poll, first, second, voice, ...more] = w.answers(me);
    expect(more).toEqual([]);
    expect(asked).toMatchObject({
      text: "Shall I, then?",
      pinned: true,
      reactions: ["👍"],
      buttons: [["Yes"]],
    });
    expect(poll).toMatchObject({ kind: "poll", text: "Tea?" });
    expect([first, second]).toMatchObject([
      { kind: "photo", text: "Two pictures" },
      { kind: "photo", text: "" },
    ]);
    expect(w.telegram.calls("sendMediaGroup")).toHaveLength(1);
    expect(voice?.kind).toBe("voice");
    const [edit] = w.telegram.calls("editMessageText");
    const markup = edit?.params["reply_markup"] as { inline_keyboard: { callback_data: string }[][] };
    olga.presses(asked?.id ?? 0, markup.inline_keyboard[0]?.[0]?.callback_data ?? "");
    await eventually(
      () => w.answers(me).some(({ text }) => /^heard:[\s\S]*yes, do it$/.test(text)),
      10_000,
      "the press",
    );
    expect(w.telegram.violations()).toEqual([]);
  });
});

describe("on Discord", () => {
  const alice = { id: "100000000000000042", name: "Alice" };

  test("the same, as it looks there", async () => {
    const w = await discordWorld();
    closing = w.close;
    w.models.reply(model());
    await w.start({ home: await homeWithFiles() });
    await w.live();
    const olga = w.discord.as(alice);
    olga.says("begin the day");
    await eventually(() => w.answers(olga.dm())[0]?.edited === true, 30_000, "the edit");
    const [asked, poll, album, voice, ...more] = w.answers(olga.dm());
    expect(more).toEqual([]);
    expect(asked).toMatchObject({
      text: "Shall I, then?",
      pinned: true,
      reactions: ["👍"],
      buttons: [["Yes"]],
    });
    expect(poll?.poll).toEqual({ question: "Tea?", answers: ["Green", "Black"] });
    expect(album).toMatchObject({ text: "Two **pictures**", files: ["a.png", "b.png"] });
    expect(voice?.voiceSeconds).toBeGreaterThan(0);
    const [edit] = w.discord.calls("PATCH /channels/:channel/messages/:message");
    const rows = edit?.body.components as { components: { custom_id: string }[] }[];
    olga.presses(asked?.id ?? "", rows[0]?.components[0]?.custom_id ?? "");
    await eventually(
      () => w.answers(olga.dm()).some(({ text }) => /^heard:[\s\S]*yes, do it$/.test(text)),
      10_000,
      "the press",
    );
    expect(w.discord.violations()).toEqual([]);
  });

  test("what a slash command sends elsewhere is not shown where the command was given", async () => {
    const w = await discordWorld({ allowFrom: ["*", alice.id] });
    closing = w.close;
    const general = w.discord.channel({ guild: w.discord.guild({ name: "Tea House" }), name: "general" });
    w.models.reply(model([() => ({ action: "send", text: "in private", to: `discord:user:${alice.id}` })]));
    await w.start({ config: { commands: { ownerAllowFrom: [`discord:${alice.id}`] } } });
    await w.live();
    const olga = w.discord.as(alice);
    olga.says("hello");
    await w.answered(olga.dm(), 1);
    olga.runs("weekly_review", { channel: general, values: { text: "begin the day" } });
    expect(await w.answered(olga.dm(), 2)).toEqual(["heard: hello", "in private"]);
    await eventually(() => w.answers(general).every(({ text }) => text !== "in private"));
    expect(w.discord.violations()).toEqual([]);
  });
});
