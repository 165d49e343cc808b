// Words that were changed or taken back, as a conversation and its export show them.
import type { ChatMessage } from "@parley/protocol";
import { expect, test } from "vitest";
import { shownMessages } from "../src/session/state.ts";
import { markdownOf } from "../src/view/chat/export.ts";

const said = (seq: number, more: Partial<ChatMessage>): ChatMessage => ({
  seq,
  role: "user",
  text: "",
  html: "",
  atMs: 0,
  ...more,
});
const messages = [
  said(1, { id: "a", text: "one" }),
  said(2, { id: "b", text: "two" }),
  said(3, { role: "assistant", id: "x", text: "hi" }),
  said(4, { id: "c", replaces: "a", text: "uno" }),
  said(5, { id: "d", replaces: "b", cancelled: true }),
  said(6, { role: "assistant", id: "y", replaces: "x", text: "hi again" }),
];

test("stand where the first ones did; what was taken back is gone; answers stay", () => {
  expect(shownMessages(messages).map(({ seq, text }) => [seq, text])).toEqual([
    [1, "uno"],
    [3, "hi"],
    [6, "hi again"],
  ]);
});

test("the export says who said what and when", () => {
  expect(markdownOf("My\ngarden", messages)).toBe(
    "# My garden\n\n### user, 1970-01-01T00:00:00.000Z\n\nuno\n\n### assistant, 1970-01-01T00:00:00.000Z\n\nhi\n\n### assistant, 1970-01-01T00:00:00.000Z\n\nhi again\n",
  );
});
