// The button of a canvas above a conversation: it is there where its session shows one, and opens and closes
// it.
import { expect, test } from "vitest";
import { Chat } from "../../src/pages/chat.ts";
import type { Thread } from "../../src/view/chat/thread-list.ts";
import { nowMs, showPage } from "./show-page.ts";

const thread = (name: string | null): Thread => ({
  thread: name,
  sessionKey: `agent:main:web:dm:1:${name ?? "first"}`,
  name,
  title: null,
  pinned: false,
  text: "hello",
  seq: 1,
  atMs: nowMs,
  working: false,
});

async function page(canvases: readonly { readonly session: string; readonly shown: boolean }[]) {
  return showPage(Chat, {
    at: "#/chat",
    answers: {
      "chat.threads": { threads: [thread(null), thread("b")], left: 0 },
      "chat.steps": { calls: [], waiting: [] },
      "sessions.tree": { sessions: [] },
      "models.list": { models: [] },
      "canvas.list": { canvases },
      "canvas.link": ({ key }: { key: string }) => ({ path: `//canvas/${key}?token=t` }),
    } as never,
  });
}

/** Buttons that show a sign alone. */
const signs = async (...canvases: Parameters<typeof page>[0]): Promise<number> =>
  (await (await page(canvases)).text()).split("[ ]").length;

test("is there for the session that shows one, and not for another's or one that was put away", async () => {
  const without = await signs();
  expect(await signs({ session: thread(null).sessionKey, shown: true })).toBe(without + 1);
  expect(await signs({ session: thread(null).sessionKey, shown: false })).toBe(without);
  expect(await signs({ session: thread("b").sessionKey, shown: true })).toBe(without);
});
