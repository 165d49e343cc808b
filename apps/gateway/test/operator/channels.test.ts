// An operator's test message goes to the place that was named, once, through the outbox, and only by an
// account that there is.
import { expect, test } from "vitest";
import { unreachableChats } from "@parley/delivery";
import { formatRowPayload } from "@parley/protocol";
import { directMessage } from "@parley/testkit";
import { channelMethods } from "../../src/operator/channels.ts";
import { address, operateFixture, type OperateFixture } from "./operate-fixture.ts";

const key = "telegram:default:dm:7";

function methodsOf({ store }: OperateFixture, closed = unreachableChats(store.cells)) {
  return channelMethods({
    config: { agents: { list: [{ id: "main" }] } } as never,
    store,
    closed,
    wired: { channels: new Map([["telegram:default", 0] as const, ["telegram:work", 0] as const]) },
  });
}

test("the same key sends one message, which outbox.show follows to its receipt, also to a chat that was closed", async () => {
  const at = await operateFixture();
  const closed = unreachableChats(at.store.cells);
  const { "channels.test": send } = methodsOf(at, closed);
  await closed.close(address, "blocked");
  for (let ask = 0; ask < 2; ask += 1)
    expect(await send({ to: "telegram:7", idempotencyKey: "k" })).toEqual({
      id: "test:k",
      conversation: key,
    });
  expect(await closed.reason(address)).toBe(null);
  expect(await at.methods["outbox.show"]({ id: "test:k" })).toMatchObject({ state: "waiting" });
  const parcel = await at.store.outbox.take({
    holder: "boot",
    leaseMs: 30_000,
    maxRows: 20,
    pool: "telegram:default",
  });
  if ("idle" in parcel) throw new Error("nothing was queued");
  await at.store.outbox.record(parcel, [
    { delivery: "test:k", part: 0, to: "sending", attempt: 1 },
    { delivery: "test:k", part: 0, to: "sent", receipt: '{"messageId":"57"}' },
  ]);
  await at.store.outbox.release(parcel, { afterMs: 0, reason: "done" });
  expect(await at.methods["outbox.show"]({ id: "test:k" })).toMatchObject({
    conversation: key,
    state: "sent",
    text: "This is a test message of Parley: this account can write here.",
    parts: [{ messageId: "57" }],
  });
  await expect(at.methods["outbox.show"]({ id: "none" })).rejects.toMatchObject({ code: "missing" });
});

test.each([
  [{ to: "-100:topic:5", channel: "telegram", account: "work" }, "telegram:work:group:-100:5"],
  [{ to: "telegram:work:dm:9" }, "telegram:work:dm:9"],
  [{ to: "telegram:work:dm:9", channel: "telegram", account: "work" }, "telegram:work:dm:9"],
] as const)("%j means %s", async (params, conversation) => {
  const { "channels.test": send } = methodsOf(await operateFixture());
  expect(await send({ ...params, idempotencyKey: "k" })).toMatchObject({ conversation });
});

test.each([
  [{ to: "telegram:other:dm:9" }, "missing", "there are telegram:default, telegram:work"],
  [{ to: "discord:user:9" }, "missing", "there is no account discord:default here"],
  [{ to: "Eve" }, "invalid", 'to "Eve" is no conversation'],
  [{ to: "discord:user:9", channel: "telegram" }, "invalid", "is no conversation"],
  [{ to: "api:default:dm:9" }, "denied", "programs are answered"],
] as const)("%j is refused: %s", async (params, code, words) => {
  const at = await operateFixture();
  const { "channels.test": send } = methodsOf(at);
  await expect(send({ ...params, idempotencyKey: "k" })).rejects.toMatchObject({
    code,
    message: expect.stringContaining(words),
  });
  expect(await at.store.outbox.find({ limit: 1 })).toEqual([]);
});

test("the places are those where people wrote, the newest first, of the account that is asked for", async () => {
  const at = await operateFixture();
  await at.accept("1");
  const { "channels.places": places } = methodsOf(at);
  await at.take();
  expect((await places({})).places).toMatchObject([
    { conversation: key, channel: "telegram", account: "default", kind: "dm", names: ["Eve"], title: null },
  ]);
  expect((await places({ channel: "telegram", account: "work" })).places).toEqual([]);
});

test("a place that two agents know is told once, as it was used last", async () => {
  const at = await operateFixture();
  const says = async (id: string, agent: string, name: string) => {
    await at.clock.advance(1_000);
    const inbound = { ...directMessage({ text: "hi" }), address, sender: { id: "7", name, isBot: false } };
    await at.accept(id, {
      lane: `agent:${agent}:telegram:dm:7` as never,
      payload: formatRowPayload({ v: 1, inbound, owner: false }),
    });
    const turn = await at.take();
    await at.store.turns.commit(turn, turn.id, { outcome: "answered", entries: [] });
  };
  await says("1", "second", "Eve of old");
  await says("2", "main", "Eve");
  const { "channels.places": places } = channelMethods({
    config: { agents: { list: [{ id: "main" }, { id: "second" }] } } as never,
    store: at.store,
    closed: unreachableChats(at.store.cells),
    wired: { channels: new Map() },
  });
  expect(await places({})).toEqual({
    places: [
      {
        conversation: key,
        channel: "telegram",
        account: "default",
        kind: "dm",
        names: ["Eve"],
        title: null,
        lastAtMs: at.clock.now(),
      },
    ],
  });
});
