// A person's conversations side by side, by the frames of the control plane over a real store.
import { conversationKey, Fault, type Entry, type Inbound } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { threadMethods } from "../../src/operator/sessions/threads.ts";
import { caller, lane, stage, taking } from "./web-stage.ts";

test("are listed with their first words, named, pinned, and off the list until somebody writes there again", async () => {
  const { call } = await stage();
  await call["chat.send"]({ text: "hello", idempotencyKey: "1" }, caller);
  await call["chat.send"]({ text: "plans for <b>roses</b>", thread: "r", idempotencyKey: "2" }, caller);
  await call["chat.send"]({ text: "and tulips", thread: "r", idempotencyKey: "3" }, caller);
  const list = async () => (await call["chat.threads"]({}, caller)).threads;
  expect(await list()).toMatchObject([
    { thread: null, name: null, title: null, text: "hello", pinned: false },
    { thread: "r", name: null, title: "plans for <b>roses</b>", text: "and tulips" },
  ]);
  await call["chat.thread"]({ thread: "r", name: "Garden", pinned: true }, caller);
  expect((await list())[1]).toMatchObject({ name: "Garden", title: "plans for <b>roses</b>", pinned: true });
  await call["chat.thread"]({ thread: "r", listed: false }, caller);
  expect(await list()).toHaveLength(1);
  await call["chat.send"]({ text: "once more", thread: "r", idempotencyKey: "4" }, caller);
  expect((await list())[1]).toMatchObject({ name: "Garden", text: "once more" });
  // Another peer has none of it.
  expect((await call["chat.threads"]({}, { ...caller, peer: "web-2" })).threads).toHaveLength(1);
});

test("of very many the pinned ones and those that were used last are listed, the open one, and any that is looked for", async () => {
  const clock = virtualClock();
  const { call } = await stage(clock);
  for (const thread of ["z", "a", "m", "b"]) {
    await clock.advance(1_000);
    await call["chat.send"]({ text: `about ${thread}`, thread, idempotencyKey: thread }, caller);
  }
  await call["chat.thread"]({ thread: "z", name: "Garden", pinned: true }, caller);
  const list = async (how: object) => {
    const { threads, left } = await call["chat.threads"](how, caller);
    return [threads.map(({ thread }) => thread), left];
  };
  expect(await list({})).toEqual([[null, "z", "b", "m", "a"], 0]);
  expect(await list({ limit: 3 })).toEqual([[null, "z", "b"], 2]);
  expect(await list({ limit: 3, thread: "a" })).toEqual([[null, "z", "b", "a"], 1]);
  expect(await list({ limit: 2, find: " GARD" })).toEqual([["z"], 0]);
  expect(await list({ limit: 2, find: "about a" })).toEqual([["a"], 0]);
  expect(await list({ limit: 2, find: "about" })).toEqual([["z", "b", "m"], 1]);
  expect(await list({ find: "nothing of the kind" })).toEqual([[], 0]);
  // The one that is open stays on the list while another is looked for, wherever it stands.
  expect(await list({ find: "gard", thread: "m" })).toEqual([["z", "m"], 0]);
  expect(await list({ limit: 2, find: "gard", thread: "a" })).toEqual([["z", "a"], 0]);
  expect(await list({ limit: 2, find: "about", thread: "m" })).toEqual([["z", "b", "m"], 1]);
  // Whoever writes again in the oldest one finds it at the top; not each message is written down for that.
  await clock.advance(600_000);
  await call["chat.send"]({ text: "more", thread: "a", idempotencyKey: "again" }, caller);
  expect(await list({ limit: 3 })).toEqual([[null, "z", "a"], 2]);
});

