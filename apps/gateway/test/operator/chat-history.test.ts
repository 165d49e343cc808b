// The chat of a page: what it sends, reads back, puts in and stops, each in the conversation and session that
// are meant.
import { webSender } from "@parley/access";
import { conversationKey, systemClock, type Address } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { chatMethods, type ChatPorts } from "../../src/operator/sessions/chat.ts";
import { forkMethods } from "../../src/operator/sessions/fork.ts";
import { threadMethods } from "../../src/operator/sessions/threads.ts";
import { memoryStore } from "../receive/store.ts";

const peer = "web-1";
const address: Address = { channel: "web", account: "default", kind: "dm", peer };

test("a conversation of large messages is read back newest first, as far as a page can take it at once; one message always", async () => {
  const store = await memoryStore(systemClock());
  const options = {
    wired: { web: { account: "default" } },
    route: () => ({ agent: "main", session: "agent:main:main" }),
    store,
  } as unknown as ChatPorts;
  const say = (n: number, chars: number) =>
    store.events.append(
      conversationKey(address),
      `e${n}`,
      JSON.stringify({ role: "user", text: "x".repeat(chars), html: "", atMs: n }),
    );
  const shown = async () =>
    (await chatMethods(options)["chat.history"]({ limit: 200 }, { peer, scopes: ["read"] })).messages.map(
      ({ atMs }) => atMs,
    );
  for (let n = 1; n <= 30; n += 1) await say(n, 200_000);
  expect(await shown()).toEqual([21, 22, 23, 24, 25, 26, 27, 28, 29, 30]);
  await say(31, 3_000_000);
  expect(await shown()).toEqual([31]);
});

test("history says whether there is more before, whether it is worked on, and goes on before a message", async () => {
  const store = await memoryStore(systemClock());
  const { "chat.history": history } = chatMethods({
    wired: { web: { account: "default" } },
    route: () => ({ agent: "main", session: "agent:main:main" }),
    store: {
      ...store,
      inbox: {
        find: async ({ lane, state }: { lane: string; state: string }) =>
          lane === "agent:main:main" && state === "claimed" ? [{}] : [],
      },
    },
  } as unknown as ChatPorts);
  for (let n = 1; n <= 5; n += 1)
    await store.events.append(conversationKey(address), `e${n}`, JSON.stringify({ text: `${n}`, atMs: n }));
  const read = async (params: object) => {
    const { messages, hasEarlier, working, sessionKey } = await history(params, { peer, scopes: ["read"] });
    expect([working, sessionKey]).toEqual([true, "agent:main:main"]);
    return [messages.map(({ atMs }) => atMs).join(" "), hasEarlier, messages[0]?.seq ?? 0] as const;
  };
  const [texts, more, seq] = await read({ limit: 2 });
  expect([texts, more]).toEqual(["4 5", true]);
  const before = await read({ limit: 2, beforeSeq: seq });
  expect(before.slice(0, 2)).toEqual(["2 3", true]);
  expect((await read({ limit: 2, beforeSeq: before[2] })).slice(0, 2)).toEqual(["1", false]);
  expect((await read({ limit: 5 })).slice(0, 2)).toEqual(["1 2 3 4 5", false]);
});

test("what is sent has its writer's rights and files, opens its thread, and says whether it was there before", async () => {
  const did: unknown[] = [];
  const clock = virtualClock({ startMs: 9 });
  const { cells, inbox } = await memoryStore(clock);
  let known = false;
  const { "chat.send": send } = chatMethods({
    wired: { web: { account: "default", submit: async (message: object) => void did.push(message) } },
    route: ({ address: to }: { address: Address }) => ({ agent: "main", session: `s:${to.thread ?? ""}` }),
    store: {
      cells,
      inbox: { ...inbox, find: async ({ id }: { id: string }) => (did.push(id), known ? [{}] : []) },
    },
    clock,
  } as unknown as ChatPorts);
  const file = { name: "a", mediaType: "text/plain", data: Buffer.from("hi").toString("base64") };
  expect(
    await send({ text: "one", thread: "t", idempotencyKey: "k", files: [file] } as never, {
      peer,
      scopes: ["read", "write", "approve"],
    }),
  ).toEqual({ id: "web:default:web-1:k", sessionKey: "s:t", duplicate: false });
  known = true;
  expect(await send({ text: "two", idempotencyKey: "l" }, { peer, scopes: ["admin"] })).toEqual({
    id: "web:default:web-1:l",
    sessionKey: "s:",
    duplicate: true,
  });
  expect(did).toEqual([
    "web:default:web-1:k",
    {
      id: "web-1:k",
      address: { ...address, thread: "t" },
      senderName: peer,
      text: "one",
      files: [{ name: "a", mediaType: "text/plain", voice: undefined, bytes: Buffer.from("hi") }],
      guest: true,
      approver: true,
    },
    "web:default:web-1:l",
    { id: "web-1:l", address, senderName: peer, text: "two", guest: false, approver: false },
  ]);
  const threads = await cells.list("web-thread:", 9);
  expect(threads.map(({ key, value }) => [key, JSON.parse(value) as object])).toMatchObject([
    ["web-thread:default:web-1:t", { title: "one", listed: true, usedAtMs: 9 }],
  ]);
});

