// What waits behind a turn, and what people are told when too much came: old messages, dropped ones, those
// that are read in part, and messages that are told to join.
import { formatRowPayload, type ConversationKey, silentLog, type Inbound } from "@parley/protocol";
import { answerTable, directMessage, virtualClock } from "@parley/testkit";
import { parseContent } from "@parley/protocol";
import type { NewDelivery, RowView, Session } from "@parley/store";
import { expect, onTestFinished, test } from "vitest";
import { isBacklog } from "../src/queue/backlog.ts";
import { droppedLog } from "../src/queue/dropped-messages.ts";
import { overflow } from "../src/queue/overflow.ts";
import { pushedRows, somebodyWrote } from "../src/queue/pushed-rows.ts";
import { queueSettingsOf } from "../src/queue/queue-settings.ts";
import { memoryStore } from "./store.ts";

const hour = 3_600_000;
const conversation = "telegram:default:dm:5" as ConversationKey;

test("a message is of a backlog when it was written or came more than two hours before the start", () => {
  const bootAtMs = 10 * hour;
  const of = (kind: Inbound["kind"], agoMs: number, acceptedAgoMs?: number): boolean =>
    isBacklog(
      { kind, atMs: bootAtMs - agoMs },
      bootAtMs,
      ...(acceptedAgoMs === undefined ? [] : [bootAtMs - acceptedAgoMs]),
    );
  expect([
    of("message", 2 * hour),
    of("message", 2 * hour + 1),
    of("command", 2 * hour + 1),
    // An edit and a reaction tell the time of what they are about.
    of("edit", 9 * hour),
    of("reaction", 9 * hour),
    of("edit", 0, 2 * hour + 1),
    of("message", 0, 2 * hour),
    of("message", 0, 2 * hour + 1),
    of("message", 9 * hour, 0),
  ]).toEqual([false, true, true, false, false, true, false, true, true]);
});

const row = (more: object = {}, payload: object = {}): RowView =>
  ({
    conversation,
    authority: "owner",
    payload: formatRowPayload({ v: 1, inbound: directMessage(), owner: true, ...payload }),
    ...more,
  }) as unknown as RowView;
const steered = (more: object = {}): RowView => row(more, { steer: true });
const lane = { lane: "agent:main:main", conversation, authority: "owner" } as const;
const inboxOf = (rows: readonly RowView[], asked: unknown[] = []) => ({
  find: async (what: { readonly limit?: number }) => (asked.push(what), rows.slice(0, what.limit)),
});

test("of what waits, messages join that were told to, from the front, as long as nothing waits longer than they", async () => {
  // The store gives the newest first.
  const pushed = (...rows: readonly RowView[]) => pushedRows(inboxOf(rows), lane);
  expect([
    await pushed(),
    await pushed(steered(), steered()),
    await pushed(row(), steered(), steered()),
    await pushed(steered(), row()),
    await pushed(steered({ conversation: "x" }), steered()),
    await pushed(steered({ authority: "member" }), steered()),
    await pushed(...Array.from({ length: 49 }, () => steered())),
    // So many that what waits longest was not seen.
    await pushed(...Array.from({ length: 50 }, () => steered())),
  ]).toEqual([0, 2, 2, 0, 1, 1, 49, 0]);
});

test("somebody wrote when a message without a ticket waits in the same conversation, with the same rights", async () => {
  const asked: unknown[] = [];
  const wrote = (...rows: readonly RowView[]) => somebodyWrote(inboxOf(rows, asked), lane);
  expect([
    await wrote(),
    await wrote(row({ ticket: "t" }), row()),
    await wrote(row({ ticket: "t" })),
    await wrote(row({ authority: "member" })),
    await wrote(row({ conversation: "x" })),
  ]).toEqual([false, true, false, false, false]);
  expect(asked[0]).toEqual({ lane: "agent:main:main", state: "waiting", limit: 1_000 });
});

test("a session's own queue settings stand, each by itself, before the config's; what is none counts for nothing", () => {
  const configured = { mode: "steer", debounceMs: 500, cap: 20, drop: "old" } as const;
  const of = (queue: unknown) => queueSettingsOf({ fields: { queue } } as unknown as Session, configured);
  const cases = [
    undefined,
    { mode: "collect" },
    { debounceMs: 0 },
    { cap: 3 },
    { drop: "new" },
    { mode: "nonsense", cap: 3 },
    "x",
  ];
  expect(answerTable(cases, of)).toMatchInlineSnapshot(`
    ""(undefined)"
      {"mode":"steer","debounceMs":500,"cap":20,"drop":"old"}
    {"mode":"collect"}
      {"mode":"collect","debounceMs":500,"cap":20,"drop":"old"}
    {"debounceMs":0}
      {"mode":"steer","debounceMs":0,"cap":20,"drop":"old"}
    {"cap":3}
      {"mode":"steer","debounceMs":500,"cap":3,"drop":"old"}
    {"drop":"new"}
      {"mode":"steer","debounceMs":500,"cap":20,"drop":"new"}
    {"mode":"nonsense","cap":3}
      {"mode":"steer","debounceMs":500,"cap":20,"drop":"old"}
    "x"
      {"mode":"steer","debounceMs":500,"cap":20,"drop":"old"}
    "
  `);
});

