// Runs a strict Telegram Bot API on the loopback: tests play people, break calls and read what people would
// see.
import { type Clock, systemClock } from "@parley/protocol";
import { faults } from "../faults.ts";
import { controlPages } from "./control.ts";
import { paramsCheck } from "./params.ts";
import { person } from "./person.ts";
import { type ApiCall, apiServer } from "./server.ts";
import type { FakeTelegram } from "./surface.ts";
import { visibleMessages } from "./visible.ts";
import { webhookPusher, type WebhookPusher } from "./webhook.ts";
import { type Bot, type Chat, chatJson, world } from "./world.ts";

export interface FakeTelegramOptions {
  readonly clock?: Clock;
  readonly port?: number;
  /** Accepts any well-formed token as a new bot, for programs without configuration. */
  readonly anyToken?: boolean;
}

export const defaultToken = "1000001:fake-telegram-token";

export async function fakeTelegram(options: FakeTelegramOptions = {}): Promise<FakeTelegram> {
  const clock = options.clock ?? systemClock();
  const state = world(clock);
  const rules = faults();
  const calls: ApiCall[] = [];
  const violations: string[] = [];
  const pushers = new Map<Bot, WebhookPusher>();
  let groups = 0;

  const register = (token: string, username = `bot${state.bots.size + 1}_bot`): Bot => {
    const known = state.bots.get(token);
    if (known !== undefined) return known;
    const bot = state.addBot(token, username, `Bot ${state.bots.size + 1}`);
    pushers.set(bot, webhookPusher(bot, clock));
    return bot;
  };
  const chatOf = (id: number): Chat => {
    const privateChats = [...state.bots.values()].map((bot) => bot.privateChats.get(id));
    const chat = state.groups.get(id) ?? privateChats.find((found) => found !== undefined);
    if (chat === undefined) throw new Error(`there is no chat ${id}`);
    return chat;
  };

  const fake: Omit<FakeTelegram, "url" | "close"> = {
    bot(token = defaultToken, username) {
      const bot = register(token, username);
      return {
        token,
        id: bot.me.id,
        username: bot.me.username ?? "",
        queue: bot.queue,
        commands: () => bot.commands,
        webhook: () => bot.webhook,
        callbackAnswer: (id) => bot.callbacks.get(id)?.answer,
        push: (update) => bot.queue.pushRaw(update),
      };
    },
    group({ id, title, type = "supergroup", isForum = false } = {}) {
      groups++;
      return state.addChat(null, id ?? -1_000_000_000_000 - groups, type, title ?? `Group ${groups}`, isForum)
        .id;
    },
    topic(chat, name) {
      const forum = chatOf(chat);
      const id = state.addMessage(forum, { forum_topic_created: { name, icon_color: 7322096 } }).message_id;
      forum.topics.set(id, { name, closed: false, deleted: false });
      return id;
    },
    chat: chatOf,
    upgrade(chat) {
      const old = chatOf(chat);
      const moved = state.groups.get(fake.group({ title: old.title }));
      if (moved === undefined) throw new Error("the new group is missing");
      const from = { id: 1087968824, is_bot: true, first_name: "Group" };
      const leaving = state.addMessage(old, { from, migrate_to_chat_id: moved.id });
      const arriving = state.addMessage(moved, { from, migrate_from_chat_id: old.id });
      old.upgradedTo = moved.id;
      for (const bot of state.bots.values()) {
        bot.queue.push("message", { ...leaving, chat: chatJson(old) });
        bot.queue.push("message", arriving);
      }
      return moved.id;
    },
    as(user, token) {
      const given = typeof user === "number" ? { id: user } : user;
      const { id, name = `User${id}`, username, isBot = false } = given;
      const bot =
        token === undefined ? ([...state.bots.values()][0] ?? register(defaultToken)) : register(token);
      return person(
        state,
        { id, is_bot: isBot, first_name: name, ...(username === undefined ? {} : { username }) },
        bot,
      );
    },
    calls: (method) => (method === undefined ? calls : calls.filter((call) => call.method === method)),
    visible: (chat, thread) => visibleMessages(chatOf(chat), thread),
    violations: () => violations,
    inject: (rule) => rules.inject(rule),
    heal: () => rules.clear(),
  };

  const server = await apiServer(
    {
      state,
      check: await paramsCheck(),
      faults: rules,
      calls,
      violations,
      botFor: (token) =>
        state.bots.get(token) ??
        (options.anyToken === true && /^\d+:\S+$/.test(token) ? register(token) : null),
      afterCall: (bot) => pushers.get(bot)?.wake(),
      control: controlPages(fake),
    },
    options.port,
  );
  return {
    ...fake,
    url: server.url,
    async close() {
      for (const pusher of pushers.values()) pusher.close();
      await server.close();
    },
  };
}
