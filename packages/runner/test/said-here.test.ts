// Which words of a turn's calls count as said in its own conversation.
import type { JournalStep } from "@parley/agent";
import type { JsonObject } from "@parley/protocol";
import { expect, test } from "vitest";
import { messageId, saidHere } from "../src/messages/said-here.ts";

const turn = "turn-1";
const callId = "call-1";

function said(name: string, args: JsonObject, result: string): readonly string[] {
  const call = { type: "toolCall", id: callId, name, args };
  const steps = [
    { kind: "model", entry: { type: "assistant", content: [call] } },
    { kind: "result", entry: { type: "toolResult", callId, content: [{ type: "text", text: result }] } },
  ];
  return saidHere(turn, steps as unknown as readonly JournalStep[]);
}

const handle = `Handle: ${messageId({ turn, callId }, true)}`;
const elsewhere = `Handle: ${messageId({ turn, callId }, false)}`;

test("a call that failed said nothing, and of two calls each has its own words, in the order of their results", () => {
  const ids = ["c1", "c2", "c3"];
  const model = {
    kind: "model",
    entry: { content: ids.map((id) => ({ type: "toolCall", id, args: { text: `words of ${id}` } })) },
  };
  const result = (id: string, isError: boolean) => {
    const content = [{ type: "text", text: `Handle: ${messageId({ turn, callId: id }, true)}` }];
    return { kind: "result", entry: { callId: id, content, isError } };
  };
  const steps = [model, result("c3", false), result("c1", true), result("c2", false), result("c9", false)];
  expect(saidHere(turn, steps as unknown as readonly JournalStep[])).toEqual(["words of c3", "words of c2"]);
});

test.each([
  ["a sending tool of any name", "announce", { text: "hi" }, handle, ["hi"]],
  ["a tool whose words are not its text", "image_generate", { prompt: "a cat" }, handle, [""]],
  ["the message tool's send", "message", { action: "send", text: "hi" }, handle, ["hi"]],
  ["the message tool's edit", "message", { action: "edit", text: "hi" }, handle, []],
  ["a message that goes elsewhere", "announce", { text: "hi" }, elsewhere, []],
  ["a result that names no delivery", "echo", { text: "hi" }, "hi", []],
])("%s", (_what, name, args, result, words) => expect(said(name, args, result)).toEqual(words));
