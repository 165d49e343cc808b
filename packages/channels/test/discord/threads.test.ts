// Threads and posts: what is asked for them, what their receipt says, and which of ours are found again.
import { Fault, type CreateThread, type RenderedPart } from "@parley/protocol";
import { expect, test } from "vitest";
import { places, type Place, type Places } from "../../src/discord/places.ts";
import { idAt } from "../../src/discord/snowflake.ts";
import { createThread, openPost, threadsSince, titleCut, uploadLimit } from "../../src/discord/threads.ts";
import { text } from "../contract.ts";
import { fakeRest, refused, type FakeRest } from "./fake-rest.ts";

const { signal } = new AbortController();
const room: Place = { id: "1", type: 0, guild: "7" };
const forum: Place = { id: "2", type: 15, guild: "7" };

function stage(answers: { readonly [call: string]: unknown } = {}) {
  const rest = fakeRest(answers);
  const all = places(rest, () => 0);
  all.learn([
    { id: "1", type: 0, guild_id: "7" },
    { id: "2", type: 15, guild_id: "7" },
  ]);
  const context = { rest, places: all, mediaFolder: import.meta.dirname, suppressEmbeds: false };
  const open = (action: Omit<CreateThread, "kind">, peer = "1") =>
    createThread(
      context,
      { channel: "discord", account: "default", kind: "channel", peer },
      { kind: "createThread", ...action },
      signal,
    );
  return { rest, all, context, open };
}

test("on a message it is asked for there; the one that hangs there already is its receipt", async () => {
  const call = "POST /channels/1/messages/5/threads";
  const { rest, all, open } = stage({ [call]: { id: "5", type: 11, parent_id: "1", name: "Tea" } });
  expect(await open({ title: "Tea", messageId: "5" })).toEqual({ messageId: "5", extra: { thread: "5" } });
  expect(rest.asked).toEqual([`${call} {"name":"Tea"}`]);
  expect(await all.look("5")).toMatchObject({ parent: "1", title: "Tea" });
  rest.answers.set(call, refused(400, 160004));
  expect(await open({ title: "Tea", messageId: "5" })).toEqual({ messageId: "5", extra: { thread: "5" } });
  rest.answers.set(call, refused(403, 50013));
  await expect(open({ title: "Tea", messageId: "5" })).rejects.toMatchObject({ code: "denied" });
  await expect(open({ title: "Tea", messageId: "m" })).rejects.toMatchObject({ code: "invalid" });
});

test("alone it is a public thread, with a title of a hundred characters; without its id nobody knows of it", async () => {
  const { rest, open } = stage({ "POST /channels/1/threads": { id: "6", type: 11, parent_id: "1" } });
  const title = "t".repeat(100);
  expect(await open({ title })).toEqual({ messageId: "6", extra: { thread: "6" } });
  expect(rest.asked).toEqual([`POST /channels/1/threads {"name":"${title}","type":11}`]);
  expect([titleCut(`${title}t`), titleCut("")]).toEqual([`${"t".repeat(99)}…`, ""]);
  for (const answer of [undefined, null, {}, { id: 6 }]) {
    rest.answers.set("POST /channels/1/threads", answer);
    await expect(open({ title })).rejects.toMatchObject({ code: "ambiguous" });
  }
});

const posted = "POST /channels/2/threads";
const first: RenderedPart = text("Which?");
const bodyOf = (rest: FakeRest): object =>
  JSON.parse(rest.asked.find((call) => call.startsWith(posted))?.slice(posted.length + 1) ?? "{}") as object;

test("in a forum it is a post that takes its first message along", async () => {
  const { rest, open } = stage({ [posted]: { id: "6", message: { id: "8" } } });
  await expect(open({ title: "Tea" }, "2")).rejects.toMatchObject({ code: "unsupported" });
  expect(rest.asked).toEqual([]);
  expect(await open({ title: "Tea", first }, "2")).toEqual({
    messageId: "8",
    extra: { thread: "6", opened: true },
  });
  expect(rest.asked).toHaveLength(1);
  expect(bodyOf(rest)).toMatchObject({ name: "Tea", message: { content: "Which?" } });
  expect(bodyOf(rest)).not.toHaveProperty("applied_tags");
  // A post's first message has the post's id.
  rest.answers.set(posted, { id: "6" });
  expect(await open({ title: "Tea", first }, "2")).toMatchObject({ messageId: "6" });
  for (const answer of [undefined, {}, { message: { id: "8" } }]) {
    rest.answers.set(posted, answer);
    await expect(open({ title: "Tea", first }, "2")).rejects.toMatchObject({ code: "ambiguous" });
  }
});

