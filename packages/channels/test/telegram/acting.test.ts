// Actions, typing and downloads: idempotent where the platform lets them be, and honest where it does not.
import { chatIsClosed } from "@parley/channels";
import type { Action, Address, RenderedText } from "@parley/protocol";
import { refusalBody } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { expectFault, text } from "../contract.ts";
import { alice, dm, type Rig, telegramRig } from "./rig.ts";

let rig: Rig;
beforeEach(async () => {
  rig = await telegramRig();
  rig.fake.as(alice).says("hello");
});
afterEach(async () => {
  expect(rig.fake.violations()).toEqual([]);
  await rig.close();
});

const options = () => ({ idempotencyKey: "k", signal: new AbortController().signal });
const act = async (action: Action, to: Address = dm) => rig.channel.act?.(to, action, options());
const send = async (words: string, to: Address = dm): Promise<string> =>
  (await rig.channel.send(to, text(words), options())).messageId;
const words = (plain: string): RenderedText => ({ text: plain, entities: [], plain });
const message = (id: string) => rig.fake.visible(alice.id).find((shown) => shown.id === Number(id));

test("an edit changes text and buttons; the same edit again is success", async () => {
  const messageId = await send("draft");
  const edit = {
    kind: "edit",
    messageId,
    text: words("final"),
    buttons: [[{ label: "Stop", value: "stop" }]],
  } as const;
  expect(await act(edit)).toEqual({ messageId });
  expect(await act(edit)).toEqual({ messageId });
  expect(message(messageId)).toMatchObject({ text: "final", buttons: [["Stop"]], edited: true });
});

test("an edit of a message that is gone, or not ours, is Fault missing", async () => {
  await expectFault("missing", act({ kind: "edit", messageId: "999", text: words("x") }));
  await expectFault("missing", act({ kind: "edit", messageId: "1", text: words("x") }));
});

test("an edit whose entities are refused goes through once as plain text", async () => {
  const messageId = await send("draft");
  const body = refusalBody(400, "Bad Request: can't parse entities: x");
  rig.fake.inject({ method: "editMessageText", trouble: { kind: "answer", status: 400, body } });
  await act({
    kind: "edit",
    messageId,
    text: { text: "bold", entities: [{ type: "bold", offset: 0, length: 4 }], plain: "plain" },
  });
  expect(message(messageId)?.text).toBe("bold");
});

test("an edit whose answer is lost is ambiguous, and its repeat succeeds", async () => {
  const messageId = await send("draft");
  rig.fake.inject({ method: "editMessageText", when: "after", trouble: { kind: "reset" } });
  const edit = { kind: "edit", messageId, text: words("final") } as const;
  await expectFault("ambiguous", act(edit));
  await act(edit);
  expect(message(messageId)?.text).toBe("final");
});

test("an edit beyond the limit is Fault invalid without a call", async () => {
  const messageId = await send("draft");
  await expectFault("invalid", act({ kind: "edit", messageId, text: words("x".repeat(4097)) }));
  expect(rig.fake.calls("editMessageText")).toEqual([]);
});

test("the words of a file are its caption: changed, unchanged, and within a caption's limit", async () => {
  const { message_id: id } = rig.fake.as(alice).sendsDocument() as never as { readonly message_id: number };
  const noText = (): void =>
    rig.fake.inject({
      method: "editMessageText",
      trouble: {
        kind: "answer",
        status: 400,
        body: refusalBody(400, "Bad Request: there is no text in the message to edit"),
      },
    });
  const caption = (status: number, description: string): void =>
    rig.fake.inject({
      method: "editMessageCaption",
      trouble: { kind: "answer", status, body: refusalBody(status, description) },
    });
  const edit = (plain: string) => act({ kind: "edit", messageId: String(id), text: words(plain) });
  noText();
  caption(400, "Bad Request: message is not modified");
  expect(await edit("same")).toEqual({ messageId: String(id) });
  noText();
  caption(400, "Bad Request: message can't be edited");
  await expectFault("missing", edit("other"));
  noText();
  await expectFault("invalid", edit("x".repeat(1_025)));
  expect(rig.fake.calls("editMessageCaption").map(({ params }) => params["caption"])).toEqual([
    "same",
    "other",
  ]);
});

test("a removed message is gone; removing it again is success", async () => {
  const messageId = await send("oops");
  await act({ kind: "remove", messageId });
  await act({ kind: "remove", messageId });
  expect(message(messageId)).toBeUndefined();
});

test("a reaction is set and taken back; emoji that Telegram does not take are Fault unsupported without a call", async () => {
  await act({ kind: "react", messageId: "1", emoji: "❤️" });
  expect(message("1")?.reactions).toEqual(["❤"]);
  await act({ kind: "react", messageId: "1", emoji: null });
  expect(message("1")?.reactions).toEqual([]);
  await expectFault("unsupported", act({ kind: "react", messageId: "1", emoji: "🧀" }));
  expect(rig.fake.calls("setMessageReaction")).toHaveLength(2);
  await expectFault("missing", act({ kind: "react", messageId: "999", emoji: "👍" }));
});

