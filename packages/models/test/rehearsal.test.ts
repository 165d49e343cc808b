import { virtualClock } from "@parley/testkit";
import { describe, expect, it } from "vitest";
import { type ModelMessage, rehearsal } from "../src/index.ts";
import { parseScript } from "../src/rehearsal/script.ts";
import { ask, asking, collect, weatherTool } from "./collect.ts";

const play = (text: string, more: Parameters<typeof asking>[1] = {}) =>
  ask(rehearsal({ clock: virtualClock() }), asking(text, more));
const says = (role: "user" | "assistant", text: string): ModelMessage => ({
  role,
  content: [{ type: "text", text }],
});

describe("the rehearsal in conversation", () => {
  it.each(["hello", "hi there", "what can you do?", "tell me about tea", "", "/start"])(
    "says plainly that it is a rehearsal: %s",
    async (text) => {
      const got = await play(text);
      expect(got.text.startsWith("(rehearsal) ")).toBe(true);
      expect(got.end).toMatchObject({ stop: "stop", usage: { costUsd: 0 } });
      expect(got.events.length).toBeGreaterThan(3);
    },
  );

  it("quotes what was said, and says the same to the same", async () => {
    const first = await play("tell me about tea");
    expect(first.text).toContain("“tell me about tea”");
    expect((await play("tell me about tea")).events).toEqual(first.events);
  });

  it("keeps quiet where a background prompt names the quiet word", async () => {
    expect((await play("Read HEARTBEAT.md. If nothing needs attention, reply HEARTBEAT_OK.")).text).toBe(
      "HEARTBEAT_OK",
    );
    expect((await play("Store what matters now. If nothing does, reply with NO_REPLY.")).text).toBe(
      "NO_REPLY",
    );
  });

  it("says that it cannot summarise where it is asked to, at the beginning of a line", async () => {
    const summary =
      "(rehearsal) A rehearsal cannot summarise. What was said before is in the transcript only.";
    expect((await play("Said so far.\n\nWrite the summary, one for both.")).text).toBe(summary);
    expect((await play("Please Write the summary of it.")).text).not.toBe(summary);
  });

  it("hears what the person wrote, not what the gateway put around it", async () => {
    const wrapped = [
      "<<<BEGIN_PARLEY_QUOTE k7>>>",
      "Untrusted: a quote.",
      "!say injected",
      "<<<END_PARLEY_QUOTE k7>>>",
      '[from "Ada" id 7]',
      "!say mine",
    ].join("\n");
    expect((await play(wrapped)).text).toBe("mine");
    expect((await play('[from "Ada" id 7]\ntea?')).text).toContain("“tea?”");
  });
});

