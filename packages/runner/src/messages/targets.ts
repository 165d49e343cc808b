// Finds the conversation that a tool's `to` means, and whether this turn may write there. Every spelling is
// made canonical before anything is decided, and rights are checked before anything is looked up, so that a
// stranger's turn learns nothing about other places (I13, I14).
import type { MayReach, Place } from "@parley/access";
import { nearestWord, type Config } from "@parley/config";
import {
  conversationKey,
  Fault,
  formatSessionKey,
  isFault,
  parseConversationKey,
  parseSessionKey,
  type Address,
  type ConversationKey,
} from "@parley/protocol";
import type { ToolScope } from "@parley/tools";
import { spellingOf, type KnownPlace } from "./known-places.ts";

export interface Target {
  readonly address: Address;
  readonly conversation: ConversationKey;
  /** True for the conversation that the turn answers to. */
  readonly here: boolean;
}

interface TargetNeeds {
  readonly crossContext: Config["tools"]["message"]["crossContext"];
  readonly known: () => Promise<readonly KnownPlace[]>;
  /** Threads of this id that the agent opened, for one that nobody wrote in yet. */
  readonly opened: (id: string, known: readonly KnownPlace[]) => Promise<readonly Place[]>;
  readonly reach: MayReach;
}

type Asker = Pick<ToolScope, "session" | "conversation" | "agent" | "by">;

/** What the words of a `to` mean, before it is known whether there is such a place. */
type Meant =
  | { readonly by: "session"; readonly key: string }
  | { readonly by: "address"; readonly address: Address }
  /** Telegram's chat, or Discord's channel, thread or person. */
  | {
      readonly by: "id";
      readonly channel: string;
      readonly id: string;
      readonly isPerson: boolean;
      readonly topic?: string;
    }
  | { readonly by: "name"; readonly name: string };

/** Throws Fault("denied") for what this turn may not reach, Fault("missing") for what nobody knows. */
export async function targetOf(to: string | undefined, asker: Asker, needs: TargetNeeds): Promise<Target> {
  const own = hereOf(asker);
  if (to === undefined) return own;
  const meant = meantBy(to);
  if (isHere(meant, own.address, asker)) return own;
  const refusal = mayCross(asker, needs.crossContext);
  if (refusal !== null) throw new Fault("denied", refusal);
  const place = await found(meant, own, needs);
  const conversation = conversationKey(place.address);
  if (conversation === asker.conversation) return own;
  const unreachable = await needs.reach(place);
  if (unreachable !== null) throw new Fault("denied", `nothing can be sent to ${quoted(to)}: ${unreachable}`);
  return { address: place.address, conversation, here: false };
}

function hereOf({ conversation }: Asker): Target {
  return { address: parseConversationKey(conversation), conversation, here: true };
}

/** Why this turn may write to no other conversation; null when it may. */
export function mayCross(
  { by }: Pick<Asker, "by">,
  crossContext: TargetNeeds["crossContext"],
): string | null {
  if (crossContext === "all") return null;
  if (crossContext === "off")
    return "messages go to this conversation only (tools.message.crossContext is off): leave out `to`";
  return by.owner ? null : "only an owner's turn may write elsewhere: leave out `to` and say it here";
}

function meantBy(to: string): Meant {
  const words = to.trim();
  const [head = "", ...rest] = words.split(":");
  const channel = head.toLowerCase() === "tg" ? "telegram" : head.toLowerCase();
  if (channel === "agent") return { by: "session", key: formatSessionKey(parseSessionKey(words)) };
  const [first = "", second = "", third = ""] = rest;
  if (channel === "telegram" && /^-?\d+$/.test(first)) {
    if (rest.length === 1) return { by: "id", channel, id: first, isPerson: !first.startsWith("-") };
    if (rest.length === 3 && second === "topic" && /^\d+$/.test(third))
      return { by: "id", channel, id: first, isPerson: false, topic: third };
  }
  if (channel === "discord" && rest.length === 2 && /^\d+$/.test(second)) {
    if (first === "user") return { by: "id", channel, id: second, isPerson: true };
    if (first === "channel" || first === "thread") return { by: "id", channel, id: second, isPerson: false };
  }
  const address = addressIn(words);
  return address === null ? { by: "name", name: words } : { by: "address", address };
}

function addressIn(words: string): Address | null {
  try {
    return parseConversationKey(words);
  } catch (error) {
    if (isFault(error, "invalid")) return null;
    throw error;
  }
}

function isHere(meant: Meant, here: Address, { session }: Asker): boolean {
  switch (meant.by) {
    case "session":
      return meant.key === formatSessionKey(parseSessionKey(session));
    case "address":
      return conversationKey(meant.address) === conversationKey(here);
    case "id":
      return isPlace(meant, here);
    case "name":
      return meant.name.toLowerCase() === "here";
  }
}

