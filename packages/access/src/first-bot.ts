// Which bot an account was first. Every bot of Telegram counts its messages and updates by itself, so after another bot took an account over,
// its first messages would look like repeats of old ones and be lost (I1): ids of later bots carry the bot.
import type { Cells } from "@parley/store";

export function firstBot(
  cells: Pick<Cells, "get" | "put">,
  account: string,
): (bot: string) => Promise<string> {
  const cell = `telegram:${account}:first-bot`;
  return async (bot) => {
    const known = await cells.get(cell);
    if (known !== null) return known.value;
    await cells.put(cell, bot, {});
    return bot;
  };
}