test("stopping ends the session's turn, what waits and what runs beside it, and counts each apart", async () => {
  const did: unknown[] = [];
  const stopped = async (turn: string | null, rows: number, beside: number, unsent: number) => {
    const { "chat.abort": abort } = chatMethods({
      wired: { web: { account: "default" } },
      route: () => ({ agent: "main", session: "lane" }),
      store: {
        cells: {},
        inbox: {
          stop: async (...what: readonly unknown[]) => (
            did.push(what),
            { turn, rows: Array.from({ length: rows }, (_, n) => n) }
          ),
        },
      },
      stop: {
        turn: (id: string) => void did.push(["turn", id]),
        beside: async (session: string) => (did.push(["beside", session]), beside),
        answers: async (...what: readonly unknown[]) => (did.push(["answers", ...what]), unsent),
      },
    } as unknown as ChatPorts);
    return abort({ thread: "t" }, { peer, scopes: ["write"] });
  };
  expect(await stopped("x", 2, 1, 0)).toEqual({ stopped: true, cancelled: 2 });
  expect(did).toEqual([
    ["lane", { turn: "open", rows: "all", reason: "stopped from the web page" }],
    ["turn", "x"],
    ["beside", "lane"],
    ["answers", "lane", conversationKey({ ...address, thread: "t" })],
  ]);
  expect([
    await stopped(null, 0, 0, 0),
    await stopped(null, 3, 0, 0),
    await stopped(null, 0, 1, 0),
    await stopped(null, 0, 0, 1),
  ]).toEqual([
    { stopped: false, cancelled: 0 },
    { stopped: false, cancelled: 3 },
    { stopped: true, cancelled: 0 },
    { stopped: true, cancelled: 0 },
  ]);
});

test("what is put into a conversation waits there as a command of its own, once under its key", async () => {
  const store = await memoryStore(systemClock());
  const { "chat.inject": inject } = chatMethods({
    wired: { web: { account: "default" } },
    route: () => ({ agent: "main", session: "agent:main:main" }),
    store,
    clock: virtualClock({ startMs: 5 }),
  } as unknown as ChatPorts);
  const asked = { text: "I was told", idempotencyKey: "k" };
  const id = "web:default:web-1:inject:k";
  expect([
    await inject(asked, { peer, scopes: ["write"] }),
    await inject(asked, { peer, scopes: ["write"] }),
  ]).toEqual([
    { id, sessionKey: "agent:main:main", duplicate: false },
    { id, sessionKey: "agent:main:main", duplicate: true },
  ]);
  await inject({ ...asked, idempotencyKey: "l" }, { peer, scopes: ["admin"] });
  const rows = await store.inbox.find({ limit: 9 });
  expect(
    rows.map(({ authority, lane, payload }) => [authority, lane, JSON.parse(payload) as object]),
  ).toMatchObject([
    ["owner", "agent:main:main", { owner: true, command: { name: "inject", args: "I was told" } }],
    [
      "member",
      "agent:main:main",
      { owner: false, inbound: { atMs: 5, address, messageId: "web-1:inject:k" } },
    ],
  ]);
});

test("every method finds the session of the conversation that it names, as its caller's own, with the caller's rights", async () => {
  const store = await memoryStore(systemClock());
  const routed: unknown[] = [];
  const ports = {
    wired: { web: { account: "work", submit: async () => {}, announce: async () => {} } },
    route: (how: object) => (
      routed.push(how),
      { agent: "main", session: `agent:main:web:dm:x${routed.length}` }
    ),
    store,
    stop: { turn: () => {}, beside: async () => 0, answers: async () => 0 },
    clock: virtualClock(),
    config: { agents: { list: [] } },
  } as never;
  const call = { ...chatMethods(ports), ...threadMethods(ports), ...forkMethods(ports) };
  const text = { text: "x", idempotencyKey: "k" };
  for (const by of [
    { peer, scopes: ["read", "write"] },
    { peer: "web-2", scopes: ["admin"] },
  ] as const) {
    const at = (thread?: string) => ({
      address: {
        channel: "web",
        account: "work",
        kind: "dm",
        peer: by.peer,
        ...(thread === undefined ? {} : { thread }),
      },
      sender: webSender(by),
    });
    for (const place of [{}, { thread: "t" }]) {
      await call["chat.send"]({ ...text, ...place } as never, by);
      await call["chat.history"](place, by);
      await call["chat.inject"]({ ...text, ...place }, by);
      await call["chat.abort"](place, by);
      await call["chat.steps"](place as never, by);
      await expect(
        call["chat.fork"]({ ...place, id: "no", to: "f", idempotencyKey: "f" }, by),
      ).rejects.toThrow("there is no such message");
      const here = at((place as { readonly thread?: string }).thread);
      expect(routed.splice(0)).toEqual([here, here, here, here, here, here, at("f")]);
    }
    await call["chat.threads"]({}, by);
    expect(routed.splice(0)).toEqual([at(), at("t")]);
  }
});