test("what nobody has begun to answer is changed or taken back by its writer, and by nobody else", async () => {
  const { store, call } = await stage();
  const { id } = await call["chat.send"]({ text: "one", idempotencyKey: "1" }, caller);
  const second = await call["chat.send"]({ text: "two", idempotencyKey: "2" }, caller);
  const steps = () => call["chat.steps"]({}, caller);
  expect((await steps()).waiting.toSorted()).toEqual([id, second.id].toSorted());
  await call["chat.edit"]({ id, text: "uno", idempotencyKey: "e" }, caller);
  const [row] = await store.inbox.find({ id, limit: 1 });
  expect(JSON.parse(row?.payload ?? "")).toMatchObject({ inbound: { text: "uno" } });
  await call["chat.cancel"]({ id: second.id }, caller);
  // A repeat of a lost answer changes nothing more.
  await call["chat.cancel"]({ id: second.id }, caller);
  expect((await steps()).waiting).toEqual([id]);
  const { messages } = await call["chat.history"]({ limit: 100 }, caller);
  expect(messages.map(({ text, replaces, cancelled }) => [text, replaces, cancelled])).toEqual([
    ["one", undefined, undefined],
    ["two", undefined, undefined],
    ["uno", id, undefined],
    ["", second.id, true],
  ]);
  const other = { ...caller, peer: "web-2" };
  await expect(call["chat.cancel"]({ id }, other)).rejects.toThrow(Fault);
  await expect(call["chat.cancel"]({ id, thread: "r" }, caller)).rejects.toThrow(Fault);
  await store.turns.take(taking);
  await expect(call["chat.cancel"]({ id }, caller)).rejects.toThrow("being answered already");
  await expect(call["chat.edit"]({ id, text: "x", idempotencyKey: "f" }, caller)).rejects.toThrow(
    "being answered already",
  );
});

test("files come along with a message, are kept before it is accepted, and are fetched as from any platform", async () => {
  const { store, web, call } = await stage();
  const data = Buffer.from("beans, peas").toString("base64");
  const files = [
    { name: "list.txt", mediaType: "text/plain", data },
    { name: "<img>.png", mediaType: "image/png", data },
  ];
  const { id } = await call["chat.send"]({ text: "", files, idempotencyKey: "1" }, caller);
  const [row] = await store.inbox.find({ id, limit: 1 });
  const { inbound } = JSON.parse(row?.payload ?? "") as { readonly inbound: Inbound };
  expect(inbound.attachments).toEqual([
    { kind: "file", ref: "list.txt", name: "list.txt", mediaType: "text/plain", bytes: 11 },
    { kind: "image", ref: "<img>.png", name: "<img>.png", mediaType: "image/png", bytes: 11 },
  ]);
  const fetched = await web.download?.("list.txt", 100, new AbortController().signal);
  expect(Buffer.from(fetched?.bytes ?? []).toString()).toBe("beans, peas");
  await expect(web.download?.("list.txt", 10, new AbortController().signal)).rejects.toThrow(Fault);
  const { messages } = await call["chat.history"]({ limit: 1 }, caller);
  expect(messages[0]?.files).toEqual([
    { name: "list.txt", bytes: 11 },
    { name: "<img>.png", bytes: 11 },
  ]);
});

test("the calls of an open turn are told with what they were asked and gave back", async () => {
  const { store, call } = await stage();
  await call["chat.send"]({ text: "look", idempotencyKey: "1" }, caller);
  const turn = await store.turns.take(taking);
  if ("idle" in turn) throw new Error("there is no turn");
  const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
  const content = ["a", "b"].map((id) => ({
    type: "toolCall" as const,
    id,
    name: "exec",
    args: { command: "ls" },
  }));
  const said: Entry = { type: "assistant", content, model: "m", stop: "toolUse", usage, atMs: 1_000 };
  const output: Entry = {
    type: "toolResult",
    callId: "a",
    name: "exec",
    content: [{ type: "text", text: "x".repeat(9_000) }],
    isError: true,
    atMs: 1_250,
  };
  await store.turns.checkpoint(turn, turn.log.length, {
    steps: [
      { kind: "model", body: JSON.stringify({ kind: "model", entry: said, bad: [], closing: false }) },
      { kind: "result", body: JSON.stringify({ kind: "result", entry: output }) },
    ],
  });
  const { working, calls } = await call["chat.steps"]({}, caller);
  expect(working).toBe(true);
  expect(calls).toMatchObject([
    { id: "a", turn: turn.id, tool: "exec", state: "failed", startedAtMs: 1_000, endedAtMs: 1_250 },
    { id: "b", state: "running", output: "", endedAtMs: null },
  ]);
  expect(JSON.parse(calls[0]?.args ?? "")).toEqual({ command: "ls" });
  expect(calls[0]?.output).toMatch(/^x{8000}\n… \(9000 characters\)$/);
});

