// A config as the daemon loads it, from a text.
import { loadConfig, type Config } from "@parley/config";

/**
 * `text`: the file, JSON5. Tokens for Telegram and Discord come from the environment unless the text has its
 * own.
 */
export async function loaded(text: string): Promise<Config> {
  const env = { TELEGRAM_BOT_TOKEN: "1:a", DISCORD_BOT_TOKEN: "b" };
  return (await loadConfig({ env, home: "/state", readFile: async () => text })).config;
}
