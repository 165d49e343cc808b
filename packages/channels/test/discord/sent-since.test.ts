// Whether a send of unknown outcome arrived: which of our own messages and threads count as it, how far back
// is looked, and where nobody can know.
import type { Address, CreateThread, RenderedPart } from "@parley/protocol";
import { Fault } from "@parley/protocol";
import { expect, test } from "vitest";
import { places } from "../../src/discord/places.ts";
import { sentSince, type SendContext } from "../../src/discord/send.ts";
import { idAt } from "../../src/discord/snowflake.ts";
import { text } from "../contract.ts";
import { fakeRest, refused } from "./fake-rest.ts";

const room: Address = { channel: "discord", account: "tea", kind: "channel", peer: "1" };
const sinceMs = Date.UTC(2026, 10, 21, 12);
const at = (offsetMs: number): string => new Date(sinceMs + offsetMs).toISOString();
const mine = { author: { id: "900" }, content: "hi", timestamp: at(5_000) };

function stage(pages: readonly unknown[] = [], answers: { readonly [call: string]: unknown } = {}) {
  const rest = fakeRest(answers);
  const queries: unknown[] = [];
  let nth = 0;
  const call: typeof rest.call = async (request) => {
    if (!request.route.endsWith("/messages")) return rest.call(request);
    queries.push([request.method, request.route, request.query]);
    const page = pages[nth];
    nth += 1;
    if (page instanceof Error) throw page;
    return page ?? [];
  };
  const known = places(rest, () => 0);
  known.learn([
    { id: "1", type: 0, guild_id: "7" },
    { id: "2", type: 15, guild_id: "7" },
    { id: "3", type: 0 },
  ]);
  const context = {
    rest: { ...rest, call },
    places: known,
    suppressEmbeds: false,
    mediaFolder: "",
    self: () => ({ user: "900", application: "" }),
  } as unknown as SendContext;
  const look = (sent: RenderedPart | CreateThread, to: Address = room) =>
    sentSince(context, to, sent, sinceMs, new AbortController().signal);
  return { rest, context, look, queries };
}

test("of our own messages since then those count that say the same, the oldest first", async () => {
  const { look, queries } = stage([
    [
      { ...mine, id: "109" },
      { ...mine, id: "108", content: " hi\n" },
      { ...mine, id: "107", author: { id: "5" } },
      { ...mine, id: "106", author: undefined },
      { ...mine, id: "105", content: "hi!" },
      { ...mine, id: "104", attachments: [{ size: 1 }] },
      { ...mine, id: "103", poll: { question: { text: "?" } } },
      { ...mine, id: "102", timestamp: at(0) },
      { ...mine, id: "101", timestamp: at(-1) },
      // Without a time of its own a message has that of its id; without that it counts as new.
      { ...mine, id: idAt(sinceMs), timestamp: undefined },
      { ...mine, id: idAt(sinceMs - 1), timestamp: undefined },
      { ...mine, id: "100", timestamp: "soon" },
      { ...mine, id: "x" },
      null,
    ],
  ]);
  expect(await look(text("hi "))).toEqual(
    ["100", "102", "108", "109", idAt(sinceMs)].map((messageId) => ({ messageId })),
  );
  expect(queries).toEqual([["GET", "/channels/1/messages", { limit: "100" }]]);
});

test("what a server tells of our messages in no form that we know is not the one that is looked for", async () => {
  const odd = (id: string, more: object) => ({ ...mine, id, content: "", ...more });
  const messages = [
    odd("9", { content: 7 }),
    odd("8", { attachments: "none", poll: {} }),
    odd("7", { attachments: [null], poll: { question: null } }),
    { ...mine, id: "6", attachments: {}, poll: null },
  ];
  expect(await stage([messages]).look(text("hi"))).toEqual([{ messageId: "6" }]);
  const threads = { threads: [null, 7, { id: "5", parent_id: "1", owner_id: "900", name: 7 }] };
  const { look } = stage([], { "GET /guilds/7/threads/active": threads });
  expect(await look({ kind: "createThread", title: "Tea" })).toEqual([]);
});

test("files count by their sizes in their order, polls by their question", async () => {
  const file = (bytes: number) => ({ path: "p", mediaType: "m", bytes, name: "n" });
  const media: RenderedPart = { kind: "media", media: "file", files: [file(3), file(4)] };
  const sized = (id: string, ...sizes: readonly number[]) => ({
    ...mine,
    id,
    content: undefined,
    attachments: sizes.map((size) => ({ size })),
  });
  const filed = [sized("5", 3, 4), sized("4", 4, 3), sized("3", 3), sized("2", 3, 4, 5), sized("1")];
  expect(await stage([filed]).look(media)).toEqual([{ messageId: "5" }]);
  expect(await stage([filed]).look({ kind: "voice", file: file(3) })).toEqual([{ messageId: "3" }]);
  const asked = (id: string, question?: string) => ({
    ...mine,
    id,
    content: "",
    ...(question === undefined ? {} : { poll: { question: { text: question } } }),
  });
  const poll: RenderedPart = {
    kind: "poll",
    question: "Tea?",
    options: ["a"],
    multiple: false,
    anonymous: false,
  };
  expect(await stage([[asked("3", "Tea?"), asked("2", "Tee?"), asked("1")]]).look(poll)).toEqual([
    { messageId: "3" },
  ]);
});