test("a reaction takes the place of the one before it; one that the chat does not allow is Fault unsupported", async () => {
  await act({ kind: "react", messageId: "1", emoji: "👍" });
  await act({ kind: "react", messageId: "1", emoji: "🔥" });
  expect(message("1")?.reactions).toEqual(["🔥"]);
  rig.fake.chat(alice.id).takenReactions = new Set(["👍"]);
  await expectFault("unsupported", act({ kind: "react", messageId: "1", emoji: "🔥" }));
});

test("a pin without the right to it is Fault denied, and the chat is not closed by it", async () => {
  const group: Address = { ...dm, kind: "group", peer: String(rig.fake.group()) };
  const messageId = await send("important", group);
  rig.fake.chat(Number(group.peer)).lacks.add("pin");
  const fault = await expectFault("denied", act({ kind: "pin", messageId, pinned: true }, group));
  expect(chatIsClosed(fault)).toBe(false);
  await expectFault("denied", act({ kind: "pin", messageId, pinned: false }, group));
});

test("a message is pinned and unpinned, each as often as asked", async () => {
  const messageId = await send("important");
  await act({ kind: "pin", messageId, pinned: true });
  expect(message(messageId)?.pinned).toBe(true);
  // Else the whole group would be notified.
  expect(rig.fake.calls("pinChatMessage").at(-1)?.params["disable_notification"]).toBe(true);
  await act({ kind: "pin", messageId, pinned: false });
  await act({ kind: "pin", messageId, pinned: false });
  expect(message(messageId)?.pinned).toBe(false);
});

test("a thread is a forum topic that can be written to; a chat without topics is Fault unsupported", async () => {
  const forum: Address = { ...dm, kind: "group", peer: String(rig.fake.group({ isForum: true })) };
  const receipt = await act({ kind: "createThread", title: "Plans" }, forum);
  await send("first", { ...forum, thread: receipt?.messageId });
  expect(rig.fake.visible(Number(forum.peer), Number(receipt?.messageId)).map((shown) => shown.text)).toEqual(
    ["first"],
  );
  await act({ kind: "createThread", title: "x".repeat(200), messageId: "7" }, forum);
  expect(rig.fake.calls("createForumTopic").at(-1)?.params["name"]).toBe(`${"x".repeat(127)}…`);
  await act({ kind: "createThread", title: "y".repeat(128) }, forum);
  expect(rig.fake.calls("createForumTopic").at(-1)?.params["name"]).toBe("y".repeat(128));
  rig.fake.chat(Number(forum.peer)).lacks.add("topics");
  await expectFault("denied", act({ kind: "createThread", title: "Plans" }, forum));
  const plain: Address = { ...forum, peer: String(rig.fake.group()) };
  await expectFault("unsupported", act({ kind: "createThread", title: "Plans" }, plain));
});

test("a pressed button is answered once; later it is Fault missing", async () => {
  const { messageId } = await rig.channel.send(
    dm,
    { kind: "text", ...words("Sure?"), buttons: [[{ label: "Yes", value: "y" }]] },
    options(),
  );
  const callbackId = rig.fake.as(alice).presses(Number(messageId), "y");
  await act({ kind: "answerCallback", callbackId, text: "noted" });
  expect(rig.fake.bot().callbackAnswer(callbackId)).toEqual({ text: "noted" });
  await expectFault("missing", act({ kind: "answerCallback", callbackId }));
});

test("the command menu is set, cut at a hundred", async () => {
  const commands = Array.from({ length: 120 }, (_, index) => ({
    name: `cmd_${index}`,
    description: "Does it",
  }));
  await act({ kind: "setCommands", commands });
  expect(rig.fake.bot().commands()).toHaveLength(100);
  expect(rig.fake.bot().commands()[0]).toEqual({ command: "cmd_0", description: "Does it" });
  await expectFault(
    "invalid",
    act({ kind: "setCommands", commands: [{ name: "Bad Name", description: "x" }] }),
  );
});

test("typing names the topic, General too", async () => {
  const forum: Address = { ...dm, kind: "group", peer: String(rig.fake.group({ isForum: true })) };
  await rig.channel.typing?.(dm);
  await rig.channel.typing?.({ ...forum, thread: "1" });
  expect(rig.fake.calls("sendChatAction").map((call) => call.params["message_thread_id"])).toEqual([
    undefined,
    1,
  ]);
});

test("typing that is not answered is given up after five seconds, and leaves no timer", async () => {
  await rig.channel.typing?.(dm);
  expect(rig.clock.armed()).toBe(0);
  rig.fake.inject({ method: "sendChatAction", trouble: { kind: "hang" } });
  let isOver = false;
  const typing = Promise.resolve(rig.channel.typing?.(dm))
    .catch(() => {})
    .finally(() => (isOver = true));
  await expect.poll(() => rig.fake.calls("sendChatAction").length).toBe(2);
  await rig.clock.advance(4_999);
  expect(isOver).toBe(false);
  await rig.clock.advance(1);
  await typing;
  expect(rig.clock.armed()).toBe(0);
});

