// Opens threads and forum posts, and finds those that we opened. A thread on a message has the message's id,
// so opening it twice opens it once; any other has no key, and is looked for by its title (I5).
import { type Address, type CreateThread, Fault, type MediaFile, type Receipt } from "@parley/protocol";
import { type BodyOptions, payloadOf, said, type Said } from "./body.ts";
import { discordCapabilities, postTags, titleChars, uploadBytesByTier } from "./capabilities.ts";
import { isForum, type Place, type Places } from "./places.ts";
import { isRefusal } from "./refusals.ts";
import type { DiscordRest } from "./rest.ts";
import { idAt, isSnowflake, snowflake } from "./snowflake.ts";

export interface ThreadContext extends BodyOptions {
  readonly rest: DiscordRest;
  readonly places: Places;
}

const publicThread = 11;

/** A forum's post takes its first message along, and its receipt then says `opened`. */
export async function createThread(
  context: ThreadContext,
  to: Address,
  action: CreateThread,
  signal: AbortSignal,
): Promise<Receipt> {
  const { rest, places } = context;
  const channel = await places.target(to, signal);
  const name = titleCut(action.title);
  if (action.messageId !== undefined) {
    const message = snowflake(action.messageId, "message");
    const route = `/channels/${channel}/messages/${message}/threads` as const;
    try {
      return receiptOf(places, await rest.call({ method: "POST", route, body: { name }, signal }));
    } catch (error) {
      if (!isRefusal(error, "hasThread")) throw error;
      return { messageId: message, extra: { thread: message } };
    }
  }
  const place = await places.look(channel);
  if (!isForum(place.type)) {
    const body = { name, type: publicThread };
    const made = await rest.call({ method: "POST", route: `/channels/${channel}/threads`, body, signal });
    return receiptOf(places, made);
  }
  if (action.first === undefined)
    throw new Fault("unsupported", "a post in a forum begins with a text: give it one");
  const tags = await tagIds(rest, place, action.tags ?? [], signal);
  const post = await openPost(context, place, { name, tags }, said(action.first, context), signal);
  return { ...post, extra: { ...post.extra, opened: true } };
}

function receiptOf(places: Places, made: unknown): Receipt {
  const { id } = (made ?? {}) as { readonly id?: unknown };
  if (!isSnowflake(id)) throw new Fault("ambiguous", "Discord made the thread without naming it");
  places.learn(made);
  return { messageId: id, extra: { thread: id } };
}

/** Opens a post with its first message; the first message of a post has the post's id. */
export async function openPost(
  { rest, mediaFolder, places }: ThreadContext,
  place: Place,
  { name, tags = [] }: { readonly name: string; readonly tags?: readonly string[] },
  message: Said,
  signal: AbortSignal,
): Promise<Receipt> {
  const json = { name, message: message.json, ...(tags.length === 0 ? {} : { applied_tags: tags }) };
  const limitBytes = await uploadLimit(places, place, message.files);
  const payload = await payloadOf(json, message.files, mediaFolder, limitBytes);
  const opened = (await rest.call({
    method: "POST",
    route: `/channels/${place.id}/threads`,
    ...payload,
    signal,
  })) as { readonly id?: unknown; readonly message?: { readonly id?: unknown } } | undefined;
  if (!isSnowflake(opened?.id)) throw new Fault("ambiguous", "Discord opened the post without naming it");
  const messageId = isSnowflake(opened.message?.id) ? opened.message.id : opened.id;
  return { messageId, extra: { thread: opened.id } };
}

/** Asked for only when a file needs it: boosted servers allow larger files. */
export async function uploadLimit(
  places: Places,
  place: Place | null,
  files: readonly MediaFile[],
): Promise<number> {
  const usual = discordCapabilities.uploadBytes;
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  if (bytes <= usual || place?.guild === undefined) return usual;
  return uploadBytesByTier[(await places.boostTier(place.guild)) ?? 0] ?? usual;
}

export function titleCut(title: string): string {
  return title.length > titleChars ? `${title.slice(0, titleChars - 1)}…` : title;
}

/** Throws Fault("invalid") for a tag that the forum does not have, with those that it has. */
async function tagIds(
  rest: DiscordRest,
  place: Place,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (names.length === 0) return [];
  if (names.length > postTags)
    throw new Fault("invalid", `a post on Discord has at most ${postTags} tags, not ${names.length}`);
  const forum = (await rest.call({ method: "GET", route: `/channels/${place.id}`, signal })) as
    | { readonly available_tags?: unknown }
    | undefined;
  const offered = listOf(forum?.available_tags).flatMap(({ id, name }) =>
    isSnowflake(id) && typeof name === "string" ? [{ id, name }] : [],
  );
  return names.map((name) => {
    const found = offered.find((tag) => tag.name.toLowerCase() === name.toLowerCase());
    if (found !== undefined) return found.id;
    const known = offered.map((tag) => tag.name).join(", ");
    throw new Fault("invalid", `this forum has no tag "${name}"; it has ${known === "" ? "none" : known}`);
  });
}

/** Our threads with this title since then; a forum's posts are threads, too. Null where we may not look. */
export async function threadsSince(
  rest: DiscordRest,
  place: Place,
  me: string,
  title: string,
  sinceMs: number,
  signal: AbortSignal,
): Promise<readonly Receipt[] | null> {
  if (place.guild === undefined) return null;
  const answer = (await rest.call({
    method: "GET",
    route: `/guilds/${place.guild}/threads/active`,
    signal,
  })) as { readonly threads?: unknown } | undefined;
  const threads = listOf(answer?.threads);
  const since = BigInt(idAt(sinceMs));
  return threads
    .filter(
      (thread) => thread["parent_id"] === place.id && thread["owner_id"] === me && thread["name"] === title,
    )
    .flatMap(({ id }) => (isSnowflake(id) && BigInt(id) >= since ? [id] : []))
    .toSorted((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1))
    .map((id) => ({ messageId: id, extra: { thread: id } }));
}

/** The objects of a list; none where a server tells something else. */
export function listOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return (Array.isArray(value) ? value : []).filter(
    (one: unknown): one is Readonly<Record<string, unknown>> => typeof one === "object" && one !== null,
  );
}
