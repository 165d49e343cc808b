// Telegram's capabilities and limits, from the Bot API (core.telegram.org/bots/api, version 10).
import type { ActionKind, Capabilities } from "@parley/protocol";

/** An album has 2 to 10 files. */
export const albumFiles = 10;

/** What ReactionTypeEmoji allows, as Telegram writes it. */
const reactionEmoji = (
  "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ " +
  "🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡"
).split(" ");

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
  pollLimits: {
    questionChars: 300,
    fewestOptions: 1,
    mostOptions: 12,
    optionChars: 100,
    anonymous: true,
    mostHours: 730,
  },
  voice: true,
  silent: true,
  threads: true,
  pins: true,
  typing: true,
  reactions: true,
  reactionEmoji,
  numberedMessages: true,
  edits: true,
  removals: true,
  replyTags: true,
  inlineButtons: true,
  menus: false,
  forms: false,
  /** sendMessage has no idempotency key; docs/guarantees.md says what follows from it. */
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

/** The Bot API takes photos up to 10 MB; larger images are sent as documents. */
export const photoBytes = 10_000_000;
/** Names of a forum's topics. */
export const topicChars = 128;
/** callback_data: 1 to 64 bytes of UTF-8. */
export const callbackBytes = 64;