test("conversations whose names differ only in case are two", async () => {
  const { call } = await stage();
  await call["chat.send"]({ text: "great", thread: "Plan", idempotencyKey: "1" }, caller);
  await call["chat.send"]({ text: "small", thread: "plan", idempotencyKey: "2" }, caller);
  await call["chat.thread"]({ thread: "plan", name: "Mine", pinned: true }, caller);
  const { threads } = await call["chat.threads"]({}, caller);
  expect(threads.map(({ thread, name, title, text }) => [thread, name, title, text])).toEqual([
    [null, null, null, ""],
    ["plan", "Mine", "small", "small"],
    ["Plan", null, "great", "great"],
  ]);
  expect(new Set(threads.map(({ sessionKey }) => sessionKey)).size).toBe(3);
  const history = async (thread: string) =>
    (await call["chat.history"]({ thread, limit: 10 }, caller)).messages.map(({ text }) => text);
  expect([await history("Plan"), await history("plan"), await history("PLAN")]).toEqual([
    ["great"],
    ["small"],
    [],
  ]);
});

test("each is told whole: whose session it is, its last words' beginning, when they were, and whether it is worked on", async () => {
  const clock = virtualClock({ startMs: 50_000 });
  const { store, web, call } = await stage(clock);
  const to = (thread?: string) => ({
    channel: "web",
    account: "default",
    kind: "dm" as const,
    peer: caller.peer,
    ...(thread === undefined ? {} : { thread }),
  });
  await call["chat.send"]({ text: "  about beans  ", thread: "b", idempotencyKey: "1" }, caller);
  await store.turns.take(taking);
  await web.announce(to("b"), {
    id: "m",
    role: "assistant",
    text: `${"y".repeat(160)}z`,
    html: "",
    atMs: 77,
  });
  const [newest] = await store.events.newest(conversationKey(to("b")), 1);
  await call["chat.thread"]({ thread: "c", name: "Empty", pinned: true }, caller);
  expect(await call["chat.threads"]({}, caller)).toEqual({
    threads: [
      {
        thread: null,
        sessionKey: lane,
        name: null,
        title: null,
        pinned: false,
        text: "",
        seq: 0,
        atMs: null,
        working: false,
      },
      {
        thread: "c",
        sessionKey: `${lane}:thread:c`,
        name: "Empty",
        title: null,
        pinned: true,
        text: "",
        seq: 0,
        atMs: null,
        working: false,
      },
      {
        thread: "b",
        sessionKey: `${lane}:thread:b`,
        name: null,
        title: "about beans",
        pinned: false,
        text: "y".repeat(160),
        seq: newest?.seq,
        atMs: 77,
        working: true,
      },
    ],
    left: 0,
  });
  // A name that is taken off is none; what was not named stays as it was.
  expect(await call["chat.thread"]({ thread: "c", name: "" }, caller)).toEqual({
    thread: "c",
    name: null,
    pinned: true,
  });
  expect(await call["chat.thread"]({ pinned: false, name: "First" }, caller)).toEqual({
    thread: null,
    name: "First",
    pinned: false,
  });
  expect((await call["chat.threads"]({}, caller)).threads[0]).toMatchObject({ thread: null, name: "First" });
});

test("when somebody wrote is written down once in ten minutes, and a title is the first eighty characters", async () => {
  const clock = virtualClock({ startMs: 1_000 });
  const { store, call } = await stage(clock);
  const noted = async () => {
    const [cell] = await store.cells.list("web-thread:", 9);
    const { title, usedAtMs } = JSON.parse(cell?.value ?? "{}") as { title: string; usedAtMs: number };
    return [title, usedAtMs];
  };
  const say = async (text: string) => {
    await call["chat.send"]({ text, thread: "t", idempotencyKey: `${clock.now()}` }, caller);
    return noted();
  };
  const title = `x${"y".repeat(79)}`;
  expect(await say(` ${title}z`)).toEqual([title, 1_000]);
  await clock.advance(599_999);
  expect(await say("later")).toEqual([title, 1_000]);
  await clock.advance(1);
  expect(await say("latest")).toEqual([title, 601_000]);
});

