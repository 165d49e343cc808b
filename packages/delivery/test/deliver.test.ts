// One conversation's deliveries under a lease, over a real outbox and a platform that answers as the test
// says.
import { loopback, telegram, type Channel, type SendOptions } from "@parley/channels";
import {
  accountKey,
  conversationKey,
  Fault,
  formatContent,
  silentLog,
  type Address,
  type Log,
  type Receipt,
} from "@parley/protocol";
import type { WorkEnd } from "@parley/queue";
import { defaultToken, fakeTelegram, seededIds, virtualClock } from "@parley/testkit";
import { sqliteStore, type NewDelivery } from "@parley/store";
import { expect, onTestFinished, test } from "vitest";
import { channelRender, deliverer, unreachableChats } from "../src/index.ts";

const to: Address = { channel: "loopback", account: "default", kind: "dm", peer: "7" };
const lane = conversationKey(to);
const reply = (markdown: string): string =>
  formatContent({ v: 1, kind: "reply", parts: [{ kind: "text", markdown }] });

interface More {
  readonly acts?: boolean;
  readonly channel?: object;
  readonly to?: Address;
  /** Where the lane's chat is now. */
  readonly movedTo?: string;
  /** True while the config has no such account. */
  readonly absent?: boolean;
}

async function fixture(
  send: (text: string, signal: AbortSignal, how: SendOptions) => Promise<Receipt>,
  { acts = true, channel: own = {}, to: place = to, movedTo, absent = false }: More = {},
) {
  const clock = virtualClock();
  const store = await sqliteStore({
    path: ":memory:",
    bootId: "boot",
    clock,
    log: silentLog,
    onFatal: (error) => {
      throw error;
    },
  });
  onTestFinished(() => store.close());
  const acted: unknown[] = [];
  /** The addresses of the platform's calls. */
  const places: string[] = [];
  const settled: (readonly string[])[] = [];
  const channel = {
    name: "loopback",
    account: "default",
    capabilities: {
      ...loopback({ account: "default", clock }).capabilities,
      textChars: 100,
      idempotentSends: false,
    },
    send: (at: Address, part: { readonly plain: string }, how: SendOptions) => {
      places.push(conversationKey(at));
      return send(part.plain, how.signal, how);
    },
    ...(acts ? { act: async (_to: Address, action: unknown) => (acted.push(action), null) } : {}),
    settle: async (events: readonly string[]) => void settled.push(events),
    health: () => ({ state: "ok" }),
    ...own,
  } as unknown as Channel;
  const waits: number[] = [];
  /** What others are told of, and what the log keeps. */
  const told: string[] = [];
  const covered: number[] = [];
  const closed = unreachableChats(store.cells);
  const logged = (words: string, more: object = {}) =>
    void told.push(`log: ${words} ${JSON.stringify(more)}`);
  const logFor = (about: object): Log =>
    ({
      ...silentLog,
      child: (more: object) => logFor({ ...about, ...more }),
      info: (more: object, words: string) => logged(words, { ...about, ...more }),
      warn: (more: object, words: string) => logged(words, { ...about, ...more }),
    }) as Log;
  const deliver = deliverer({
    outbox: store.outbox,
    channel: () => (absent ? null : channel),
    moved: {
      current: (address) => (movedTo === undefined ? address : { ...address, peer: movedTo }),
      learn: async (at, from, peer) => void told.push(`moved ${accountKey(at)} ${from} ${peer}`),
    },
    closed,
    render: channelRender,
    rateLimit: {
      reserve: (_lane, group, patienceMs) => (told.push(`pace ${group} ${patienceMs}`), waits.shift() ?? 0),
      limited: (key, afterMs, reach) => void told.push(`limited ${key} ${afterMs} ${reach}`),
    },
    clock,
    log: logFor({}),
    rowsOf: async (cause) => [
      { id: `row of ${cause}`, conversation: conversationKey(to) },
      { id: `another of ${cause}`, conversation: conversationKey({ ...to, peer: "elsewhere" }) },
    ],
    beforeEdit: async (messageId) => void told.push(`before edit ${messageId}`),
    onTrouble: ({ id }, reason) => void told.push(`trouble ${id}: ${reason}`),
    onFailed: ({ id }) => void told.push(`failed ${id}`),
    onSent: ({ id }, part, { messageId }) => void told.push(`sent ${id}/${part} ${messageId}`),
  });
  const post = (...deliveries: readonly Partial<NewDelivery>[]) =>
    store.outbox.post(
      deliveries.map((each, n) => ({
        id: `d${n}`,
        pool: "loopback:default",
        lane: conversationKey(place),
        cause: "turn",
        parts: [{ content: reply("x") }],
        ...each,
      })),
    );
  const ends: WorkEnd[] = [];
  /** Takes the lane and works on it; the lease covers whatever is asked until it is aborted. */
  const work = async (aborted = new AbortController()) => {
    const batch = await store.outbox.take({
      pool: "loopback:default",
      holder: "boot",
      leaseMs: 60_000,
      maxRows: 9,
    });
    if ("idle" in batch) throw new Error("nothing to deliver");
    const end = await deliver(batch, {
      signal: aborted.signal,
      waiting: () => 0,
      renew: async () => 0,
      async cover(ms) {
        covered.push(ms);
        if (aborted.signal.aborted) throw aborted.signal.reason;
      },
    }).then(
      (found) => {
        ends.push(found);
        return "reason" in found ? found.reason : "settled";
      },
      (error: unknown) => (error instanceof Fault ? error.code : String(error)),
    );
    // Settled, it gave the lane back with its last receipt.
    if (end !== "settled") await store.outbox.release(batch, { afterMs: 0, reason: "test" });
    return end;
  };
  const states = async (): Promise<readonly string[]> =>
    (await store.outbox.find({ limit: 9 }))
      .toReversed()
      .map(
        ({ id, parts }) =>
          `${id} ${parts.map(({ state, receipt }) => `${state} ${receipt ?? "-"}`).join(", ")}`,
      );
  /** Each part as it is stored, with its reason. */
  const parts = async (id = "d0"): Promise<readonly string[]> =>
    ((await store.outbox.find({ id, limit: 1 }))[0]?.parts ?? []).map(
      ({ state, reason, flagged, attempts }) =>
        `${state}${flagged ? " flagged" : ""} ${attempts}${reason === null ? "" : `: ${reason}`}`,
    );
  const heard = () => told.splice(0).filter((line) => !line.startsWith("log: ") && !line.startsWith("pace"));
  const logs = () => told.filter((line) => line.startsWith("log: "));
  return {
    store,
    clock,
    acted,
    places,
    settled,
    waits,
    post,
    work,
    states,
    told,
    heard,
    logs,
    covered,
    ends,
    parts,
    closed,
  };
}

