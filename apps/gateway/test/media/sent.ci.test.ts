// Everything that Parley can send on Telegram beside text, through the real daemon, and what people do with
// it.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Address, MediaFile, Part } from "@parley/protocol";
import { oggOpusFile } from "@parley/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cleanUp, eventually, freshHome, type Daemon } from "../e2e/daemon.ts";
import { world, type World } from "../e2e/world.ts";
import { plant } from "./plant.ts";

let w: World;
let daemon: Daemon;
let home: string;
const chat = 7;
const to: Address = { channel: "telegram", account: "default", kind: "dm", peer: String(chat) };
const longValue = `approve ${"x".repeat(100)}`;

const file = (name: string, mediaType: string): MediaFile => ({ path: name, name, mediaType, bytes: 3 });
const album = Array.from({ length: 11 }, (_, index) => file(`p${index}.jpg`, "image/jpeg"));
const thirteen = Array.from({ length: 13 }, (_, index) => `tea ${index + 1}`);
const caption = `**Holidays** ${"and more ".repeat(130)}`;
const buttons: Part = {
  kind: "text",
  markdown: "Shall I?",
  buttons: [
    [
      { label: "Yes", value: longValue },
      { label: "No", value: "no" },
    ],
  ],
};

beforeAll(async () => {
  w = await world();
  home = await freshHome();
  await mkdir(join(home, "media"), { recursive: true });
  for (const { path } of album) await writeFile(join(home, "media", path), "abc");
  await writeFile(join(home, "media", "v.ogg"), oggOpusFile([40, 40, 40]));
  w.telegram.as({ id: chat, name: "Ann" }).says("/start");
  await plant(home, to, [
    [{ kind: "media", media: "image", files: album, caption }],
    [{ kind: "voice", file: file("v.ogg", "audio/ogg") }],
    [{ kind: "poll", question: "Tea?", options: ["yes", "no"], multiple: false, anonymous: false }],
    [{ kind: "poll", question: "Too many", options: thirteen, multiple: false, anonymous: false }],
    [
      {
        kind: "media",
        media: "file",
        files: [{ ...file("huge.pdf", "application/pdf"), bytes: 60_000_000 }],
      },
    ],
    [{ kind: "media", media: "file", files: [file("gone.pdf", "application/pdf")] }],
    [buttons],
  ]);
  daemon = await w.start({ home });
  await eventually(
    () => w.answers(chat).some((message) => message.buttons.length > 0),
    20_000,
    "the buttons",
  );
});
afterAll(async () => {
  await cleanUp();
  expect(w.telegram.violations()).toEqual([]);
  await w.close();
});

const press = async (label: string): Promise<string | undefined> => {
  const message = w.answers(chat).find((each) => each.buttons.length > 0);
  const rows = w.telegram.calls("sendMessage").flatMap((call) => {
    const markup = call.params["reply_markup"] as
      | { inline_keyboard: { text: string; callback_data: string }[][] }
      | undefined;
    return markup?.inline_keyboard.flat() ?? [];
  });
  const value = rows.find((button) => button.text === label)?.callback_data ?? "";
  const id = w.telegram.as({ id: chat, name: "Ann" }).presses(message?.id ?? 0, value);
  const answer = await eventually(
    () => w.telegram.bot().callbackAnswer(id),
    10_000,
    "the answer to the press",
  );
  return answer.text;
};

describe("sent", () => {
  test("an album of eleven is ten and one, the caption on the first, what does not fit behind it", () => {
    const photos = w.answers(chat).filter((message) => message.kind === "photo");
    expect(photos).toHaveLength(11);
    expect(photos.filter((photo) => photo.text !== "")).toHaveLength(1);
    expect(photos[0]?.text.length).toBeLessThanOrEqual(1024);
    const groups = w.telegram
      .calls("sendMediaGroup")
      .map((call) => (call.params["media"] as unknown[]).length);
    expect(groups).toEqual([10]);
    const rest = w
      .answers(chat)
      .find((message) => message.kind === "text" && message.text.includes("and more"));
    expect(`${photos[0]?.text} ${rest?.text}`).toBe(caption.replaceAll("**", "").trim());
  });

  test("a voice note and a poll arrive as such", () => {
    expect(w.answers(chat).map((message) => message.kind)).toEqual(expect.arrayContaining(["voice", "poll"]));
  });

  test("a poll and a file that are too large for Telegram are said in words", () => {
    const texts = w.answers(chat).map((message) => message.text);
    expect(texts).toContainEqual(expect.stringMatching(/^📊 Too many[\s\S]*13\. tea 13/));
    expect(texts).toContain("📎 huge.pdf (60 MB) is too large to be sent here: at most 50 MB.");
  });

  test("what cannot go fails for itself and does not hold up what comes after", () => {
    expect(w.answers(chat).map((message) => message.kind)).not.toContain("document");
    expect(w.answers(chat).map((message) => message.text)).toContain("Shall I?");
  });
});

describe("a button", () => {
  test("pressed after a restart hands its whole value to the agent, once; a second press is told", async () => {
    await daemon.stop();
    daemon = await w.start({ home });
    const asked = w.models.requests().length;
    expect(await press("Yes")).toBeUndefined();
    await eventually(() => w.models.requests().length > asked);
    expect(w.models.requests().at(-1)?.lastUserText).toContain(
      `[pressed button]\ncallback_data: ${longValue}`,
    );
    expect(await press("Yes")).toBe("This was already pressed.");
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(w.models.requests()).toHaveLength(asked + 1);
  });

  test("beside it still works, and the answer to a press quotes nothing", async () => {
    w.models.reply("[[reply_to_current]] as you wish");
    expect(await press("No")).toBeUndefined();
    const answer = await eventually(() => w.answers(chat).find((message) => message.text === "as you wish"));
    expect(answer.replyTo).toBeUndefined();
  });
});
