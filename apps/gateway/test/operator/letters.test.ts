// Dead letters and answers that did not arrive: tried again as copies, once for each ask, or taken off the
// list.
import { expect, test } from "vitest";
import { unreachableChats } from "@parley/delivery";
import { deadMethods } from "../../src/operator/dead.ts";
import { address, lane, operateFixture, rowId, type OperateFixture } from "./operate-fixture.ts";

async function dead(at: OperateFixture, id: string): Promise<string> {
  await at.accept(id);
  const turn = await at.take();
  await at.store.turns.commit(turn, turn.id, { outcome: "dead", reason: "a bug: boom", entries: [] });
  return rowId(id);
}

test("a dead message is accepted again as a copy that means the same, once", async () => {
  const at = await operateFixture();
  const id = await dead(at, "1");
  expect((await at.methods["dead.list"]({})).rows).toMatchObject([
    { id, reason: "a bug: boom", text: "words 1" },
  ]);
  for (let ask = 0; ask < 2; ask += 1)
    expect(await at.methods["dead.retry"]({ id })).toEqual({ id: `${id}~2` });
  expect((await at.methods["dead.list"]({})).rows).toEqual([]);
  const turn = await at.take();
  expect(turn).toMatchObject({ lane, authority: "member", rows: [{ id: `${id}~2` }] });
  const [first] = await at.store.inbox.find({ id, dismissed: true, limit: 1 });
  expect(turn.rows[0]).toMatchObject({ payload: first?.payload, conversation: first?.conversation });
  expect(first?.outcome).toBe("dead");
  await at.store.turns.commit(turn, turn.id, { outcome: "dead", reason: "again", entries: [] });
  expect(await at.methods["dead.retry"]({ id: `${id}~2` })).toEqual({ id: `${id}~3` });
});

test("a dead message is dropped once; what is not dead, not there or not readable is refused in words", async () => {
  const at = await operateFixture();
  const id = await dead(at, "1");
  expect(await at.methods["dead.drop"]({ id })).toEqual({ id });
  await expect(at.methods["dead.drop"]({ id })).rejects.toMatchObject({
    code: "conflict",
    message: `"${id}" was dropped or retried before`,
  });
  await at.accept("2");
  for (const act of ["dead.retry", "dead.drop"] as const) {
    await expect(at.methods[act]({ id: rowId("2") })).rejects.toMatchObject({
      code: "conflict",
      message: `"${rowId("2")}" is not dead: it is waiting`,
    });
    await expect(at.methods[act]({ id: "none" })).rejects.toMatchObject({
      code: "missing",
      message: 'there is no message "none" (any more); "parley dead list" shows them',
    });
  }
  await at.accept("3", {
    payload: '{"strange":',
    as: { kind: "closed", outcome: "dead", reason: "unreadable" },
  });
  expect((await at.methods["dead.list"]({})).rows).toMatchObject([{ text: '{"strange":', sender: null }]);
  await expect(at.methods["dead.retry"]({ id: rowId("3") })).rejects.toMatchObject({
    code: "unsupported",
    message: `"${rowId("3")}" cannot be retried: it is of a form that this version cannot read. "parley dead drop" takes it off the list`,
  });
  // It may be dropped all the same.
  expect(await at.methods["dead.drop"]({ id: rowId("3") })).toEqual({ id: rowId("3") });
});

async function failed(at: OperateFixture): Promise<void> {
  const parcel = await at.deliver("t/0", "t", "one", "two", "three");
  const name = { delivery: "t/0" };
  await at.store.outbox.record(parcel, [
    { ...name, part: 0, to: "sending", attempt: 1 },
    { ...name, part: 0, to: "sent", receipt: '{"messageId":"1"}' },
    { ...name, part: 1, to: "sending", attempt: 1 },
    { ...name, part: 1, to: "failed", reason: "chat not found" },
    { ...name, part: 2, to: "failed", reason: "an earlier part failed" },
  ]);
  await at.store.outbox.release(parcel, { afterMs: 0, reason: "done" });
}

