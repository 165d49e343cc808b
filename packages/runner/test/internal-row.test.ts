// Rows that Parley writes into the lane of an earlier turn: whole, with what of the turn that caused them
// goes along, and where they go when their session goes on elsewhere.
import { formatRowPayload, parseRowPayload, type Address, type InternalRow } from "@parley/protocol";
import type { NewRow } from "@parley/store";
import { directMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { followingRow, hopsOf, internalRow, isUnseenRow, movedTo, rowIn } from "../src/internal-row.ts";

const address: Address = { channel: "discord", account: "work", kind: "channel", peer: "55", thread: "9" };
const began = (internal?: object, more: object = {}) =>
  ({
    id: "r1",
    pool: "subagent",
    lane: "agent:tea:discord:channel:55",
    conversation: "discord:work:channel:55:9",
    authority: "member:x",
    payload: formatRowPayload({
      v: 1,
      inbound: {
        ...directMessage({ text: "words", mentions: ["1"], sender: { id: "7", name: "Eve", isBot: true } }),
        channel: "discord",
        account: "work",
        address,
        guild: "g1",
        parent: "p1",
        ...more,
      },
      owner: false,
      ...(internal === undefined ? {} : { internal }),
    } as never),
  }) as unknown as Parameters<typeof internalRow>[0];
const plain = ({ payload, ...row }: NewRow): object => ({ ...row, ...(parseRowPayload(payload) as object) });
const task: InternalRow = { kind: "command", id: "c1", turn: "t1" };
const made = (from: Parameters<typeof internalRow>[0], internal: InternalRow = task): NewRow =>
  internalRow(from, "command:c1", "It ended.", internal, 77);

test("such a row has the address, the rights and the place of the turn, Parley's name, and is its own ticket", () => {
  expect(plain(made(began()))).toEqual({
    id: "command:c1",
    pool: "subagent",
    lane: "agent:tea:discord:channel:55",
    conversation: "discord:work:channel:55:9",
    authority: "member:x",
    as: { kind: "work", ticket: "command:c1" },
    v: 1,
    inbound: {
      id: "command:c1",
      channel: "discord",
      account: "work",
      address,
      sender: { id: "7", name: "Parley", isBot: false },
      messageId: "command:c1",
      kind: "message",
      text: "It ended.",
      attachments: [],
      mentions: [],
      addressed: true,
      guild: "g1",
      parent: "p1",
      atMs: 77,
    },
    owner: false,
    internal: task,
  });
});

test("what led to it goes along: how many messages between sessions, whether anybody sees it, and strangers' text", () => {
  const asker = { session: "agent:main:main", pool: "main", epoch: 1, hops: 4, reply: "none" } as const;
  const message = { kind: "message", id: "m", turn: "t0" } as const;
  const causes: { readonly [what: string]: object | undefined } = {
    "a person": undefined,
    "a command": { ...task, hops: 2 },
    "another session": { ...message, asker },
    "another session, seen": { ...message, asker, unseen: false },
    "a run nobody sees": { kind: "schedule", id: "j", turn: "", unseen: true },
    "text of strangers": { ...task, untrusted: "a.example" },
  };
  const told = Object.entries(causes).map(([what, internal]) => {
    const from = began(internal);
    return [what, hopsOf(from), isUnseenRow(from), parseRowPayload(made(from).payload).internal];
  });
  expect(told).toEqual([
    ["a person", 0, false, task],
    ["a command", 2, false, { ...task, hops: 2 }],
    ["another session", 4, true, { ...task, hops: 4, unseen: true }],
    ["another session, seen", 4, false, { ...task, hops: 4 }],
    ["a run nobody sees", 0, true, { ...task, unseen: true }],
    ["text of strangers", 0, false, { ...task, untrusted: "a.example" }],
  ]);
  // What the row says of itself comes first, and one that asks has its own count.
  const own = { ...task, untrusted: "b.example", unseen: false };
  expect(
    parseRowPayload(made(began({ ...task, untrusted: "a.example", unseen: true }), own).payload).internal,
  ).toEqual(own);
  const asks = { ...message, asker: { ...asker, hops: 5 } };
  expect(parseRowPayload(made(began({ ...task, hops: 2 }), asks).payload).internal).toEqual(asks);
  // Words to a sub-agent that runs wake it like a person's; a question of another session is a ticket.
  expect([made(began(), message).as, made(began(), asks).as]).toEqual([
    { kind: "work" },
    { kind: "work", ticket: "command:c1" },
  ]);
  expect(isUnseenRow({ payload: "spoilt" })).toBe(false);
});

test("where its session goes on elsewhere the row goes there, to that person, without the old server and chat", () => {
  const place: Address = { channel: "telegram", account: "home", kind: "dm", peer: "42" };
  const asked: unknown[] = [];
  const row = followingRow(began(), "command:c1", "It ended.", task, {
    placeOf: (session, from) => (asked.push([session, from]), place),
    nowMs: 77,
  });
  expect(asked).toEqual([["agent:tea:discord:channel:55", address]]);
  const { inbound, ...before } = plain(made(began())) as { readonly inbound: object };
  const { guild: _guild, parent: _parent, ...stays } = inbound as { guild?: string; parent?: string };
  expect(plain(row)).toEqual({
    ...before,
    conversation: "telegram:home:dm:42",
    inbound: {
      ...stays,
      channel: "telegram",
      account: "home",
      address: place,
      sender: { id: "42", name: "Parley", isBot: false },
    },
  });
  const stayed = made(began());
  expect([movedTo(stayed, null), movedTo(stayed, address)]).toEqual([stayed, stayed]);
});

test("in a thread of its chat the row's parent is that chat; in the chat itself it has none", () => {
  const row = made(began());
  const at = (place: Address) => {
    const { conversation, inbound } = plain(rowIn(row, place)) as {
      readonly conversation: string;
      readonly inbound: { readonly address: Address; readonly parent?: string; readonly guild?: string };
    };
    return [conversation, inbound.address, inbound.parent ?? null, inbound.guild];
  };
  const thread: Address = { ...address, thread: "77" };
  const { thread: _thread, ...chat } = address;
  const group: Address = { channel: "telegram", account: "work", kind: "group", peer: "-5", thread: "3" };
  expect([at(thread), at(chat), at(group)]).toEqual([
    ["discord:work:channel:55:77", thread, "55", "g1"],
    ["discord:work:channel:55", chat, null, "g1"],
    ["telegram:work:group:-5:3", group, null, "g1"],
  ]);
});
