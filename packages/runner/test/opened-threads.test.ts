// What a call that opens a thread says of it, from its delivery alone, and how long it waits to say it.
import type { DeliveryView } from "@parley/store";
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import { nextLookAtMs, openedPlaces, openedThread } from "../src/messages/opened-threads.ts";

const delivery = (part: object | null, more: object = {}): DeliveryView =>
  ({
    id: "d1",
    lane: "discord:default:channel:55",
    cause: "agent:main:main#1",
    createdAtMs: 1_000,
    parts: part === null ? [] : [{ receipt: null, ...part }],
    ...more,
  }) as unknown as DeliveryView;
const receipt = (thread: unknown): string => JSON.stringify({ ids: ["m"], extra: { thread } });

test("the platform is looked at four times in six seconds, each once", () => {
  const looks = [0, 299, 300, 999, 1_000, 2_499, 2_500, 5_999, 6_000];
  expect(looks.map((afterMs) => nextLookAtMs(1_000, 1_000 + afterMs))).toEqual([
    1_300,
    1_300,
    2_000,
    2_000,
    3_500,
    3_500,
    7_000,
    7_000,
    null,
  ]);
});

test("a call says that its thread is open and how to write in it, on its way, unknown, or why it is not", () => {
  const states = [
    { state: "sent", receipt: receipt("99") },
    { state: "sent", receipt: receipt(99) },
    { state: "sent" },
    { state: "failed", reason: "no permission" },
    { state: "failed" },
    { state: "ambiguous", reason: "the line broke" },
    { state: "ambiguous" },
    { state: "waiting" },
    null,
  ];
  expect(answerTable(states, (part) => openedThread(delivery(part), 1_300))).toMatchInlineSnapshot(`
    "{"state":"sent","receipt":"{\\"ids\\":[\\"m\\"],\\"extra\\":{\\"thread\\":\\"99\\"}}"}
      {"text":"thread: opened, id 99. To write in it, give discord:channel:99 as \`to\`.\\nHandle: d1"}
    {"state":"sent","receipt":"{\\"ids\\":[\\"m\\"],\\"extra\\":{\\"thread\\":99}}"}
      {"text":"thread: opened.\\nHandle: d1"}
    {"state":"sent"}
      {"text":"thread: opened.\\nHandle: d1"}
    {"state":"failed","reason":"no permission"}
      throws unavailable: the thread could not be opened: no permission
    {"state":"failed"}
      throws unavailable: the thread could not be opened: the platform refused
    {"state":"ambiguous","reason":"the line broke"}
      {"text":"thread: nobody knows whether it was opened (the line broke).\\nHandle: d1"}
    {"state":"ambiguous"}
      {"text":"thread: nobody knows whether it was opened (no answer).\\nHandle: d1"}
    {"state":"waiting"}
      {"text":"thread: it is still on its way and opens by itself. Do not repeat it.\\nHandle: d1\\nTo write in it, give this handle as \`to\`.","waitsFor":{"ticket":"thread:d1","untilMs":2000}}
    null
      {"text":"thread: it is still on its way and opens by itself. Do not repeat it.\\nHandle: d1\\nTo write in it, give this handle as \`to\`.","waitsFor":{"ticket":"thread:d1","untilMs":2000}}
    "
  `);
  expect(openedThread(delivery({ state: "waiting" }), 7_000)).not.toHaveProperty("waitsFor");
});

test("a thread that the agent opened lies in the chat that it knows, with that one's server, and no other agent's", async () => {
  const asked: unknown[] = [];
  const part = { state: "sent", receipt: receipt("99") };
  const found = (...deliveries: readonly DeliveryView[]) =>
    openedPlaces({ find: async (what) => (asked.push(what), deliveries) }, { id: "99", agent: "main" }, [
      { address: { channel: "discord", account: "default", kind: "channel", peer: "55" }, guild: "77" },
      { address: { channel: "telegram", account: "default", kind: "group", peer: "-5" } },
    ] as never);
  const opened = delivery(part);
  const address = { channel: "discord", account: "default", kind: "channel", peer: "55", thread: "99" };
  expect(await found(opened, opened)).toEqual([{ address, guild: "77", parent: "55" }]);
  expect(asked).toEqual([{ receipt: '"thread":"99"', limit: 20 }]);
  expect([
    await found(delivery(part, { cause: "agent:mainly:main#1" })),
    await found(delivery({ ...part, receipt: receipt("999") })),
    await found(delivery(part, { lane: "discord:default:channel:56" })),
    await found(delivery(part, { lane: "discord:default:dm:55" })),
    await found(delivery(part, { lane: "telegram:default:group:-5" })),
  ]).toEqual([
    [],
    [],
    [],
    [],
    [{ address: { channel: "telegram", account: "default", kind: "group", peer: "-5", thread: "99" } }],
  ]);
});
