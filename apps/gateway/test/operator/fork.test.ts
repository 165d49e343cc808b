// A conversation that begins with what was said in another one: what people see, and what the lane is told to
// copy.
import { conversationKey, parseRowPayload, systemClock, type Address, type Entry } from "@parley/protocol";
import { expect, test } from "vitest";
import { forkMethods } from "../../src/operator/sessions/fork.ts";
import { caller, lane, stage, taking } from "./web-stage.ts";

const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };

/** Two questions with their answers, as turns leave them. */
async function talked() {
  const world = await stage();
  const { store, web, call } = world;
  const said: string[] = [];
  for (const [index, text] of ["one", "two"].entries()) {
    const file = { name: "list.txt", data: Buffer.from("beans").toString("base64") };
    const { id } = await call["chat.send"](
      { text, idempotencyKey: String(index), ...(index === 1 ? { files: [file] } : {}) },
      caller,
    );
    const turn = await store.turns.take(taking);
    if ("idle" in turn) throw new Error("there is no turn");
    const entries: Entry[] = [
      { type: "user", content: [{ type: "text", text }], rows: [id], atMs: 1_000 * index },
      {
        type: "assistant",
        content: [{ type: "text", text: `answer to ${text}` }],
        model: "m",
        stop: "stop",
        usage,
        atMs: 1_000 * index + 1,
      },
    ];
    await store.turns.commit(turn, turn.id, {
      outcome: "answered",
      entries: entries.map((entry) => JSON.stringify(entry)),
    });
    const address = { channel: "web", account: "default", kind: "dm", peer: caller.peer } as const;
    const answer = `${turn.id}/0/0`;
    await web.announce(address, {
      id: answer,
      role: "assistant",
      text: `answer to ${text}`,
      html: "<p>x</p>",
      buttons: [[{ label: "Once", value: "/approve 1" }]],
      atMs: 1_000 * index + 1,
    });
    said.push(id, answer);
  }
  const forkRow = async (thread: string) => {
    const found = await store.inbox.find({ lane: `${lane}:thread:${thread}` as never, limit: 9 });
    const rows = found.map(({ payload }) => parseRowPayload(payload));
    const copy = rows.find(({ command }) => command?.name === "fork")?.command?.args;
    const again = rows.find(({ command }) => command === undefined);
    return { copy: copy === undefined ? null : (JSON.parse(copy) as object), again };
  };
  const shown = async (thread: string) => (await call["chat.history"]({ thread, limit: 9 }, caller)).messages;
  return { ...world, said, forkRow, shown };
}

test("people see what was said through the message, its old buttons gone, and the lane copies as much", async () => {
  const { call, said, forkRow, shown } = await talked();
  const [, answer = ""] = said;
  const asked = { id: answer, to: "f", idempotencyKey: "k" };
  expect(await call["chat.fork"](asked, caller)).toMatchObject({ thread: "f", messages: 2 });
  const messages = await shown("f");
  expect(messages.map(({ text }) => text)).toEqual(["one", "answer to one"]);
  // Each is still the message that it was, so its story is found.
  expect(messages.map(({ id }) => id)).toEqual(said.slice(0, 2));
  expect(messages.flatMap(({ buttons = [] }) => buttons)).toEqual([]);
  expect(await forkRow("f")).toMatchObject({ copy: { from: lane, epoch: 1, throughSeq: 2 } });
  // A repeat whose answer was lost doubles nothing.
  expect(await call["chat.fork"](asked, caller)).toMatchObject({ messages: 2 });
  expect(await shown("f")).toHaveLength(2);
  expect((await call["chat.threads"]({}, caller)).threads.map(({ thread }) => thread)).toEqual([null, "f"]);
});

test("a message is said again with another model, with its files, and in other words where there are some", async () => {
  const { call, said, forkRow, shown, store } = await talked();
  const [, , second = ""] = said;
  await call["chat.fork"](
    { id: second, to: "g", again: true, text: "dos", model: "big", idempotencyKey: "k" },
    caller,
  );
  const { copy, again } = await forkRow("g");
  expect(copy).toMatchObject({ throughSeq: 2, fields: { model: "fake/big" } });
  expect(again?.inbound).toMatchObject({ text: "dos", attachments: [{ name: "list.txt", bytes: 5 }] });
  expect((await shown("g")).map(({ text, files }) => [text, files?.length])).toEqual([
    ["one", undefined],
    ["answer to one", undefined],
    ["dos", 1],
  ]);
  // What was said there waits behind the copy.
  const turn = await store.turns.take(taking);
  expect("idle" in turn ? null : parseRowPayload(turn.rows[0]?.payload ?? "").command?.name).toBe("fork");
});