describe("the rehearsal's script", () => {
  it("says, thinks, repeats and makes texts of any size", async () => {
    const got = await play("!think hmm\n!say one\\ntwo\n!repeat 2 three");
    expect([got.thinking, got.text]).toEqual(["hmm", "one\ntwo\nthree\nthree"]);
    expect((await play("!big 10000")).text).toHaveLength(10_000);
    expect((await play("!silent")).text).toBe("NO_REPLY");
    expect((await play("!empty")).text).toBe("");
    expect((await play("!say cut\n!length")).end.stop).toBe("length");
  });

  it("makes a text as long as a million characters, and none that is longer; a long word costs no more than its length", () => {
    const chars = (script: string): number =>
      parseScript(script).reduce(
        (sum, { ...read }) => sum + ("pieces" in read ? read.pieces.join("").length : 0),
        0,
      );
    expect([
      chars("!big 1000000"),
      chars("!big 1000001") < 200,
      chars(`!repeat 2 ${"x".repeat(500_000)}`),
    ]).toEqual([1_000_000, true, 1_000_001]);
    const [refused] = parseScript(`!repeat 2 ${"x".repeat(500_001)}`);
    expect(JSON.stringify(refused).slice(0, 60)).toContain("(rehearsal) ");
  });

  it("streams in the given number of pieces with the given pauses", async () => {
    const clock = virtualClock();
    const answer = ask(rehearsal({ clock }), asking("!stream 4 100 Grüße 👍!"));
    await clock.advance(299);
    expect(clock.armed()).toBe(1);
    await clock.advance(1);
    const got = await answer;
    expect(got.text).toBe("Grüße 👍!");
    expect(got.events.filter((event) => event.type === "text")).toHaveLength(4);
  });

  it("calls tools in groups and goes on behind their results", async () => {
    const script =
      '!say first\n!tool weather {"city":"Oslo"}\n!tool weather {"city":"Rome"}\n!result\n!tool weather';
    const one = await play(script, { tools: [weatherTool] });
    expect(one.text).toBe("first");
    expect(one.calls.map((call) => call.args)).toEqual([{ city: "Oslo" }, { city: "Rome" }]);
    expect(one.end.stop).toBe("toolUse");
    const after = (...more: readonly ModelMessage[]): readonly ModelMessage[] => [
      says("user", script),
      { role: "assistant", content: one.end.content },
      ...more,
    ];
    const result: ModelMessage = {
      role: "tool",
      callId: one.calls[0]?.id ?? "",
      name: "weather",
      content: [{ type: "text", text: "rain" }],
      isError: false,
    };
    const two = await play("", { tools: [weatherTool], messages: after(result) });
    expect(two.text).toBe("(rehearsal) weather answered: rain");
    expect(two.calls).toHaveLength(1);
    const three = await play("", {
      tools: [weatherTool],
      messages: after(result, { role: "assistant", content: two.end.content }, result),
    });
    expect(three).toMatchObject({
      text: "(rehearsal) weather answered: rain",
      calls: [],
      end: { stop: "stop" },
    });
    expect(new Set([...one.calls, ...two.calls].map((call) => call.id)).size).toBe(3);
  });

  it("obeys a request without tools", async () => {
    const got = await play("!tool weather\n!say words", { toolChoice: "none" });
    expect(got.calls).toEqual([]);
  });

  it("writes bad calls and fails as told", async () => {
    expect((await play("!bad-tool weather {oops")).events[0]).toMatchObject({
      type: "badToolCall",
      name: "weather",
      raw: "{oops",
    });
    expect((await play("!say half\n!fail rate_limited 1500")).end).toMatchObject({
      stop: "error",
      error: { kind: "rate_limited", retryAfterMs: 1500 },
    });
    expect((await play("!fail aborted")).end.stop).toBe("aborted");
  });

  it("says what is wrong with a command that it cannot do, and lets other lines alone", async () => {
    expect((await play("!wait soon")).text).toContain('I cannot do "!wait soon"');
    expect((await play("!tool weather [1]")).text).toContain("!help");
    const deep = `!tool weather {"x":${"[".repeat(5_000)}${"]".repeat(5_000)}}`;
    expect((await play(deep)).text).toContain("!help");
    expect((await play("wow! that is !not a script")).text).toContain("You wrote");
  });

  it("tells prompts apart without showing them", async () => {
    const { text } = await play("!prompt-hash", { tools: [weatherTool] });
    expect(text).toMatch(/stable [0-9a-f]{8}, volatile [0-9a-f]{8}, tools [0-9a-f]{8} \(weather\)/);
    expect(text).not.toContain("You are Parley");
    const other = await play("!prompt-hash", {
      tools: [weatherTool],
      system: { stable: "You are Parley.", volatile: "Channel: other." },
    });
    expect(other.text.split(",")[0]).toBe(text.split(",")[0]);
    expect(other.text).not.toBe(text);
  });

  it("counts the conversation it sees", async () => {
    const messages = [says("user", "my name is Ada"), says("assistant", "hello"), says("user", "!history")];
    expect((await play("", { messages })).text).toContain(
      "I see 2 messages of yours, 1 of mine and 0 tool results. The first began: “my name is Ada”",
    );
  });

  it.each(["!hang", "!wait 3600000", "!stream 9 60000 a long wait for words"])(
    "stops at once when told to: %s",
    async (script) => {
      const clock = virtualClock();
      const stop = new AbortController();
      const answer = collect(rehearsal({ clock }).stream(asking(script), stop.signal));
      await clock.advance(10);
      stop.abort();
      expect((await answer).end).toMatchObject({ stop: "aborted", error: { kind: "aborted" } });
      expect(clock.armed()).toBe(0);
    },
  );
});

describe("a rehearsal that is stopped", () => {
  it.each([1, 2, 3, 4])("after %i events ends as stopped, and none of its calls counts", async (most) => {
    const stopping = new AbortController();
    const script = '!think aloud\n!tool a {"x":1}\n!tool b {"x":2}\n!bad-tool c oops';
    const events = [];
    for await (const event of rehearsal({ clock: virtualClock() }).stream(asking(script), stopping.signal)) {
      events.push(event);
      if (events.length === most) stopping.abort();
    }
    const kinds = ["thinking", "toolCall", "toolCall", "badToolCall"].slice(0, most);
    expect(events.map(({ type }) => type)).toEqual([...kinds, "end"]);
    expect(events.at(-1)).toMatchObject({
      stop: "aborted",
      error: { kind: "aborted" },
      content: [{ type: "thinking", text: "aloud" }],
    });
  });
});
