// The Telegram channel of one bot account. poll.ts or webhook.ts receive, both through accept.ts; send.ts and
// act.ts send.
import { basename } from "node:path";
import type { Update } from "grammy/types";
import { type Clock, Fault, type Ids, isFault, type Log, sleep } from "@parley/protocol";
import type { Channel, Receive } from "../channel.ts";
import { acceptUpdates } from "./accept.ts";
import { performAction } from "./act.ts";
import type { BotIdentity } from "./addressing.ts";
import { type BotApi, botApi, grammySignal } from "./bot-api.ts";
import { telegramActions, telegramCapabilities } from "./capabilities.ts";
import { healthBoard } from "../health.ts";
import { type ChatMigration, wantedUpdates } from "./normalize.ts";
import { refusedAgainMs, untilDone } from "../persist.ts";
import { shownTexts } from "../shown-texts.ts";
import { tokenWatch } from "../token-watch.ts";
import { pollUpdates } from "./poll.ts";
import { refusalWords } from "./refusals.ts";
import { chatId, wholeNumber } from "./destination.ts";
import { sendPart } from "./send.ts";
import { checkWebhook, type TelegramWebhook, type WebhookHandler, webhookHandler } from "./webhook.ts";

export interface TelegramOptions {
  readonly account: string;
  /** From @BotFather. */
  readonly token: string;
  /** Root of another Bot API server; default is Telegram's. */
  readonly apiRoot?: string;
  /** Address of an HTTP proxy, with user name and password if it needs them. */
  readonly proxy?: string;
  /** Folder that `MediaFile.path` is relative to. */
  readonly mediaFolder: string;
  /** Set for webhook mode; absent means long polling. */
  readonly webhook?: TelegramWebhook;
  /**
   * Told the present bot's id, returns the id of the account's first bot; default: the same. Each bot counts
   * messages and updates by itself.
   */
  readonly firstBot?: (bot: string) => Promise<string>;
  /**
   * Called when a group became a supergroup, before anything of its batch is accepted. When it rejects, the
   * batch comes again. May be called twice for one move.
   */
  readonly onMigration?: (migration: ChatMigration) => Promise<void>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

export interface TelegramChannel extends Channel {
  /** Webhook mode only: the gateway calls it for POST /telegram/<account>. */
  readonly webhook?: WebhookHandler;
}

const telegramRoot = "https://api.telegram.org";
const typingDeadlineMs = 5_000;
const foreignPress = "This button is no longer in use.";

/** Throws Fault("invalid") for options that can never work. Sends nothing before `start`. */
export async function telegram(options: TelegramOptions): Promise<TelegramChannel> {
  const { account, token, apiRoot = telegramRoot, proxy, mediaFolder, webhook, clock, ids, log } = options;
  if (webhook !== undefined) checkWebhook(webhook);
  checkToken(token, apiRoot, account);
  const ending = new AbortController();
  const tokens = tokenWatch({
    ask: (giveUp) => api.raw.getMe(grammySignal(giveUp)),
    everyMs: refusedAgainMs,
    clock,
    log,
    signal: ending.signal,
  });
  const api = await botApi({
    token,
    apiRoot,
    proxy,
    onToken: tokens,
    clock,
  });
  const health = healthBoard(clock, log);
  const persistence = { clock, ids, health, signal: ending.signal };
  const inFlight = new Set<Promise<void>>();
  let accept: ((updates: readonly Update[]) => Promise<void>) | null = null;
  let receiving: Promise<void> | null = null;

  const listen = (me: BotIdentity, first: string, receive: Receive): void => {
    const bot = first === me.id ? {} : { bot: me.id };
    const onMigration = options.onMigration ?? (() => Promise.resolve());
    const onForeignPress = (query: string): void =>
      void api.raw
        .answerCallbackQuery({ callback_query_id: query, text: foreignPress }, grammySignal(ending.signal))
        .catch((error: unknown) => log.debug({ error }, "a press could not be answered"));
    accept = async (updates) => {
      const how = { channel: "telegram", account, ...bot, clock, log, receive, onMigration, onForeignPress };
      const work = acceptUpdates(updates, me, how);
      const settled = work.catch(() => {}); // The caller sees the rejection; this copy is only waited for.
      inFlight.add(settled);
      try {
        await work;
        health.inboundCompleted();
      } finally {
        inFlight.delete(settled);
      }
    };
  };
  const handOver = (updates: readonly Update[]): Promise<void> =>
    accept === null ? Promise.reject(new Fault("aborted", "the channel was stopped")) : accept(updates);
  const receiveWith = async (receive: Receive, known: BotIdentity | null): Promise<void> => {
    const me = known ?? (await untilDone(() => identity(api, ending.signal), persistence));
    if (me === null) return;
    const first = await untilDone(async () => (await options.firstBot?.(me.id)) ?? me.id, persistence);
    if (first === null || ending.signal.aborted) return;
    listen(me, first, receive);
    if (webhook === undefined) return await pollUpdates({ ...persistence, api, log, accept: handOver });
    if ((await untilDone(() => setWebhook(api, webhook, ending.signal), persistence)) !== null)
      health.set("ok");
  };

  const shown = shownTexts();

  async function fetchOnce(
    ref: string,
    limitBytes: number,
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Uint8Array; readonly name: string }> {
    const file: { readonly file_path?: unknown; readonly file_size?: unknown } | null = await api.raw.getFile(
      { file_id: ref },
      grammySignal(signal),
    );
    const { file_path: path, file_size: size } = file ?? {};
    if (typeof size === "number" && size > limitBytes)
      throw new Fault("invalid", `the file has ${size} bytes, over the limit of ${limitBytes}`);
    if (typeof path !== "string") throw new Fault("missing", "Telegram no longer has the file");
    return { bytes: await api.fetchFile(path, limitBytes, signal), name: basename(path) };
  }

  return {
    name: "telegram",
    account,
    capabilities: telegramCapabilities,
    actions: telegramActions,
    async start(receive) {
      if (receiving !== null || ending.signal.aborted)
        throw new Fault("invalid", `Telegram account "${account}" was started before: make a new channel`);
      const me = await identity(api, ending.signal).catch((error: unknown) => {
        if (!isFault(error)) {
          health.set("down", "the first call failed");
          throw error;
        }
        if (error.code === "denied") {
          health.set("down", error.message);
          // What an outage refuses is right again later.
          receiving = sleep(clock, refusedAgainMs, ending.signal).then(() => receiveWith(receive, null));
          throw error;
        }
        health.set("degraded", error.message);
        return null;
      });
      receiving = receiveWith(receive, me);
    },
    async stop() {
      ending.abort();
      // Webhook calls get 503 from here on; those handed over before are waited for.
      accept = null;
      await receiving;
      await Promise.all(inFlight);
      api.transport.close();
      if (health.read().state !== "stopped") health.set("stopped");
    },
    health: () => tokens.over(health.read()),
    async send(to, part, { signal }) {
      const receipt = await sendPart({ api, mediaFolder, log }, to, part, signal);
      if (part.kind === "text") shown.now(to, receipt.messageId, part, part.buttons);
      return receipt;
    },
    act: (to, action, { signal }) =>
      action.kind === "edit"
        ? shown.edit(to, action, () => performAction(api, to, action, signal))
        : performAction(api, to, action, signal),
    async typing(to) {
      const giveUp = new AbortController();
      const timer = clock.after(typingDeadlineMs, () => giveUp.abort());
      // Unlike sends, typing names General too.
      const thread = to.thread === undefined ? {} : { message_thread_id: wholeNumber(to.thread, "thread") };
      try {
        await api.raw.sendChatAction(
          { ...chatId(to), ...thread, action: "typing" },
          grammySignal(giveUp.signal),
        );
      } finally {
        timer.cancel();
      }
    },
    async download(ref, limitBytes, signal) {
      try {
        return await fetchOnce(ref, limitBytes, signal);
      } catch (error) {
        // An expired link says nothing about the file; asked again, Telegram makes a new one.
        if (!isFault(error, "missing") || refusalWords(error) !== "") throw error;
        return await fetchOnce(ref, limitBytes, signal);
      }
    },
    ...(webhook === undefined ? {} : { webhook: webhookHandler(webhook.secret, () => accept) }),
  };
}

/** Other servers, such as test servers, may use other token forms; a token is one path segment everywhere. */
function checkToken(token: string, apiRoot: string, account: string): void {
  if (apiRoot === telegramRoot && !/^\d+:\S+$/.test(token))
    throw new Fault(
      "invalid",
      `the token of Telegram account "${account}" is not of the form <number>:<secret>`,
    );
  if (!/^[^\s/?#]+$/.test(token))
    throw new Fault("invalid", `the token of Telegram account "${account}" has characters that no token has`);
}

/**
 * Every bot has a user name; for a server that leaves it out we use one that nobody can mention. Without its
 * id the bot would not know its own messages, so an answer that has none counts as no answer.
 */
async function identity(api: BotApi, signal: AbortSignal): Promise<BotIdentity> {
  const me: { readonly id?: unknown; readonly username?: unknown } | null = await api.raw.getMe(
    grammySignal(signal),
  );
  if (!Number.isSafeInteger(me?.id)) throw new Fault("unavailable", "Telegram answered getMe without an id");
  return { id: String(me?.id), username: typeof me?.username === "string" ? me.username : "" };
}

/** One connection at a time, so that Telegram keeps the order of updates. */
async function setWebhook(
  { raw }: BotApi,
  { url, secret }: TelegramWebhook,
  signal: AbortSignal,
): Promise<true> {
  return await raw.setWebhook(
    {
      url,
      secret_token: secret,
      allowed_updates: wantedUpdates,
      max_connections: 1,
      drop_pending_updates: false,
    },
    grammySignal(signal),
  );
}
