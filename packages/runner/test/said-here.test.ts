// Which words of a turn's calls count as said in its own conversation.
import type { JournalStep } from "@parley/agent";
import type { JsonObject, Part } from "@parley/protocol";
import { expect, test } from "vitest";
import { messageId, saidHere, unrepeated } from "../src/messages/said-here.ts";

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

test("an answer that only says again what was said is silent, whatever its markup; a short one only if it is the same", () => {
  const silent = { kind: "silent", reason: "it was said with the message tool" };
  const text = (markdown: string, more: object = {}): Part => ({ kind: "text", markdown, ...more });
  const of = (before: readonly string[], ...parts: readonly Part[]) => {
    const outcome = { kind: "reply", parts } as Parameters<typeof unrepeated>[0];
    const found = unrepeated(outcome, before);
    return found === outcome ? "said" : found;
  };
  expect([
    of(["The kettle is **on**."], text("the kettle - is `on`.")),
    of(["The kettle is on.", "Tea at five."], text("The kettle is on."), text("Tea at five.")),
    of(["First a word. The kettle is on, and more."], text("The kettle is on")),
    of(["yes"], text("Yes ")),
    of([""], text("  ")),
  ]).toEqual([silent, silent, silent, silent, silent]);
  expect([
    // Sixteen characters may stand in a longer message by chance no more, fifteen may.
    of(["a 1234567890123456 b"], text("1234567890123456")),
    of(["a 123456789012345 b"], text("123456789012345")),
    of(["The kettle is on."], text("The kettle is off.")),
    of([], text("The kettle is on.")),
    of(["The kettle is on."], text("The kettle is on.", { buttons: [] })),
    of(["The kettle is on."], text("The kettle is on."), { kind: "voice", file: {} } as never),
  ]).toEqual([silent, "said", "said", "said", "said", "said"]);
  const none = { kind: "silent", reason: "nothing to say" } as const;
  expect(unrepeated(none, ["x"])).toBe(none);
});
