// /compact given by an operator: it stands behind what was said, in the conversation that was used last.
import { conversationKey, parseRowPayload, systemClock, systemIds } from "@parley/protocol";
import { expect, test } from "vitest";
import { compactMethods } from "../../src/operator/sessions/compact.ts";
import { caller, lane, stage, taking } from "./web-stage.ts";

test("it waits behind what was said, is told there, and a repeat under its key stands there once", async () => {
  const { store, call } = await stage();
  const compact = compactMethods({ store, clock: systemClock(), ids: systemIds() })["sessions.compact"];
  const asked = { key: lane, focus: "names", idempotencyKey: "k" };
  await expect(compact(asked, caller)).rejects.toThrow("nobody wrote in");
  await call["chat.send"]({ text: "one", idempotencyKey: "1" }, caller);
  const first = await compact(asked, caller);
  expect(await compact(asked, caller)).toEqual(first);
  expect(await store.inbox.find({ lane: lane as never, limit: 9 })).toHaveLength(2);
  const said = await store.turns.take(taking);
  if ("idle" in said) throw new Error("there is no turn");
  await store.turns.commit(said, said.id, { outcome: "answered", entries: [] });
  const turn = await store.turns.take(taking);
  if ("idle" in turn) throw new Error("there is no turn");
  expect(turn.conversation).toBe(
    conversationKey({ channel: "web", account: "default", kind: "dm", peer: caller.peer }),
  );
  expect(parseRowPayload(turn.rows[0]?.payload ?? "").command).toMatchObject({
    name: "compact",
    args: "names",
  });
});
