// Discord beside the other media of a crash test: the strict fake, the config that points a daemon at it, and
// people who write there.
import { fakeDiscord, type DiscordCall, type FakeDiscord } from "@parley/testkit";
import { eventually } from "../e2e/daemon.ts";

export interface DiscordSide {
  readonly discord: FakeDiscord;
  /** For `channels.discord`: everybody may write, nothing is paced. */
  readonly config: object;
  /** Somebody in private, or in a channel of a server where every word of theirs calls the bot. */
  speaker(id: string, place: "private" | "server"): DiscordSpeaker;
  /** Waits until the bot hears: what is said before, Discord tells nobody. */
  live(): Promise<void>;
  creates(): readonly DiscordCall[];
  close(): Promise<void>;
}

interface DiscordSpeaker {
  /** Peer of the conversation. */
  readonly peer: string;
  readonly say: (text: string) => void;
  /** What the bot shows there, and what it says is for everybody to see. */
  readonly texts: () => readonly string[];
}

export const createRoute = "POST /channels/:channel/messages";

export async function discordSide(settings: object = {}): Promise<DiscordSide> {
  const discord = await fakeDiscord({ rateLimits: false });
  const bot = discord.bot();
  const guild = discord.guild({ name: "Tea House" });
  return {
    discord,
    config: {
      token: bot.token,
      apiRoot: discord.apiRoot,
      dmPolicy: "open",
      allowFrom: ["*"],
      groupPolicy: "open",
      pacing: "off",
      streaming: "off",
      ...settings,
    },
    speaker(id, place) {
      const person = discord.as({ id, name: `Person ${id}` });
      const channel = place === "private" ? person.dm() : discord.channel({ guild, name: `room-${id}` });
      return {
        peer: place === "private" ? id : channel,
        say: (text) =>
          void (place === "private" ? person.says(text) : person.says(`<@${bot.id}> ${text}`, { channel })),
        texts: () =>
          discord
            .visible(channel)
            .flatMap(({ byBot, kind, text }) => (byBot && kind === "text" ? [text] : [])),
      };
    },
    live: async () =>
      void (await eventually(
        () => discord.gateway.sessions().some((session) => session.isConnected),
        20_000,
        "a session with Discord",
      )),
    creates: () => discord.calls(createRoute),
    close: () => discord.close(),
  };
}
