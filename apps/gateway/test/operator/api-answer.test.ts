// A program's answer is what a person would have read: all that was said, in the order it was said.
import { textDelivery } from "@parley/delivery";
import { expect, test } from "vitest";
import { apiRequests } from "../../src/api/api-requests.ts";
import { address, operateFixture, rowId } from "./operate-fixture.ts";

test("an answer of several messages comes whole and in order", async () => {
  const at = await operateFixture();
  const requests = apiRequests({
    receive: async () => [] as never,
    isOpen: () => true,
    inbox: at.store.inbox,
    turns: at.store.turns,
    outbox: at.store.outbox,
    hub: { follow: () => () => {} },
    wake: async () => {},
    sessions: at.store.sessions,
    hookRetentionMs: () => 0,
    clock: at.clock,
  });
  await at.accept("1");
  const turn = await at.take();
  await at.store.turns.checkpoint(turn, 0, {
    steps: [{ kind: "model", body: "{}" }],
    deliveries: [textDelivery(`${turn.id}/0`, address, "first", turn.id)],
  });
  await at.clock.advance(1_000);
  await at.store.turns.commit(turn, turn.id, {
    outcome: "answered",
    entries: [],
    deliveries: [
      textDelivery(`${turn.id}/1`, address, "second", turn.id),
      textDelivery(`${turn.id}/2`, address, "third", turn.id),
    ],
  });
  expect(await requests.answer(rowId("1"), new AbortController().signal)).toMatchObject({
    outcome: "answered",
    text: "first\n\nsecond\n\nthird",
  });
});
