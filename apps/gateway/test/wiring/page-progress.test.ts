// What pages and programs see of an answer that grows: how often, what of it, and when nobody looks.
import type { ConversationKey } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { pageProgress } from "../../src/wiring/page-progress.ts";

function setUp(conversation = "web:default:dm:olga") {
  const clock = virtualClock();
  const shown: unknown[] = [];
  let isFollowed = true;
  const hub = {
    show: (stream: string, event: string, payload: object) =>
      void shown.push([clock.mono(), stream, event, payload]),
    isFollowed: (stream: string) => isFollowed && stream === conversation,
  };
  const progress = pageProgress({ hub, clock } as never)(conversation as ConversationKey);
  return {
    clock,
    progress,
    follow: (is: boolean) => (isFollowed = is),
    /** Times and texts of what was shown since. */
    async after(ms: number) {
      await clock.advance(ms);
      return shown.splice(0).map((each) => {
        const [atMs, , event, { text, ...rest }] = each as [
          number,
          string,
          string,
          { text?: string; html?: string },
        ];
        return event === "chat.delta" ? [atMs, text] : [event, rest];
      });
    },
    shown,
  };
}

test("the first text shows at once, then the newest every 80 milliseconds, and nothing twice", async () => {
  const { progress, after } = setUp();
  progress.text("t", "a");
  progress.text("t", "ab");
  expect(await after(0)).toEqual([[0, "ab"]]);
  progress.text("t", "abc");
  expect(await after(79)).toEqual([]);
  progress.text("t", "abcd");
  expect(await after(1)).toEqual([[80, "abcd"]]);
  expect(await after(500)).toEqual([]);
  progress.text("t", "abcde");
  expect(await after(0)).toEqual([[580, "abcde"]]);
});

test("a page is shown closed markup and its HTML, at most 30,000 characters; a program the text as it grows", async () => {
  const page = setUp();
  page.progress.text("t1", "**bold");
  await page.clock.advance(0);
  expect(page.shown).toEqual([
    [
      0,
      "web:default:dm:olga",
      "chat.delta",
      { turn: "t1", text: "**bold**", html: expect.stringMatching(/<(?:b|strong)>bold</) },
    ],
  ]);
  page.progress.text("t1", `${"x".repeat(30_000)}y`);
  await page.clock.advance(80);
  expect((page.shown[1] as readonly [0, 0, 0, { text: string }])[3].text).toBe("x".repeat(30_000));
  const program = setUp("api:default:dm:olga");
  program.progress.text("t1", `**${"x".repeat(30_001)}`);
  await program.clock.advance(0);
  expect(program.shown).toEqual([
    [0, "api:default:dm:olga", "chat.delta", { turn: "t1", text: `**${"x".repeat(30_001)}` }],
  ]);
});

test("while nobody looks nothing is rendered, and whoever comes then sees the next text", async () => {
  const { progress, after, follow } = setUp();
  follow(false);
  progress.text("t", "a");
  expect(await after(1_000)).toEqual([]);
  follow(true);
  expect(await after(1_000)).toEqual([]);
  progress.text("t", "ab");
  expect(await after(0)).toEqual([[2_000, "ab"]]);
});

test("work begins and ends in sight; a text that waits at the end is not shown behind the answer, and leaves no timer", async () => {
  const { progress, after, clock } = setUp();
  progress.begin();
  progress.tool("t", { id: "c1", name: "exec" } as never);
  progress.text("t", "a");
  expect(await after(0)).toEqual([
    ["chat.typing", { working: true }],
    ["chat.tool", { turn: "t", id: "c1", name: "exec" }],
    [0, "a"],
  ]);
  progress.text("t", "ab");
  progress.text("t", "abc");
  progress.end();
  expect(clock.armed()).toBe(0);
  expect(await after(1_000)).toEqual([["chat.typing", { working: false }]]);
});