test("pages are read back to that time, five at most, each before the oldest of the last", async () => {
  const page = (from: number, count = 100, timestamp = at(1)) =>
    Array.from({ length: count }, (_, n) => ({ ...mine, id: String(from - n), timestamp }));
  const endless = stage(Array.from({ length: 9 }, (_, n) => page(9_000 - n * 100)));
  expect(await endless.look(text("hi"))).toHaveLength(500);
  expect(endless.queries).toEqual(
    [undefined, "8901", "8801", "8701", "8601"].map((before) => [
      "GET",
      "/channels/1/messages",
      before === undefined ? { limit: "100" } : { before, limit: "100" },
    ]),
  );
  // Where more was said since than is read, it may stand further back.
  expect(await stage(Array.from({ length: 9 }, (_, n) => page(9_000 - n * 100))).look(text("ho"))).toBeNull();
  expect(
    await stage([...Array.from({ length: 4 }, (_, n) => page(9_000 - n * 100)), page(8_600, 99)]).look(
      text("ho"),
    ),
  ).toEqual([]);
  const short = stage([page(9_000), page(8_900, 99)]);
  expect(await short.look(text("hi"))).toHaveLength(199);
  expect(short.queries).toHaveLength(2);
  const old = stage([page(9_000), page(8_900, 100, at(-1)), page(8_800)]);
  expect(await old.look(text("hi"))).toHaveLength(100);
  expect(old.queries).toHaveLength(2);
  // What is as old as that time may go on behind the page.
  const same = stage([page(9_000, 100, at(0)), page(8_900, 1, at(0))]);
  expect(await same.look(text("hi"))).toHaveLength(101);
  const none = stage([{ message: "no list" }]);
  expect(await none.look(text("hi"))).toEqual([]);
});

test("where the bot may not read nobody can know; what may pass is thrown, as is not knowing who we are", async () => {
  expect(await stage([refused(403, 50001)]).look(text("hi"))).toBeNull();
  expect(await stage([refused(404, 10003)]).look(text("hi"))).toBeNull();
  const away = new Fault("unavailable", "away");
  await expect(stage([away]).look(text("hi"))).rejects.toBe(away);
  const { context } = stage();
  const nobody = { ...context, self: () => null };
  await expect(
    sentSince(nobody, room, text("hi"), sinceMs, new AbortController().signal),
  ).rejects.toMatchObject({
    code: "unavailable",
    message: "who we are is not known yet",
  });
});

test("threads and posts are found among those that are open, by us and by their title", async () => {
  const thread = (offsetMs: number, more: object = {}) => ({
    id: idAt(sinceMs + offsetMs),
    parent_id: "1",
    owner_id: "900",
    name: "Tea",
    ...more,
  });
  const threads = [
    thread(9_000),
    thread(5_000),
    thread(0),
    thread(-1_000),
    thread(1_000, { parent_id: "2" }),
    thread(2_000, { owner_id: "5" }),
    thread(3_000, { name: "Teas" }),
    { ...thread(4_000), id: "x" },
  ];
  const open = { "GET /guilds/7/threads/active": { threads } };
  const found = (offsetMs: number, more: object = {}) => {
    const id = idAt(sinceMs + offsetMs);
    return { messageId: id, extra: { thread: id, ...more } };
  };
  const create = { kind: "createThread", title: "Tea" } as const;
  const forum: Address = { ...room, peer: "2" };
  expect(await stage([], open).look(create)).toEqual([found(0), found(5_000), found(9_000)]);
  expect(await stage([], open).look(create, forum)).toEqual([found(1_000, { opened: true })]);
  expect(await stage([], open).look(text("Tea\nor coffee?"), forum)).toEqual([found(1_000)]);
  expect(await stage([], open).look({ ...create, title: "Teas" })).toEqual([found(3_000)]);
  expect(await stage([], open).look({ ...create, title: "x" })).toEqual([]);
  expect(await stage([], { "GET /guilds/7/threads/active": {} }).look(create)).toEqual([]);
  // Without its server nobody can say which threads there are.
  expect(await stage([], open).look(create, { ...room, peer: "3" })).toBeNull();
});
