// One conversation's deliveries under a lease, over a real outbox and a platform that answers as the test says.
import { loopback, type Channel } from "@parley/channels";
import {
  conversationKey,
  Fault,
  formatContent,
  silentLog,
  type Address,
  type Receipt,
} from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { sqliteStore, type NewDelivery } from "@parley/store";
import { expect, onTestFinished, test } from "vitest";
import { channelRender, deliverer, unreachableChats } from "../src/index.ts";

const to: Address = { channel: "loopback", account: "default", kind: "dm", peer: "7" };
const lane = conversationKey(to);
const reply = (markdown: string): string =>
  formatContent({ v: 1, kind: "reply", parts: [{ kind: "text", markdown }] });

async function fixture(send: (text: string, signal: AbortSignal) => Promise<Receipt>, acts = true) {
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
  const settled: (readonly string[])[] = [];
  const channel = {
    name: "loopback",
    account: "default",
    capabilities: {
      ...loopback({ account: "default", clock }).capabilities,
      textChars: 100,
      idempotentSends: false,
    },
    send: (_to: Address, part: { readonly plain: string }, { signal }: { readonly signal: AbortSignal }) =>
      send(part.plain, signal),
    ...(acts ? { act: async (_to: Address, action: unknown) => (acted.push(action), null) } : {}),
    settle: async (events: readonly string[]) => void settled.push(events),
    health: () => ({ state: "ok" }),
  } as unknown as Channel;
  const waits: number[] = [];
  const deliver = deliverer({
    outbox: store.outbox,
    channel: () => channel,
    moved: { current: (address) => address, learn: async () => {} },
    closed: unreachableChats(store.cells),
    render: channelRender,
    rateLimit: { reserve: () => waits.shift() ?? 0, limited() {} },
    clock,
    log: silentLog,
    rowsOf: async (cause) => [
      { id: `row of ${cause}`, conversation: conversationKey(to) },
      { id: `another of ${cause}`, conversation: conversationKey({ ...to, peer: "elsewhere" }) },
    ],
    onTrouble: () => {},
    onFailed: () => {},
    onSent: () => {},
  });
  const post = (...deliveries: readonly Partial<NewDelivery>[]) =>
    store.outbox.post(
      deliveries.map((each, n) => ({
        id: `d${n}`,
        pool: "loopback:default",
        lane,
        cause: "turn",
        parts: [{ content: reply("x") }],
        ...each,
      })),
    );
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
      async cover() {
        if (aborted.signal.aborted) throw aborted.signal.reason;
      },
    }).then(
      (found) => ("reason" in found ? found.reason : "settled"),
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
  return { store, clock, acted, settled, waits, post, work, states };
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