test("it is refused for a message of somebody else, an answer said again, and a place where one talked", async () => {
  const { call, said, store } = await talked();
  const [first = "", answer = ""] = said;
  const fork = (more: object, by: typeof caller | { readonly peer: string } = caller) =>
    call["chat.fork"]({ id: first, to: "h", idempotencyKey: "k", ...more }, { ...caller, ...by });
  await expect(fork({}, { peer: "web-2" })).rejects.toThrow("there is no such message");
  await expect(fork({ id: answer, again: true })).rejects.toThrow("only what a person said");
  await call["chat.send"]({ text: "hi", thread: "h", idempotencyKey: "x" }, caller);
  await expect(fork({})).rejects.toThrow("take another");
  const address = { channel: "web", account: "default", kind: "dm", peer: caller.peer } as const;
  expect(await store.events.newest(conversationKey({ ...address, thread: "h" }), 9)).toHaveLength(1);
});

test("a command and its answer are in no transcript: the copy is cut where they stood, in the epoch in which they were", async () => {
  const { call, store, web, said, forkRow } = await talked();
  const address = { channel: "web", account: "default", kind: "dm", peer: caller.peer } as const;
  const notice = (id: string, atMs: number) =>
    web.announce(address, { id, role: "assistant", text: id, html: "", atMs });
  // Between the turns, and before all of them.
  await notice("notice:a", 1_000);
  await notice("notice:b", -1);
  const cut = async (id: string, more: object = {}) => {
    const to = `t-${id.replaceAll(/[^a-z0-9]/g, "")}-${Object.keys(more).join("")}`;
    await call["chat.fork"]({ id, to, idempotencyKey: to, ...more }, caller);
    const { copy } = await forkRow(to);
    const { epoch, throughSeq } = copy as { epoch: number; throughSeq: number };
    return [epoch, throughSeq];
  };
  const [first = "", answer = "", second = ""] = said;
  expect([await cut("notice:a"), await cut("notice:b")]).toEqual([
    [1, 3],
    [1, 0],
  ]);
  expect([
    await cut(first),
    await cut(answer),
    await cut(second),
    await cut(second, { before: true }),
  ]).toEqual([
    [1, 1],
    [1, 2],
    [1, 3],
    [1, 2],
  ]);
  // A new conversation began since: what is asked for stands two epochs before.
  await store.sessions.reset(lane as never);
  await store.sessions.reset(lane as never);
  expect(await cut(answer, { model: "big" })).toEqual([1, 2]);
  // Of many the twenty before the present one are looked through, and no older one.
  for (let n = 0; n < 18; n += 1) await store.sessions.reset(lane as never);
  expect(await cut(answer, { before: false })).toEqual([1, 2]);
  await store.sessions.reset(lane as never);
  expect(await cut(first, { before: true })).toEqual([22, 0]);
});

test("a fork has the settings of the conversation, and its name, its title, or the message's first words as its title", async () => {
  const { call, store, said, forkRow } = await talked();
  const [first = ""] = said;
  await store.sessions.patch(lane as never, {
    model: "lab/m",
    thinking: "high",
    reasoning: "on",
    verbose: "full",
  });
  await call["chat.fork"]({ id: first, to: "a", idempotencyKey: "a" }, caller);
  expect((await forkRow("a")).copy).toMatchObject({
    from: lane,
    fields: { model: "lab/m", thinking: "high", reasoning: "on" },
  });
  expect(Object.keys(((await forkRow("a")).copy as { fields: object }).fields)).toHaveLength(3);
  await call["chat.thread"]({ name: "Garden" }, caller);
  await call["chat.fork"]({ id: first, to: "b", idempotencyKey: "b" }, caller);
  await call["chat.thread"]({ thread: "b", name: "" }, caller);
  const copied = (await call["chat.history"]({ thread: "b", limit: 9 }, caller)).messages[0]?.id ?? "";
  await call["chat.fork"]({ thread: "b", id: copied, to: "c", idempotencyKey: "c" }, caller);
  const { threads } = await call["chat.threads"]({}, caller);
  expect(Object.fromEntries(threads.map(({ thread, title }) => [thread, title]))).toMatchObject({
    a: "one",
    b: "Garden",
    c: "Garden",
  });
});