const long = Array.from({ length: 3 }, (_, n) => `${n}`.repeat(90)).join("\n\n");

test.each([0, 1])("a stop after piece %d of an answer leaves no sent piece unknown", async (last) => {
  const said: string[] = [];
  const aborted = new AbortController();
  const { post, work, states } = await fixture(async (text) => {
    said.push(text.slice(0, 1));
    if (said.length === last + 1) aborted.abort(new Fault("aborted", "the daemon is stopping"));
    return { messageId: `m${said.length}` };
  });
  await post({ parts: [{ content: reply(long) }] });
  expect(await work(aborted)).toBe("aborted");
  const receipt = (n: number): string => (n <= last ? `sent {"messageId":"m${n + 1}"}` : "queued -");
  expect(await states()).toEqual([`d0 ${[0, 1, 2].map(receipt).join(", ")}`]);
  // The next holder goes on behind it, and nothing is said twice.
  await work();
  expect(said).toEqual(["0", "1", "2"]);
});

test("a wait for the platform's pace stores first what arrived before it", async () => {
  const { post, work, states, waits } = await fixture(async () => ({ messageId: "m" }));
  await post({ parts: [{ content: reply(long) }] });
  waits.push(0, 5_001);
  expect(await work()).toBe("pacing");
  expect(await states()).toEqual(['d0 sent {"messageId":"m"}, queued -, queued -']);
});

test("what removes a preview has the preview's own receipt, and tells the platform that no answer comes", async () => {
  const { store, clock, post, work, states, acted, settled } = await fixture(async () => ({
    messageId: "p1",
  }));
  await post({
    id: "preview",
    open: true,
    parts: [{ content: formatContent({ v: 1, kind: "preview", markdown: "so far" }) }],
  });
  expect(await work()).toBe("settled");
  await clock.advance(1_000);
  await store.outbox.post([
    {
      id: "gone",
      pool: "loopback:default",
      lane,
      cause: "turn",
      closes: "preview",
      parts: [{ content: formatContent({ v: 1, kind: "remove" }), into: "preview/0" }],
    },
  ]);
  expect(await work()).toBe("settled");
  expect(acted).toEqual([{ kind: "remove", messageId: "p1" }]);
  expect(settled).toEqual([["row of turn"]]);
  expect(await states()).toEqual(['preview sent {"messageId":"p1"}', 'gone sent {"messageId":"p1"}']);
});

test.each([
  [24 * 3_600_000, "sent"],
  [24 * 3_600_000 + 1, "failed"],
])("an answer that waited %d ms is %s", async (ageMs, state) => {
  const { store, clock, post, work } = await fixture(async () => ({ messageId: "m" }));
  await post({});
  clock.jumpWall(ageMs);
  await work();
  expect((await store.outbox.find({ id: "d0", limit: 1 }))[0]?.parts).toMatchObject([{ state }]);
});

const minuteMs = 60_000;
/** The second of three pieces meets this. */
const meeting = (error: () => Error) => {
  let calls = 0;
  return async () => {
    calls += 1;
    if (calls === 2) throw error();
    return { messageId: `m${calls}` };
  };
};

test.each([
  ["rate_limited", { retryAfterMs: 7_000 }, ["limited loopback:default:dm:7 7000 null"], 7_000],
  ["rate_limited", {}, ["limited loopback:default:dm:7 1000 null"], 1_000],
  ["unavailable", {}, [], "unavailable"],
  ["aborted", {}, [], "aborted"],
] as const)(
  "a piece that met %s %j waits for another try, those behind it too",
  async (code, more, told, end) => {
    const { post, work, parts, heard, ends } = await fixture(meeting(() => new Fault(code, "not now", more)));
    await post({ parts: [{ content: reply(long) }] });
    const reason = await work();
    expect(await parts()).toEqual(["sent 1", "queued 1: not now", "queued 0"]);
    expect(heard()).toEqual(["sent d0/0 m1", ...told]);
    if (typeof end === "string") expect([reason, ends]).toEqual([end, []]);
    else expect(ends).toEqual([{ afterMs: end, reason: "not now", refund: true }]);
    expect(await work()).toBe("settled");
    expect([await parts(), heard()]).toEqual([
      ["sent 1", "sent 2", "sent 1"],
      ["sent d0/1 m3", "sent d0/2 m4"],
    ]);
  },
);

