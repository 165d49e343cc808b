// Merges the accounts of a channel: an account is what its own entry says, then what its channel says, then
// the default. The token of the channel itself belongs to the account "default", and a token from the
// environment serves that account only.
import type { DiscordAccountConfig, TelegramAccountConfig } from "./channel-config.ts";
import type { Env } from "./home.ts";
import type { ConfigPath } from "./problem.ts";
import { discordDefaults, telegramDefaults } from "./schema/channels.ts";
import type { ConfigFile } from "./schema/root.ts";
import { secret, type Secret } from "./secret.ts";

export const defaultAccount = "default";

/** Where in the file an account is written: what a problem points at. */
export function accountPath(channel: "telegram" | "discord", account: string, file: ConfigFile): ConfigPath {
  const own = Object.hasOwn(file.channels[channel].accounts, account);
  return own ? ["channels", channel, "accounts", account] : ["channels", channel];
}

export function telegramAccounts(
  file: ConfigFile,
  env: Env,
): { readonly [account: string]: TelegramAccountConfig } {
  const { accounts, ...root } = file.channels.telegram;
  const result: { [account: string]: TelegramAccountConfig } = {};
  for (const [id, own] of entries(accounts, root)) {
    const { enabled, capabilities, webhookUrl, webhookSecret, ...account } = {
      ...telegramDefaults,
      ...root,
      ...own,
    };
    const botToken = tokenOf(id, own.botToken, root.botToken, env["TELEGRAM_BOT_TOKEN"]);
    if (botToken === undefined || enabled === false) continue;
    const webhook =
      webhookUrl === undefined || webhookSecret === undefined
        ? {}
        : { webhook: { url: webhookUrl, secret: webhookSecret } };
    result[id] = {
      groupAllowFrom: account.allowFrom,
      inlineButtons: capabilities?.inlineButtons ?? "allowlist",
      ...account,
      ...webhook,
      botToken,
    };
  }
  return result;
}

export function discordAccounts(
  file: ConfigFile,
  env: Env,
): { readonly [account: string]: DiscordAccountConfig } {
  const { accounts, ...root } = file.channels.discord;
  const result: { [account: string]: DiscordAccountConfig } = {};
  for (const [id, own] of entries(accounts, root)) {
    const { enabled, intents, slashCommand, ...account } = { ...discordDefaults, ...root, ...own };
    const token = tokenOf(id, own.token, root.token, env["DISCORD_BOT_TOKEN"]);
    if (token === undefined || enabled === false) continue;
    const { ephemeral } = slashCommand ?? {};
    result[id] = {
      ...account,
      messageContent: intents?.messageContent ?? true,
      ...(ephemeral === undefined ? {} : { ephemeral }),
      token,
    };
  }
  return result;
}

/** The default account stands first, whether it is written out or not. */
function entries<A extends object>(
  accounts: { readonly [id: string]: A },
  root: A,
): readonly (readonly [string, A])[] {
  const own = Object.entries(accounts);
  return Object.hasOwn(accounts, defaultAccount) ? own : [[defaultAccount, root], ...own];
}

/**
 * A token is never inherited by another account: two accounts with one token would take each other's
 * messages.
 */
function tokenOf(
  id: string,
  own: Secret | undefined,
  root: Secret | undefined,
  fromEnv: string | undefined,
): Secret | undefined {
  if (own !== undefined || id !== defaultAccount) return own;
  return root ?? (fromEnv === undefined || fromEnv === "" ? undefined : secret(fromEnv));
}
