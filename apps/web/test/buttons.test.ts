// When the buttons under a message stop to count.
import type { ChatMessage } from "@parley/protocol";
import { expect, test } from "vitest";
import { emptyChat, pressed, withMessages } from "../src/session/state.ts";

const at = { html: "", atMs: 0 };
const asked: ChatMessage = {
  seq: 1,
  id: "card",
  role: "assistant",
  text: "Run it?",
  buttons: [[{ label: "Once", value: "/approve x once" }], [{ label: "Deny", value: "/approve x deny" }]],
  ...at,
};
const after = (...messages: readonly ChatMessage[]): string | null =>
  pressed(withMessages(emptyChat, [asked, ...messages]), asked);

test("until one was pressed here, or what they asked was decided elsewhere", () => {
  expect(after()).toBe(null);
  expect(
    after(
      { seq: 2, role: "user", text: "hello", ...at },
      { seq: 3, id: "other", role: "assistant", text: "hi", ...at },
    ),
  ).toBe(null);
  expect(after({ seq: 2, role: "user", text: "/approve x deny", ...at })).toBe("/approve x deny");
  expect(after({ seq: 2, id: "settled", replaces: "card", role: "assistant", text: "Allowed", ...at })).toBe(
    "",
  );
  expect(
    after({ seq: 2, id: "settled", replaces: "another", role: "assistant", text: "Allowed", ...at }),
  ).toBe(null);
});