test("of a long conversation the newest two hundred messages are shown again, over its pages", async () => {
  const { call, web, store } = await stage();
  const address = { channel: "web", account: "default", kind: "dm", peer: caller.peer } as const;
  for (let n = 0; n < 710; n += 1)
    await web.announce(address, { id: `m${n}`, role: "assistant", text: `${n}`, html: "", atMs: n });
  const texts = async (id: string, to: string) => {
    const { messages } = await call["chat.fork"]({ id, to, idempotencyKey: to }, caller);
    const shown = await store.events.newest(conversationKey({ ...address, thread: to }), 500);
    const [from, through] = [shown[0], shown.at(-1)].map(
      (event) => (JSON.parse(event?.body ?? "{}") as { text: string }).text,
    );
    return [messages, from, through];
  };
  // On the newest page, at its beginning, and on the page before.
  expect([await texts("m700", "a"), await texts("m215", "b"), await texts("m150", "c")]).toEqual([
    [200, "501", "700"],
    [200, "16", "215"],
    [151, "0", "150"],
  ]);
});

test("a fork is told whole, its row is its caller's command in the new conversation, and a title has eighty characters", async () => {
  const { call, said, store, web } = await talked();
  const [, answer = ""] = said;
  const address = { channel: "web", account: "default", kind: "dm", peer: caller.peer } as const;
  // A message without an id is shown again under one that a repeat finds.
  await store.events.append(
    conversationKey(address),
    "nameless",
    JSON.stringify({ role: "assistant", text: "nameless", html: "", atMs: 1_500 }),
  );
  await web.announce(address, { id: "long", role: "assistant", text: "y".repeat(81), html: "", atMs: 1_600 });
  expect(await call["chat.fork"]({ id: "long", to: "f", idempotencyKey: "k" }, caller)).toEqual({
    thread: "f",
    sessionKey: `${lane}:thread:f`,
    messages: 6,
  });
  const [row] = await store.inbox.find({ lane: `${lane}:thread:f` as never, limit: 1 });
  expect(row).toMatchObject({
    id: `web:default:${caller.peer}:fork:k`,
    conversation: conversationKey({ ...address, thread: "f" }),
    authority: "owner",
  });
  expect(parseRowPayload(row?.payload ?? "")).toMatchObject({
    owner: true,
    inbound: { address: { ...address, thread: "f" } },
    command: { name: "fork", args: JSON.stringify({ from: lane, epoch: 1, throughSeq: 4, fields: {} }) },
  });
  const copied = await store.events.newest(conversationKey({ ...address, thread: "f" }), 9);
  const [{ seq } = { seq: 0 }] = (await store.events.newest(conversationKey(address), 2)).slice(0, 1);
  expect(copied.map(({ body }) => (JSON.parse(body) as { id: string }).id)).toEqual([
    ...said,
    `web:default:${caller.peer}:fork:k/${seq}`,
    "long",
  ]);
  const threads = async () =>
    Object.fromEntries((await call["chat.threads"]({}, caller)).threads.map((each) => [each.thread, each]));
  expect((await threads())["f"]).toMatchObject({ title: "y".repeat(80), name: null });
  // A conversation that is only looked at, in a thread that has no session yet, begins with nothing of it.
  const thread = { ...address, thread: "quiet" };
  await web.announce(thread, { id: "q", role: "assistant", text: "hush", html: "", atMs: 5 });
  await call["chat.fork"]({ thread: "quiet", id: "q", to: "g", idempotencyKey: "g" }, caller);
  const [second] = await store.inbox.find({ lane: `${lane}:thread:g` as never, limit: 1 });
  expect(JSON.parse(parseRowPayload(second?.payload ?? "").command?.args ?? "")).toEqual({
    from: `${lane}:thread:quiet`,
    epoch: 1,
    throughSeq: 0,
    fields: {},
  });
  await expect(
    call["chat.fork"]({ thread: "f", id: answer, to: "f", idempotencyKey: "z" }, caller),
  ).rejects.toThrow("these conversations share one session, so neither can begin with the other");
});

