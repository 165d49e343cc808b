// Directives as text: what is one, what is not, and that everything else stays byte for byte.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { directiveCommand, readDirectives, wantedIn } from "../src/models/directives.ts";

describe("directives in a message", () => {
  test.each([
    ["/think high", { thinking: "high", text: "" }],
    ["a /t: mid b", { thinking: "medium", text: "a b" }],
    ["/thinking x-high\n  code", { thinking: "xhigh", text: "  code" }],
    ["one\n/think min\n  two", { thinking: "minimal", text: "one\n  two" }],
    ["/T ENABLE /reason stream go", { thinking: "low", reasoning: "stream", text: "go" }],
    ["/think low no, /think max", { thinking: "high", text: "no," }],
    ["I /think therefore I am", { text: "I /think therefore I am" }],
    ["cd /t/high and src/think high", { text: "cd /t/high and src/think high" }],
    ["/think highway", { text: "/think highway" }],
    ["`/think high`", { text: "`/think high`" }],
    ["```\n/think high\n", { text: "```\n/think high\n" }],
  ])("%j", (message, read) => {
    expect(readDirectives(message)).toEqual(read);
  });

  test.each([
    ["/think", { name: "think", args: "" }],
    ["/t banana", { name: "think", args: "banana" }],
    ["/reasoning on", { name: "reasoning", args: "on" }],
    ["/reasoning on /think low", { name: "reasoning", args: "on /think low" }],
    ["/think high please", null],
    ["please /think high", null],
    ["/thinker high", null],
  ])("as a command: %j", (message, command) => {
    expect(directiveCommand(message)).toEqual(command);
  });

  test.each([
    ["/reasoning ON", { reasoning: "on" }],
    ["/Reasoning:Off", { reasoning: "off" }],
    ["/T HIGH", { thinking: "high" }],
  ])("in any letters: %j", (message, wanted) => {
    expect(wantedIn([message])).toEqual(wanted);
  });

  test("of several messages the newest word on each counts", () => {
    expect(wantedIn(["/think low a", "b /reasoning on", "c /t high"])).toEqual({
      thinking: "high",
      reasoning: "on",
    });
  });

  const piece = fc.oneof(
    fc.constantFrom("/think high", "/t", " ", "\n", "`", "```", "/reasoning", "on", "\uFFFF", "/think low"),
    fc.string({ unit: "grapheme" }),
  );
  test("nothing but directives is taken out", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const message = pieces.join("");
        const { text, ...wanted } = readDirectives(message);
        if (Object.keys(wanted).length === 0) expect(text).toBe(message);
        // What is left stood there, in this order.
        let at = 0;
        for (const char of text) {
          at = message.indexOf(char, at) + char.length;
          expect(at).toBeGreaterThan(0);
        }
      }),
      { numRuns: 300 },
    );
  });
});