test("dropped messages are counted until they were told of, and a count that came meanwhile stays", async () => {
  const { cells, close } = await memoryStore(virtualClock());
  onTestFinished(() => close());
  const log = droppedLog(cells);
  expect(await log.untold(conversation)).toBeNull();
  await log.add(conversation, { count: 2, isOwed: false });
  const first = await log.untold(conversation);
  await Promise.all([
    log.add(conversation, { count: 3, isOwed: true }),
    log.add(conversation, { count: 1, isOwed: false }),
  ]);
  const known = await log.untold(conversation);
  expect([first, known]).toMatchObject([
    { count: 2, isOwed: false },
    { count: 6, isOwed: true },
  ]);
  expect(await log.untold("telegram:default:dm:6" as ConversationKey)).toBeNull();
  if (first !== null) await log.told(conversation, first);
  expect((await log.untold(conversation))?.count).toBe(6);
  if (known !== null) await log.told(conversation, known);
  expect(await log.untold(conversation)).toBeNull();
});

test("a full queue is told of once a burst, in a group only where somebody was owed words, and the agent hears of it", async () => {
  const clock = virtualClock();
  const { cells, close } = await memoryStore(clock);
  onTestFinished(() => close());
  const posted: string[] = [];
  const logged: string[] = [];
  const flood = overflow({
    cells,
    outbox: {
      post: async (deliveries: readonly NewDelivery[]) => {
        for (const { id, cause, lane: to, parts } of deliveries) {
          const content = parseContent(parts[0]?.content ?? "");
          posted.push(`${id} to ${to} for ${cause}: ${JSON.stringify(content)}`);
        }
      },
    } as never,
    log: {
      ...silentLog,
      info: (fields, message) => void logged.push(`${message} ${JSON.stringify(fields)}`),
    },
  });
  const dropped = droppedLog(cells);
  const group = "telegram:default:group:-1" as ConversationKey;
  const turnIn = (at: ConversationKey) => ({ id: "t1", conversation: at }) as never;
  const dm = { channel: "telegram", account: "default", kind: "dm", peer: "5" } as const;
  const chat = { channel: "telegram", account: "default", kind: "group", peer: "-1" } as const;
  const opening = (acceptedAtMs: number) => [{ acceptedAtMs }, { acceptedAtMs: 9e9 }] as never;
  const cut = (count: number) => ({ cut: count, chars: 160, whole: 20 });
  await flood.tell(turnIn(conversation), dm, opening(599_999), cut(3), true);
  await flood.tell(turnIn(conversation), dm, opening(600_000), cut(3), true);
  await flood.tell(turnIn(conversation), dm, opening(0), cut(3), false);
  await flood.tell(turnIn(conversation), dm, opening(0), cut(0), true);
  await flood.tell(turnIn(conversation), dm, opening(0), null, true);
  expect([await flood.notes(conversation), logged]).toEqual([[], []]);
  expect(posted.map((line) => line.split(":").slice(0, 5).join(":"))).toEqual([
    "overflow:telegram:default:dm:5",
    "overflow:telegram:default:dm:5",
  ]);
  expect(posted.map((line) => /^overflow:telegram:default:dm:5:(\d) /.exec(line)?.[1])).toEqual(["0", "1"]);
  expect(posted[0]).toContain("I read the newest 20 messages whole, and of 3 before them only the first 160");

  posted.length = 0;
  await dropped.add(conversation, { count: 1, isOwed: false });
  await dropped.add(group, { count: 2, isOwed: false });
  expect([await flood.notes(conversation), await flood.notes(group)]).toEqual([
    ["1 message was dropped unread, because the queue was full; the sender is told so"],
    ["2 messages were dropped unread, because the queue was full; the sender is told so"],
  ]);
  await flood.tell(turnIn(conversation), dm, opening(0), null, false);
  await flood.tell(turnIn(group), chat, opening(0), null, true);
  expect(posted).toEqual([
    expect.stringMatching(
      /^dropped:telegram:default:dm:5:\d+ to telegram:default:dm:5 for t1: .*1 message was/,
    ),
  ]);
  expect(logged).toEqual([
    'told of messages that a full queue dropped {"dropped":1}',
    'told of messages that a full queue dropped {"dropped":2}',
  ]);
  expect([await dropped.untold(conversation), await dropped.untold(group)]).toEqual([null, null]);
  await dropped.add(group, { count: 4, isOwed: true });
  await flood.tell(turnIn(group), chat, opening(0), null, false);
  expect(posted.at(-1)).toMatch(/ to telegram:default:group:-1 for t1: .*4 messages were dropped unread/);
});