test("what is said again has the words that its writer changed it to, the rights of whoever says it, and needs its files", async () => {
  const { call, said, forkRow, shown, store, web } = await talked();
  const [first = "", , second = ""] = said;
  const address = { channel: "web", account: "default", kind: "dm", peer: caller.peer } as const;
  const edited = (replaces: string, text: string, role: "user" | "assistant" = "user") =>
    web.announce(address, { id: `${text}-id`, replaces, role, text, html: "", atMs: 1_700 });
  await edited(first, "uno");
  await edited(first, "eins");
  await edited(first, "no answer's words", "assistant");
  await edited(second, "another's words");
  await web.announce(address, { id: "user-last", role: "user", text: "last", html: "", atMs: 1_800 });
  const guest = { ...caller, scopes: ["read", "write", "approve"] } as const;
  await web.announce(address, {
    id: "back",
    replaces: first,
    role: "user",
    text: "",
    html: "",
    cancelled: true,
    atMs: 1_750,
  });
  await call["chat.fork"]({ id: first, to: "a", again: true, idempotencyKey: "a" }, guest);
  const { again, copy } = await forkRow("a");
  expect(again?.inbound).toMatchObject({ text: "eins", sender: { roles: ["guest", "approver"] } });
  expect(again?.inbound.attachments).toEqual([]);
  expect(copy).toMatchObject({ epoch: 1, throughSeq: 0 });
  await call["chat.fork"]({ id: first, to: "b", again: true, text: "", idempotencyKey: "b" }, caller);
  expect((await forkRow("b")).again?.inbound).toMatchObject({ text: "" });
  expect((await forkRow("b")).again?.inbound.sender).not.toHaveProperty("roles");
  // Where it is the last that is shown, its new words are shown too, in their order.
  await call["chat.fork"]({ id: first, to: "e", idempotencyKey: "e" }, caller);
  expect((await shown("e")).map(({ id, replaces, text }) => [id, replaces, text])).toEqual([
    [first, undefined, "one"],
    ["uno-id", first, "uno"],
    ["eins-id", first, "eins"],
  ]);
  const { threads } = await call["chat.threads"]({}, caller);
  expect(threads.find(({ thread }) => thread === "e")?.title).toBe("eins");
  await call["chat.fork"]({ id: "user-last", to: "c", again: true, idempotencyKey: "c" }, caller);
  expect((await forkRow("c")).again?.inbound).toMatchObject({ text: "last" });
  expect(
    (await store.inbox.find({ lane: `${lane}:thread:c` as never, limit: 9 })).map(({ id }) => id),
  ).toEqual(["web:default:web-1:c", "web:default:web-1:fork:c"]);
  await web.announce(address, {
    id: "gone",
    role: "user",
    text: "with a file",
    html: "",
    files: [{ name: "a.txt", bytes: 1 }],
    atMs: 1_900,
  });
  await expect(
    call["chat.fork"]({ id: "gone", to: "d", again: true, idempotencyKey: "d" }, caller),
  ).rejects.toThrow("the files of this message are kept no longer: send them anew");
  // An edit on a newer page than its message is found too.
  for (let n = 0; n < 600; n += 1)
    await web.announce(address, { id: `m${n}`, role: "assistant", text: "x", html: "", atMs: 2_000 });
  await edited("m1", "no person's");
  await edited("user-last", "last of all");
  for (let n = 600; n < 610; n += 1)
    await web.announce(address, { id: `m${n}`, role: "assistant", text: "x", html: "", atMs: 2_000 });
  await call["chat.fork"]({ id: "user-last", to: "h", again: true, idempotencyKey: "h" }, caller);
  expect((await forkRow("h")).again?.inbound).toMatchObject({ text: "last of all" });
});

test("a transcript of many entries is looked through to its end, and of a turn's entries the last is where it is cut", async () => {
  const { call, store } = await stage();
  const { id } = await call["chat.send"]({ text: "go", idempotencyKey: "1" }, caller);
  const turn = await store.turns.take(taking);
  if ("idle" in turn) throw new Error("there is no turn");
  const notice = (n: number) => JSON.stringify({ type: "notice", text: `${n}`, atMs: n });
  const said = JSON.stringify({ type: "user", content: [], rows: [id], atMs: 600 });
  await store.turns.commit(turn, turn.id, {
    outcome: "answered",
    entries: [...Array.from({ length: 500 }, (_, n) => notice(n)), said, notice(601)],
  });
  const copy = async (to: string, more: object) => {
    await call["chat.fork"]({ id, to, idempotencyKey: to, ...more }, caller);
    const [row] = await store.inbox.find({ lane: `${lane}:thread:${to}` as never, limit: 1 });
    return JSON.parse(parseRowPayload(row?.payload ?? "").command?.args ?? "") as object;
  };
  expect(await copy("a", {})).toMatchObject({ throughSeq: 501 });
  expect(await copy("b", { before: true })).toMatchObject({ throughSeq: 500 });
});