test("a post has up to five of the forum's tags, by their names in any case and in their order", async () => {
  const offered = ["Green", "Black", "White", "Oolong", "Mate", "Red"];
  const { rest, open } = stage({
    [posted]: { id: "6" },
    "GET /channels/2": { available_tags: offered.map((name, at) => ({ id: `9${at}`, name })) },
  });
  await open({ title: "Tea", first, tags: ["RED", "green", "Mate", "black", "white"] }, "2");
  expect(bodyOf(rest)).toMatchObject({ applied_tags: ["95", "90", "94", "91", "92"] });
  const asked = rest.asked.length;
  await expect(open({ title: "Tea", first, tags: offered }, "2")).rejects.toThrow(
    "a post on Discord has at most 5 tags, not 6",
  );
  expect(rest.asked).toHaveLength(asked);
  await expect(open({ title: "Tea", first, tags: ["green", "gren"] }, "2")).rejects.toThrow(
    'this forum has no tag "gren"; it has Green, Black, White, Oolong, Mate, Red',
  );
  for (const answer of [undefined, {}]) {
    rest.answers.set("GET /channels/2", answer);
    await expect(open({ title: "Tea", first, tags: ["green"] }, "2")).rejects.toMatchObject({
      code: "invalid",
      message: 'this forum has no tag "green"; it has none',
    });
  }
});

test("a post without tags has none, whoever opens it", async () => {
  const { context, rest } = stage({ [posted]: { id: "6" } });
  const said = { json: { content: "x" }, files: [] };
  await openPost(context, forum, { name: "Tea" }, said, signal);
  expect(bodyOf(rest)).toEqual({ name: "Tea", message: { content: "x" } });
});

test("the size of a file is asked of the server only beyond what every server allows", async () => {
  const tiers: string[] = [];
  let tier: number | null = 0;
  const asked = {
    boostTier: async (guild: string) => {
      tiers.push(guild);
      return tier;
    },
  } as unknown as Places;
  const mib = 1024 * 1024;
  const file = (bytes: number) => ({ path: "x", name: "x", mediaType: "x/y", bytes }) as const;
  const limit = (place: Place | null, ...bytes: readonly number[]): Promise<number> =>
    uploadLimit(asked, place, bytes.map(file));
  expect(await limit(room)).toBe(25 * mib);
  expect(await limit(room, 20 * mib, 5 * mib)).toBe(25 * mib);
  expect(await limit(null, 26 * mib)).toBe(25 * mib);
  expect(await limit({ id: "1", type: 1 }, 26 * mib)).toBe(25 * mib);
  expect(tiers).toEqual([]);
  const limits: number[] = [];
  for (tier of [null, 0, 1, 2, 3, 4]) limits.push((await limit(room, 20 * mib, 5 * mib + 1)) / mib);
  expect(limits).toEqual([25, 25, 25, 50, 100, 25]);
  expect(tiers).toEqual(["7", "7", "7", "7", "7", "7"]);
});

test("ours with this title since then are found in their order; where there is no server nobody looks", async () => {
  const sinceMs = Date.UTC(2026, 10, 21);
  const call = "GET /guilds/7/threads/active";
  const rest = fakeRest();
  const look = (place: Place = room) => threadsSince(rest, place, "me", "Tea", sinceMs, signal);
  expect(await look({ id: "1", type: 1 })).toBeNull();
  expect(rest.asked).toEqual([]);
  const ours = { parent_id: "1", owner_id: "me", name: "Tea" };
  const [before, at] = [idAt(sinceMs - 1), idAt(sinceMs)];
  const [between, later] = [idAt(sinceMs + 30_000), idAt(sinceMs + 60_000)];
  rest.answers.set(call, {
    threads: [
      { ...ours, id: later },
      { ...ours, id: at },
      { ...ours, id: between },
      { ...ours, id: before },
      { ...ours, id: "x" },
      { ...ours, id: later, parent_id: "2" },
      { ...ours, id: later, owner_id: "other" },
      { ...ours, id: later, name: "tea" },
    ],
  });
  expect(await look()).toEqual([at, between, later].map((id) => ({ messageId: id, extra: { thread: id } })));
  for (const answer of [undefined, {}, { threads: null }]) {
    rest.answers.set(call, answer);
    expect(await look()).toEqual([]);
  }
  rest.answers.set(call, new Fault("unavailable", "away"));
  await expect(look()).rejects.toMatchObject({ code: "unavailable" });
});
