// Finds the emoji of a reaction: Unicode as it is, a server's own by its name. A name that no server's emoji
// has is refused with those that there are, so that the agent can choose again.
import { Fault } from "@parley/protocol";
import type { Places } from "./places.ts";
import type { DiscordRest } from "./rest.ts";
import { isSnowflake } from "./snowflake.ts";

const namesShown = 20;

/** The emoji as the API takes it: a character, or `name:id`. `channel` is the id of the message's channel. */
export async function reactionEmoji(
  { rest, places }: { readonly rest: DiscordRest; readonly places: Places },
  channel: string,
  emoji: string,
  signal: AbortSignal,
): Promise<string> {
  const written = /^<?a?:?(\w+:\d+)>?$/.exec(emoji)?.[1];
  if (written !== undefined) return written;
  const name = /^:?(\w{2,32}):?$/.exec(emoji)?.[1];
  if (name === undefined) return emoji;
  const { guild } = await places.look(channel);
  const own = guild === undefined ? [] : await emojisOf(rest, guild, signal);
  const found = own.find((one) => one.name === name) ?? own.find((one) => isSame(one.name, name));
  if (found !== undefined) return `${found.name}:${found.id}`;
  const names = own.slice(0, namesShown).map((one) => `:${one.name}:`);
  throw new Fault(
    "unsupported",
    `there is no emoji :${name}: here; ${names.length === 0 ? "use a Unicode emoji" : `there are ${names.join(" ")}`}`,
  );
}

function isSame(name: string, other: string): boolean {
  return name.toLowerCase() === other.toLowerCase();
}

async function emojisOf(
  rest: DiscordRest,
  guild: string,
  signal: AbortSignal,
): Promise<readonly { readonly id: string; readonly name: string }[]> {
  const answer = await rest.call({ method: "GET", route: `/guilds/${guild}/emojis`, signal });
  return (Array.isArray(answer) ? (answer as readonly unknown[]) : []).flatMap((one) => {
    const { id, name } = (one ?? {}) as { readonly id?: unknown; readonly name?: unknown };
    return isSnowflake(id) && typeof name === "string" ? [{ id, name }] : [];
  });
}
