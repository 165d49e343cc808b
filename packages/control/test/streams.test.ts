// The hub tells those who follow a stream and nobody else; a stream that is followed goes on over what
// comes while it is read, over a client that leaves meanwhile, and over a log that is away for a moment. A
// body is read up to its limit.
import { EventEmitter } from "node:events";
import type { IncomingMessage } from "node:http";
import { Fault, silentLog, type Log } from "@parley/protocol";
import { describe, expect, test } from "vitest";
import { eventHub, type Hub } from "../src/event-hub.ts";
import { readBody, TooLarge } from "../src/read-body.ts";
import type { SendBuffer } from "../src/send-buffer.ts";
import { follow } from "../src/subscription.ts";

test("the hub shows and wakes those who follow that stream, until they stop, and tells whether anybody does", () => {
  const hub = eventHub();
  const heard: string[] = [];
  const follower = (name: string) => ({
    wake: () => void heard.push(`${name} woke`),
    show: (text: string) => void heard.push(`${name} ${text}`),
  });
  const stops = [
    hub.follow("a", follower("one")),
    hub.follow("a", follower("two")),
    hub.follow("b", follower("three")),
  ];
  hub.appended("a");
  hub.show("a", "chat.typing", { working: true });
  hub.appended("none");
  hub.show("none", "chat.typing", { working: true });
  const shown = '{"type":"event","event":"chat.typing","payload":{"working":true}}';
  expect(heard.splice(0)).toEqual(["one woke", "two woke", `one ${shown}`, `two ${shown}`]);
  stops[0]?.();
  stops[0]?.();
  hub.appended("a");
  expect([heard.splice(0), hub.isFollowed("a"), hub.isFollowed("b")]).toEqual([["two woke"], true, true]);
  stops[1]?.();
  expect([hub.isFollowed("a"), hub.isFollowed("b")]).toEqual([false, true]);
  // A stop that comes twice takes nothing from who follows since.
  hub.follow("a", follower("four"));
  stops[1]?.();
  expect(hub.isFollowed("a")).toBe(true);
});

interface Page {
  readonly gone?: boolean;
  readonly lastSeq: number;
  readonly events: readonly { readonly seq: number; readonly body: string }[];
}

function following(pages: (afterSeq: number) => Page | Promise<Page>, { looksAgain = false } = {}) {
  const sent: (readonly [event: string, seq: number | undefined, payload: object])[] = [];
  const shown: string[] = [];
  const closes: unknown[] = [];
  const errors: unknown[] = [];
  const log: Log = { ...silentLog, error: (facts, words) => void errors.push([words, facts]) };
  const asked: (readonly [number, number])[] = [];
  const hub: Hub = { ...eventHub(), looksAgain };
  let room: () => Promise<void> = async () => {};
  let hasRoom = (): boolean => true;
  const outlet: SendBuffer = {
    send(text) {
      const { event, seq, payload } = JSON.parse(text) as { event: string; seq?: number; payload: object };
      sent.push([event, seq, payload]);
    },
    offer: (text) => void shown.push(text),
    room: () => room(),
    hasRoom: () => hasRoom(),
    checkProgress() {},
    close: (...why) => void closes.push(why),
  };
  const stop = follow({
    stream: "s",
    afterSeq: 3,
    hub,
    outlet,
    log,
    events: {
      after: async (_stream: string, afterSeq: number, limit: number) => {
        asked.push([afterSeq, limit]);
        return { gone: false, ...(await pages(afterSeq)) } as never;
      },
    },
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    sent,
    shown,
    closes,
    errors,
    asked,
    hub,
    stop,
    settle,
    hold: (wait: () => Promise<void>) => void (room = wait),
    /** From now on there is room for so many events at a time; `next` makes room for as many again. */
    narrow: (most: number) => {
      let before = sent.length;
      const waiting: (() => void)[] = [];
      hasRoom = () => sent.length - before < most;
      room = () => (hasRoom() ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve)));
      return () => {
        before = sent.length;
        for (const go of waiting.splice(0)) go();
      };
    },
  };
}

const event = (seq: number) => ({ seq, body: JSON.stringify({ text: `t${seq}` }) });
const events = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => event(from + at));

