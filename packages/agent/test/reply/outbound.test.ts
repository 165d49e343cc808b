// Everything that is sent without being streamed goes through the same way out.
import fc from "fast-check";
import { expect, test } from "vitest";
import { fence, sanitizeOutbound } from "../../src/index.ts";

test.each([
  ["<tool_call>{}</tool_call>Done", "Done"],
  ["<function_calls><invoke name='x'></invoke></function_calls>Done", "Done"],
  ["<system-reminder>be brief</system-reminder>Done", "Done"],
  ["<|im_end|>Done<｜end▁of▁sentence｜>", "Done"],
  ["[INST]Done[/INST]", "Done"],
  ["<<SYS>>Done<</SYS>>", "Done"],
  ["Done NO_REPLY", "Done "],
  ["Done <b>bold</b> [x](y) <https://a.b>", "Done <b>bold</b> [x](y) <https://a.b>"],
  ["a <- b; c << d; x[[0]]", "a <- b; c << d; x[[0]]"],
])("%j leaves as %j", (text, shown) => {
  expect(sanitizeOutbound(text)).toBe(shown);
});

test("an echoed fence leaves with nothing of its content", () => {
  const echo = fence("HISTORY", "k3y", "what others wrote.", "Bob's secret plan");
  expect(sanitizeOutbound(`You said:\n${echo}\nRight?`)).toBe("You said:\n\nRight?");
});

test("ordinary text is left as it is", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (text) => {
      fc.pre(!/[<[%*_]|NO|HE/u.test(text));
      expect(sanitizeOutbound(text)).toBe(text);
    }),
  );
});

// Where a tag stands decides what it is, and what was taken out before it moves it: that goes for tags, and
// not for what is here.
test("a second pass over tokens, reply tags and fences changes nothing", () => {
  const part = fc.constantFrom(
    "NO_REPLY",
    "[[reply_to_current]]",
    "NO_",
    "REPLY",
    "[[reply_",
    "to_current]]",
    " ",
    "a",
    "\n",
    "<<SYS>>",
    "<<<BEGIN_PARLEY_QUOTE x>>>",
    "<<<END_PARLEY_QUOTE x>>>",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
      const once = sanitizeOutbound(parts.join(""));
      expect(sanitizeOutbound(once)).toBe(once);
    }),
    { numRuns: 2_000 },
  );
});