test("whoever follows hears what comes after what was seen, of the thread that is meant, and anew where it is gone", async () => {
  const { web, store, call } = await stage();
  const turned: unknown[] = [];
  const staying = { ...caller, turnTo: (...what: readonly unknown[]) => void turned.push(what) } as never;
  const address = { channel: "web", account: "default", kind: "dm" as const, peer: caller.peer };
  const stream = conversationKey(address);
  const threadStream = conversationKey({ ...address, thread: "t" });
  const say = (thread?: string) =>
    web.announce(
      { ...address, ...(thread === undefined ? {} : { thread }) },
      {
        id: `${thread}${turned.length}`,
        role: "assistant",
        text: "x",
        html: "",
        atMs: 1,
      },
    );
  await say();
  await say("t");
  const seqOf = async (of: string) => (await store.events.newest(of, 1))[0]?.seq ?? 0;
  const first = await seqOf(stream);
  const last = (await store.events.after(stream, 0, 1)).lastSeq;
  expect(await call["chat.follow"]({}, staying)).toEqual({ seq: last, resync: false });
  expect(await call["chat.follow"]({ lastSeq: first }, staying)).toEqual({ seq: last, resync: false });
  expect(await call["chat.follow"]({ thread: "t", lastSeq: 0 }, staying)).toMatchObject({ resync: false });
  // It saw more than there is: the log began anew meanwhile.
  expect(await call["chat.follow"]({ lastSeq: last + 9 }, staying)).toEqual({ seq: last, resync: true });
  expect(turned).toEqual([
    [stream, last],
    [stream, first],
    [threadStream, 0],
    [stream, last],
  ]);
  await expect(call["chat.follow"]({}, caller as never)).rejects.toThrow(
    "only a connection that stays can follow a conversation",
  );
});

test("what was changed or taken back is shown so to everybody, once, and is a guest's where its writer is one", async () => {
  const { store, call } = await stage();
  const guest = { peer: "web-1", scopes: ["read", "write", "approve"] } as const;
  const { id } = await call["chat.send"]({ text: "one", idempotencyKey: "1" }, guest);
  expect(await call["chat.edit"]({ id, text: "uno", idempotencyKey: "e" }, guest)).toEqual({ id });
  const [edit] = await store.inbox.find({ id: "web:default:web-1:e", limit: 1 });
  const { inbound } = JSON.parse(edit?.payload ?? "") as { readonly inbound: Inbound };
  expect([inbound.sender.roles, inbound.text]).toEqual([["guest", "approver"], "uno"]);
  expect(await call["chat.cancel"]({ id }, guest)).toEqual({ id });
  const { messages } = await call["chat.history"]({ limit: 9 }, guest);
  expect(messages.slice(1).map(({ seq: _seq, atMs: _atMs, ...message }) => message)).toEqual([
    { id: "web:default:web-1:e", replaces: id, role: "user", text: "uno", html: "" },
    { id: `${id}/cancelled`, replaces: id, role: "user", text: "", html: "", cancelled: true },
  ]);
  await expect(call["chat.edit"]({ id, text: "dos", idempotencyKey: "f" }, guest)).rejects.toThrow(
    "it is being answered already, or was; write another message",
  );
});

test("a command that waits is taken back with what stands behind it, and gets no other words", async () => {
  const { store, call } = await stage();
  const { id } = await call["chat.send"]({ text: "/new", idempotencyKey: "1" }, caller);
  const [row] = await store.inbox.find({ id, limit: 1 });
  if (row === undefined) throw new Error("there is a row");
  const { conversation, pool, authority } = row;
  const { inbound } = JSON.parse(row.payload) as { readonly inbound: Inbound };
  const given = { id: "web:default:web-1:2", messageId: "web-1:2" };
  const rowOf = (own: string, more: object) => ({
    id: own,
    lane: row.lane,
    conversation,
    pool,
    authority,
    as: { kind: "work" } as const,
    payload: JSON.stringify({ v: 1, owner: true, inbound: { ...inbound, ...given, id: own }, ...more }),
  });
  await store.inbox.accept([
    rowOf(given.id, { command: { name: "new", args: "which tea?" } }),
    rowOf(`${given.id}/message`, {}),
  ]);
  await expect(
    call["chat.edit"]({ id: given.id, text: "/new and?", idempotencyKey: "e" }, caller),
  ).rejects.toThrow("a command stays as it was given; take it back and give it anew");
  await call["chat.cancel"]({ id: given.id }, caller);
  const waiting = await store.inbox.find({ lane: row.lane, state: "waiting", limit: 9 });
  expect(waiting.map((each) => each.id)).toEqual([id]);
});

