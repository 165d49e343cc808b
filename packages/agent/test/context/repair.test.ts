import fc from "fast-check";
import { expect, it } from "vitest";
import { type Entry, noUsage } from "@parley/protocol";
import { viewOf } from "../../src/index.ts";
import { answered, flaws, image, result, said } from "./entries.ts";

const text = fc.constantFrom("", "  \n", "words", "\ud800 half a character", "x".repeat(100));
const id = fc.constantFrom("a", "b", "a b", "", "é".repeat(80), "c".repeat(200));
const content = fc.array(
  fc.oneof(
    text.map((each) => ({ type: "text" as const, text: each })),
    fc.constant(image()),
  ),
  { maxLength: 3 },
);
const damaged: fc.Arbitrary<Entry> = fc.oneof(
  content.map((parts): Entry => ({ type: "user", content: parts, rows: [], atMs: 0 })),
  fc
    .record({ callId: id, parts: content, isError: fc.boolean() })
    .map(({ callId, parts, isError }): Entry => ({
      type: "toolResult",
      callId,
      name: "x.y z",
      content: parts,
      isError,
      atMs: 0,
    })),
  fc
    .array(
      fc.oneof(
        text.map((each) => ({ type: "text" as const, text: each })),
        text.map((each) => ({ type: "thinking" as const, text: each })),
        id.map((each) => ({
          type: "toolCall" as const,
          id: each,
          name: "mcp.server/tool name",
          args: { path: "\udc00" },
        })),
      ),
      { maxLength: 4 },
    )
    .map((parts): Entry => ({
      type: "assistant",
      content: parts,
      model: "m",
      stop: "stop",
      usage: noUsage,
      atMs: 0,
    })),
  text.map((each): Entry => ({ type: "summary", text: each, throughSeq: 0, atMs: 0 })),
  text.map((each): Entry => ({ type: "notice", text: each, atMs: 0 })),
);

it("whatever was written down, what a model is shown is valid for every provider (I11)", () => {
  fc.assert(
    fc.property(fc.array(damaged, { maxLength: 30 }), (entries) => {
      const view = viewOf([...entries, said("now")]);
      expect(flaws(view)).toEqual([]);
      expect(view.at(-1)?.role).toBe("user");
      for (const message of view) {
        if (message.role === "tool") expect(message.name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        for (const part of message.content)
          if (part.type === "toolCall") expect(part.id).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      }
      // JSON writes half characters as escapes; no provider reads those.
      expect(
        JSON.stringify(
          view.map(({ role, content: parts }) => [role, parts.filter((part) => part.type !== "thinking")]),
        ),
      ).not.toMatch(/\\ud[89a-f]/);
    }),
  );
});

it("a call whose arguments were lost is shown without any, and only the newest twenty images are shown", () => {
  const lost = answered("", ["a"]);
  const broken = {
    ...lost,
    content: [{ type: "toolCall", id: "a", name: "read", args: null }],
  } as unknown as Entry;
  expect(viewOf([said("go"), broken, result("a", "ok")])[1]?.content).toEqual([
    { type: "toolCall", id: "a", name: "read", args: {} },
  ]);
  const album: Entry[] = Array.from({ length: 25 }, (_, n) => ({
    type: "user",
    content: [image(`${n}.png`)],
    rows: [],
    atMs: 0,
  }));
  const parts = viewOf(album)[0]?.content ?? [];
  expect(parts.map((part) => part.type)).toEqual([
    ...Array.from({ length: 5 }, () => "text"),
    ...Array.from({ length: 20 }, () => "image"),
  ]);
});
