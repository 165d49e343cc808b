// The fake's remote control, for tests in another process: everything that `FakeTelegram` can do, as JSON
// over /_control.
//   POST /_control/bot      { token?, username? }                      registers a bot
//   POST /_control/say      { user, text, ...SayOptions, name?, token? }   also /edit /press /react /photo
//   /document /voice /album
//   POST /_control/group    GroupOptions -> { chat }      POST /_control/topic { chat, name } -> { thread }
//   POST /_control/update   { token?, update }                         a raw update
//   POST /_control/fault    FaultRule                     DELETE /_control/fault   forgets all rules
//   GET  /_control/calls?method=  /_control/messages?chat=&thread=  /_control/violations
import type { IncomingMessage, ServerResponse } from "node:http";
import { writeJson } from "../answers.ts";
import type { FaultRule } from "../faults.ts";
import { readAll } from "./body.ts";
import type { MediaOptions, Person } from "./person.ts";
import type { Update } from "./queue.ts";
import type { FakeTelegram, GroupOptions } from "./surface.ts";

interface Order extends MediaOptions {
  readonly user: number;
  readonly name?: string;
  readonly username?: string;
  readonly token?: string;
  readonly text?: string;
  readonly messageId?: number;
  readonly value?: string;
  readonly emoji?: string | null;
  readonly count?: number;
}

type Deed = (who: Person, order: Order) => unknown;

const deeds: { readonly [name: string]: Deed } = {
  say: (who, order) => who.says(order.text ?? "", order),
  edit: (who, order) => who.edits(order.messageId ?? 0, order.text ?? "", order),
  press: (who, order) => ({ callbackId: who.presses(order.messageId ?? 0, order.value ?? "", order) }),
  react: (who, order) => who.reacts(order.messageId ?? 0, order.emoji ?? null, order),
  photo: (who, order) => who.sendsPhoto(order),
  document: (who, order) => who.sendsDocument(order),
  voice: (who, order) => who.sendsVoice(order),
  album: (who, order) => who.sendsAlbum(order.count ?? 2, order),
};

export function controlPages(
  fake: Omit<FakeTelegram, "url" | "close">,
): (incoming: IncomingMessage, outgoing: ServerResponse, url: URL) => Promise<void> {
  const obey = (method: string, name: string, url: URL, body: unknown): unknown => {
    const deed = deeds[name];
    if (method === "POST" && deed !== undefined) {
      const order = body as Order;
      const { user: id, name: firstName, username } = order;
      const who = {
        id,
        ...(firstName === undefined ? {} : { name: firstName }),
        ...(username === undefined ? {} : { username }),
      };
      return deed(fake.as(who, order.token), order) ?? {};
    }
    switch (`${method} ${name}`) {
      case "POST bot": {
        const { token, username } = body as { readonly token?: string; readonly username?: string };
        const bot = fake.bot(token, username);
        return { token: bot.token, id: bot.id, username: bot.username };
      }
      case "POST group":
        return { chat: fake.group(body as GroupOptions) };
      case "POST topic": {
        const { chat, name: title } = body as { readonly chat: number; readonly name: string };
        return { thread: fake.topic(chat, title) };
      }
      case "POST update": {
        const { token, update } = body as { readonly token?: string; readonly update: Update };
        fake.bot(token).push(update);
        return {};
      }
      case "POST fault":
        fake.inject(body as FaultRule);
        return {};
      case "DELETE fault":
        fake.heal();
        return {};
      case "GET calls":
        return fake.calls(url.searchParams.get("method") ?? undefined);
      case "GET messages": {
        const thread = url.searchParams.get("thread");
        return fake.visible(
          Number(url.searchParams.get("chat")),
          thread === null ? undefined : Number(thread),
        );
      }
      case "GET violations":
        return fake.violations();
      default:
        return undefined;
    }
  };
  return async (incoming, outgoing, url) => {
    const bytes = await readAll(incoming);
    try {
      const body: unknown = bytes.length === 0 ? {} : JSON.parse(new TextDecoder().decode(bytes));
      const answer = obey(incoming.method ?? "GET", url.pathname.replace("/_control/", ""), url, body);
      if (answer === undefined)
        writeJson(outgoing, 404, { error: `no control page ${incoming.method} ${url.pathname}` });
      else writeJson(outgoing, 200, answer);
    } catch (error) {
      // An invalid request is the test's mistake, so the answer says why.
      writeJson(outgoing, 400, { error: String(error) });
    }
  };
}