test.each([
  ["invalid", ["failed d0"]],
  ["unsupported", ["failed d0"]],
  ["denied", []],
  ["missing", []],
] as const)(
  "a piece that is refused as %s ends those behind it, and what is after them still goes",
  async (code, told) => {
    const { post, work, parts, heard, told: all } = await fixture(meeting(() => new Fault(code, "never")));
    await post({ parts: [{ content: reply(long) }] }, {});
    expect(await work()).toBe("settled");
    const behind = "failed 0: an earlier part failed: never";
    expect([await parts(), await parts("d1")]).toEqual([["sent 1", "failed 1: never", behind], ["sent 1"]]);
    const logs = all.filter((line) => line.startsWith("log: "));
    expect(heard()).toEqual(["sent d0/0 m1", ...told, "trouble d0: never", "sent d1/0 m3"]);
    const about = (id: string) => ({
      delivery: id,
      lane,
      cause: "turn",
      rows: ["row of turn", "another of turn"],
    });
    expect(logs).toEqual([
      `log: sent ${JSON.stringify({ ...about("d0"), part: 0, messageId: "m1" })}`,
      `log: could not send ${JSON.stringify({ ...about("d0"), part: 1, code, reason: "never" })}`,
      `log: delivery failed for good ${JSON.stringify({ ...about("d0"), reason: "never" })}`,
      `log: sent ${JSON.stringify({ ...about("d1"), part: 0, messageId: "m3" })}`,
    ]);
  },
);

test("an error that is no decision, or says that the lease is lost, ends the work as it is", async () => {
  for (const error of [new TypeError("a bug"), new Fault("conflict", "another holder")]) {
    const { post, work, parts, heard } = await fixture(meeting(() => error));
    await post({ parts: [{ content: reply(long) }] });
    expect(await work()).toBe(error instanceof Fault ? "conflict" : String(error));
    expect([await parts(), heard()]).toEqual([["sent 1", "sending 1", "queued 0"], ["sent d0/0 m1"]]);
  }
});

const lost = (): Fault => new Fault("ambiguous", "the line broke");
test.each([
  [15 * minuteMs, "sending 1"],
  [15 * minuteMs + 1, "ambiguous 1: the line broke"],
])("a piece of unknown outcome, of an answer %d ms old, is %s", async (ageMs, state) => {
  const { post, work, parts, heard, ends, clock } = await fixture(meeting(lost));
  await post({ parts: [{ content: reply(long) }] });
  clock.jumpWall(ageMs);
  await work();
  const isFresh = state.startsWith("sending");
  expect([await parts(), heard()]).toEqual([
    // The words that say how late it is make it one piece longer.
    ["sent 1", state, ...(isFresh ? ["queued 0"] : ["sent 1", "sent 1"])],
    [
      "sent d0/0 m1",
      ...(isFresh
        ? []
        : ["trouble d0: it is not known whether it arrived: the line broke", "sent d0/2 m3", "sent d0/3 m4"]),
    ],
  ]);
  expect(ends).toEqual([
    isFresh ? { afterMs: 1_500, reason: "the line broke", refund: true } : { settled: true },
  ]);
});

test("what is unknown is sent a second time and never a third; the next pieces go on", async () => {
  const { post, work, parts, heard } = await fixture(async (text) => {
    if (text.startsWith("1")) throw lost();
    return { messageId: "m" };
  });
  await post({ parts: [{ content: reply(long) }] });
  expect(await work()).toBe("the line broke");
  await work();
  expect([await parts(), heard()]).toEqual([
    ["sent 1", "ambiguous flagged 2: the line broke", "sent 1"],
    ["sent d0/0 m", "trouble d0: it is not known whether it arrived: the line broke", "sent d0/2 m"],
  ]);
});

const capabilities = {
  ...loopback({ account: "default", clock: virtualClock() }).capabilities,
  textChars: 100,
  idempotentSends: true,
};
test("a platform that takes each key once is asked again, as long as that is not yesterday's", async () => {
  const keys: string[] = [];
  const { post, work, parts, clock } = await fixture(
    async (_text, _signal, { idempotencyKey, follows, answers }) => {
      keys.push(`${idempotencyKey} ${follows?.messageId ?? "-"} ${answers?.join() ?? "-"}`);
      if (keys.length > 1 && keys.length < 5) throw lost();
      return { messageId: `m${keys.length}` };
    },
    { channel: { capabilities } },
  );
  await post({ parts: [{ content: reply(long) }] });
  for (let n = 0; n < 3; n += 1) expect(await work()).toBe("the line broke");
  await work();
  expect([keys, await parts()]).toEqual([
    ["d0/0 - row of turn", "d0/1 m1 -", "d0/1 m1 -", "d0/1 m1 -", "d0/1 m1 -", "d0/2 m5 -"],
    ["sent 1", "sent 4", "sent 1"],
  ]);
  keys.length = 1;
  await post({ id: "late", parts: [{ content: reply("x") }] });
  expect(await work()).toBe("the line broke");
  clock.jumpWall(15 * minuteMs + 1);
  await work();
  expect(await parts("late")).toEqual([expect.stringMatching(/^ambiguous/)]);
});

