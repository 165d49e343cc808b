// A call of `message` in the words of other gateways is read as what it means.
import type { JsonObject } from "@parley/protocol";
import { expect, test } from "vitest";
import { knownMessage } from "../src/message-names.ts";

test.for([
  [
    { action: "send", message: "hi" },
    { action: "send", message: "hi", text: "hi" },
  ],
  [
    { action: "send", message: "other", text: "own", content: "third" },
    { action: "send", message: "other", text: "own", content: "third" },
  ],
  [
    { action: "send", caption: "last", content: "first", message: null },
    { action: "send", caption: "last", content: "first", message: null, text: "first" },
  ],
  [
    { action: "send", target: "42", channel: "telegram" },
    { action: "send", target: "42", channel: "telegram", to: "telegram:42" },
  ],
  [
    { action: "send", target: "channel:7", channel: "discord" },
    { action: "send", target: "channel:7", channel: "discord", to: "discord:channel:7" },
  ],
  [
    { action: "send", to: "telegram:42", target: "43", channel: "telegram" },
    { action: "send", to: "telegram:42", target: "43", channel: "telegram" },
  ],
  [
    { action: "send", to: "agent:main:telegram:dm:42", channel: "telegram" },
    { action: "send", to: "agent:main:telegram:dm:42", channel: "telegram" },
  ],
  [
    { action: "send", to: "discord:7", channel: "telegram" },
    { action: "send", to: "telegram:discord:7", channel: "telegram" },
  ],
  [
    { action: "send", channel: "telegram" },
    { action: "send", channel: "telegram" },
  ],
  [
    { action: "send", media: "a.png", caption: "c" },
    { action: "send", media: ["a.png"], caption: "c", text: "c" },
  ],
  ...["mediaUrls", "mediaUrl", "filePath", "path"].map((name) => [
    { action: "sendAttachment", [name]: "a.png" },
    { action: "send", [name]: "a.png", media: ["a.png"] },
  ]),
  [
    { action: "send", path: "b", mediaUrls: ["a", "c"], asVoice: true },
    { action: "send", path: "b", mediaUrls: ["a", "c"], asVoice: true, media: ["a", "c"], voice: true },
  ],
  [
    { action: "send", voice: false, asVoice: true },
    { action: "send", voice: false, asVoice: true },
  ],
  [
    { action: "send", replyTo: "9", message: "hi" },
    { action: "reply", replyTo: "9", message: "hi", text: "hi", messageId: "9" },
  ],
  [
    { action: "sendAttachment", replyTo: "9", messageId: "8" },
    { action: "reply", replyTo: "9", messageId: "8" },
  ],
  [
    { action: "react", replyTo: "9" },
    { action: "react", replyTo: "9" },
  ],
  [
    { action: "send", replyTo: 9 },
    { action: "send", replyTo: 9 },
  ],
  [
    { action: "react", messageId: "9", emoji: "👍", remove: true },
    { action: "react", messageId: "9", emoji: "", remove: true },
  ],
  [
    { action: "react", emoji: "👍", remove: false },
    { action: "react", emoji: "👍", remove: false },
  ],
  [
    { action: "send", emoji: "👍", remove: true },
    { action: "send", emoji: "👍", remove: true },
  ],
  [
    { action: "thread-create", threadName: "T" },
    { action: "thread", threadName: "T", title: "T" },
  ],
  [{ action: "toString" }, { action: "toString" }],
  [
    { action: "poll", pollQuestion: "q", pollOption: ["a", "b"], pollMulti: true, pollDurationHours: 2 },
    {
      action: "poll",
      pollQuestion: "q",
      pollOption: ["a", "b"],
      pollMulti: true,
      pollDurationHours: 2,
      poll: { question: "q", options: ["a", "b"], multiple: true, hours: 2 },
    },
  ],
  [
    { action: "poll", pollQuestion: "q", pollOption: "a" },
    { action: "poll", pollQuestion: "q", pollOption: "a", poll: { question: "q", options: ["a"] } },
  ],
  [
    { action: "poll", pollQuestion: "q", pollOption: "a", poll: { question: "own" } },
    { action: "poll", pollQuestion: "q", pollOption: "a", poll: { question: "own" } },
  ],
  [
    { action: "poll", pollOption: "a" },
    { action: "poll", pollOption: "a" },
  ],
] as [JsonObject, JsonObject][])("%j", ([sent, meant]) => {
  expect(knownMessage(sent)).toEqual(meant);
});

test("a call in the schema's own words stays what it is", () => {
  const own = { action: "send", to: "telegram:42", text: "hi", media: ["a.png"], silent: true };
  expect(knownMessage(own)).toEqual(own);
});
