// Runs a strict Discord on the loopback: tests play people, break calls and connections, and read what people
// would see.
import { type Clock, systemClock } from "@parley/protocol";
import { type APIRole, type APIUser, ChannelType } from "discord-api-types/v10";
import { faults } from "../faults.ts";
import { controlPages } from "./control.ts";
import { tellChannel } from "./events.ts";
import { type Gateway, gateway } from "./gateway/gateway.ts";
import { interactionState } from "./interaction.ts";
import { guildEvent } from "./payloads.ts";
import { person, type PersonOptions } from "./person.ts";
import type { DiscordCall } from "./rest/call.ts";
import { removeChannel } from "./rest/channels.ts";
import { forms } from "./rest/form.ts";
import { limits } from "./rest/limits.ts";
import { restServer } from "./rest/server.ts";
import { openThread } from "./rest/threads.ts";
import type { ChannelOptions, DiscordBotOptions, FakeDiscord } from "./surface.ts";
import { visibleMessages } from "./visible.ts";
import type { Bot, Guild, Privileged } from "./model.ts";
import { world } from "./world.ts";

export interface FakeDiscordOptions {
  /** Drives windows, deadlines and ids, but not heartbeats, because their clients have real sockets. */
  readonly clock?: Clock;
  readonly port?: number;
  /** Accepts any token as a new bot, for programs without configuration. */
  readonly anyToken?: boolean;
  /** Discord's rate limits, on unless this says false: five messages in five seconds to a channel. */
  readonly rateLimits?: boolean;
  /** How long a nonce is remembered: 3 minutes; 0 as a server that does not know nonces. */
  readonly nonceWindowMs?: number;
  /** Milliseconds between heartbeats: 41,250 unless a test wants them faster. */
  readonly heartbeatMs?: number;
  /** How long a session can be resumed after its client went: 3 minutes. */
  readonly sessionLifeMs?: number;
  /** Least time between two identifies of one bot: 0 here, 5 seconds on the real server. */
  readonly identifyEveryMs?: number;
  /** Limit of one file without boosts: 10 MiB. */
  readonly uploadBytes?: number;
}

/** Real tokens begin with the bot's id in base64. */
export const defaultDiscordToken = `${Buffer.from("1000000000000000001").toString("base64url")}.fake00.discord-token`;

const kinds: { readonly [kind in NonNullable<ChannelOptions["kind"]>]: ChannelType } = {
  text: ChannelType.GuildText,
  announcement: ChannelType.GuildAnnouncement,
  voice: ChannelType.GuildVoice,
  category: ChannelType.GuildCategory,
  forum: ChannelType.GuildForum,
  media: ChannelType.GuildMedia,
};
const allPrivileged: readonly Privileged[] = ["messageContent", "guildMembers", "presence"];
const typingLastsMs = 10_000;

