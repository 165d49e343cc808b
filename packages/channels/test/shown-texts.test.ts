// An edit that changes nothing people see is not sent; what an edit of unknown outcome left is not known.
import type { Address, RenderedText } from "@parley/protocol";
import { expect, test } from "vitest";
import { shownTexts } from "../src/shown-texts.ts";

const to: Address = { channel: "telegram", account: "default", kind: "dm", peer: "7" };
const text = (words: string): RenderedText => ({ text: words, entities: [], plain: words });
const yes = [[{ label: "yes" }]];
const no = [[{ label: "no" }]];

/** Says which of the edits were sent. */
async function sent(
  edits: readonly (readonly [id: string, words: string, buttons: typeof yes])[],
  prepare: (shown: ReturnType<typeof shownTexts>) => void,
): Promise<readonly boolean[]> {
  const shown = shownTexts();
  prepare(shown);
  const done: boolean[] = [];
  for (const [messageId, words, buttons] of edits) {
    let isSent = false;
    await shown.edit(to, { kind: "edit", messageId, text: text(words), buttons }, async () => {
      isSent = true;
      return { messageId };
    });
    done.push(isSent);
  }
  return done;
}

test("words, buttons and the message decide, each by itself", async () => {
  const edits = [
    ["1", "a", yes],
    ["1", "a", yes],
    ["1", "a", no],
    ["1", "b", no],
    ["1", "b", []],
    ["2", "b", []],
    ["1", "a", yes],
  ] as const;
  expect(await sent(edits as never, (shown) => shown.now(to, "1", text("a"), yes))).toEqual([
    false,
    false,
    true,
    true,
    true,
    true,
    true,
  ]);
});

test("an edit whose outcome nobody knows is sent again", async () => {
  const shown = shownTexts();
  shown.now(to, "1", text("a"), []);
  const edit = { kind: "edit", messageId: "1", text: text("b"), buttons: [] } as const;
  await expect(shown.edit(to, edit, () => Promise.reject(new Error("torn")))).rejects.toThrow("torn");
  let calls = 0;
  const send = async (): Promise<{ messageId: string }> => ((calls += 1), { messageId: "1" });
  await shown.edit(to, { ...edit, text: text("a") }, send);
  await shown.edit(to, { ...edit, text: text("a") }, send);
  expect(calls).toBe(1);
});

test("other chats have other messages, and of many the newest 500 are known", async () => {
  const shown = shownTexts();
  let calls = 0;
  const send = async (): Promise<{ messageId: string }> => ((calls += 1), { messageId: "1" });
  const edit = async (messageId: string, at = to): Promise<boolean> => {
    const before = calls;
    await shown.edit(at, { kind: "edit", messageId, text: text("a"), buttons: [] }, send);
    return calls > before;
  };
  for (let n = 0; n < 500; n += 1) shown.now(to, String(n), text("a"), []);
  expect([await edit("0"), await edit("499")]).toEqual([false, false]);
  expect(await edit("0", { ...to, peer: "8" })).toBe(true);
  expect([await edit("0"), await edit("2")]).toEqual([true, false]);
});