test("where sent messages can be read back, one that arrived is not said again, and one that did not is", async () => {
  const looks: (readonly Receipt[] | null | Fault)[] = [
    new Fault("rate_limited", "slowly", { retryAfterMs: 9_000 }),
    new Fault("unavailable", "not now"),
    [{ messageId: "there" }],
    [],
  ];
  let sends = 0;
  const { post, work, parts, heard, ends, told } = await fixture(
    async () => {
      sends += 1;
      if (sends === 1 || sends === 3) throw lost();
      return { messageId: `m${sends}` };
    },
    {
      channel: {
        capabilities,
        sentSince: async () => {
          const look = looks.shift() ?? [];
          if (look instanceof Fault) throw look;
          return look;
        },
      },
    },
  );
  await post({ parts: [{ content: reply(long) }] });
  for (const reason of ["the line broke", "slowly", "not now"]) expect(await work()).toBe(reason);
  expect(ends.slice(1)).toEqual([
    { afterMs: 9_000, reason: "slowly", refund: true },
    { afterMs: 1_500, reason: "not now", refund: true },
  ]);
  expect([await work(), await parts(), heard()]).toEqual([
    "the line broke",
    ["sent 1", "sent 1", "sending 1"],
    ["sent d0/0 there", "sent d0/1 m2"],
  ]);
  told.length = 0;
  await work();
  expect([await parts(), heard()]).toEqual([["sent 1", "sent 1", "sent 2"], ["sent d0/2 m4"]]);
});

test("of a message that is late only the first piece says so; an answer of a day is told as failed", async () => {
  const said: string[] = [];
  const { post, work, parts, heard, clock } = await fixture(
    async (text) => (said.push(text.slice(0, 22)), { messageId: "m" }),
  );
  await post({ parts: [{ content: reply("first\n\nsecond") }] });
  clock.jumpWall(15 * minuteMs + 1);
  await work();
  expect(said.splice(0)).toEqual(["(delayed by 15 min)\n\nf"]);
  await post({ id: "old" });
  clock.jumpWall(24 * 60 * minuteMs + 1);
  await work();
  expect([await parts("old"), heard(), said]).toEqual([
    ["failed 0: older than a day"],
    ["sent d0/0 m", "failed old", "trouble old: older than a day"],
    [],
  ]);
});

test("of an answer whose chat closed in between the rest is failed, and what may have arrived is looked for first", async () => {
  const looks: (readonly Receipt[])[] = [[{ messageId: "there" }]];
  const channel = { sentSince: async () => looks.shift() ?? [] };
  const { post, work, parts, heard, waits, closed } = await fixture(async () => ({ messageId: "m" }), {
    channel,
  });
  await post({ parts: [{ content: reply(long) }] });
  waits.push(0, 5_001);
  expect(await work()).toBe("pacing");
  await closed.close(to, "blocked");
  await work();
  const behind = "failed 0: an earlier part failed: blocked";
  expect([await parts(), heard()]).toEqual([
    ["sent 1", "failed 0: blocked", behind],
    ["sent d0/0 m", "trouble d0: blocked"],
  ]);
  const unknown = await fixture(
    async () => {
      throw lost();
    },
    { channel },
  );
  await unknown.post({ parts: [{ content: reply("hi") }] });
  expect(await unknown.work()).toBe("the line broke");
  await unknown.closed.close(to, "blocked");
  await unknown.work();
  expect([await unknown.parts(), unknown.logs().at(-1), unknown.heard()]).toEqual([
    ["sent 1"],
    `log: had arrived ${JSON.stringify({ delivery: "d0", lane, cause: "turn", rows: ["row of turn", "another of turn"], part: 0, messageId: "there" })}`,
    ["sent d0/0 there"],
  ]);
});

test("while a piece waits for the pace, the one before it is stored as sent", async () => {
  const { post, work, states, waits, clock } = await fixture(async () => ({ messageId: "m" }));
  await post({ parts: [{ content: reply(long) }] });
  waits.push(0, 1);
  const working = work();
  await clock.advance(0);
  expect(await states()).toEqual(['d0 sent {"messageId":"m"}, queued -, queued -']);
  await clock.advance(1);
  expect([await working, await states()]).toEqual([
    "settled",
    [`d0 ${[1, 2, 3].map(() => 'sent {"messageId":"m"}').join(", ")}`],
  ]);
});

test("a stop ends the wait for the pace at once, and nothing more is sent", async () => {
  const said: string[] = [];
  const aborted = new AbortController();
  const { post, work, parts, waits, clock } = await fixture(
    async (text) => (said.push(text.slice(0, 1)), { messageId: "m" }),
  );
  await post({ parts: [{ content: reply(long) }] });
  waits.push(0, 5_000);
  const working = work(aborted);
  await clock.advance(1_000);
  aborted.abort(new Fault("aborted", "the daemon is stopping"));
  await clock.advance(0);
  expect([clock.armed(), await working, said, await parts()]).toEqual([
    0,
    "aborted",
    ["0"],
    ["sent 1", "queued 0", "queued 0"],
  ]);
});