export async function fakeDiscord(options: FakeDiscordOptions = {}): Promise<FakeDiscord> {
  const clock = options.clock ?? systemClock();
  const state = world(clock);
  const rules = faults();
  const calls: DiscordCall[] = [];
  const violations: string[] = [];

  const register = (token: string, { username, privileged = allPrivileged }: DiscordBotOptions = {}): Bot => {
    const known = state.bots.get(token);
    if (known !== undefined) return known;
    const number = state.bots.size + 1;
    const user: APIUser = {
      id: idOfToken(token) ?? String(1_000_000_000_000_000_000n + BigInt(number)),
      username: username ?? `bot${number}`,
      discriminator: "0000",
      global_name: null,
      avatar: null,
      bot: true,
    };
    const bot: Bot = {
      token,
      user,
      privileged: new Set(privileged),
      isRevoked: false,
      commands: new Map(),
      commandCreations: [],
      dms: new Map(),
      nonces: new Map(),
    };
    state.bots.set(token, bot);
    state.users.set(user.id, user);
    for (const guild of state.guilds.values()) admit(guild, bot);
    return bot;
  };
  const admit = (guild: Guild, bot: Bot): void => {
    guild.members.set(bot.user.id, { user: bot.user, nick: null, roles: [], joinedAt: state.nowIso() });
  };
  const botFor = (token: string): Bot | null => {
    const known = state.bots.get(token);
    if (known !== undefined) return known.isRevoked ? null : known;
    return options.anyToken === true && token !== "" ? register(token) : null;
  };
  const firstBot = (): Bot => [...state.bots.values()][0] ?? register(defaultDiscordToken);

  const fake: Omit<FakeDiscord, "url" | "apiRoot" | "gateway" | "close"> = {
    bot(token = defaultDiscordToken, given = {}) {
      const bot = register(token, given);
      return {
        token,
        id: bot.user.id,
        username: bot.user.username,
        commands: (guild = "") => [...(bot.commands.get(guild)?.values() ?? [])],
        dm: (user) => bot.dms.get(user)?.id,
        setPrivileged(allowed) {
          bot.privileged = new Set(allowed);
        },
        revoke() {
          bot.isRevoked = true;
        },
      };
    },
    guild({ id, name, tier = 0 } = {}) {
      const guild: Guild = {
        id: id ?? state.nextId(),
        name: name ?? `Guild ${state.guilds.size + 1}`,
        ownerId: "1",
        tier,
        roles: new Map(),
        emojis: new Map(),
        members: new Map(),
      };
      guild.roles.set(guild.id, role(guild.id, "@everyone", 0));
      state.guilds.set(guild.id, guild);
      for (const bot of state.bots.values()) admit(guild, bot);
      state.tell({
        event: "GUILD_CREATE",
        to: [...state.bots.values()],
        intents: 1,
        body: (bot) => guildEvent(state, guild, bot),
      });
      return guild.id;
    },
    role(guildId, name) {
      const { roles } = state.guild(guildId);
      const made = role(state.nextId(), name, roles.size);
      roles.set(made.id, made);
      return made.id;
    },
    emoji(guildId, name) {
      const id = state.nextId();
      state.guild(guildId).emojis.set(id, name);
      return id;
    },
    channel({ guild, id, name, topic, kind = "text", parent, tags = [] }) {
      const channel = state.addChannel({
        ...(id === undefined ? {} : { id }),
        type: kinds[kind],
        name: name ?? `${kind}-${state.channels.size + 1}`,
        topic: topic ?? null,
        guild: state.guild(guild),
        parentId: parent ?? null,
        tags: tags.map((tag) => ({ id: state.nextId(), name: tag })),
      });
      tellChannel(state, channel, "Create");
      return channel.id;
    },
    thread(parent, { title, message, isPrivate = false }) {
      const channel = state.channel(parent);
      const hungOn = message === undefined ? undefined : channel.messages.get(message);
      const owner = state.users.get(firstBot().user.id) as APIUser;
      return openThread(state, channel, owner, {
        title,
        isPrivate,
        ...(hungOn === undefined ? {} : { message: hungOn }),
      }).id;
    },
    at(id) {
      const channel = state.channel(id);
      const changeThread = (change: { archived?: boolean; locked?: boolean }): void => {
        if (channel.thread === undefined) throw new Error(`channel ${id} is no thread`);
        Object.assign(channel.thread, change);
        tellChannel(state, channel, "Update");
      };
      return {
        id,
        deny: (...rights) => {
          for (const right of rights) channel.denied.add(right);
        },
        allow: (...rights) => {
          for (const right of rights) channel.denied.delete(right);
        },
        archive: (isArchived = true) => changeThread({ archived: isArchived }),
        lock: (isLocked = true) => changeThread({ locked: isLocked }),
        rename(name) {
          channel.name = name;
          tellChannel(state, channel, "Update");
        },
        remove: () => removeChannel({ state }, channel),
        typing: () =>
          [...channel.typing].filter(([, atMs]) => clock.now() - atMs < typingLastsMs).map(([user]) => user),
      };
    },
    as(user, token) {
      const given: PersonOptions = typeof user === "string" ? { id: user } : user;
      return person(state, given, token === undefined ? firstBot() : register(token));
    },
    interaction(id) {
      const interaction = state.interactions.get(id);
      if (interaction === undefined) throw new Error(`there is no interaction ${id}`);
      const { token, response, originalId } = interaction;
      return { id, token, state: interactionState(interaction, clock), response, messageId: originalId };
    },
    calls: (route) => (route === undefined ? calls : calls.filter((call) => call.route === route)),
    visible: (channel, viewer) => visibleMessages(state, state.channel(channel), viewer),
    violations: () => violations,
    inject: (rule) => rules.inject(rule),
    heal() {
      rules.clear();
      live.controls.heal();
    },
  };

  const server = await restServer(
    {
      state,
      forms: await forms(),
      limits: limits(clock, options.rateLimits ?? true),
      faults: rules,
      calls,
      violations,
      rest: {
        nonceWindowMs: options.nonceWindowMs ?? 180_000,
        uploadBytes: options.uploadBytes ?? 10 * 2 ** 20,
      },
      botFor,
      gatewayBot: (bot) => gatewayBot(state.origin, live, bot, clock),
      control: (incoming, outgoing, url) => control(incoming, outgoing, url),
    },
    options.port,
  );
  state.origin = server.url;
  const live = gateway({
    state,
    server: server.server,
    violations,
    botFor,
    heartbeatMs: options.heartbeatMs ?? 41_250,
    sessionLifeMs: options.sessionLifeMs ?? 180_000,
    identifyEveryMs: options.identifyEveryMs ?? 0,
  });
  const control = controlPages({ ...fake, gateway: live.controls });
  return {
    ...fake,
    url: server.url,
    apiRoot: `${server.url}/api`,
    gateway: live.controls,
    async close() {
      live.close();
      await server.close();
    },
  };
}

function gatewayBot(origin: string, live: Gateway, bot: Bot, clock: Clock): unknown {
  const { total, remaining, resetAtMs } = live.startLimit(bot);
  return {
    url: `${origin.replace("http", "ws")}/gateway`,
    shards: 1,
    session_start_limit: {
      total,
      remaining,
      reset_after: Math.max(0, resetAtMs - clock.now()),
      max_concurrency: 1,
    },
  };
}

function idOfToken(token: string): string | null {
  const id = Buffer.from(token.split(".")[0] ?? "", "base64url").toString();
  return /^[1-9]\d{16,19}$/.test(id) ? id : null;
}

function role(id: string, name: string, position: number): APIRole {
  return {
    id,
    name,
    position,
    color: 0,
    colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
    hoist: false,
    permissions: "2248473465835073",
    managed: false,
    mentionable: true,
    flags: 0,
  } as unknown as APIRole;
}
