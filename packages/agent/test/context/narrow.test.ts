// A conversation for a smaller window: always valid for every provider, always with the newest message, never
// longer than it may be.
import type { ModelMessage } from "@parley/models";
import fc from "fast-check";
import { expect, test } from "vitest";
import { narrowed } from "../../src/index.ts";

const says = (text: string): ModelMessage => ({ role: "user", content: [{ type: "text", text }] });
const answers = (text: string): ModelMessage => ({ role: "assistant", content: [{ type: "text", text }] });
const exchange = (nth: number, chars: number, withTool: boolean): readonly ModelMessage[] => [
  says(`question ${nth}`),
  ...(withTool
    ? [
        {
          role: "assistant",
          content: [{ type: "toolCall", id: `c${nth}`, name: "read", args: {} }],
        } as const,
        {
          role: "tool",
          callId: `c${nth}`,
          name: "read",
          content: [{ type: "text", text: "x".repeat(chars) }],
          isError: false,
        } as const,
      ]
    : []),
  answers("y".repeat(chars)),
];

const tokensOf = (messages: readonly ModelMessage[]): number =>
  Buffer.byteLength(JSON.stringify(messages)) / 4;

test("what fits is left as it is", () => {
  const messages = [...exchange(1, 40, true), says("last")];
  expect(narrowed(messages, 10_000)).toBe(messages);
});

test("a call counts with its name and its arguments, a picture with its price, a character with its bytes", () => {
  const fits = (message: ModelMessage, tokens: number): void => {
    const messages = [says("old"), message, says("1234")];
    expect(narrowed(messages, 1 + tokens + 1)).toBe(messages);
    expect(narrowed(messages, tokens + 1)).not.toBe(messages);
  };
  fits(
    { role: "assistant", content: [{ type: "toolCall", id: "long id", name: "n".repeat(40), args: {} }] },
    11,
  );
  fits(
    { role: "assistant", content: [{ type: "toolCall", id: "c", name: "ab", args: { a: "x".repeat(34) } }] },
    11,
  );
  fits(answers("ж".repeat(20)), 10);
  fits(answers("12345"), 2);
});

test("an old result that does not fit keeps both of its ends, the newest first to keep all of it", () => {
  const result = (letter: string): ModelMessage => ({
    role: "tool",
    callId: letter,
    name: "read",
    content: [{ type: "text", text: `${letter}<${letter.repeat(2_000)}>${letter}` }],
    isError: false,
  });
  const calls: ModelMessage = {
    role: "assistant",
    content: ["a", "b"].map((id) => ({ type: "toolCall" as const, id, name: "read", args: {} })),
  };
  const [, , first, second] = narrowed([says("go"), calls, result("a"), result("b")], 700);
  expect(JSON.stringify(first?.content)).toMatch(
    /"a<a{198}\\n\[\.\.\.left out: it does not fit\.\.\.\]\\na{198}>a"/,
  );
  expect(second).toEqual(result("b"));
});

test("the oldest exchanges go first, with their calls and results, and the model is told", () => {
  const messages = [1, 2, 3, 4].flatMap((nth) => exchange(nth, 4_000, nth % 2 === 0)).concat(says("last"));
  const kept = narrowed(messages, 2_500);
  const words = JSON.stringify(kept);
  expect(words).toContain("Earlier parts of this conversation are left out");
  expect(words).not.toContain("question 1");
  expect(kept.at(-1)).toEqual(says("last"));
});

test("somebody who joined while a tool ran does not part its call from what follows", () => {
  const [question, call, result, answer] = exchange(1, 8_000, true) as [
    ModelMessage,
    ModelMessage,
    ModelMessage,
    ModelMessage,
  ];
  const kept = narrowed([question, call, result, says("joined"), answer, says("last")], 2_100);
  expect(kept.map(({ role }) => role)).toEqual(["user"]);
  const running = narrowed([question, call, result, says("joined")], 500);
  expect(running.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
});

test("any conversation stays paired, begins with a person, keeps its end, and fits unless its newest words alone do not", () => {
  const one = fc.record({ chars: fc.integer({ min: 1, max: 9_000 }), tool: fc.boolean() });
  fc.assert(
    fc.property(
      fc.array(one, { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 300, max: 6_000 }),
      (parts, maxTokens) => {
        const all = parts.flatMap(({ chars, tool }, nth) => exchange(nth, chars, tool)).concat(says("last"));
        const kept = narrowed(all, maxTokens);
        expect(kept[0]?.role).toBe("user");
        expect(JSON.stringify(kept.at(-1))).toContain("last");
        const calls = kept.flatMap(({ role, content }) =>
          role === "assistant" ? content.filter(({ type }) => type === "toolCall") : [],
        );
        expect(kept.filter(({ role }) => role === "tool")).toHaveLength(calls.length);
        // Beside the words there is only their packing.
        expect(tokensOf(kept)).toBeLessThan(maxTokens + 60 * kept.length);
      },
    ),
  );
});
