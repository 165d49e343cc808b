// The fake's remote control, for tests in another process: everything that `FakeDiscord` can do, as JSON over
// /_control.
//   POST /_control/bot       { token?, username?, privileged? } -> { token, id, username }
//   POST /_control/guild     GuildOptions -> { guild }          POST /_control/role    { guild, name } -> {
//   role }
//   POST /_control/channel   ChannelOptions -> { channel }      POST /_control/change  { channel, deny?,
//   allow?, archived?, locked?, name?, removed? }
//   POST /_control/say       { user, text, name?, token?, isBot?, isWebhook?, ...DiscordSayOptions; files as
//   { name, mediaType, text | base64 } }
//        also /edit /delete /react /unreact /type { user, message?, text?, emoji?, channel? }, /join { user,
//        guild, roles?, nick? },
//        /thread { user, channel, title, message?, isPrivate? } -> { thread }, /post { user, channel, title,
//        text, tags? }, /dm { user } -> { channel }
//   POST /_control/run       { user, command, values?, channel? } -> { interaction }
//        also /press { user, message, customId }, /select { ..., values }, /submit { user, interaction,
//        fields }
//   POST /_control/gateway   { do: "drop" | "reconnect" | "invalidate" | "refuseResume" | ..., with:
//   [arguments] }   any of GatewayControls
//   POST /_control/fault     FaultRule                          DELETE /_control/fault   forgets all rules
//   GET  /_control/calls?route=  /_control/messages?channel=&viewer=  /_control/interaction?id=
//   /_control/commands?token=&guild=
//        /_control/steps?what=  /_control/sessions  /_control/typing?channel=  /_control/violations
import type { IncomingMessage, ServerResponse } from "node:http";
import { writeJson } from "../answers.ts";
import type { FaultRule } from "../faults.ts";
import { readAll, type UploadedFile } from "../telegram/body.ts";
import type { GatewayControls, GatewayStep } from "./gateway/controls.ts";
import type { DiscordPerson, DiscordSayOptions } from "./person.ts";
import type { ChannelOptions, DiscordBotOptions, FakeDiscord, GuildOptions } from "./surface.ts";
import type { Right } from "./model.ts";

interface SentFile {
  readonly name: string;
  readonly mediaType?: string;
  readonly text?: string;
  readonly base64?: string;
}

interface Order extends Omit<DiscordSayOptions, "files"> {
  readonly user: string;
  readonly name?: string;
  readonly username?: string;
  readonly isBot?: boolean;
  readonly isWebhook?: boolean;
  readonly token?: string;
  readonly text?: string;
  readonly title?: string;
  readonly message?: string;
  readonly emoji?: string;
  readonly guild?: string;
  readonly roles?: readonly string[];
  readonly nick?: string;
  readonly tags?: readonly string[];
  readonly isPrivate?: boolean;
  readonly command?: string;
  readonly customId?: string;
  readonly interaction?: string;
  readonly values?: any;
  readonly files?: readonly SentFile[];
}

type Deed = (who: DiscordPerson, order: Order) => unknown;

const deeds: { readonly [name: string]: Deed } = {
  say: (who, order) => who.says(order.text ?? "", withFiles(order)),
  edit: (who, order) => who.edits(needed(order, "message"), order.text ?? "", order),
  delete: (who, order) => who.deletes(needed(order, "message"), order),
  react: (who, order) => who.reacts(needed(order, "message"), needed(order, "emoji"), order),
  unreact: (who, order) => who.unreacts(needed(order, "message"), needed(order, "emoji"), order),
  type: (who, order) => who.types(order),
  join: (who, order) => who.joins(needed(order, "guild"), order),
  thread: (who, order) => ({
    thread: who.opensThread(needed(order, "title"), { ...order, channel: needed(order, "channel") }),
  }),
  post: (who, order) =>
    who.posts(needed(order, "title"), order.text ?? "", {
      ...withFiles(order),
      channel: needed(order, "channel"),
    }),
  dm: (who) => ({ channel: who.dm() }),
  run: (who, order) => ({ interaction: who.runs(needed(order, "command"), order) }),
  suggest: (who, order) => ({
    interaction: who.typesBehind(needed(order, "command"), order.text ?? "", order),
  }),
  press: (who, order) => ({
    interaction: who.presses(needed(order, "message"), needed(order, "customId"), order),
  }),
  select: (who, order) => ({
    interaction: who.selects(needed(order, "message"), needed(order, "customId"), order.values ?? [], order),
  }),
  submit: (who, order) => ({
    interaction: who.submits(
      needed(order, "interaction"),
      (order.fields ?? {}) as { [field: string]: string },
    ),
  }),
};

type Text = "message" | "emoji" | "guild" | "title" | "channel" | "command" | "customId" | "interaction";

