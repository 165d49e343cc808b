// How a turn is stopped: the one that runs here is reached at once, what people saw of its answer is kept,
// /estop ends what holds a lane, and an answer that ended early says so.
import { formatContent, type Content } from "@parley/protocol";
import type { Turn } from "@parley/store";
import { answerTable, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { closed, nothingSaid, withEarlyEnd } from "../src/early-end.ts";
import { emergencyStop, heldText } from "../src/emergency-stop.ts";
import { runningTurns } from "../src/running-turns.ts";
import {
  interrupted,
  shownBefore,
  stoppedEntry,
  stoppedMark,
  stoppedMessage,
} from "../src/stopped-answer.ts";
import { memoryStore } from "./store.ts";

test("a turn that runs here is stopped here, another is told to the other processes, and what they tell is heard", () => {
  const told: string[] = [];
  const turns = runningTurns();
  turns.stop("nobody listens yet");
  turns.tellOthers((turn) => told.push(turn));
  const [one, other] = [turns.begin("one"), turns.begin("other")];
  expect(turns.count()).toBe(2);
  turns.stop("one");
  turns.stop("far");
  expect([one.signal.aborted, other.signal.aborted, told]).toEqual([true, false, ["far"]]);
  expect(one.signal.reason).toMatchObject({ code: "conflict", message: "the turn was told to stop" });
  turns.heard("far");
  turns.heard("other");
  expect([other.signal.aborted, told]).toEqual([true, ["far"]]);
  // The one begun anew is not ended by the end of the one before.
  const again = turns.begin("one");
  one.end();
  expect(turns.count()).toBe(2);
  turns.stop("one");
  expect(again.signal.aborted).toBe(true);
  again.end();
  other.end();
  expect(turns.count()).toBe(0);
  turns.stop("one");
  expect(told).toEqual(["far", "one"]);
});

test("what a stopped answer had come to is waited for while its turn ends, for so long and no longer", async () => {
  const clock = virtualClock();
  const turns = runningTurns();
  expect(await turns.left("never ran", clock, 1_000)).toBeNull();
  const run = turns.begin("t");
  let left: string | null | undefined;
  const waiting = turns.left("t", clock, 1_000).then((said) => (left = said));
  await clock.advance(999);
  expect(left).toBeUndefined();
  turns.leave("t", "so far");
  run.end();
  await waiting;
  expect([left, await turns.left("t", clock, 1_000)]).toEqual(["so far", "so far"]);
  turns.begin("slow");
  let late: string | null | undefined;
  const slow = turns.left("slow", clock, 1_000).then((said) => (late = said));
  await clock.advance(1_000);
  await slow;
  expect(late).toBeNull();
});

test("the last twenty stopped answers are kept, each to a hundred thousand characters", async () => {
  const clock = virtualClock();
  const turns = runningTurns();
  for (let n = 0; n < 21; n += 1) turns.leave(`t${n}`, `${n}${"x".repeat(100_001)}`);
  expect(await turns.left("t0", clock, 0)).toBeNull();
  expect((await turns.left("t1", clock, 0))?.length).toBe(100_000);
  expect((await turns.left("t20", clock, 0))?.slice(0, 3)).toBe("20x");
});

test("the mark of a stopped answer says who stopped it, and one that a newer message interrupted has none", () => {
  const reasons = ["/stop", "stopped by an operator", "/estop", "the session was reset", interrupted];
  expect(reasons.map(stoppedMark)).toEqual([
    "[stopped by the user]",
    "[stopped by the user]",
    "[stopped: /estop]",
    "[stopped: the session was reset]",
    null,
  ]);
  const text = (said: string) => stoppedEntry(said, "[m]", "a/b", 7);
  expect(text("half a \n")).toEqual({
    type: "assistant",
    content: [{ type: "text", text: "half a\n\n[m]" }],
    model: "a/b",
    stop: "aborted",
    usage: expect.objectContaining({ inputTokens: 0, outputTokens: 0 }),
    atMs: 7,
  });
  expect(text(" \n").content).toEqual([{ type: "text", text: "[m]" }]);
});

test("what people saw is the newest block, or else the preview that they still see", async () => {
  const asked: unknown[] = [];
  const shown = (content: Content | null, blocks: readonly string[], previews: readonly string[]) =>
    shownBefore(
      {
        blocks: blocks.map((said) => ({ said })),
        previews: previews.map((delivery) => ({ delivery })),
      } as never,
      {
        find: async (what) => {
          asked.push(what);
          return content === null
            ? []
            : [{ parts: [{ content: formatContent(content) }, { content: "{" }] } as never];
        },
      },
    );
  const preview = { v: 1, kind: "preview", markdown: "as it *grew*" } as unknown as Content;
  const rendered = (part: object) => ({ v: 1, kind: "rendered", part }) as unknown as Content;
  expect(await shown(preview, ["first", "second"], ["p1"])).toBe("second");
  expect(await shown(preview, [], [])).toBe("");
  expect(asked).toEqual([]);
  expect([
    await shown(preview, [], ["p1", "p2"]),
    await shown(rendered({ kind: "text", plain: "plain words" }), [], ["p2"]),
    await shown(rendered({ kind: "media" }), [], ["p2"]),
    await shown(null, [], ["p2"]),
  ]).toEqual(["as it *grew*", "plain words", "", ""]);
  expect(asked).toEqual(Array.from({ length: 4 }, () => ({ id: "p2", limit: 1 })));
});

test("the web page is told the rest of a stopped answer, with its mark; a platform keeps what it shows", () => {
  const turn = (conversation: string) => ({ id: "t1", conversation }) as unknown as Turn;
  const of = (said: string, sent = "", conversation = "web:default:dm:p1") => {
    const made = stoppedMessage(turn(conversation), said, sent, "[m]");
    return made === null ? null : { ...made, parts: made.parts.map(({ content }) => JSON.parse(content)) };
  };
  const reply = (markdown: string) => [{ v: 1, kind: "reply", parts: [{ kind: "text", markdown }] }];
  expect(of("half", "", "telegram:default:dm:7")).toBeNull();
  expect(of("sent before. And more ", "sent before.")).toEqual({
    id: "t1/stopped",
    pool: "web:default",
    lane: "web:default:dm:p1",
    cause: "t1",
    parts: reply("And more\n\n*[m]*"),
  });
  expect(of("other words", "sent before.")?.parts).toEqual(reply("other words\n\n*[m]*"));
  expect(of("sent", "sent")?.parts).toEqual(reply("*[m]*"));
  expect(of("```\ncode")?.parts).toEqual(reply("```\ncode\n```\n\n*[m]*"));
});

test("an answer that ended early says why below its last words, outside of code, or alone", () => {
  const stops = ["length", "cut", "steps", "loop", "done", "aborted", "capped"] as const;
  const reply = (...parts: readonly object[]) => ({ kind: "reply", parts }) as never;
  const [text, picture] = [
    { kind: "text", markdown: "words " },
    { kind: "media", media: "image" },
  ];
  expect(
    answerTable(stops, (stop) => [
      nothingSaid(stop as never),
      withEarlyEnd(reply(picture, text), stop as never),
    ]),
  ).toMatchInlineSnapshot(`
    ""length"
      ["⚠️ The model used up all that it may write before it came to an answer. Please ask for less at once, or let it think less (/think).",{"kind":"reply","parts":[{"kind":"media","media":"image"},{"kind":"text","markdown":"words\\n\\n⚠️ My answer was cut off here: it reached the longest that the model may write. Ask me to go on."}]}]
    "cut"
      ["⚠️ The language model's provider ended my answer before its first word. Please ask in other words.",{"kind":"reply","parts":[{"kind":"media","media":"image"},{"kind":"text","markdown":"words\\n\\n⚠️ The language model's provider cut my answer off here."}]}]
    "steps"
      ["⚠️ I used all the steps that one request may take and have no answer yet. Ask me to go on, or for less at once.",{"kind":"reply","parts":[{"kind":"media","media":"image"},{"kind":"text","markdown":"words\\n\\n⚠️ I stopped here: this took all the steps that one request may take. Ask me to go on."}]}]
    "loop"
      ["⚠️ I was repeating the same step and got no further, so I stopped. Please tell me in other words what to do.",{"kind":"reply","parts":[{"kind":"media","media":"image"},{"kind":"text","markdown":"words\\n\\n⚠️ I stopped here: I was repeating the same step and got no further."}]}]
    "done"
      [null,{"kind":"reply","parts":[{"kind":"media","media":"image"},{"kind":"text","markdown":"words "}]}]
    "aborted"
      [null,{"kind":"reply","parts":[{"kind":"media","media":"image"},{"kind":"text","markdown":"words "}]}]
    "capped"
      [null,{"kind":"reply","parts":[{"kind":"media","media":"image"},{"kind":"text","markdown":"words "}]}]
    "
  `);
  expect(withEarlyEnd(reply(text, picture), "cut")).toEqual(
    reply(text, picture, {
      kind: "text",
      markdown: "⚠️ The language model's provider cut my answer off here.",
    }),
  );
  const silent = { kind: "silent", reason: "x" } as never;
  expect(withEarlyEnd(silent, "cut")).toBe(silent);
  expect(["a", "```\na", "```\na\n```\n", "  ```js\na\n```\n```\nb\n", "a ``` b"].map(closed)).toEqual([
    "a",
    "```\na\n```",
    "```\na\n```",
    "  ```js\na\n```\n```\nb\n```",
    "a ``` b",
  ]);
});

test("/estop holds the tools first, then ends sub-agents, the turns that hold lanes, what these spawned, and commands", async () => {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  onTestFinished(() => store.close());
  const did: string[] = [];
  const lanes = [
    { lane: "a", holder: "n1" },
    { lane: "b", holder: null },
    { lane: "c", holder: "n2" },
    { lane: "d", holder: "n1" },
  ];
  const isHeld = async () => ((await store.cells.get("tools:held")) === null ? "free" : "held");
  const estop = emergencyStop({
    cells: store.cells,
    turns: { list: async (_pool, limit) => (did.push(`listed ${limit}`), lanes as never) },
    inbox: {
      stop: async (lane, what) => {
        did.push(`stopped ${lane} ${JSON.stringify(what)}`);
        return { turn: lane === "c" ? null : `turn of ${lane}`, rows: [] } as never;
      },
    },
    stopTurn: (turn) => did.push(`told ${turn}`),
    endChildren: async () => void did.push(`children, ${await isHeld()}`),
    endCommands: async () => void did.push("commands"),
    clock,
  });
  expect(await estop.now()).toBeNull();
  await clock.advance(5);
  const fromMs = clock.now();
  expect(await estop.hold("telegram:7")).toBe(true);
  const stop = JSON.stringify({ turn: "open", reason: "/estop" });
  expect(did).toEqual([
    "children, held",
    "listed 10000",
    `stopped a ${stop}`,
    "told turn of a",
    `stopped c ${stop}`,
    `stopped d ${stop}`,
    "told turn of d",
    "children, held",
    "commands",
  ]);
  did.length = 0;
  await clock.advance(5);
  // The first who held them is who does; a second one stops what began meanwhile all the same.
  expect(await estop.hold("telegram:8")).toBe(false);
  expect(did).toHaveLength(9);
  const held = await estop.now();
  expect(held).toEqual({ by: "telegram:7", atMs: fromMs });
  expect(held === null ? "" : heldText(held)).toBe(
    "Not run: all tools are held by /estop of telegram:7 until an owner resumes them (/estop off, or `parley tools resume`). Do not try again; answer without tools and say so.",
  );
  expect([await estop.release(), await estop.release(), await estop.now()]).toEqual([true, false, null]);
});
