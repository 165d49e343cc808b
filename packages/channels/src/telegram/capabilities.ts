// What Telegram can do, and its limits as the Bot API documents them (core.telegram.org/bots/api, version 10).
import type { ActionKind, Capabilities } from "@parley/protocol";

/** An album has 2 to 10 files. */
export const albumFiles = 10;

export const telegramCapabilities: Capabilities = {
  dialect: "telegram",
  textChars: 4096,
  captionChars: 1024,
  textEntities: 100,
  uploadBytes: 50_000_000,
  downloadBytes: 20_000_000,
  media: true,
  albumFiles,
  polls: true,
  voice: true,
  threads: true,
  typing: true,
  reactions: true,
  edits: true,
  removals: true,
  replyTags: true,
  inlineButtons: true,
  /** There is no idempotency key for sendMessage: see docs on guarantees. */
  idempotentSends: false,
};

export const telegramActions: readonly ActionKind[] = [
  "edit",
  "remove",
  "react",
  "pin",
  "createThread",
  "answerCallback",
  "setCommands",
];

/** Photos of the Bot API are at most 10 MB; larger images go as documents. */
export const photoBytes = 10_000_000;
/** callback_data: 1 to 64 bytes of UTF-8. */
export const callbackBytes = 64;

/** The emoji that ReactionTypeEmoji allows. Telegram writes them without variation selectors. */
export const reactionEmoji: ReadonlySet<string> = new Set(
  (
    "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ " +
    "🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡"
  ).split(" "),
);