test("a piece that grew older than a day behind one that was just sent fails, and that one stays sent", async () => {
  const made = await fixture(async () => {
    made.clock.jumpWall(24 * 60 * minuteMs + 1);
    return { messageId: "m" };
  });
  const { post, work, parts, heard } = made;
  await post({ parts: [{ content: reply(long) }] });
  await work();
  expect([await parts(), heard()]).toEqual([
    ["sent 1", "failed 0: older than a day", "failed 0: an earlier part failed: older than a day"],
    ["sent d0/0 m", "failed d0", "trouble d0: older than a day"],
  ]);
});

test("the platform is told which rows are answered, and on another try that the answer may be there, with the first piece alone", async () => {
  const told: unknown[] = [];
  const { post, work, parts } = await fixture(async (_text, _signal, { answers, mayHaveArrived }) => {
    told.push([answers, mayHaveArrived]);
    if (told.length === 1) throw lost();
    return { messageId: "m" };
  });
  await post({ parts: [{ content: reply(long) }] });
  await work();
  await work();
  expect([told, await parts()]).toEqual([
    [
      [["row of turn"], false],
      [["row of turn"], true],
      [undefined, undefined],
      [undefined, undefined],
    ],
    ["sent flagged 2", "sent 1", "sent 1"],
  ]);
  told.length = 0;
  const looked = await fixture(
    async (_text, _signal, { answers, mayHaveArrived }) => {
      told.push([answers, mayHaveArrived]);
      if (told.length === 1) throw lost();
      return { messageId: "m" };
    },
    { channel: { sentSince: async () => [] } },
  );
  await looked.post({});
  await looked.work();
  await looked.work();
  // It is known not to be there.
  expect(told).toEqual([
    [["row of turn"], false],
    [["row of turn"], false],
  ]);
});

test("no platform takes a key with a new thread: one of unknown outcome is not opened twice where messages are", async () => {
  let opens = 0;
  const channel = {
    capabilities,
    actions: ["createThread"],
    sentSince: async () => null,
    act: async () => {
      opens += 1;
      throw new TypeError("the process died");
    },
  };
  const { post, work, parts, clock } = await fixture(async () => ({ messageId: "m" }), { channel });
  await post({ parts: [{ content: opening("one") }] });
  clock.jumpWall(15 * minuteMs);
  await work();
  clock.jumpWall(1_000);
  await work();
  expect([opens, await parts()]).toEqual([
    1,
    ["ambiguous 1: the process ended while it was being sent", "failed 0: its thread is not known"],
  ]);
});

test("an edit by an action waits for other writers of its message, and one that cannot be done says why", async () => {
  const action = (more: object): string =>
    formatContent({ v: 1, kind: "action", action: { target: { messageId: "5" }, ...more } } as never);
  const { post, work, parts, heard, acted, told } = await fixture(async () => ({ messageId: "m" }), {
    channel: { actions: ["edit"] },
  });
  await post(
    { parts: [{ content: action({ kind: "edit", markdown: "new" }) }] },
    { parts: [{ content: action({ kind: "pin", pinned: true }) }] },
  );
  await work();
  const reason = "loopback cannot do this: pin";
  expect(acted).toMatchObject([{ kind: "edit", messageId: "5", text: { plain: "new" } }]);
  expect(told).toContain(`log: there is nothing to send ${JSON.stringify({ delivery: "d1", lane, reason })}`);
  expect([await parts(), await parts("d1"), heard()]).toEqual([
    ["sent 1"],
    [`failed 0: ${reason}`],
    ["before edit 5", "sent d0/0 "],
  ]);
});

test("a chat that is closed gets nothing, and of a chat that closed in between the rest is failed", async () => {
  const { store, post, work, parts, heard, waits } = await fixture(async () => ({ messageId: "m" }));
  await post({ parts: [{ content: reply(long) }] }, {});
  waits.push(0, 5_001);
  expect(await work()).toBe("pacing");
  await unreachableChats(store.cells).close(to, "blocked");
  const next = await fixture(async () => ({ messageId: "m" }));
  await unreachableChats(next.store.cells).close(to, "blocked");
  await next.post({ parts: [{ content: reply(long) }] }, {});
  await next.work();
  expect([await next.parts(), await next.parts("d1"), next.heard()]).toEqual([
    ["failed 0: blocked"],
    ["failed 0: blocked"],
    ["trouble d0: blocked", "trouble d1: blocked"],
  ]);
  expect([await parts(), heard()]).toEqual([["sent 1", "queued 0", "queued 0"], ["sent d0/0 m"]]);
});

test.each([
  ["dm", "false"],
  ["group", "true"],
  ["channel", "true"],
] as const)(
  "a %s is paced as its kind, with five seconds of patience, under a lease that outlives the send",
  async (kind, group) => {
    const { post, work, told, covered, waits, clock, ends } = await fixture(
      async () => ({ messageId: "m" }),
      {
        to: { ...to, kind },
      },
    );
    await post({});
    waits.push(5_000);
    const working = work();
    await clock.advance(4_999);
    expect(covered).toEqual([]);
    await clock.advance(1);
    await working;
    expect([told.filter((line) => line.startsWith("pace")), covered, ends]).toEqual([
      [`pace ${group} 5000`],
      [35_000],
      [{ settled: true }],
    ]);
    expect(clock.armed()).toBe(0);
  },
);

