// What the config says about who may speak on an account. An account that the config does not have gets null: nobody may speak there (I13).
import type { Config } from "@parley/config";
import type { AdmitOptions } from "./admit.ts";

export function accessPolicy(channels: Config["channels"]): AdmitOptions["policy"] {
  return ({ channel, account }) => {
    // The control plane has checked the token of everyone who gets as far as this channel.
    if (channel === "web") return channels.web.enabled ? { dmPolicy: "open", allowFrom: ["*"] } : null;
    if (channel === "loopback") return { dmPolicy: "open", allowFrom: ["*"] };
    const accounts = channel === "telegram" ? channels.telegram : channel === "discord" ? channels.discord : {};
    return (Object.hasOwn(accounts, account) ? accounts[account] : undefined) ?? null;
  };
}