test("only the row that was meant is taken back, and none that something else ended or that no person of this page wrote", async () => {
  const { store, call } = await stage();
  const { id } = await call["chat.send"]({ text: "one", idempotencyKey: "1" }, caller);
  const [row] = await store.inbox.find({ id, limit: 1 });
  if (row === null || row === undefined) throw new Error("there is a row");
  // It stands in this conversation, and is a schedule's.
  const { conversation, lane: of, payload, pool } = row;
  const foreign = { id: "cron:job:1", pool, lane: of, conversation, authority: "owner", payload } as const;
  await store.inbox.accept([{ ...foreign, as: { kind: "work" } }]);
  const none = { code: "missing", message: "there is no such message in this conversation" };
  for (const wrong of ["cron:job:1", "nothing", `${id}x`, `web:other:${caller.peer}:1`])
    for (const act of [
      call["chat.cancel"]({ id: wrong }, caller),
      call["chat.edit"]({ id: wrong, text: "x", idempotencyKey: "e" }, caller),
    ])
      await expect(act).rejects.toMatchObject(none);
  const states = async () =>
    (await store.inbox.find({ lane: of, limit: 9 })).map(({ id: each, state }) => `${each} ${state}`);
  expect((await states()).toSorted()).toEqual(["cron:job:1 waiting", `${id} waiting`]);
  await store.inbox.stop(of, { rows: { ids: [id] }, reason: "stopped from the web page" });
  await expect(call["chat.cancel"]({ id }, caller)).rejects.toMatchObject({ code: "conflict" });
  expect((await call["chat.history"]({ limit: 9 }, caller)).messages).toHaveLength(1);
});

test("words that come when the turn has just begun change nothing, and are not shown as if they had", async () => {
  const { store, web, call } = await stage();
  const { id } = await call["chat.send"]({ text: "one", idempotencyKey: "1" }, caller);
  let begun = false;
  const { "chat.edit": edit } = threadMethods({
    wired: { web },
    route: () => ({ agent: "main", session: lane }),
    store: {
      ...store,
      inbox: {
        ...store.inbox,
        find: async (how: never) => {
          const rows = await store.inbox.find(how);
          if (!begun) await store.turns.take(taking);
          begun = true;
          return rows;
        },
      },
    },
    clock: virtualClock(),
  } as never);
  await expect(edit({ id, text: "uno", idempotencyKey: "e" }, caller)).rejects.toThrow(
    "it is being answered already, or was; write another message",
  );
  const { messages } = await call["chat.history"]({ limit: 9 }, caller);
  expect(messages.map(({ text }) => text)).not.toContain("uno");
});

test("a thread's name may hold anything, is its own person's, and one that was named first has its title with the first words", async () => {
  const clock = virtualClock({ startMs: 1_000 });
  const { store, call } = await stage(clock);
  const thread = "a b/%41:é";
  const other = { ...caller, peer: "web-1:x" };
  await call["chat.thread"]({ thread, name: "Named", pinned: true }, caller);
  await call["chat.send"]({ text: "beans", thread, idempotencyKey: "1" }, caller);
  await call["chat.send"]({ text: "theirs", thread: "t", idempotencyKey: "1" }, other);
  await store.cells.put(
    `web-thread:work:${caller.peer}:elsewhere`,
    JSON.stringify({ name: "of another account" }),
    {},
  );
  const told = async (by: typeof caller | typeof other) =>
    (await call["chat.threads"]({}, by)).threads.map((each) => [each.thread, each.name, each.title]);
  expect(await told(caller)).toEqual([
    [null, null, null],
    [thread, "Named", "beans"],
  ]);
  expect(await told(other)).toEqual([
    [null, null, null],
    ["t", null, "theirs"],
  ]);
  // What is looked for may stand in the name, the title or the last words alone.
  await call["chat.send"]({ text: "and tulips", thread, idempotencyKey: "2" }, caller);
  const found = async (find: string) =>
    (await call["chat.threads"]({ find }, caller)).threads.map((each) => each.thread);
  expect([await found("NAME"), await found("bean"), await found("Tulip"), await found("x")]).toEqual([
    [thread],
    [thread],
    [thread],
    [],
  ]);
});