test("nothing to see fails with its reason in the log, and what waits behind it goes on", async () => {
  const { post, work, parts, told } = await fixture(async () => ({ messageId: "m" }));
  await post({ parts: [{ content: reply(" ") }] }, {});
  await work();
  expect([await parts(), await parts("d1")]).toEqual([
    ["failed 0: there is nothing to see in it"],
    ["sent 1"],
  ]);
  expect(told[0]).toBe(
    `log: there is nothing to send ${JSON.stringify({ delivery: "d0", lane, reason: "there is nothing to see in it" })}`,
  );
});

test("an account that is not configured waits, and a chat that moved is written to where it is now", async () => {
  const absent = await fixture(async () => ({ messageId: "m" }), { absent: true });
  await absent.post({});
  await absent.work();
  expect([absent.ends, await absent.parts(), absent.places]).toEqual([
    [{ afterMs: 30_000, reason: "the account is not configured", refund: true }],
    ["queued 0"],
    [],
  ]);
  const moved = await fixture(async () => ({ messageId: "m" }), { movedTo: "8" });
  await moved.post({});
  await moved.work();
  expect([await moved.parts(), moved.places, moved.settled]).toEqual([
    ["sent 1"],
    ["loopback:default:dm:8"],
    [],
  ]);
});

test("what edits a message of the same batch waits until that one has its receipt", async () => {
  const { post, work, states, ends, acted, told } = await fixture(async () => ({ messageId: "m" }));
  await post({}, { parts: [{ content: reply("new"), into: "d0/0" }] });
  expect(await work()).toBe("what it edits was sent just now");
  expect(await states()).toEqual(['d0 sent {"messageId":"m"}', "d1 queued -"]);
  expect([await work(), ends]).toEqual([
    "settled",
    [{ afterMs: 0, reason: "what it edits was sent just now", refund: true }, { settled: true }],
  ]);
  expect(acted).toMatchObject([{ kind: "edit", messageId: "m", text: { text: "new" } }]);
  expect(told).toContain("before edit m");
  expect(await states()).toEqual(['d0 sent {"messageId":"m"}', 'd1 sent {"messageId":"m"}']);
});

test("a command's answer that came meanwhile goes before the next one of the batch, which then goes on", async () => {
  const sent: string[] = [];
  const made = await fixture(async (text) => {
    sent.push(text);
    if (text === "a")
      await made.post({
        id: "status",
        cause: "/status",
        passes: true,
        parts: [{ content: reply("status") }],
      });
    return { messageId: `m${sent.length}` };
  });
  const { post, work, ends } = made;
  await post(
    { cause: "one", parts: [{ content: reply("a") }] },
    { cause: "two", parts: [{ content: reply("b") }] },
    { cause: "three", parts: [{ content: reply("c") }] },
  );
  expect(await work()).toBe("a command's answer goes before it");
  await work();
  expect([sent, ends]).toEqual([
    ["a", "status", "b", "c"],
    [{ afterMs: 0, reason: "a command's answer goes before it", refund: true }, { settled: true }],
  ]);
});

const opening = (...texts: readonly string[]): string =>
  formatContent({
    v: 1,
    kind: "action",
    action: {
      kind: "createThread",
      title: "Tea",
      parts: texts.map((markdown) => ({ kind: "text", markdown })),
    },
  });

test("parts go into the thread that the first one opened, also after a restart, and nowhere while it is unknown", async () => {
  let opens = 0;
  const channel = {
    actions: ["createThread"],
    act: async () => {
      opens += 1;
      if (opens === 2) throw lost();
      return { messageId: "t", extra: { thread: "T" } };
    },
  };
  const said: string[] = [];
  const { post, work, states, parts, places, waits, heard, clock, logs } = await fixture(
    async (text, _signal, { follows }) => {
      said.push(`${text} after ${follows?.messageId ?? "-"}`);
      return { messageId: `m${said.length}` };
    },
    { channel },
  );
  await post({ parts: [{ content: opening("one", "two", "three") }] });
  waits.push(0, 0, 5_001);
  expect(await work()).toBe("pacing");
  await work();
  const inside = (id: string) => `sent {"messageId":"${id}","extra":{"thread":"T"}}`;
  expect([await states(), said.splice(0), places.splice(0)]).toEqual([
    [`d0 ${["t", "m1", "m2", "m3"].map(inside).join(", ")}`],
    ["one after t", "two after m1", "three after m2"],
    ["T", "T", "T"].map((thread) => conversationKey({ ...to, thread })),
  ]);
  heard();
  await post({ id: "second", parts: [{ content: opening("four", "five") }] });
  expect(await work()).toBe("the line broke");
  // No platform takes a key with a new thread: it may be there.
  clock.jumpWall(15 * minuteMs + 1);
  await work();
  expect([await parts("second"), said, places]).toEqual([
    [
      "ambiguous 1: the process ended while it was being sent",
      "failed 0: its thread is not known",
      "failed 0: an earlier part failed: its thread is not known",
    ],
    [],
    [],
  ]);
  expect(logs().at(-1)).toContain("delivery failed for good");
  expect(heard()).toEqual([
    "trouble second: it is not known whether it arrived: the process ended while it was being sent",
    "trouble second: its thread is not known",
  ]);
});