test("a message is cut where it was said, not where somebody quoted its id, and an answer where its own turn ended", async () => {
  const { call, store, web, said } = await talked();
  const [first = "", answer = ""] = said;
  const address = { channel: "web", account: "default", kind: "dm", peer: caller.peer } as const;
  const { id } = await call["chat.send"]({ text: `about ${first}`, idempotencyKey: "2" }, caller);
  const turn = await store.turns.take(taking);
  if ("idle" in turn) throw new Error("there is no turn");
  const quoting: Entry = {
    type: "user",
    content: [{ type: "text", text: `about ${first}` }],
    rows: [id],
    atMs: 2_000,
  };
  await store.turns.commit(turn, turn.id, { outcome: "answered", entries: [JSON.stringify(quoting)] });
  const cut = async (of: string) => {
    const to = `t${of.replaceAll(/\W/g, "")}`;
    await call["chat.fork"]({ id: of, to, idempotencyKey: to }, caller);
    const [row] = await store.inbox.find({ lane: `${lane}:thread:${to}` as never, limit: 1 });
    const { throughSeq } = JSON.parse(parseRowPayload(row?.payload ?? "").command?.args ?? "") as {
      readonly throughSeq: number;
    };
    return throughSeq;
  };
  expect([await cut(first), await cut(answer)]).toEqual([1, 2]);
  // The turn's own id names its answer too; one that only begins alike is of no turn, and cut by its time.
  const turnId = answer.slice(0, answer.indexOf("/"));
  const says = (of: string, atMs: number) =>
    web.announce(address, { id: of, role: "assistant", text: of, html: "", atMs });
  await says(turnId, 9_000);
  await says(`${turnId}7/0/0`, 9_000);
  expect([await cut(turnId), await cut(`${turnId}7/0/0`)]).toEqual([2, 5]);
});

test("a fork that broke off goes on where it was, doubling nothing; what somebody else said there, or said otherwise, stands in its way", async () => {
  const { call, store, web, said, shown } = await talked();
  const [, answer = ""] = said;
  let breaks = true;
  const { "chat.fork": fork } = forkMethods({
    wired: { web },
    route: ({ address: { thread } }: { readonly address: Address }) => ({
      agent: "main",
      session: thread === undefined ? lane : `${lane}:thread:${thread}`,
    }),
    store: {
      ...store,
      inbox: {
        ...store.inbox,
        accept: (rows: never) =>
          breaks ? Promise.reject(new Error("the disk is full")) : store.inbox.accept(rows),
      },
    },
    clock: systemClock(),
    config: { agents: { list: [] } },
  } as never);
  const asked = { id: answer, to: "f", before: false, again: false, idempotencyKey: "k" };
  await expect(fork(asked, caller)).rejects.toThrow("the disk is full");
  expect(await shown("f")).toHaveLength(2);
  breaks = false;
  expect(await fork(asked, caller)).toMatchObject({ messages: 2 });
  expect((await shown("f")).map(({ text }) => text)).toEqual(["one", "answer to one"]);
  const address = { channel: "web", account: "default", kind: "dm", peer: caller.peer } as const;
  const [first] = (await call["chat.history"]({ limit: 9 }, caller)).messages;
  if (first === undefined) throw new Error("there is a first message");
  const there = async (thread: string, ...messages: readonly object[]) => {
    for (const [nth, message] of messages.entries())
      await store.events.append(
        conversationKey({ ...address, thread }),
        `${thread}${nth}`,
        JSON.stringify({ ...first, ...message }),
      );
    return fork({ ...asked, to: thread, idempotencyKey: thread }, caller).then(
      () => "goes on",
      ({ code }: { readonly code: string }) => code,
    );
  };
  expect([
    await there("a", {}),
    await there("b", { text: "other" }),
    await there("c", { atMs: first.atMs + 1 }),
    await there("d", {}, { text: "answer to one", atMs: 1 }, { text: "more" }),
    await there("e", {}, { text: "more" }),
  ]).toEqual(["goes on", "conflict", "conflict", "conflict", "conflict"]);
});

test("a voice message is said again as one, under its name and type", async () => {
  const { store, call } = await stage();
  const voice = {
    name: "v.ogg",
    mediaType: "audio/ogg",
    voice: true,
    data: Buffer.from("hm").toString("base64"),
  };
  const plain = { name: "a.txt", mediaType: "text/plain", data: Buffer.from("hello").toString("base64") };
  const { id } = await call["chat.send"]({ text: "", files: [voice, plain], idempotencyKey: "1" }, caller);
  await call["chat.fork"]({ id, to: "f", again: true, idempotencyKey: "k" }, caller);
  const found = await store.inbox.find({ lane: `${lane}:thread:f` as never, limit: 9 });
  const [again] = found.map(({ payload }) => parseRowPayload(payload)).filter(({ command }) => !command);
  expect(again?.inbound.attachments).toEqual([
    { kind: "voice", ref: "v.ogg", name: "v.ogg", mediaType: "audio/ogg", bytes: 2 },
    { kind: "file", ref: "a.txt", name: "a.txt", mediaType: "text/plain", bytes: 5 },
  ]);
});
