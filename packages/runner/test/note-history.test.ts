// The history of notes: what differs is kept in whole lines, from which either text is made again.
import fc from "fast-check";
import { expect, test } from "vitest";
import { changedLines } from "../src/memory/note-history.ts";

test("makes each text of a change from the other", () => {
  const text = fc.array(fc.constantFrom("- a\n", "- b\n", "\n", "- c\r\n", "end"), { maxLength: 8 });
  fc.assert(
    fc.property(text, text, (old, fresh) => {
      const [before, after] = [old.join(""), fresh.join("")];
      const { at, removed, added } = changedLines(before, after);
      expect(before.slice(0, at) + added + before.slice(at + removed.length)).toBe(after);
      expect(after.slice(0, at) + removed + after.slice(at + added.length)).toBe(before);
      if (before === after) expect(removed + added).toBe("");
    }),
  );
});
