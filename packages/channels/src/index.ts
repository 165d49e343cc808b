// The channel drivers behind one contract. Factories load their driver's SDK only when they are called;
// rarely used drivers are loaded lazily as a whole.
import type { Channel } from "./channel.ts";
import type { DiscordOptions } from "./discord/discord.ts";

export * from "./channel.ts";
export * from "./web.ts";
export * from "./text/index.ts";
export * from "./loopback.ts";
export { showsNothing } from "./shows-nothing.ts";
export { chatIsClosed, closedPlace } from "./closed.ts";
export { fileIsTooLarge } from "./too-large.ts";
export { discordLimitReach as limitReach } from "./discord/refusals.ts";
export { discordActions, discordCapabilities } from "./discord/capabilities.ts";
export type { DiscordOptions } from "./discord/discord.ts";
export type { DiscordMemory } from "./discord/memory.ts";
export { migratedChatId } from "./telegram/refusals.ts";
export { normalize as normalizeTelegram } from "./telegram/normalize.ts";
export { telegramActions, telegramCapabilities } from "./telegram/capabilities.ts";
export { telegram, type TelegramChannel, type TelegramOptions } from "./telegram/telegram.ts";
export type { WebhookHandler } from "./telegram/webhook.ts";

export const discord = async (options: DiscordOptions): Promise<Channel> =>
  (await import("./discord/discord.ts")).discord(options);