test("a file is read whole, and refused by its stated size, by its real size, and by Telegram's own limit", async () => {
  const download = (ref: string, limitBytes: number) =>
    rig.channel.download?.(ref, limitBytes, new AbortController().signal) ??
    Promise.reject(new Error("no download"));
  const refOf = (sent: { readonly [field: string]: unknown }): string =>
    (sent["document"] as { file_id: string }).file_id;
  const honest = refOf(rig.fake.as(alice).sendsDocument());
  expect(new TextDecoder().decode((await download(honest, 1000)).bytes)).toBe("hello file");
  expect((await download(honest, 10)).bytes).toHaveLength(10);
  await expectFault("invalid", download(honest, 9));
  expect(rig.fake.calls("getFile")).toHaveLength(3);
  const nowhere = { ok: true, result: { file_id: honest, file_unique_id: "u" } };
  rig.fake.inject({ method: "getFile", times: 2, trouble: { kind: "answer", status: 200, body: nowhere } });
  await expectFault("missing", download(honest, 1000));
  const liar = refOf(rig.fake.as(alice).sendsDocument({ statedBytes: 1 }));
  await expectFault("invalid", download(liar, 9));
  const huge = refOf(rig.fake.as(alice).sendsDocument({ statedBytes: 21 * 1024 * 1024 }));
  await expectFault("invalid", download(huge, 1_000_000_000));
  await expectFault("missing", download("no-such-file", 1000));
});

test("a file's link that is gone is asked for again, once", async () => {
  const ref = (rig.fake.as(alice).sendsDocument()["document"] as { file_id: string }).file_id;
  const gone = { kind: "answer", status: 404, body: "gone" } as const;
  rig.fake.inject({ method: "download", trouble: gone });
  expect(await rig.channel.download?.(ref, 1000, new AbortController().signal)).toMatchObject({
    name: "file_1.txt",
  });
  expect(rig.fake.calls("getFile")).toHaveLength(2);
  rig.fake.inject({ method: "download", times: 2, trouble: gone });
  await expectFault(
    "missing",
    rig.channel.download?.(ref, 1000, new AbortController().signal) ?? Promise.resolve(),
  );
});

test("a download that breaks off is Fault unavailable: reading again is safe", async () => {
  const ref = (rig.fake.as(alice).sendsDocument()["document"] as { file_id: string }).file_id;
  rig.fake.inject({ method: "download", trouble: { kind: "reset" } });
  const { signal } = new AbortController();
  await expectFault("unavailable", rig.channel.download?.(ref, 1000, signal) ?? Promise.resolve());
  expect(await rig.channel.download?.(ref, 1000, signal)).toMatchObject({ name: "file_1.txt" });
});

test.each<readonly [string, "hang" | "slow", number]>([
  ["of which nothing comes is given up within seconds", "hang", 8_000],
  ["that drips is given up long before its conversation waits for minutes", "slow", 25_000],
])("a download %s", async (_what, kind, afterMs) => {
  const ref = (rig.fake.as(alice).sendsDocument()["document"] as { file_id: string }).file_id;
  rig.fake.inject({ method: "download", trouble: kind === "hang" ? { kind } : { kind, everyMs: 1_000 } });
  const before = rig.fake.calls("getFile").length;
  const fetched = expectFault(
    "unavailable",
    rig.channel.download?.(ref, 1000, new AbortController().signal) ?? Promise.resolve(),
  );
  await expect.poll(() => rig.fake.calls("getFile").length).toBe(before + 1);
  let isOver = false;
  void fetched.finally(() => (isOver = true));
  // The request itself leaves by real sockets: the clock waits for it.
  await expect
    .poll(async () => {
      await rig.clock.advance(afterMs / 4);
      return isOver;
    })
    .toBe(true);
  await fetched;
});

test("a press of what is no button of ours is always answered", async () => {
  const from = { id: 42, is_bot: false, first_name: "Alice" };
  const chat = { id: 42, type: "private" };
  await rig.channel.start(async () => {});
  const buttonPresses: readonly object[] = [
    { id: "q1", from, inline_message_id: "i", chat_instance: "1", data: "x" },
    {
      id: "q2",
      from,
      message: { message_id: 1, date: 1, chat },
      chat_instance: "1",
      game_short_name: "chess",
    },
    { id: "q3", from, message: { message_id: 1, date: 1, chat }, chat_instance: "1", data: 7 },
    { id: "q4", from, message: { message_id: "one", chat }, data: "x" },
    { id: "q5", from: 7, message: { message_id: 1, date: 1, chat }, data: "x" },
  ];
  for (const [index, query] of buttonPresses.entries())
    rig.fake.bot().push({ update_id: 900_000 + index, callback_query: query });
  await expect
    .poll(() => rig.fake.calls("answerCallbackQuery").map(({ params }) => params["callback_query_id"]))
    .toEqual(["q1", "q2", "q3", "q4", "q5"]);
  for (const { params } of rig.fake.calls("answerCallbackQuery"))
    expect(params["text"]).toBe("This button is no longer in use.");
});
