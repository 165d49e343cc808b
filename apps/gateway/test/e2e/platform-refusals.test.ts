// What Telegram may refuse, row by row, through the real daemon: the answer arrives in another form, or the
// right people are told.
import { refusalBody } from "@parley/testkit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cleanUp, eventually } from "./daemon.ts";
import { world, type World } from "./world.ts";

let w: World;
const owner = 1;
const forum = -1_001_234_500_000;

beforeAll(async () => {
  w = await world({ groupPolicy: "open" });
  w.telegram.group({ id: forum, isForum: true });
  await w.start({ config: { commands: { ownerAllowFrom: [`telegram:${owner}`] } } });
  w.telegram.as({ id: owner, name: "Olga" }).says("hello");
  await w.answered(owner, 1);
});
afterAll(async () => {
  await cleanUp();
  expect(w.telegram.violations()).toEqual([]);
  await w.close();
});

const refuseNext = (description: string): void =>
  w.telegram.inject({
    method: "sendMessage",
    trouble: { kind: "answer", status: 400, body: refusalBody(400, `Bad Request: ${description}`) },
  });
const sends = (chat: number): number =>
  w.telegram.calls("sendMessage").filter((call) => call.params["chat_id"] === chat).length;

test("entities that are refused: the same text once without them", async () => {
  w.models.reply("some **bold** words");
  refuseNext("can't parse entities: unexpected end");
  w.telegram.as(11).says("hi");
  await w.answered(11, 1);
  const [answer] = w.answers(11);
  expect(answer).toMatchObject({ text: "some bold words", entities: undefined });
  expect(sends(11)).toBe(2);
});

test("too long after all: in two halves, nothing lost", async () => {
  const text = Array.from({ length: 300 }, (_, index) => `word${index}`).join(" ");
  w.models.reply(text);
  refuseNext("message is too long");
  w.telegram.as(12).says("hi");
  expect((await w.answered(12, 2)).join(" ")).toBe(text);
});

test("an answer that is refused for good: whoever waits for it is told, once", async () => {
  w.models.reply("never to be seen");
  refuseNext("message text is of a kind that nobody foresaw");
  w.telegram.as(16).says("hi");
  expect(await w.answered(16, 1)).toEqual([
    "⚠️ I had an answer here that could not be delivered. Please ask again, perhaps for something shorter or simpler; the operator can see why.",
  ]);
  w.models.reply("seen");
  w.telegram.as(16).says("again");
  expect(await w.answered(16, 2)).toHaveLength(2);
});

test("a quote that is refused: the answer goes without it", async () => {
  w.models.reply("[[reply_to_current]] here you are");
  refuseNext("QUOTE_TEXT_INVALID");
  w.telegram.as(17).says("hi");
  expect(await w.answered(17, 1)).toEqual(["here you are"]);
});

test("the quoted message is gone: the answer goes without a quote", async () => {
  w.models.reply("[[reply_to:99999]] here you are");
  w.telegram.as(13).says("hi");
  expect(await w.answered(13, 1)).toEqual(["here you are"]);
  expect(w.answers(13)[0]?.replyTo).toBeUndefined();
  expect(sends(13)).toBe(1);
});

test("a closed topic: the answer goes to no other place, and the owner is told once", async () => {
  const topic = w.telegram.topic(forum, "Ideas");
  const told = w.answers(owner).length;
  w.models.reply(async () => {
    const found = w.telegram.chat(forum).topics.get(topic);
    if (found !== undefined) found.closed = true;
    return "for the topic only";
  });
  for (const text of ["one", "two"])
    w.telegram.as(14).says(`@bot1_bot ${text}`, { chat: forum, thread: topic });
  await w.answered(owner, told + 1);
  expect(w.answers(owner).at(-1)?.text).toMatch(
    new RegExp(`did not arrive .*${forum}, topic ${topic}.*TOPIC_CLOSED`),
  );
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(w.answers(forum)).toEqual([]);
  expect(w.answers(owner)).toHaveLength(told + 1);
});

test("blocked: what is queued for the chat fails without asking; the next message from it opens it again", async () => {
  const ann = w.telegram.as({ id: 15, name: "Ann" });
  let asked = 0;
  w.models.reply(({ lastUserText }) => {
    asked += 1;
    return `re: ${lastUserText}`;
  });
  ann.says("/queue followup");
  await w.answered(15, 1);
  const before = sends(15);
  ann.blocks();
  // Both are accepted before the first answer is refused.
  ann.says("one");
  ann.says("two");
  await eventually(() => asked === 2);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(sends(15) - before).toBe(1);
  ann.unblocks();
  ann.says("three");
  expect((await w.answered(15, 2)).at(-1)).toContain("three");
});