describe("a stream that is followed", () => {
  test("is read by hundreds from the last seq on, as long as a page is full", async () => {
    let last = 103;
    const at = following((afterSeq) => ({
      lastSeq: last,
      events: events(afterSeq + 1, Math.min(last, afterSeq + 100)),
    }));
    await at.settle();
    expect([at.asked, at.sent.length, at.sent[0], at.sent.at(-1)]).toEqual([
      [
        [3, 100],
        [103, 100],
      ],
      100,
      ["chat.message", 4, { text: "t4", seq: 4 }],
      ["chat.message", 103, { text: "t103", seq: 103 }],
    ]);
    last = 104;
    at.hub.appended("s");
    at.hub.appended("other");
    await at.settle();
    expect([at.asked.slice(2), at.sent.at(-1)?.[1]]).toEqual([[[103, 100]], 104]);
  });

  test("is looked at again when something came while it was read", async () => {
    let release = (): void => {};
    let last = 3;
    const at = following(async (afterSeq) => {
      const found = events(afterSeq + 1, last);
      if (last === 3) await new Promise<void>((resolve) => (release = resolve));
      return { lastSeq: last, events: found };
    });
    await at.settle();
    last = 4;
    at.hub.appended("s");
    release();
    await at.settle();
    expect(at.sent.map(([, seq]) => seq)).toEqual([4]);
  });

  test("that lost what was missed says so, and goes on from its end", async () => {
    let asks = 0;
    const at = following((afterSeq) => {
      asks += 1;
      if (asks > 5) throw new Error("it asks again and again");
      return afterSeq < 50
        ? { gone: true, lastSeq: 50, events: [] }
        : { lastSeq: 51, events: events(afterSeq + 1, 51) };
    });
    await at.settle();
    expect(at.sent).toEqual([
      ["resync", 50, {}],
      ["chat.message", 51, { text: "t51", seq: 51 }],
    ]);
  });

  test("of large events sends what there is room for; the rest waits in the log, not in memory", async () => {
    let last = 3;
    const at = following((afterSeq) => ({
      lastSeq: last,
      events: events(afterSeq + 1, last).slice(0, at.asked.at(-1)?.[1]),
    }));
    await at.settle();
    const next = at.narrow(2);
    last = 12;
    at.hub.appended("s");
    for (const _round of [1, 2, 3, 4, 5]) {
      await at.settle();
      next();
    }
    await at.settle();
    expect(at.sent.map(([, seq]) => seq)).toEqual([4, 5, 6, 7, 8, 9, 10, 11, 12]);
    // It reads no more at once than fits, and more again where that is little.
    expect(at.asked).toEqual([
      [3, 100],
      [3, 100],
      [5, 2],
      [7, 4],
      [9, 2],
      [11, 4],
    ]);
    expect(at.closes).toEqual([]);
  });

  test("sends nothing more once it is left, whatever is under way", async () => {
    let release = (): void => {};
    const at = following(async () => {
      await new Promise<void>((resolve) => (release = resolve));
      return { lastSeq: 4, events: [event(4)] };
    });
    await at.settle();
    at.hub.show("s", "chat.typing", { working: true });
    at.stop();
    release();
    at.hub.show("s", "chat.typing", { working: false });
    at.hub.appended("s");
    await at.settle();
    expect([at.sent, at.shown.length, at.asked.length, at.hub.isFollowed("s")]).toEqual([[], 1, 1, false]);
  });

  test("whose log fails ends the client, but for a pass of the store where the hub looks again by itself", async () => {
    for (const [looksAgain, error, closed] of [
      [false, new Fault("unavailable", "away"), true],
      [true, new Fault("unavailable", "away"), false],
      [true, new Error("broken"), true],
    ] as const) {
      let fails = true;
      const at = following(
        () => {
          if (fails) throw error;
          return { lastSeq: 4, events: [event(4)] };
        },
        { looksAgain },
      );
      await at.settle();
      expect(at.closes).toEqual(closed ? [[1011, "the event log could not be read"]] : []);
      expect(at.errors).toEqual(closed ? [["could not read the event log", { error, stream: "s" }]] : []);
      fails = false;
      at.hub.appended("s");
      await at.settle();
      expect(at.sent.length).toBe(closed ? 0 : 1);
    }
  });
});

describe("a body", () => {
  class Request extends EventEmitter {
    destroyed = false;
    destroy(): void {
      this.destroyed = true;
    }
  }
  const read = (limit: number) => {
    const request = new Request();
    return { request, body: readBody(request as unknown as IncomingMessage, limit) };
  };

  test("of exactly the limit is read; one byte more is refused, and the rest taken in for a while", async () => {
    const whole = read(4);
    whole.request.emit("data", Buffer.from("ab"));
    whole.request.emit("data", Buffer.from("cd"));
    whole.request.emit("end");
    expect((await whole.body).toString()).toBe("abcd");
    const large = read(4);
    const refused = expect(large.body).rejects.toEqual(new TooLarge(4));
    large.request.emit("data", Buffer.from("abcde"));
    await refused;
    large.request.emit("data", Buffer.alloc(16_777_215));
    expect(large.request.destroyed).toBe(false);
    large.request.emit("data", Buffer.alloc(1));
    expect(large.request.destroyed).toBe(true);
    expect(new TooLarge(4)).toMatchObject({ code: "invalid", message: "the body has more than 4 bytes" });
  });

  test("that never ends is told as a client that left, with the cause where there is one", async () => {
    const words = "the client left before it had sent its body";
    const cut = read(4);
    cut.request.emit("error", new Error("reset"));
    await expect(cut.body).rejects.toMatchObject({
      code: "aborted",
      message: words,
      cause: { message: "reset" },
    });
    const closed = read(4);
    closed.request.emit("close");
    await expect(closed.body).rejects.toMatchObject({ code: "aborted", message: words });
    const gone = new Request();
    gone.destroyed = true;
    await expect(readBody(gone as unknown as IncomingMessage, 4)).rejects.toThrow(words);
  });
});
