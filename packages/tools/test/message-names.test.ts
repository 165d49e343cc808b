// A call of `message` in the words of other gateways is read as what it means.
import { expect, test } from "vitest";
import { knownMessage } from "../src/message-names.ts";

test.for([
  [
    { action: "send", message: "hi" },
    { action: "send", text: "hi" },
  ],
  [{ action: "send", message: "other", text: "own" }, { text: "own" }],
  [{ action: "send", target: "42", channel: "telegram" }, { to: "telegram:42" }],
  [{ action: "send", target: "channel:7", channel: "discord" }, { to: "discord:channel:7" }],
  [{ action: "send", to: "telegram:42", channel: "telegram" }, { to: "telegram:42" }],
  [
    { action: "send", to: "agent:main:telegram:dm:42", channel: "telegram" },
    { to: "agent:main:telegram:dm:42" },
  ],
  [
    { action: "send", media: "a.png", caption: "c" },
    { media: ["a.png"], text: "c" },
  ],
  [
    { action: "send", replyTo: "9", message: "hi" },
    { action: "reply", messageId: "9" },
  ],
  [
    { action: "react", messageId: "9", emoji: "👍", remove: true },
    { action: "react", emoji: "" },
  ],
  [
    { action: "thread-create", threadName: "T" },
    { action: "thread", title: "T" },
  ],
  [
    { action: "poll", pollQuestion: "q", pollOption: ["a", "b"], pollDurationHours: 2 },
    { poll: { question: "q", options: ["a", "b"], hours: 2 } },
  ],
] as const)("%j", ([sent, meant]) => {
  expect(knownMessage(sent)).toMatchObject(meant);
});

test("a call in the schema's own words stays what it is", () => {
  const own = { action: "send", to: "telegram:42", text: "hi", media: ["a.png"], silent: true };
  expect(knownMessage(own)).toEqual(own);
});