function needed(order: Order, field: Text): string {
  const value = order[field];
  if (value === undefined) throw new Error(`the order lacks "${field}"`);
  return value;
}

function withFiles({
  files,
  ...order
}: Order): Omit<Order, "files"> & { readonly files?: readonly UploadedFile[] } {
  if (files === undefined) return order;
  const read = files.map(({ name, mediaType = "application/octet-stream", text, base64 }) => ({
    name,
    mediaType,
    bytes: new Uint8Array(base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(base64, "base64")),
  }));
  return { ...order, files: read };
}

export function controlPages(
  fake: Omit<FakeDiscord, "url" | "apiRoot" | "close">,
): (incoming: IncomingMessage, outgoing: ServerResponse, url: URL) => Promise<void> {
  const obey = (method: string, name: string, query: URLSearchParams, body: unknown): unknown => {
    const deed = deeds[name];
    if (method === "POST" && deed !== undefined) {
      const order = body as Order;
      const who = Object.fromEntries(
        Object.entries({
          id: order.user,
          name: order.name,
          username: order.username,
          isBot: order.isBot,
          isWebhook: order.isWebhook,
        }).filter(([, value]) => value !== undefined),
      );
      return deed(fake.as(who as { id: string }, order.token), order) ?? {};
    }
    return (pages[`${method} ${name}`] as ((query: URLSearchParams, body: any) => unknown) | undefined)?.(
      query,
      body,
    );
  };
  const pages: { readonly [page: string]: (query: URLSearchParams, body: any) => unknown } = {
    "POST bot": (_, { token, ...options }: DiscordBotOptions & { readonly token?: string }) => {
      const { id, username, token: used } = fake.bot(token, options);
      return { token: used, id, username };
    },
    "POST guild": (_, options: GuildOptions) => ({ guild: fake.guild(options) }),
    "POST role": (_, { guild, name }: { readonly guild: string; readonly name: string }) => ({
      role: fake.role(guild, name),
    }),
    "POST channel": (_, options: ChannelOptions) => ({ channel: fake.channel(options) }),
    "POST change": (_, change: Change) => changed(fake, change),
    "POST gateway": (
      _,
      order: { readonly do: keyof GatewayControls; readonly with?: readonly unknown[] },
    ) => {
      const control = fake.gateway[order.do] as ((...given: unknown[]) => unknown) | undefined;
      if (control === undefined) throw new Error(`the gateway knows no "${order.do}"`);
      return control(...(order.with ?? [])) ?? {};
    },
    "POST fault": (_, rule: FaultRule) => fake.inject(rule) ?? {},
    "DELETE fault": () => fake.heal() ?? {},
    "GET calls": (query) => fake.calls(query.get("route") ?? undefined),
    "GET messages": (query) => fake.visible(query.get("channel") ?? "", query.get("viewer") ?? undefined),
    "GET interaction": (query) => fake.interaction(query.get("id") ?? ""),
    "GET commands": (query) =>
      fake.bot(query.get("token") ?? undefined).commands(query.get("guild") ?? undefined),
    "GET steps": (query) =>
      fake.gateway.steps((query.get("what") ?? undefined) as GatewayStep["what"] | undefined),
    "GET sessions": () => fake.gateway.sessions(),
    "GET typing": (query) => fake.at(query.get("channel") ?? "").typing(),
    "GET violations": () => fake.violations(),
  };
  return async (incoming, outgoing, url) => {
    const bytes = await readAll(incoming);
    try {
      const body: unknown = bytes.length === 0 ? {} : JSON.parse(new TextDecoder().decode(bytes));
      const answer = obey(
        incoming.method ?? "GET",
        url.pathname.replace("/_control/", ""),
        url.searchParams,
        body,
      );
      if (answer === undefined)
        writeJson(outgoing, 404, { error: `no control page ${incoming.method} ${url.pathname}` });
      else writeJson(outgoing, 200, answer);
    } catch (error) {
      // An invalid request is the test's mistake, so the answer says why.
      writeJson(outgoing, 400, { error: String(error) });
    }
  };
}

interface Change {
  readonly channel: string;
  readonly deny?: readonly Right[];
  readonly allow?: readonly Right[];
  readonly archived?: boolean;
  readonly locked?: boolean;
  readonly name?: string;
  readonly removed?: true;
}

function changed(
  fake: Pick<FakeDiscord, "at">,
  { channel: id, deny = [], allow = [], archived, locked, name, removed }: Change,
): unknown {
  const channel = fake.at(id);
  channel.deny(...deny);
  channel.allow(...allow);
  if (archived !== undefined) channel.archive(archived);
  if (locked !== undefined) channel.lock(locked);
  if (name !== undefined) channel.rename(name);
  if (removed === true) channel.remove();
  return {};
}