test("only what did not arrive is sent again, and asking twice sends it once; a closed chat opens", async () => {
  const at = await operateFixture();
  await failed(at);
  await unreachableChats(at.store.cells).close(address, "blocked");
  expect((await at.methods["outbox.list"]({ troubled: true })).deliveries).toMatchObject([
    { id: "t/0", state: "failed" },
  ]);
  for (let ask = 0; ask < 2; ask += 1)
    expect(await at.methods["outbox.retry"]({ id: "t/0" })).toEqual({ id: "t/0~2" });
  expect(await unreachableChats(at.store.cells).reason(address)).toBeNull();
  expect((await at.methods["outbox.list"]({ troubled: true })).deliveries).toEqual([]);
  const { deliveries } = await at.methods["outbox.list"]({});
  expect(deliveries).toMatchObject([
    { id: "t/0~2", cause: "t", state: "waiting", text: "two three", parts: { length: 2 } },
  ]);
  await expect(at.methods["outbox.retry"]({ id: "t/0~2" })).rejects.toMatchObject({
    code: "conflict",
    message: '"t/0~2" is still being delivered; it needs no retry',
  });
});

test("a delivery is dropped, waiting or failed, once; one conversation can be listed alone", async () => {
  const at = await operateFixture();
  await failed(at);
  await at.clock.advance(1);
  await at.deliver("u/0", "u", "waits");
  const { deliveries } = await at.methods["outbox.list"]({ lane: "telegram:default:dm:7" });
  expect(deliveries.map(({ id }) => id)).toEqual(["u/0", "t/0"]);
  expect((await at.methods["outbox.list"]({ lane: "telegram:default:dm:8" })).deliveries).toEqual([]);
  for (const id of ["t/0", "u/0"]) expect(await at.methods["outbox.drop"]({ id })).toEqual({ id });
  expect((await at.methods["outbox.list"]({})).deliveries).toEqual([]);
  await expect(at.methods["outbox.drop"]({ id: "t/0" })).rejects.toMatchObject({
    code: "conflict",
    message: '"t/0" was sent or dropped before',
  });
  for (const act of ["outbox.drop", "outbox.retry", "outbox.show"] as const)
    await expect(at.methods[act]({ id: "none" })).rejects.toMatchObject({
      code: "missing",
      message: 'there is no delivery "none" (any more); "parley outbox list" shows them',
    });
});

test("a copy is of the same pool, lane, conversation and rights as the first one, whatever these are", async () => {
  const accepted: unknown[] = [];
  const dismissed: unknown[] = [];
  const at = await operateFixture();
  const payload = { v: 1, owner: true, inbound: { channel: "discord", account: "work" } };
  await at.accept("1");
  const [kept] = await at.store.inbox.find({ limit: 1 });
  const { inbound } = JSON.parse(kept?.payload ?? "") as { readonly inbound: object };
  const text = JSON.stringify({ ...payload, inbound: { ...inbound, ...payload.inbound } });
  const row = {
    id: "discord:work:9~4",
    subject: "s",
    version: 3,
    pool: "cron",
    lane: "agent:second:discord:channel:5",
    conversation: "discord:work:channel:5",
    authority: "owner",
    payload: text,
    state: "ended",
    outcome: "dead",
    turn: "t",
  };
  const asked: unknown[] = [];
  const { retry, drop } = deadMethods({
    find: async (how: object) => (asked.push(how), [row]),
    accept: async (rows: readonly object[]) => (accepted.push(...rows), []),
    dismiss: async (ids: readonly string[]) => (dismissed.push(ids), 1),
  } as never);
  expect(await retry({ id: row.id })).toEqual({ id: "discord:work:9~5" });
  expect(accepted).toEqual([
    {
      id: "discord:work:9~5",
      pool: "cron",
      lane: "agent:second:discord:channel:5",
      conversation: "discord:work:channel:5",
      authority: "owner",
      as: { kind: "work" },
      payload: text,
    },
  ]);
  expect(await drop({ id: row.id })).toEqual({ id: row.id });
  expect([asked, dismissed]).toEqual([
    [
      { id: row.id, dismissed: true, limit: 1 },
      { id: row.id, dismissed: true, limit: 1 },
    ],
    [[row.id], [row.id]],
  ]);
});
