import { noUsage, type Entry } from "@parley/protocol";
import { expect, it } from "vitest";
import { heardBefore } from "../../src/loop/heard.ts";

const user = (text: string): Entry => ({
  type: "user",
  content: [{ type: "text", text }],
  rows: [text],
  atMs: 0,
});
const answer = (callId: string): Entry => ({
  type: "assistant",
  content: [{ type: "toolCall", id: callId, name: "web_fetch", args: { url: `https://${callId}.test/` } }],
  model: "m",
  stop: "toolUse",
  usage: noUsage,
  atMs: 0,
});
const result = (callId: string, untrusted?: string): Entry => ({
  type: "toolResult",
  callId,
  name: "web_fetch",
  content: [{ type: "text", text: `words of ${callId}` }],
  isError: false,
  ...(untrusted === undefined ? {} : { untrusted }),
  atMs: 0,
});
const summary: Entry = { type: "summary", text: "They read a page.", throughSeq: 3, atMs: 0 };

it("is what the model has before its eyes: earlier turns too, and what a summary left as it was", () => {
  const earlier = [user("read"), answer("a"), result("a", "a.test"), user("thanks")];
  const turn = [user("go on"), answer("b")];
  expect(heardBefore(earlier, turn, "b")).toEqual({
    untrusted: "a.test",
    trusted: ["read", JSON.stringify({ url: "https://a.test/" }), "thanks", "go on"],
    read: ["words of a"],
    sources: ["a.test"],
  });
  // The newest of a conversation stay word for word, and the summary of the rest stands behind them.
  expect(heardBefore([...earlier, summary], turn, "b")).toEqual(heardBefore(earlier, turn, "b"));
  expect(heardBefore([summary], turn, "b")).toMatchObject({ untrusted: null, trusted: ["go on"] });
  const compacted = [user("read"), answer("a"), result("a", "a.test"), summary, answer("b")];
  expect(heardBefore([], compacted, "b").untrusted).toBe("a.test");
  expect(heardBefore([user("hello")], turn, "b")).toMatchObject({ untrusted: null, sources: [] });
});

it("knows nothing of what comes with the answer itself or behind it", () => {
  const turn = [user("go"), answer("a"), result("a", "a.test"), answer("b"), result("b", "b.test")];
  expect(heardBefore([], turn, "a").untrusted).toBeNull();
  expect(heardBefore([], turn, "b").sources).toEqual(["a.test"]);
});

it("trusts calls until the first stranger speaks, and no message that carries a stranger's words", () => {
  const forwarded: Entry = { ...user("forwarded"), untrusted: "f.test" } as Entry;
  const turn = [
    user("go"),
    answer("a"),
    forwarded,
    answer("b"),
    result("b", "b.test"),
    result("a"),
    answer("c"),
  ];
  expect(heardBefore([], turn, "c")).toEqual({
    untrusted: "f.test",
    trusted: ["go", JSON.stringify({ url: "https://a.test/" })],
    read: ["forwarded", "words of b", "words of a"],
    sources: ["f.test", "b.test"],
  });
  expect(heardBefore([], turn, "unknown").sources).toEqual(["f.test", "b.test"]);
});