test.each([
  [120_000, "sent 2"],
  [120_001, "ambiguous 1: the process ended while it was being sent"],
])(
  "a piece that a dead process was sending %d ms ago, of an answer that is not fresh, is %s by its key",
  async (ageMs, state) => {
    let dies = true;
    const { post, work, parts, clock, heard } = await fixture(
      async () => {
        if (dies) throw new TypeError("the process died");
        return { messageId: "m" };
      },
      { channel: { capabilities, sentSince: async () => null } },
    );
    await post({});
    clock.jumpWall(15 * minuteMs);
    await work();
    dies = false;
    clock.jumpWall(ageMs);
    await work();
    expect([await parts(), heard()]).toEqual([
      [state],
      state === "sent 2"
        ? ["sent d0/0 m"]
        : ["trouble d0: it is not known whether it arrived: the process ended while it was being sent"],
    ]);
  },
);

test("a send without an answer is given up after thirty seconds, and leaves no timer", async () => {
  const reasons: unknown[] = [];
  const { post, work, parts, clock } = await fixture(
    (_text, signal) =>
      new Promise((_done, fail) =>
        signal.addEventListener("abort", () => {
          reasons.push((signal.reason as Error).message);
          fail(lost());
        }),
      ),
  );
  await post({});
  const working = work();
  await clock.advance(29_999);
  expect([reasons, await parts()]).toEqual([[], ["sending 1"]]);
  await clock.advance(1);
  expect(await working).toBe("the line broke");
  expect([reasons.length, await parts(), clock.armed()]).toEqual([1, ["sending 1"], 0]);
  expect(reasons[0]).toContain("the platform's answer");
});

test("a send ends with its lease, at once, and leaves no timer", async () => {
  const aborted = new AbortController();
  const { post, work, parts, clock } = await fixture(
    (_text, signal) =>
      new Promise((_done, fail) => signal.addEventListener("abort", () => fail(signal.reason as Error))),
  );
  await post({});
  const working = work(aborted);
  await clock.advance(10_000);
  aborted.abort(new Fault("conflict", "another holder has it"));
  expect([await working, await parts(), clock.armed()]).toEqual(["conflict", ["sending 1"], 0]);
});

test("a preview that was replaced, and an answer that was dropped, before they went out are not sent", async () => {
  const said: string[] = [];
  const { store, post, work, waits, clock, ends, states } = await fixture(async (text) => {
    said.push(text);
    return { messageId: "m" };
  });
  const preview = formatContent({ v: 1, kind: "preview", markdown: "so far" });
  await post({ id: "preview", open: true, parts: [{ content: preview }] });
  waits.push(1_000);
  const working = work();
  await clock.advance(0);
  await post({ id: "answer", closes: "preview", parts: [{ content: reply("all"), into: "preview/0" }] });
  await clock.advance(1_000);
  await working;
  expect(await work()).toBe("settled");
  expect([said.splice(0), ends.splice(0)]).toEqual([
    ["all"],
    [
      { afterMs: 0, reason: "the answer took the preview's place before it was sent", refund: true },
      { settled: true },
    ],
  ]);
  await post({ id: "long", parts: [{ content: reply(long) }] });
  waits.push(0, 1_000);
  const going = work();
  await clock.advance(0);
  await store.outbox.drop(["long"], "/stop");
  await clock.advance(1_000);
  await going;
  expect([said, ends]).toEqual([
    ["0".repeat(90)],
    [{ afterMs: 0, reason: "what was left of it is not to be sent", refund: true }],
  ]);
  expect((await states()).at(-1)).toBe('long sent {"messageId":"m"}, failed -, failed -');
});

test("an open preview stays at the head of its lane, and what is behind it waits", async () => {
  const { post, work, ends, states } = await fixture(async () => ({ messageId: "m" }));
  const preview = formatContent({ v: 1, kind: "preview", markdown: "so far" });
  await post({ id: "preview", open: true, parts: [{ content: preview }] }, { id: "behind" });
  await work();
  expect([ends, await states()]).toEqual([
    [{ settled: true }],
    ['preview sent {"messageId":"m"}', "behind queued -"],
  ]);
});

test.each([
  ["within a quarter of an hour once", 15 * minuteMs, ["sent flagged 3"]],
  ["later not at all", 15 * minuteMs + 1, ["ambiguous 2: it may have been written anew already"]],
])(
  "an edit of unknown outcome that is then refused becomes a new message %s",
  async (_when, ageMs, found) => {
    let acts = 0;
    const channel = {
      act: async () => {
        acts += 1;
        throw acts === 2 ? lost() : new Fault("missing", "no such message");
      },
    };
    const { post, work, parts, clock, ends } = await fixture(async () => ({ messageId: "m" }), { channel });
    const edits = { parts: [{ content: reply("new"), into: "d0/0" }] };
    await post({});
    await work();
    await post({ id: "first", ...edits });
    await work();
    // Once to edit, and once to take away what could not be edited.
    expect([await parts("first"), acts]).toEqual([["sent 1"], 2]);
    acts = 1;
    await post({ id: "next", ...edits });
    expect(await work()).toBe("the line broke");
    expect(ends.at(-1)).toEqual({ afterMs: 1_500, reason: "the line broke", refund: true });
    clock.jumpWall(ageMs);
    await work();
    expect(await parts("next")).toEqual(found);
  },
);

