// What each platform can, a second time and as a whole: a wrong default sends what the platform refuses, or
// holds back what it takes.
import { expect, test } from "vitest";
import { discordActions, discordCapabilities, telegramActions, telegramCapabilities } from "@parley/channels";
import * as discordLimits from "../src/discord/capabilities.ts";
import * as telegramLimits from "../src/telegram/capabilities.ts";
import { webCapabilities } from "../src/web.ts";

const all = {
  media: true,
  albumFiles: 10,
  polls: true,
  voice: true,
  silent: true,
  threads: true,
  pins: true,
  typing: true,
  reactions: true,
  edits: true,
  removals: true,
  replyTags: true,
  inlineButtons: true,
};
const actions = ["edit", "remove", "react", "pin", "createThread", "answerCallback", "setCommands"];

test("Discord's capabilities and limits are those of its documentation", () => {
  expect(discordCapabilities).toEqual({
    ...all,
    numberedMessages: true,
    dialect: "discord",
    textChars: 2_000,
    captionChars: 2_000,
    uploadBytes: 26_214_400,
    uploadBytesAtMost: 104_857_600,
    downloadBytes: 26_214_400,
    albumBytes: 26_214_400,
    pollLimits: {
      questionChars: 300,
      fewestOptions: 1,
      mostOptions: 10,
      optionChars: 55,
      anonymous: false,
      mostHours: 768,
    },
    menus: true,
    forms: true,
    idempotentSends: true,
  });
  expect(discordActions).toEqual(actions);
  const { discordCapabilities: _, discordActions: __, ...limits } = discordLimits;
  expect(limits).toEqual({
    uploadBytesByTier: [26_214_400, 26_214_400, 52_428_800, 104_857_600],
    nonceChars: 25,
    titleChars: 100,
    buttonRows: 5,
    buttonsPerRow: 5,
    buttonLabelChars: 80,
    customIdChars: 100,
    menuChoices: 25,
    postTags: 5,
    slashCommands: 100,
  });
});

test("Telegram's capabilities and limits are those of the Bot API", () => {
  const { reactionEmoji = [], ...capabilities } = telegramCapabilities;
  expect(capabilities).toEqual({
    ...all,
    numberedMessages: true,
    dialect: "telegram",
    textChars: 4_096,
    captionChars: 1_024,
    textEntities: 100,
    uploadBytes: 50_000_000,
    downloadBytes: 20_000_000,
    pollLimits: {
      questionChars: 300,
      fewestOptions: 1,
      mostOptions: 12,
      optionChars: 100,
      anonymous: true,
      mostHours: 730,
    },
    menus: false,
    forms: false,
    idempotentSends: false,
  });
  expect(telegramActions).toEqual(actions);
  const { albumFiles, topicChars, photoBytes, callbackBytes } = telegramLimits;
  expect({ albumFiles, topicChars, photoBytes, callbackBytes }).toEqual({
    albumFiles: 10,
    topicChars: 128,
    photoBytes: 10_000_000,
    callbackBytes: 64,
  });
  expect(reactionEmoji).toHaveLength(73);
  expect([reactionEmoji[0], reactionEmoji.at(-1), reactionEmoji.join("").includes("\uFE0F")]).toEqual([
    "👍",
    "😡",
    false,
  ]);
});

test("a page of the console shows text and what stands below it, and takes files of two mebibytes", () => {
  const never = Object.keys(all).filter((name) => !["albumFiles", "threads"].includes(name));
  expect(webCapabilities).toEqual({
    ...Object.fromEntries(never.map((name) => [name, false])),
    dialect: "html",
    textChars: 1_000_000,
    captionChars: 1_000_000,
    uploadBytes: 0,
    downloadBytes: 2_097_152,
    threads: true,
    menus: false,
    forms: false,
    idempotentSends: true,
  });
});
