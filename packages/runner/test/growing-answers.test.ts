// An answer that grows in a message of its own, in virtual time: when it opens, how often it is edited,
// what a refusal or an unknown end of an edit does, and that nothing goes on after the end; typing and
// reactions beside it.
import {
  Fault,
  formatRowPayload,
  parseContent,
  silentLog,
  type Address,
  type ConversationKey,
} from "@parley/protocol";
import type { NewDelivery } from "@parley/store";
import { directMessage, groupMessage, virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { ackReaction } from "../src/streaming/ack-reaction.ts";
import { editedPreview } from "../src/streaming/edited-preview.ts";
import { makingWay } from "../src/streaming/make-way.ts";
import { keepTyping } from "../src/streaming/typing.ts";

const receipt = JSON.stringify({ messageId: "m1" });

function previewing({
  kind = "dm" as Address["kind"],
  earlier = null as string | null,
  opened = 0,
  parts = (): readonly object[] => [{ state: "sent", receipt }],
  cover = async (): Promise<void> => {},
  post = async (): Promise<void> => {},
} = {}) {
  const clock = virtualClock();
  const posted: (readonly [mark: object, deliveries: readonly NewDelivery[]])[] = [];
  const edits: (readonly [atMs: number, text: string])[] = [];
  let answers: ((signal: AbortSignal) => Promise<void>)[] = [];
  const over = new AbortController();
  const covered: number[] = [];
  const keys: string[] = [];
  const lines: unknown[] = [];
  const line = (fields: object, words: string) => void lines.push([words, fields]);
  const preview = editedPreview(
    { outbox: { find: async () => [{ parts: parts() }] }, clock } as never,
    {
      turn: { id: "t#1", conversation: "telegram:default:dm:7" as ConversationKey },
      address: { channel: "telegram", account: "default", kind, peer: "7" },
      lease: {
        cover: async (ms: number) => {
          covered.push(ms);
          await cover();
        },
      },
      signal: over.signal,
      log: { ...silentLog, debug: line, info: line },
    } as never,
    {
      capabilities: { dialect: "plain", textChars: 100, captionChars: 100 },
      act: async (
        _to: unknown,
        action: { messageId: string; text: { plain: string } },
        how: { idempotencyKey: string; signal: AbortSignal },
      ) => {
        edits.push([clock.mono(), `${action.messageId}: ${action.text.plain}`]);
        keys.push(how.idempotencyKey);
        await answers.shift()?.(how.signal);
      },
    } as never,
    {
      previews: earlier === null ? [] : [{ delivery: earlier }],
      opened,
      post: async (mark: object, deliveries: readonly NewDelivery[]) => {
        await post();
        posted.push([mark, deliveries]);
      },
    } as never,
  );
  return {
    clock,
    preview,
    posted,
    edits,
    over,
    covered,
    keys,
    lines,
    answer: (...more: ((signal: AbortSignal) => Promise<void>)[]) => void (answers = more),
  };
}

describe("a preview", () => {
  test("opens with what is there after nine tenths of a second, not for an answer that is whole before", async () => {
    const at = previewing();
    at.preview.show("one", "m0");
    await at.clock.advance(899);
    expect(at.posted).toEqual([]);
    at.preview.show("one two", "m0");
    await at.clock.advance(1);
    const [[mark, [delivery]] = [{}, []]] = at.posted;
    expect([
      at.posted.length,
      mark,
      { ...delivery, parts: delivery?.parts.map(({ content }) => parseContent(content)) },
    ]).toEqual([
      1,
      { delivery: "t#1/preview" },
      {
        id: "t#1/preview",
        pool: "telegram:default",
        lane: "telegram:default:dm:7",
        cause: "t#1",
        open: true,
        parts: [{ v: 1, kind: "preview", markdown: "one two", replyTo: "m0" }],
      },
    ]);
    expect(await at.preview.close()).toEqual({ open: "t#1/preview", said: "" });
    const quick = previewing();
    quick.preview.show("all");
    await quick.clock.advance(899);
    expect(await quick.preview.close()).toEqual({ open: null, said: "" });
    await quick.clock.advance(10_000);
    expect([quick.posted, quick.clock.armed()]).toEqual([[], 0]);
    const stopped = previewing();
    stopped.preview.show("all");
    stopped.over.abort();
    await stopped.clock.advance(900);
    expect(stopped.posted).toEqual([]);
    const later = previewing({ opened: 2 });
    later.preview.show("x");
    await later.clock.advance(900);
    expect(later.posted[0]?.[0]).toEqual({ delivery: "t#1/preview/2" });
    await later.preview.close();
  });

  test.each([
    ["dm", 1_000],
    ["group", 3_000],
    ["channel", 1_500],
  ] as const)(
    "in a %s is edited every %d ms, only where the text grew, while the turn has its lane",
    async (kind, everyMs) => {
      const at = previewing({ kind });
      at.preview.show("a");
      await at.clock.advance(900);
      at.preview.show("a b");
      await at.clock.advance(everyMs * 2);
      at.preview.show("a b c");
      await at.clock.advance(everyMs);
      const first = at.edits[0]?.[0] ?? 0;
      expect(at.edits.map(([atMs, text]) => [atMs - first, text])).toEqual([
        [0, "m1: a"],
        [everyMs, "m1: a b"],
        [everyMs * 3, "m1: a b c"],
      ]);
      expect(at.covered).toEqual([15_000, 15_000, 15_000]);
      await at.preview.close();
      at.preview.show("more");
      await at.clock.advance(everyMs * 9);
      expect([at.edits.length, at.clock.armed()]).toEqual([3, 0]);
    },
  );

  test("waits for its receipt, and is no more where it never comes", async () => {
    let part: object = { state: "queued", receipt: null };
    const at = previewing({ parts: () => [part] });
    at.preview.show("a");
    await at.clock.advance(900 + 500);
    expect(at.edits).toEqual([]);
    part = { state: "sent", receipt };
    await at.clock.advance(100);
    expect(at.edits).toHaveLength(1);
    await at.preview.close();
    for (const gone of [[{ state: "failed", receipt: null }], [{ state: "ambiguous", receipt: null }], []]) {
      const lost = previewing({ parts: () => gone });
      lost.preview.show("a");
      await lost.clock.advance(60_000);
      expect([lost.edits, lost.clock.armed()]).toEqual([[], 0]);
    }
    const resumed = previewing({ earlier: "t#1/preview" });
    resumed.preview.show("again");
    await resumed.clock.advance(1_000);
    expect([resumed.posted, resumed.edits.at(-1)?.[1]]).toEqual([[], "m1: again"]);
    expect(await resumed.preview.close()).toEqual({ open: "t#1/preview", said: "" });
  });

  test("that is refused for a while waits as long, tries what was not shown again, and ends where it cannot be edited", async () => {
    const fails =
      (...fault: ConstructorParameters<typeof Fault>) =>
      () =>
        Promise.reject(new Fault(...fault));
    const times = async (...answers: (() => Promise<void>)[]) => {
      const at = previewing();
      at.answer(...answers);
      at.preview.show("a");
      await at.clock.advance(900 + 12_000);
      await at.preview.close();
      const first = at.edits[0]?.[0] ?? 0;
      return at.edits.map(([atMs]) => atMs - first);
    };
    expect(await times()).toEqual([0]);
    expect(await times(fails("rate_limited", "slow", { retryAfterMs: 7_000 }))).toEqual([0, 8_000]);
    expect(await times(fails("rate_limited", "slow"))).toEqual([0, 2_000]);
    expect(await times(fails("unavailable", "x"), fails("ambiguous", "x"))).toEqual([0, 2_000, 4_000]);
    for (const code of ["missing", "denied", "invalid"] as const)
      expect(await times(fails(code, "gone"))).toEqual([0]);
  });

  test("whose edit is not answered gives it up after fifteen seconds, and with its turn at once; each is covered by the lease", async () => {
    const at = previewing();
    const signals: AbortSignal[] = [];
    const hangs = (signal: AbortSignal) =>
      new Promise<void>((_go, reject) => {
        signals.push(signal);
        signal.addEventListener("abort", () => reject(new Fault("unavailable", "given up")));
      });
    at.answer(hangs, hangs);
    at.preview.show("a");
    await at.clock.advance(900 + 14_999);
    expect([at.edits.length, signals.map(({ aborted }) => aborted), at.covered]).toEqual([
      1,
      [false],
      [15_000],
    ]);
    await at.clock.advance(1);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    await at.clock.advance(2_000);
    expect([at.edits.length, at.keys]).toEqual([2, ["t#1/edit", "t#1/edit"]]);
    at.over.abort();
    await at.clock.advance(0);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    await at.preview.close();
    await at.clock.advance(60_000);
    expect([at.edits.length, at.clock.armed()]).toEqual([2, 0]);
  });

  test("that could not be opened or covered ends alone, and the log says so", async () => {
    const lost = previewing({ cover: () => Promise.reject(new Fault("conflict", "another holds it")) });
    lost.preview.show("a");
    await lost.clock.advance(10_000);
    expect([lost.edits, lost.lines, lost.clock.armed()]).toMatchObject([
      [],
      [["preview edit failed; the final answer will be written all the same", { turn: "t#1" }]],
      0,
    ]);
    expect(await lost.preview.close()).toEqual({ open: "t#1/preview", said: "" });
    const away = previewing({ post: () => Promise.reject(new Error("no store")) });
    away.preview.show("a");
    await away.clock.advance(10_000);
    expect(away.lines).toEqual([["the preview ended early", { turn: "t#1", error: new Error("no store") }]]);
    // It may have been written, so the end of the turn closes it all the same.
    expect(await away.preview.close()).toEqual({ open: "t#1/preview", said: "" });
  });

  test("whose last edit may still arrive is closed two seconds after it, another at once", async () => {
    for (const [code, afterMs] of [
      ["ambiguous", 2_000],
      ["unavailable", 0],
    ] as const) {
      const at = previewing();
      at.answer(() => Promise.reject(new Fault(code, "torn")));
      at.preview.show("a");
      await at.clock.advance(900);
      let isClosed = false;
      void at.preview.close().then(() => (isClosed = true));
      if (afterMs > 0) {
        await at.clock.advance(afterMs - 1);
        expect(isClosed).toBe(false);
      }
      await at.clock.advance(1);
      expect(isClosed).toBe(true);
    }
  });
});

test("typing is shown at once and every four and a half seconds, until it stops or failed twice in a row", async () => {
  const clock = virtualClock();
  const at: number[] = [];
  let fails = 0;
  const to: Address = { channel: "telegram", account: "default", kind: "dm", peer: "7" };
  const begin = (cover: () => Promise<void> = async () => {}) =>
    keepTyping(
      {
        typing: async () => {
          at.push(clock.mono());
          if (fails > 0) {
            fails -= 1;
            throw new Error("no");
          }
        },
      } as never,
      to,
      { cover } as never,
      clock,
      silentLog,
    );
  const stop = begin();
  await clock.advance(9_000);
  expect(at.splice(0)).toEqual([0, 4_500, 9_000]);
  fails = 1;
  await clock.advance(9_000);
  expect(at.splice(0)).toEqual([13_500, 18_000]);
  fails = 2;
  await clock.advance(90_000);
  expect([at.splice(0), clock.armed()]).toEqual([[22_500, 27_000], 0]);
  stop();
  const other = begin();
  await clock.advance(1);
  other();
  await clock.advance(60_000);
  expect([at.splice(0).length, clock.armed()]).toEqual([1, 0]);
  begin(() => Promise.reject(new Error("another node has it")));
  await clock.advance(60_000);
  expect([at, clock.armed()]).toEqual([[], 0]);
  keepTyping(null, to, { cover: async () => {} } as never, clock, silentLog)();
  expect(clock.armed()).toBe(0);
});

describe("the emoji of a message that is worked on", () => {
  function acks({
    scope = "all",
    message = directMessage({ sender: { id: "7" } }) as object,
    can = true,
    removes = true,
    lane = "agent:main:telegram:dm:7",
    fails = false,
  } = {}) {
    const did: (readonly [string, string | null, string])[] = [];
    const address = (message as ReturnType<typeof directMessage>).address;
    const clock = virtualClock();
    const ack = ackReaction(
      {
        config: {
          channels: { telegram: { default: { ackReaction: "👀", ackReactionScope: scope } } },
          messages: { removeAckAfterReply: removes },
        },
        channel: () => ({
          capabilities: { reactions: can },
          actions: ["react"],
          act: async (
            _to: unknown,
            { messageId, emoji }: { messageId: string; emoji: string | null },
            { idempotencyKey }: { idempotencyKey: string },
          ) => {
            did.push([messageId, emoji, idempotencyKey]);
            if (fails) throw new Error("no");
          },
        }),
        clock,
        log: silentLog,
      } as never,
      {
        id: "t#1",
        lane,
        conversation: `telegram:default:${address.kind}:${address.peer}`,
        rows: [{ id: "r", payload: formatRowPayload({ v: 1, inbound: message, owner: true } as never) }],
        log: [],
      } as never,
      { cover: async () => {} } as never,
    );
    return { ack, did, clock };
  }
  const show = async (options: Parameters<typeof acks>[0]) => {
    const { ack, did, clock } = acks(options);
    ack.show();
    await clock.advance(0);
    return did.length === 1;
  };

  test("is set where its scope means it, on what people wrote", async () => {
    const called = groupMessage({ addressed: true });
    const talk = groupMessage();
    const table = Object.fromEntries(
      await Promise.all(
        ["all", "direct", "group-all", "group-mentions", "off"].map(async (scope) => [
          scope,
          [
            await show({ scope }),
            await show({ scope, message: called }),
            await show({ scope, message: talk }),
          ],
        ]),
      ),
    );
    expect(table).toEqual({
      all: [true, true, true],
      direct: [true, false, false],
      "group-all": [false, true, true],
      "group-mentions": [false, true, false],
      off: [false, false, false],
    });
    expect(await show({ can: false })).toBe(false);
    expect(await show({ lane: "agent:main:subagent:0123456789ab-1" })).toBe(false);
    expect(await show({ message: directMessage({ kind: "callback" }) })).toBe(false);
  });

  test("is set only where the platform reacts, on the newest opening message that is one, once this process holds the turn", async () => {
    const row = (id: string, more: object = {}, internal?: object) => ({
      id,
      payload: formatRowPayload({
        v: 1,
        inbound: directMessage({ messageId: id, ...more }),
        owner: true,
        ...(internal === undefined ? {} : { internal }),
      } as never),
    });
    const did: unknown[] = [];
    const lines: unknown[] = [];
    const clock = virtualClock();
    let holds: (() => void) | null = null;
    const begin = (actions: readonly string[] | undefined) =>
      ackReaction(
        {
          config: {
            channels: { telegram: { work: { ackReaction: "👀", ackReactionScope: "all" } } },
            messages: { removeAckAfterReply: true },
          },
          channel: (account: string) => ({
            capabilities: { reactions: true },
            ...(actions === undefined ? {} : { actions }),
            act: async (to: { peer: string }, action: object, { signal }: { signal: AbortSignal }) => {
              did.push([account, to.peer, action, signal.aborted]);
              await new Promise((_resolve, reject) =>
                signal.addEventListener("abort", () => reject(signal.reason)),
              );
            },
          }),
          clock,
          log: { ...silentLog, info: (fields: unknown, words: string) => void lines.push([words, fields]) },
        } as never,
        {
          id: "t#1",
          lane: "agent:main:telegram:dm:7",
          conversation: "telegram:work:dm:7",
          rows: [
            row("old"),
            row("asked"),
            row("press", { kind: "callback" }),
            row("task", {}, { kind: "task", id: "x", turn: "" }),
            row("joined"),
          ],
          log: [{ kind: "absorbed", body: '["joined"]' }],
        } as never,
        {
          cover: async (ms: number) => (did.push(["cover", ms]), new Promise<void>((go) => (holds = go))),
        } as never,
      );
    for (const actions of [undefined, [], ["edit"]]) begin(actions).show();
    await clock.advance(0);
    expect(did).toEqual([]);
    const ack = begin(["edit", "react"]);
    ack.show();
    await clock.advance(0);
    expect(did.splice(0)).toEqual([["cover", 10_000]]);
    (holds as (() => void) | null)?.();
    await clock.advance(5_000);
    ack.remove();
    await clock.advance(4_999);
    expect(did.splice(0)).toEqual([
      ["telegram:work", "7", { kind: "react", messageId: "asked", emoji: "👀" }, false],
    ]);
    // One that is never answered is given up, and the removal comes after it.
    await clock.advance(1);
    expect(did.splice(0)).toEqual([
      ["telegram:work", "7", { kind: "react", messageId: "asked", emoji: null }, false],
    ]);
    expect(lines).toMatchObject([["the reaction was not set", { turn: "t#1", emoji: "👀" }]]);
    await clock.advance(10_000);
    expect([lines.length, clock.armed()]).toEqual([2, 0]);
  });

  test("is taken away after it was set, where the config wants that, also when setting it failed", async () => {
    for (const fails of [false, true]) {
      const { ack, did, clock } = acks({ message: directMessage({ messageId: "m9" }), fails });
      ack.show();
      ack.remove();
      await clock.advance(0);
      await clock.advance(0);
      expect([did, clock.armed()]).toEqual([
        [
          ["m9", "👀", "t#1/ack/on"],
          ["m9", null, "t#1/ack/off"],
        ],
        0,
      ]);
    }
    const kept = acks({ removes: false });
    kept.ack.show();
    kept.ack.remove();
    await kept.clock.advance(0);
    expect(kept.did).toHaveLength(1);
  });
});

test("a growing answer makes way for what a call sends into its conversation, and for nothing else", async () => {
  const turn = { id: "t#1", conversation: "telegram:default:dm:7" as ConversationKey };
  const sent = (lane: string) => ({ deliveries: [{ id: "x", lane }] });
  const checked = async (effects: readonly object[] | undefined, open: string | null, fails = false) => {
    const steps: unknown[] = [];
    const journal = makingWay(
      {
        steps: [],
        absorb: async () => [],
        checkpoint: async (_steps: unknown, how: unknown) => {
          steps.push(how);
          if (fails) throw new Error("lost");
        },
      } as never,
      turn,
      {
        rest: async () => (steps.push("rests"), { open, said: "" }),
        resume: () => void steps.push("resumes"),
      },
    );
    const done = journal.checkpoint([], effects === undefined ? undefined : ({ effects } as never));
    await (fails ? expect(done).rejects.toThrow("lost") : done);
    return steps;
  };
  const elsewhere = sent("telegram:default:dm:8");
  const here = sent("telegram:default:dm:7");
  expect(await checked(undefined, "p")).toEqual([{}]);
  expect(await checked([elsewhere], "p")).toEqual([{ effects: [elsewhere] }]);
  expect(await checked([here], null)).toEqual(["rests", { effects: [here] }, "resumes"]);
  const [, how, end] = await checked([elsewhere, here], "t#1/preview");
  expect([how, end]).toEqual([
    {
      closes: "t#1/preview",
      effects: [
        {
          deliveries: [
            {
              id: "t#1/preview/removed",
              pool: "telegram:default",
              lane: "telegram:default:dm:7",
              cause: "t#1",
              closes: "t#1/preview",
              parts: [{ content: '{"v":1,"kind":"remove"}', into: "t#1/preview/0" }],
            },
          ],
        },
        elsewhere,
        here,
      ],
    },
    "resumes",
  ]);
  expect((await checked([here], "p", true)).at(-1)).toBe("resumes");
});
