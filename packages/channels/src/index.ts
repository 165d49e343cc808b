// Platforms behind one contract. Factories load their driver's SDK only when they are called.
export * from "./channel.ts";
export * from "./web.ts";
export * from "./text/index.ts";
export * from "./loopback.ts";
export { chatIsClosed } from "./closed.ts";
export { discordActions, discordCapabilities } from "./discord/capabilities.ts";
export { discord, type DiscordOptions } from "./discord/discord.ts";
export type { DiscordMemory } from "./discord/memory.ts";
export { migratedChatId } from "./telegram/refusals.ts";
export { normalize as normalizeTelegram, type ChatMigration } from "./telegram/normalize.ts";
export { telegramActions, telegramCapabilities } from "./telegram/capabilities.ts";
export { telegram, type TelegramChannel, type TelegramOptions } from "./telegram/telegram.ts";
export type { TelegramWebhook, WebhookHandler } from "./telegram/webhook.ts";
