// /compact given by an operator: it stands behind what was said, in the conversation that was used last.
import { conversationKey, parseRowPayload, systemClock, systemIds, type Address } from "@parley/protocol";
import { webSender } from "@parley/access";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { compactMethods } from "../../src/operator/sessions/compact.ts";
import { webCommandRow } from "../../src/operator/sessions/web-command.ts";
import { caller, lane, stage, taking } from "./web-stage.ts";

test("it waits behind what was said, is told there, and a repeat under its key stands there once", async () => {
  const { store, call } = await stage();
  const compact = compactMethods({ store, clock: systemClock(), ids: systemIds() })["sessions.compact"];
  const asked = { key: lane, focus: "names", idempotencyKey: "k" };
  await expect(compact(asked, caller)).rejects.toThrow("nobody wrote in");
  await call["chat.send"]({ text: "one", idempotencyKey: "1" }, caller);
  const first = await compact(asked, caller);
  expect(await compact(asked, caller)).toEqual(first);
  expect(await store.inbox.find({ lane: lane as never, limit: 9 })).toHaveLength(2);
  const said = await store.turns.take(taking);
  if ("idle" in said) throw new Error("there is no turn");
  await store.turns.commit(said, said.id, { outcome: "answered", entries: [] });
  const turn = await store.turns.take(taking);
  if ("idle" in turn) throw new Error("there is no turn");
  expect(turn.conversation).toBe(
    conversationKey({ channel: "web", account: "default", kind: "dm", peer: caller.peer }),
  );
  expect(parseRowPayload(turn.rows[0]?.payload ?? "").command).toMatchObject({
    name: "compact",
    args: "names",
  });
});

test("it stands where somebody wrote last, with the place's guild, and by the rights of whoever gave it", async () => {
  const { store, call } = await stage();
  const compact = compactMethods({ store, clock: systemClock(), ids: systemIds() })["sessions.compact"];
  await call["chat.send"]({ text: "one", idempotencyKey: "1" }, caller);
  const [row] = await store.inbox.find({ lane: lane as never, limit: 1 });
  const { inbound } = parseRowPayload(row?.payload ?? "");
  const address = { channel: "discord", account: "work", kind: "group", peer: "c7" } as unknown as Address;
  const conversation = conversationKey(address);
  const later = { ...inbound, id: "later", address, guild: "g1", parent: "p1" };
  await store.inbox.accept([
    {
      id: "later",
      subject: `${conversation}/m`,
      version: 0,
      pool: "main",
      lane: lane as never,
      conversation,
      authority: "member",
      as: { kind: "work" },
      payload: JSON.stringify({ v: 1, owner: false, inbound: later }),
    },
  ]);
  const member = { ...caller, scopes: ["read", "write"] } as const;
  const asked = { key: lane, idempotencyKey: "k" };
  const first = await compact(asked, member);
  expect(first.id).toBe(`discord:work:compact:${caller.peer}:k`);
  const second = await compact({ key: lane }, caller);
  expect((await compact({ key: lane }, caller)).id).not.toBe(second.id);
  const rows = await store.inbox.find({ lane: lane as never, limit: 9 });
  const [byMember, byOwner] = [first.id, second.id].map((id) => rows.find((each) => each.id === id));
  expect([byMember?.authority, byOwner?.authority]).toEqual(["member", "owner"]);
  const { inbound: said, command, owner } = parseRowPayload(byMember?.payload ?? "");
  expect([said, command, owner]).toMatchObject([
    {
      channel: "discord",
      account: "work",
      address,
      guild: "g1",
      parent: "p1",
      sender: { id: caller.peer, name: "operator" },
      kind: "command",
    },
    { name: "compact", args: "" },
    false,
  ]);
});

test("its row is whole: a command from the operator in that place, at its own time, that what comes after waits for", async () => {
  const { store, call } = await stage();
  await call["chat.send"]({ text: "one", idempotencyKey: "1" }, caller);
  const { inbox } = store;
  const accepted: unknown[] = [];
  const compact = compactMethods({
    store: {
      inbox: {
        find: async (how: never) => (accepted.push(how), inbox.find(how)),
        accept: async (rows: readonly object[]) => (accepted.push(...rows), []),
      },
    } as never,
    clock: virtualClock({ startMs: 77 }),
    ids: { uuid: () => "made" } as never,
  })["sessions.compact"];
  const id = `web:default:compact:${caller.peer}:made`;
  expect(await compact({ key: lane }, caller)).toEqual({ id });
  const conversation = `web:default:dm:${caller.peer}`;
  const [asked, row] = accepted as [object, { readonly payload: string }];
  expect(asked).toEqual({ lane, limit: 1 });
  expect({ ...row, payload: JSON.parse(row.payload) as object }).toEqual({
    id,
    subject: `web:default/${conversation}/compact:${caller.peer}:made`,
    version: 0,
    pool: "main",
    lane,
    conversation,
    authority: "owner",
    as: { kind: "work", barrier: true },
    payload: {
      v: 1,
      owner: true,
      command: { name: "compact", args: "" },
      inbound: {
        id,
        channel: "web",
        account: "default",
        address: { channel: "web", account: "default", kind: "dm", peer: caller.peer },
        sender: { id: caller.peer, name: "operator", isBot: false },
        messageId: `compact:${caller.peer}:made`,
        kind: "command",
        text: "",
        attachments: [],
        mentions: [],
        addressed: true,
        atMs: 77,
      },
    },
  });
});

test("a page's command is a row of its caller, in the thread that is meant, once for each call", () => {
  const to = { channel: "web", account: "work", kind: "dm", peer: "web-9", thread: "t" } as const;
  const row = (scopes: readonly string[]) =>
    webCommandRow({ peer: "web-9", scopes } as never, {
      account: "work",
      said: "web-9:fork:k",
      to,
      session: "agent:second:web:dm:web-9:thread:t" as never,
      name: "fork",
      args: "{}",
      atMs: 5,
    });
  const { payload, ...rest } = row(["read", "write", "approve"]);
  expect(rest).toEqual({
    id: "web:work:web-9:fork:k",
    subject: `web:work/${conversationKey(to)}/web-9:fork:k`,
    version: 0,
    pool: "main",
    lane: "agent:second:web:dm:web-9:thread:t",
    conversation: conversationKey(to),
    authority: "member",
    as: { kind: "work", barrier: true },
  });
  expect(JSON.parse(payload)).toEqual({
    v: 1,
    owner: false,
    command: { name: "fork", args: "{}" },
    inbound: {
      id: "web:work:web-9:fork:k",
      channel: "web",
      account: "work",
      address: to,
      sender: webSender({ peer: "web-9", scopes: ["read", "write", "approve"] } as never),
      messageId: "web-9:fork:k",
      kind: "command",
      text: "",
      attachments: [],
      mentions: [],
      addressed: true,
      atMs: 5,
    },
  });
  const byOwner = row(["admin"]);
  expect([byOwner.authority, JSON.parse(byOwner.payload)]).toMatchObject(["owner", { owner: true }]);
});
