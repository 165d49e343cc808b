// Implements the methods about the bot itself and its updates: getMe, getUpdates, and the webhook's three
// methods.
import { badRequest, conflict } from "../refusal.ts";
import type { PollRequest } from "../queue.ts";
import type { Methods } from "./call.ts";

export const updateMethods: Methods = {
  getMe: ({ bot }) => bot.me,
  async getUpdates({ bot, params, signal }) {
    if (bot.webhook !== null) {
      throw conflict(
        "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first",
      );
    }
    const allowed = params["allowed_updates"] as readonly string[] | undefined;
    if (allowed !== undefined) bot.queue.setAllowed(allowed);
    return await bot.queue.poll(params as PollRequest, signal);
  },
  setWebhook({ bot, params }) {
    const url = String(params["url"]);
    if (url === "") return removeWebhook(bot, params);
    // The real server wants HTTPS; on the loopback, and only there, the fake lets plain HTTP pass.
    if (!/^https:\/\/|^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)[:/]/.test(url)) {
      throw badRequest("bad webhook: An HTTPS URL must be provided for webhook");
    }
    const secret = params["secret_token"] as string | undefined;
    if (secret !== undefined && !/^[A-Za-z0-9_-]{1,256}$/.test(secret)) {
      throw badRequest("secret token contains unallowed characters");
    }
    const allowed = params["allowed_updates"] as readonly string[] | undefined;
    if (allowed !== undefined) bot.queue.setAllowed(allowed);
    if (params["drop_pending_updates"] === true) bot.queue.clear();
    bot.webhook = { url, secret, maxConnections: Number(params["max_connections"] ?? 40) };
    return true;
  },
  deleteWebhook: ({ bot, params }) => removeWebhook(bot, params),
  getWebhookInfo: ({ bot }) => ({
    url: bot.webhook?.url ?? "",
    has_custom_certificate: false,
    pending_update_count: bot.queue.pending().length,
    ...(bot.webhook === null ? {} : { max_connections: bot.webhook.maxConnections }),
    ...(bot.webhookError === null
      ? {}
      : { last_error_date: bot.webhookError.date, last_error_message: bot.webhookError.message }),
    ...(bot.queue.allowed().length === 0 ? {} : { allowed_updates: bot.queue.allowed() }),
  }),
};

function removeWebhook(
  bot: Parameters<Methods[string]>[0]["bot"],
  params: { readonly [name: string]: unknown },
): true {
  if (params["drop_pending_updates"] === true) bot.queue.clear();
  bot.webhook = null;
  bot.webhookError = null;
  return true;
}
