// Says who a person is that an operator names, and finds that person in what is stored: by ids, which are
// theirs alone, in session keys, conversation keys and plain texts.
import { encodeKeyPart, Fault, type Inbound } from "@parley/protocol";

export interface Person {
  /** As the operator named them. */
  readonly name: string;
  /** All accounts that `session.identityLinks` says are theirs. */
  readonly ids: readonly { readonly channel: string; readonly id: string }[];
  /** Their name in `session.identityLinks`. */
  readonly link: string | null;
}

export interface PersonMarks {
  wrote(message: Pick<Inbound, "channel" | "sender">): boolean;
  /** A session that only they can be in. */
  ownsSession(key: string): boolean;
  /** Their private conversation, or a thread of it. */
  ownsPlace(key: string): boolean;
  /** `id` as a platform gives it in a place of this channel; "" is any channel. */
  isId(channel: string, id: string): boolean;
  /** A text that names a session or conversation of theirs alone. */
  namesPlace(text: string): boolean;
  /** A text that names one of their accounts, or such a place. */
  names(text: string): boolean;
  /** The text without their accounts; each becomes what `as` makes of it. */
  without(text: string, as?: (account: string) => string): string;
}

/** Stands where their words stood. */
export const removedMark = "[removed]";
const removedId = "removed:person";
/** A shorter id stands in too many other numbers. */
const leastIdChars = 7;

/** Throws Fault("invalid") for a text that names nobody. */
export function personIn(text: string, links: { readonly [person: string]: readonly string[] }): Person {
  const wanted = text.trim();
  const link = Object.keys(links).find((name) => name === wanted || links[name]?.includes(wanted)) ?? null;
  const named = link === null ? [wanted] : (links[link] ?? []);
  const ids = named.map((each) => {
    const at = each.indexOf(":");
    if (at < 1 || at === each.length - 1)
      throw new Fault(
        "invalid",
        `"${text}" names nobody: a person is <channel>:<id>, as telegram:123456789, or a name of session.identityLinks; \`parley usage --by person\` and \`parley pair list\` show them`,
      );
    return { channel: each.slice(0, at), id: each.slice(at + 1) };
  });
  return { name: wanted, ids, link };
}

export function marksOf({ ids, link }: Person): PersonMarks {
  const accounts = new Set(ids.map(({ channel, id }) => `${channel}:${id}`));
  // A line break in a stored document ends in a letter.
  const before = String.raw`(?:(?<![\p{L}\p{N}_])|(?<=\\[nrt]))`;
  const after = String.raw`(?![\p{L}\p{N}_])`;
  const part = String.raw`[^:"'\s/\\]+`;
  const peers = [
    ...ids.map(({ channel, id }) => ({ channel, peer: encodeKeyPart(id) })),
    ...(link === null ? [] : [{ channel: "", peer: encodeKeyPart(link) }]),
  ];
  const keys = peers.map(({ channel, peer }) => {
    const where = channel === "" ? `(?:${part}:){0,2}` : `(?:${quoted(channel)}:(?:${part}:)?)?`;
    return `agent:${part}:${where}(?:dm|direct):${quoted(peer)}`;
  });
  const places = ids.map(({ channel, id }) => `${quoted(channel)}:${part}:dm:${quoted(encodeKeyPart(id))}`);
  const api = ids.flatMap(({ channel, id }) => {
    const [agent, client, ...user] = id.split("/");
    if (channel !== "api" || agent === undefined || client === undefined) return [];
    return [`agent:${quoted(agent)}:api:${quoted(client)}:${quoted(encodeKeyPart(user.join("/")))}`];
  });
  const own = [...keys, ...places, ...api].join("|");
  const plain = ids
    .flatMap(({ channel, id }) => [
      `${quoted(channel)}:${quoted(id)}`,
      ...(id.length >= leastIdChars ? [quoted(id)] : []),
    ])
    .join("|");
  const ownKey = new RegExp(`^(?:${[...keys, ...api].join("|")})(?::thread:.+)?$`, "u");
  const ownPlace = new RegExp(`^(?:${places.join("|")})(?::.+)?$`, "u");
  const place = new RegExp(`${before}(?:${own})${after}`, "u");
  const any = new RegExp(`${before}(?:${own}|${plain})${after}`, "u");
  const all = new RegExp(`${before}(?:${own}|${plain})${after}`, "gu");
  return {
    wrote: ({ channel, sender }) => accounts.has(`${channel}:${sender.id}`),
    ownsSession: (key) => ownKey.test(key),
    ownsPlace: (key) => ownPlace.test(key),
    isId: (channel, id) => ids.some((each) => each.id === id && (channel === "" || each.channel === channel)),
    namesPlace: (text) => place.test(text),
    names: (text) => any.test(text),
    without: (text, as = (found) => (found.includes(":") ? removedId : removedMark)) => text.replace(all, as),
  };
}

function quoted(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
}
