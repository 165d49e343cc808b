// What becomes of events before they are work: their rows field by field, reactions and votes in words,
// albums in groups, and queues that are too long, each with both sides of its limits.
import { formatRowPayload, type Inbound, type SessionKey } from "@parley/protocol";
import type { DeliveryView, RowView } from "@parley/store";
import { directMessage, groupMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { albumParts } from "../../src/receive/album-parts.ts";
import { openingRow, refusedRow, rowOf, unreadableRow } from "../../src/receive/new-rows.ts";
import { queueOverflow } from "../../src/receive/queue-overflow.ts";
import { reactions } from "../../src/receive/reactions.ts";

const session = "agent:main:telegram:dm:5" as SessionKey;

test("rows of messages, presses, edits, commands, refused and unreadable events", () => {
  const inbound = directMessage({ id: "u1", messageId: "41" });
  const by = { route: { agent: "main", session } as never, owner: true, authority: "owner" };
  const work = { kind: "work" } as const;
  const row = (more: Partial<Inbound> = {}, ...rest: readonly never[]): object => {
    const { payload, ...others } = rowOf({ ...by, inbound: { ...inbound, ...more } }, work, null, ...rest);
    return { ...others, payload: JSON.parse(payload) };
  };
  const plain = {
    id: "u1",
    subject: "telegram:default/telegram:default:dm:5/41",
    version: 0,
    pool: "main",
    lane: session,
    conversation: "telegram:default:dm:5",
    authority: "owner",
    as: work,
    payload: { v: 1, inbound, owner: true },
  };
  const subject = (more: Partial<Inbound>): unknown => (row(more) as { subject: string }).subject;
  expect(row()).toEqual(plain);
  expect(row({ editedAtMs: 7 })).toMatchObject({ version: 7 });
  expect(
    (["message", "edit", "command", "callback", "reaction"] as const).map((kind) => subject({ kind })),
  ).toEqual([plain.subject, plain.subject, plain.subject, `${plain.subject}/u1`, `${plain.subject}/u1`]);
  expect(subject({ bot: "helper" })).toBe("telegram:default@helper/telegram:default:dm:5/41");
  const parsed = (text: string): unknown => JSON.parse(text);
  const command = { name: "think", args: "high" } as never;
  const skill = { name: "s", input: "i", location: "l" };
  expect(
    parsed(
      rowOf({ ...by, inbound }, work, { ...(command as object), model: "m" } as never, skill, true).payload,
    ),
  ).toEqual({
    v: 1,
    inbound,
    owner: true,
    command: { name: "think", args: "high", model: "m" },
    skill,
    steer: true,
  });
  expect(parsed(rowOf({ ...by, inbound }, work, command).payload)).toEqual({
    v: 1,
    inbound,
    owner: true,
    command: { name: "think", args: "high" },
  });
  const opening = openingRow(
    { ...by, inbound: { ...inbound, kind: "command", text: "/new hi" } },
    "hi",
    work,
  );
  const { subject: _guard, ...unguarded } = plain;
  expect({ ...opening, payload: parsed(opening.payload) }).toEqual({
    ...unguarded,
    id: "u1/message",
    payload: { v: 1, owner: true, inbound: { ...inbound, id: "u1/message", kind: "message", text: "hi" } },
  });
  const refused = { kind: "closed", outcome: "refused", reason: "a stranger" };
  expect(refusedRow(inbound, session, "a stranger")).toEqual({
    ...plain,
    authority: "none",
    as: refused,
    payload: "",
  });
  expect(refusedRow(inbound, null, "a stranger").lane).toBe("agent:main:hook:unreadable");
  expect(
    unreadableRow({
      kind: "unreadable",
      id: "x1",
      channel: "discord",
      account: "b",
      raw: "{odd",
      reason: "no type",
    } as never),
  ).toEqual({
    id: "x1",
    pool: "main",
    lane: "agent:main:hook:unreadable",
    conversation: "discord:b:channel:unreadable",
    authority: "none",
    as: { kind: "closed", outcome: "dead", reason: "no type" },
    payload: "{odd",
  });
});

const rendered = (part: object, receipt: string): object => ({
  content: JSON.stringify({ v: 1, kind: "rendered", part }),
  receipt,
});
const sent = (lane: string, ...parts: readonly object[]): DeliveryView => ({ lane, parts }) as never;

test("a reaction is told with the words it belongs to; a vote with its poll; others by how the account wants it", async () => {
  const here = "telegram:default:group:-100:7";
  const poll = { kind: "poll", question: "q".repeat(81), options: ["tea", "o".repeat(80), "x"] };
  const asked: object[] = [];
  const read = (wish: string, deliveries: readonly DeliveryView[]) =>
    reactions({
      wanted: () => wish as never,
      outbox: {
        find: async (what) => {
          asked.push(what);
          return deliveries;
        },
      },
    });
  const reaction = (more: object = {}): Inbound =>
    groupMessage({
      kind: "reaction",
      text: "reacted 👍",
      replyTo: { messageId: "9", toBot: false },
      ...more,
    } as never);
  const told = async (wish: string, found: readonly DeliveryView[], more: object = {}): Promise<unknown> => {
    const answer = await read(wish, found)(reaction(more));
    return "unwanted" in answer
      ? answer.unwanted
      : { text: answer.text, address: answer.address, replyTo: answer.replyTo };
  };
  const own = (part: object): readonly DeliveryView[] => [
    sent("telegram:other:group:-100", rendered({ kind: "text", text: "not this", plain: "not this" }, '"9"')),
    sent(
      "telegram:default:group:-200",
      rendered({ kind: "text", text: "nor this", plain: "nor this" }, '"9"'),
    ),
    sent(here, rendered({ kind: "text", text: "1", plain: "first" }, '{"messageId":"8"}'), {
      ...rendered(part, '{"messageId":"9"}'),
    }),
  ];
  const topic = { channel: "telegram", account: "default", kind: "group", peer: "-100", thread: "7" };
  const answer = (text: string): unknown => ({
    text,
    address: topic,
    replyTo: { messageId: "9", toBot: true },
  });
  const text = (plain: string): object => ({ kind: "text", text: `<b>${plain}</b>`, plain });
  expect(await told("own", own(text("hello")))).toEqual(answer('reacted 👍 to your message "hello"'));
  expect(await told("own", own(text("x".repeat(80))))).toEqual(
    answer(`reacted 👍 to your message "${"x".repeat(80)}"`),
  );
  expect(await told("own", own(text("x".repeat(81))))).toEqual(
    answer(`reacted 👍 to your message "${"x".repeat(80)}…"`),
  );
  expect(await told("own", own({ kind: "media", caption: { plain: "a hat" } }))).toEqual(
    answer('reacted 👍 to your message "a hat"'),
  );
  expect(await told("own", own({ kind: "voice" }))).toEqual(answer("reacted 👍 to your message 9"));
  expect(await told("off", own(text("hello")))).toBe("reactions are not told (reactionNotifications: off)");
  expect(await told("own", [])).toBe("a reaction to a message that is not mine (reactionNotifications: own)");
  expect(await told("all", [])).toMatchObject({ text: "reacted 👍 to message 9" });
  expect(
    await told("all", [], {
      address: topic,
    }),
  ).toBe("a reaction whose topic is not known");
  expect(asked[0]).toEqual({ receipt: '"9"', lane: "telegram:default:group:-100", limit: 200 });
  expect(asked.at(-1)).toEqual({ receipt: '"9"', limit: 200 });

  const polls = [sent(here, rendered(text("words"), '"1"'), rendered(poll, '"poll":"p1"'))];
  const vote = (options: readonly number[], takenBack = false): object => ({
    vote: { options, takenBack, poll: "p1" },
  });
  const question = `in your poll "${"q".repeat(80)}…"`;
  expect(await told("own", polls, vote([0, 2]))).toMatchObject({ text: `voted "tea", "x" ${question}` });
  expect(asked.at(-1)).toEqual({ receipt: '"poll":"p1"', limit: 200 });
  expect(await told("own", polls, vote([1, 9]))).toMatchObject({
    text: `voted "${"o".repeat(80)}", "?" ${question}`,
  });
  expect(await told("own", polls, vote([], true))).toMatchObject({ text: `took back the vote ${question}` });
  expect(await told("own", polls, vote([0], true))).toMatchObject({
    text: `took back the vote "tea" ${question}`,
  });
  const strange = "a vote in a poll that is not mine";
  expect(await told("own", [], vote([0]))).toBe(strange);
  expect(await told("all", [sent(here, rendered(text("words"), "1"))], vote([0]))).toBe(strange);
  expect(await told("all", [sent("telegram:other:group:-100", rendered(poll, "1"))], vote([0]))).toBe(
    strange,
  );
  const message = groupMessage();
  expect(await read("off", [])(message)).toBe(message);
});

test("an album that calls the agent brings the files of all its parts, once, and of nobody else's", async () => {
  const stored: { -readonly [state in "waiting" | "claimed" | "context"]?: Inbound[] } = {};
  const album = albumParts({
    find: async ({ state }) =>
      (stored[state as "waiting"] ?? []).map((inbound) => ({
        payload: formatRowPayload({ v: 1, inbound, owner: false }),
      })) as never,
  });
  const part = (id: string, ref: string, more: object = {}): Inbound =>
    groupMessage({ id, groupId: "g", attachments: [{ kind: "image", ref }], ...more } as never);
  const refs = async (inbound: Inbound): Promise<readonly string[]> =>
    (await album.called(inbound, session)).attachments.map(({ ref }) => ref);
  const addressed = async (inbound: Inbound): Promise<boolean> =>
    (await album.joined(inbound, session)).addressed;

  stored.context = [part("c2", "two"), part("c1", "one"), part("other", "x", { groupId: "h" })];
  expect(await addressed(part("p", "three"))).toBe(false);
  album.passed(part("p", "three"));
  album.passed(part("p", "three"));
  album.passed(part("q", "foreign", { sender: { id: "6", name: "B", isBot: false } }));
  // The context is stored newest first; what stands in the same batch comes after it, its own files last.
  const caller = part("call", "own");
  expect(await refs(caller)).toEqual(["one", "two", "three", "own"]);
  expect(await refs(caller)).toEqual(["one", "two", "three", "own"]);
  expect(await addressed(part("later", "four"))).toBe(true);
  expect(await refs(part("later", "four"))).toEqual(["four"]);
  // Of another sender, place or album it is none, and private chats and forwarded messages have none.
  for (const more of [
    { sender: { id: "6", name: "B", isBot: false } },
    { address: { channel: "telegram", account: "default", kind: "group", peer: "-200" } },
    { groupId: "forwarded" },
    { groupId: undefined },
    { kind: "edit" },
  ])
    expect(await addressed(part("x", "x", more))).toBe(false);
  // A part that is stored as work has brought them already.
  stored.waiting = [part("w", "w", { groupId: "k" })];
  stored.context = [part("c", "c", { groupId: "k" })];
  expect(await addressed(part("x", "x", { groupId: "k" }))).toBe(true);
  expect(await refs(part("x", "x", { groupId: "k" }))).toEqual(["x"]);
  stored.claimed = stored.waiting;
  delete stored.waiting;
  expect(await addressed(part("y", "y", { groupId: "k" }))).toBe(true);
  delete stored.claimed;
  stored.context = Array.from({ length: 21 }, (_, at) => part(`m${at}`, `f${20 - at}`, { groupId: "n" }));
  expect(await refs(part("m", "own", { groupId: "n" }))).toEqual([
    ...Array.from({ length: 20 }, (_, at) => `f${at}`),
    "own",
  ]);
});

test("a full queue is cut from the end that the session names, and never a command or what Parley wrote", async () => {
  const view = (seq: number, more: object = {}, inbound: object = {}): RowView =>
    ({
      id: `r${seq}`,
      seq,
      conversation: seq % 2 === 0 ? "telegram:default:dm:5" : "telegram:default:dm:6",
      authority: "owner",
      payload: JSON.stringify({
        v: 1,
        owner: false,
        inbound: directMessage({ addressed: seq === 3, ...inbound }),
        ...more,
      }),
    }) as never;
  const rows = [
    view(6),
    view(1, { command: { name: "new", args: "" } }),
    view(2),
    view(3),
    view(4, { internal: { kind: "task", id: "x", turn: "" } }),
    view(5),
  ];
  const run = async (cap: number, drop: string, waiting = rows.length, stops = (_id: string) => true) => {
    const told: string[] = [];
    const overflow = queueOverflow(
      {
        find: async () => rows,
        stop: async (_lane: string, what: { rows: { ids: string[] }; outcome: string; reason: string }) => {
          told.push(`${what.outcome} ${what.rows.ids.join(" ")}: ${what.reason}`);
          return { turn: null, rows: what.rows.ids.filter(stops) };
        },
      } as never,
      {
        add: async (conversation, dropped) =>
          void told.push(`${conversation} ${dropped.count} ${String(dropped.isOwed)}`),
      },
      () => told.push("stopped"),
    );
    await overflow({ lane: session } as never, { waiting } as never, { mode: "collect", cap, drop } as never);
    return told;
  };
  // Five rows of people wait, of which one is a command.
  expect(await run(6, "old")).toEqual([]);
  expect(await run(5, "old")).toEqual([]);
  expect(await run(4, "old")).toEqual([
    "superseded r2: the queue holds 4 (drop: old)",
    "telegram:default:dm:5 1 false",
  ]);
  expect(await run(2, "old")).toEqual([
    "superseded r2 r3 r5: the queue holds 2 (drop: old)",
    "telegram:default:dm:5 1 false",
    "telegram:default:dm:6 2 true",
  ]);
  expect(await run(3, "new")).toEqual([
    "superseded r5 r6: the queue holds 3 (drop: new)",
    "telegram:default:dm:6 1 false",
    "telegram:default:dm:5 1 false",
  ]);
  expect((await run(0, "new"))[0]).toBe("superseded r2 r3 r5 r6: the queue holds 0 (drop: new)");
  expect(await run(1, "summarize")).toEqual([]);
  expect(await run(2, "old", 2)).toEqual([]);
  // What began meanwhile was not dropped.
  expect(await run(4, "old", 6, () => false)).toEqual(["superseded r2: the queue holds 4 (drop: old)"]);
});
