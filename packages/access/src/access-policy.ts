// Reads from the config who may speak on an account. An account that is not in the config gets null, so
// nobody may speak there (I13).
import type { Config } from "@parley/config";
import type { AccessPolicy, PolicyOf } from "./admit.ts";
import type { MigratedChats } from "./migrated-chats.ts";
import { discordRules, openRules, telegramRules } from "./place-rules.ts";

export function accessPolicy(channels: Config["channels"], moved: Pick<MigratedChats, "ids">): PolicyOf {
  return ({ channel, account }) => {
    switch (channel) {
      // The control plane has checked the token of every client of this channel.
      case "web":
        return channels.web.enabled ? everybody : null;
      // Programs have shown a token or a webhook's secret.
      case "api":
      case "hook":
        return everybody;
      case "loopback":
        return everybody;
      case "telegram": {
        const config = own(channels.telegram, account);
        return config === null
          ? null
          : { ...config, rules: (place) => telegramRules(config, place, moved.ids(place.address)) };
      }
      case "discord": {
        const config = own(channels.discord, account);
        return config === null ? null : { ...config, rules: (place) => discordRules(config, place) };
      }
      default:
        return null;
    }
  };
}

const everybody: AccessPolicy = {
  dmPolicy: "open",
  allowFrom: ["*"],
  allowBots: false,
  rules: () => openRules,
};

function own<A>(accounts: { readonly [account: string]: A }, account: string): A | null {
  return (Object.hasOwn(accounts, account) ? accounts[account] : undefined) ?? null;
}
