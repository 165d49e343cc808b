// Discord's capabilities and limits, from its developer documentation (API version 10).
import type { ActionKind, Capabilities } from "@parley/protocol";

const mebibyte = 1024 * 1024;

export const discordCapabilities: Capabilities = {
  dialect: "discord",
  textChars: 2000,
  captionChars: 2000,
  /**
   * The limit that every server allows was 10 or 25 MiB over the years; Discord itself decides. Boosted
   * servers allow more: `uploadBytesByTier`.
   */
  uploadBytes: 25 * mebibyte,
  uploadBytesAtMost: 100 * mebibyte,
  /** Discord lets people send up to 500 MiB, but an incoming file is held in memory once. */
  downloadBytes: 25 * mebibyte,
  media: true,
  albumFiles: 10,
  albumBytes: 25 * mebibyte,
  polls: true,
  pollLimits: {
    questionChars: 300,
    fewestOptions: 1,
    mostOptions: 10,
    optionChars: 55,
    anonymous: false,
    mostHours: 768,
  },
  voice: true,
  silent: true,
  threads: true,
  pins: true,
  typing: true,
  reactions: true,
  numberedMessages: true,
  edits: true,
  removals: true,
  replyTags: true,
  inlineButtons: true,
  menus: true,
  forms: true,
  /** By nonce within some minutes; later our own messages are read back (`sentSince`). */
  idempotentSends: true,
};

export const discordActions: readonly ActionKind[] = [
  "edit",
  "remove",
  "react",
  "pin",
  "createThread",
  "answerCallback",
  "setCommands",
];

/** Largest file by a server's boost tier. */
export const uploadBytesByTier: readonly number[] = [
  25 * mebibyte,
  25 * mebibyte,
  50 * mebibyte,
  100 * mebibyte,
];

/** A nonce has at most 25 characters. */
export const nonceChars = 25;
/** Titles of threads, and of posts in a forum. */
export const titleChars = 100;
export const buttonRows = 5;
export const buttonsPerRow = 5;
export const buttonLabelChars = 80;
export const customIdChars = 100;
export const menuChoices = 25;
/** Tags of one post in a forum. */
export const postTags = 5;
/** Slash commands of one application, worldwide. */
export const slashCommands = 100;
