// The history that is read after a gap: from where, how far, in which order, what is tried again and what is
// given up.
import { Fault, type Log, silentLog } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { type BackfillOptions, missedMessages } from "../../src/discord/backfill.ts";
import { idAt } from "../../src/discord/snowflake.ts";

const dayMs = 86_400_000;
const startMs = 1_800_000_000_000;
const session = { id: "s", resumeUrl: "wss://r" };
type Page = readonly unknown[];

/** Answers each conversation's pages in turn; one that is an Error is thrown. */
function histories(pages: { readonly [channel: string]: readonly (Page | Error)[] }) {
  const clock = virtualClock({ startMs });
  const asked: string[] = [];
  const lines: unknown[] = [];
  const left = new Map(Object.entries(pages).map(([channel, all]) => [channel, [...all]]));
  const rest = {
    call: async ({ route, query }: { route: string; query: { after: string; limit: string } }) => {
      const channel = route.split("/")[2] ?? "";
      asked.push(`${channel} after ${query.after} limit ${query.limit}`);
      const page = left.get(channel)?.shift() ?? [];
      if (page instanceof Error) throw page;
      return page;
    },
  } as never;
  const say = (level: string) => (fields: object, words: string) => lines.push([level, words, fields]);
  const log = { ...silentLog, info: say("info"), warn: say("warn") } as Log;
  const look = (more: Partial<BackfillOptions> = {}) =>
    missedMessages({
      rest,
      watched: Object.keys(pages).map((channel) => ({ channel, seenAtMs: 0 })),
      lastMessageId: idAt(startMs - 3_600_000),
      session,
      clock,
      ids: seededIds(1),
      log,
      signal: new AbortController().signal,
      ...more,
    });
  return { clock, asked, lines, look };
}

const id = (nth: number): string => String(BigInt(idAt(startMs - 60_000)) + BigInt(nth));
const page = (from: number, count: number): Page =>
  Array.from({ length: count }, (_, nth) => ({ id: id(from + nth) })).toReversed();

test("it begins a minute before the last message, or where it is told, and never more than a day ago", async () => {
  const from = async (more: Partial<BackfillOptions>): Promise<string> => {
    const { asked, look } = histories({ "1": [] });
    await look(more);
    return (asked[0] ?? "").split(" ")[2] ?? "";
  };
  expect([
    await from({}),
    await from({ overlapMs: 0 }),
    await from({ lastMessageId: idAt(startMs - dayMs + 60_000) }),
    await from({ lastMessageId: idAt(startMs - dayMs + 59_999) }),
    await from({ lastMessageId: idAt(startMs - 3 * dayMs) }),
  ]).toEqual([
    idAt(startMs - 3_600_000 - 60_000),
    idAt(startMs - 3_600_000),
    ...Array.from({ length: 3 }, () => idAt(startMs - dayMs)),
  ]);
});

test("all conversations' messages come oldest first, each with its server, as if they were told now", async () => {
  const { look, lines } = histories({
    "1": [[{ id: id(5), content: "e" }, { id: id(1), content: "a" }, { id: "none" }, null]],
    "2": [[{ id: id(3), content: "c" }]],
  });
  const found = await look({
    watched: [
      { channel: "1", guild: "g", seenAtMs: 0 },
      { channel: "2", user: "u", seenAtMs: 0 },
    ],
  });
  const told = (body: object) => ({ event: "MESSAGE_CREATE", body, sequence: null, session });
  expect(found).toEqual({
    messages: [
      told({ id: id(1), content: "a", guild_id: "g" }),
      told({ id: id(3), content: "c" }),
      told({ id: id(5), content: "e", guild_id: "g" }),
    ],
    unread: [],
  });
  expect(lines).toEqual([
    ["info", "looked for messages that were missed", { conversations: 2, messages: 3 }],
  ]);
});

test("a full page is followed by the next one behind its newest message, five at a time and on from there", async () => {
  const { asked, look } = histories({ "1": [page(0, 100), page(100, 100), page(200, 99), page(299, 100)] });
  expect((await look()).messages).toHaveLength(299);
  expect(asked.slice(1)).toEqual([`1 after ${id(99)} limit 100`, `1 after ${id(199)} limit 100`]);
  const long = histories({ "1": Array.from({ length: 7 }, (_, nth) => page(100 * nth, 100)) });
  const first = await long.look();
  expect([first.messages.length, long.asked.length]).toEqual([500, 5]);
  expect(first.unread).toEqual([{ channel: "1", seenAtMs: 0, after: id(499) }]);
  const rest = await long.look({ watched: first.unread });
  expect([rest.messages.length, rest.unread]).toEqual([200, []]);
  expect(long.asked[5]).toBe(`1 after ${id(499)} limit 100`);
  // A server that says the same page for ever is not asked for ever.
  const stuck = histories({ "1": Array.from({ length: 9 }, () => page(0, 100)) });
  const { unread } = await stuck.look();
  expect((await stuck.look({ watched: unread })).unread).toEqual([]);
});

test("what may pass is tried again within a minute, then left for later with what was found; what is closed is left out", async () => {
  const limited = new Fault("rate_limited", "wait", { retryAfterMs: 20_000 });
  const denied = new Fault("denied", "no right");
  const flaw = new TypeError("flaw");
  const { clock, asked, lines, look } = histories({
    "1": [limited, page(0, 1)],
    "2": [page(10, 100), ...Array.from({ length: 9 }, () => limited)],
    "3": [denied],
    "4": [flaw],
    "5": [page(200, 2)],
  });
  const work = look();
  await clock.advance(20_000);
  await clock.advance(20_000);
  await clock.advance(20_000);
  const { messages, unread } = await work;
  expect([messages.length, unread]).toEqual([103, [{ channel: "2", seenAtMs: 0, after: id(109) }]]);
  const times = (channel: string): number => asked.filter((call) => call.startsWith(`${channel} `)).length;
  expect(["1", "2", "3", "4", "5"].map(times)).toEqual([2, times("2"), 1, 1, 1]);
  expect(times("2")).toBeGreaterThan(2);
  const gaveUp = (conversation: string, error: Error) => [
    "warn",
    "could not look for missed messages",
    { conversation, error },
  ];
  expect(lines).toEqual([
    gaveUp("3", denied),
    gaveUp("4", flaw),
    gaveUp("2", limited),
    ["info", "looked for messages that were missed", { conversations: 5, messages: 103 }],
  ]);
});

test("eight conversations are read at once, and a stop begins no other page", async () => {
  const waiting: (() => void)[] = [];
  const asked: string[] = [];
  const stop = new AbortController();
  const { look } = histories({});
  const work = look({
    watched: Array.from({ length: 10 }, (_, nth) => ({ channel: `${nth}`, seenAtMs: 0 })),
    rest: {
      call: async ({ route }: { route: string }) => {
        asked.push(route);
        await new Promise<void>((resolve) => waiting.push(resolve));
        return page(0, 100);
      },
    } as never,
    signal: stop.signal,
  });
  await new Promise(setImmediate);
  expect(asked).toHaveLength(8);
  stop.abort();
  for (const answer of waiting) answer();
  expect((await work).messages).toHaveLength(800);
  expect(asked).toHaveLength(8);
});
