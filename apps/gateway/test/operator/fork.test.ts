// A conversation that begins with what was said in another one: what people see, and what the lane is told to copy.
import { conversationKey, parseRowPayload, type Entry } from "@parley/protocol";
import { expect, test } from "vitest";
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