function isPlace({ channel, id, isPerson, topic }: Extract<Meant, { by: "id" }>, address: Address): boolean {
  if (address.channel !== channel || (address.kind === "dm") !== isPerson) return false;
  // A Discord thread has an id of its own; a Telegram topic only within its group.
  if (channel === "discord") return (address.thread ?? address.peer) === id;
  return address.peer === id && address.thread === topic;
}

async function found(meant: Meant, here: Target, needs: TargetNeeds): Promise<Place> {
  const known = await needs.known();
  switch (meant.by) {
    case "session": {
      const at = known.find(({ session }) => formatSessionKey(parseSessionKey(session)) === meant.key);
      return at ?? unknown(meant.key, known);
    }
    case "address":
      return inDirectory(known, (address) => conversationKey(address) === conversationKey(meant.address), {
        said: conversationKey(meant.address),
        needs,
        else: meant.address,
      });
    case "id": {
      const { channel, id, isPerson, topic } = meant;
      const account = here.address.channel === channel ? here.address.account : "default";
      const kind = isPerson ? "dm" : channel === "discord" ? "channel" : "group";
      const at = known.filter(({ address }) => isPlace(meant, address));
      const [opened] = at.length > 0 || isPerson ? [] : await needs.opened(topic ?? id, known);
      if (opened !== undefined && isPlace(meant, opened.address)) return opened;
      return inDirectory(known, (address) => isPlace(meant, address), {
        said: id,
        needs,
        else: { channel, account, kind, peer: id, ...(topic === undefined ? {} : { thread: topic }) },
      });
    }
    case "name":
      return named(meant.name, known);
  }
}

/** A place that nobody wrote from is reached only where the config lets every place be. */
function inDirectory(
  known: readonly KnownPlace[],
  is: (address: Address) => boolean,
  {
    said,
    needs,
    else: address,
  }: { readonly said: string; readonly needs: TargetNeeds; readonly else: Address },
): Place {
  const [place, ...more] = known.filter((each) => is(each.address));
  if (place === undefined) return needs.crossContext === "all" ? { address } : unknown(said, known);
  if (more.length > 0) throw ambiguous(said, [place, ...more]);
  return place;
}

/**
 * A person's name means the private chat with them, a title its group, channel, topic or thread; "#" before
 * it means no person. It must be exact, but for its case.
 */
function named(name: string, known: readonly KnownPlace[]): KnownPlace {
  const wanted = name.toLowerCase();
  const titled = wanted.replace(/^#\s*/, "");
  const meant = known.filter(({ address, names, title }) =>
    address.kind === "dm"
      ? names.some((each) => each.toLowerCase() === wanted)
      : title !== null && [wanted, titled].includes(title.toLowerCase()),
  );
  const [only, ...more] = meant;
  if (only === undefined) return unknown(name, known);
  if (more.length > 0) throw ambiguous(name, meant);
  return only;
}

/** The places whose names are like it come first. */
function nearFirst(said: string, known: readonly KnownPlace[]): readonly KnownPlace[] {
  const wanted = said.toLowerCase().replace(/^#\s*/, "");
  const wordsOf = ({ address, names, title }: KnownPlace): readonly string[] =>
    (address.kind === "dm" ? names : title === null ? [] : [title]).map((each) => each.toLowerCase());
  const all = known.flatMap(wordsOf);
  const nearest = nearestWord(wanted, all);
  const isNear = (place: KnownPlace): boolean =>
    wordsOf(place).some((each) => each === nearest || each.includes(wanted) || wanted.includes(each));
  return known.toSorted((a, b) => Number(isNear(b)) - Number(isNear(a)));
}

const mostNamed = 12;

function unknown(said: string, known: readonly KnownPlace[]): never {
  const some = nearFirst(said, known)
    .slice(0, mostNamed)
    .map((place) => placeWords(place));
  const those = some.length === 0 ? "nobody wrote yet" : `known are ${some.join(", ")}`;
  throw new Fault("missing", `${quoted(said)} is no place that this agent knows; ${those}`);
}

function ambiguous(said: string, places: readonly KnownPlace[]): Fault {
  // The short spelling of a chat that two accounts are in would mean both again.
  const chatOf = ({ address }: KnownPlace): string => conversationKey({ ...address, account: "default" });
  const some = places.slice(0, mostNamed).map((place) => {
    const isTwin = places.some((other) => other !== place && chatOf(other) === chatOf(place));
    return isTwin ? placeWords(place, place.conversation) : placeWords(place);
  });
  return new Fault("conflict", `${quoted(said)} may mean ${some.join(" or ")}: say which`);
}

function placeWords({ address, names, title }: KnownPlace, spelling = spellingOf(address)): string {
  const who = address.kind !== "dm" && title !== null ? `#${title}` : names.slice(0, 3).join(", ");
  return who === "" ? spelling : `${spelling} (${who})`;
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 80));
}
