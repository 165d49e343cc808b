// Maps the close codes of Discord's gateway to the next step. Source: "Gateway close event codes" in the
// developer documentation.

export type AfterClose =
  /** The session may be resumed. */
  | { readonly kind: "resume" }
  /** The session is over; a new one must begin. */
  | { readonly kind: "identify" }
  /** No connection can succeed until a person acts. */
  | { readonly kind: "fatal"; readonly instruction: string };

const portal = "https://discord.com/developers/applications, your application";

/** Shown for close code 4004, and for a 401 before any connection. */
export const tokenInstruction = `Discord refuses the bot's token. Open ${portal}, "Bot", "Reset Token", and put the new one into channels.discord.token or DISCORD_BOT_TOKEN`;

const fatal: ReadonlyMap<number, string> = new Map([
  [4004, tokenInstruction],
  [
    4010,
    "Discord refuses the shard of this connection; Parley uses one shard, so this bot may be in too many servers",
  ],
  [4011, "the bot is in more servers than one connection may serve (2,500); Parley does not shard"],
  [4012, "Discord no longer serves this version of its gateway; update Parley"],
  [4013, "Discord does not know the intents that were asked for; update Parley"],
  [
    4014,
    `Discord does not let this bot read messages. Open ${portal}, "Bot", "Privileged Gateway Intents", switch on "Message Content Intent" and save; or set channels.discord.intents.messageContent to false, and only direct messages and mentions are read`,
  ],
]);

/** 4003 and 4005: the session's state is confused. 4007 and 4009: it is gone. 4008: it was rate limited. */
const sessionOver = new Set([4003, 4005, 4007, 4008, 4009]);

/** `code` is null when the connection just went silent. */
export function afterClose(code: number | null): AfterClose {
  const instruction = code === null ? undefined : fatal.get(code);
  if (instruction !== undefined) return { kind: "fatal", instruction };
  return { kind: code !== null && sessionOver.has(code) ? "identify" : "resume" };
}