/** What a real channel throws where Telegram answers this. */
async function refusals() {
  const fake = await fakeTelegram();
  fake.bot(defaultToken);
  const channel = await telegram({
    account: "default",
    token: defaultToken,
    apiRoot: fake.url,
    mediaFolder: import.meta.dirname,
    clock: virtualClock({ startMs: Date.now() }),
    ids: seededIds(1),
    log: silentLog,
  });
  onTestFinished(async () => {
    await channel.stop();
    await fake.close();
  });
  const part = { kind: "text", text: "hi", entities: [], plain: "hi" } as const;
  return async (error_code: number, description: string, parameters: object = {}): Promise<Fault> => {
    const body = { ok: false, error_code, description, parameters };
    fake.inject({ method: "sendMessage", trouble: { kind: "answer", status: error_code, body } });
    const how = { idempotencyKey: description, signal: new AbortController().signal };
    return channel.send({ ...to, channel: "telegram" }, part, how).then(
      () => new Fault("invalid", "it was sent"),
      (error: Fault) => error,
    );
  };
}

test("a piece in which a platform sees nothing ends none behind it; an answer of nothing else is refused", async () => {
  const said = await refusals();
  const blank = await said(400, "Bad Request: message text is empty");
  const { post, work, parts, heard } = await fixture(meeting(() => blank));
  await post({ parts: [{ content: reply(long) }] });
  expect(await work()).toBe("settled");
  expect([await parts(), heard()]).toEqual([
    ["sent 1", "sent 1", "sent 1"],
    ["sent d0/0 m1", "sent d0/2 m3"],
  ]);
  const followed: unknown[] = [];
  const quiet = await fixture(async (_text, _signal, { follows }) => {
    followed.push(follows);
    if (followed.length === 2) throw blank;
    return { messageId: "m", extra: { quiet: "i1", thread: "7", opened: false, messageIds: ["m", "n"] } };
  });
  await quiet.post({ parts: [{ content: reply(long) }] });
  await quiet.work();
  expect(followed[2]).toEqual({ messageId: "", extra: { quiet: "i1", thread: "7" } });
  const alone = await fixture(() => Promise.reject(blank));
  await alone.post({});
  await alone.work();
  expect(await alone.parts()).toEqual([expect.stringMatching(/^failed 1: .*message text is empty$/)]);
});

test("what a platform says of a chat is kept: where it is now, and that it is closed", async () => {
  const said = await refusals();
  const moved = await said(400, "Bad Request: group chat was upgraded", { migrate_to_chat_id: -100 });
  const blocked = await said(403, "Forbidden: bot was blocked by the user");
  const gone = await said(400, "Bad Request: chat not found");
  const closedTopic = await said(400, "Bad Request: TOPIC_CLOSED");
  const topic: Address = { ...to, kind: "group", thread: "t" };
  const chat: Address = { ...to, kind: "group" };
  const meet = async (error: Fault, place: Address, channel: object = {}, content = reply("x")) => {
    const errors = [error];
    const met = async () => {
      const next = errors.shift();
      if (next !== undefined) throw next;
      return { messageId: "m" };
    };
    const { post, work, parts, heard, ends, store } = await fixture(met, { to: place, channel });
    await post({ parts: [{ content }] });
    await work();
    const closed = unreachableChats(store.cells);
    const reasons = await Promise.all(
      [chat, topic, { ...topic, thread: "u" }].map((each) => closed.reasonNow(each)),
    );
    const isClosed = reasons.map((reason) => (reason === error.message ? "closed" : reason));
    const told = heard().map((line) => line.replace(error.message, "WORDS"));
    return [(await parts()).map((line) => line.replace(error.message, "WORDS")), told, isClosed, ends];
  };
  const open = [null, null, null];
  const all = ["closed", "closed", "closed"];
  const failed = [["failed 1: WORDS"], ["trouble d0: WORDS"]];
  expect(await meet(moved, chat)).toEqual([
    ["queued 1: WORDS"],
    ["moved loopback:default 7 -100"],
    open,
    [{ afterMs: 0, reason: moved.message, refund: true }],
  ]);
  expect((await meet(blocked, topic)).slice(0, 3)).toEqual([...failed, all]);
  expect((await meet(gone, chat)).slice(0, 3)).toEqual([...failed, all]);
  expect((await meet(closedTopic, topic)).slice(0, 3)).toEqual([...failed, open]);
  // Where it stood in a thread of its own, that is no reason to close the chat.
  const inThread = formatContent({
    v: 1,
    kind: "act",
    action: { kind: "pin", messageId: "5", pinned: true },
    thread: "own",
  });
  const channel = {
    act: async () => {
      throw blocked;
    },
  };
  expect((await meet(blocked, chat, channel, inThread)).slice(0, 3)).toEqual([...failed, open]);
  // An edit that a closed chat refuses becomes no new message there.
  const { post, work, parts, places, store } = await fixture(async () => ({ messageId: "m" }), {
    to: chat,
    channel,
  });
  await post({});
  await work();
  await post({ id: "answer", parts: [{ content: reply("new"), into: "d0/0" }] });
  await work();
  expect([await parts("answer"), places.length, await unreachableChats(store.cells).reasonNow(chat)]).toEqual(
    [[`failed 1: ${blocked.message}`], 1, blocked.message],
  );
});
