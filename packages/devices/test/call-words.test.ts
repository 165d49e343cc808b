// What a turn reads of a call: each state, each kind of answer, with all that it may bring.
import { answerTable } from "@parley/testkit";
import { expect, test } from "vitest";
import type { DeviceCall } from "../src/index.ts";
import { told } from "../src/call-words.ts";

const call = (more: object): DeviceCall =>
  ({
    id: "c1",
    name: "phone",
    request: { command: "camera.snap" },
    state: "done",
    untilMs: 60_000,
    ...more,
  }) as never;
const result = (more: object): object => ({ result: { ok: true, text: "Done.", ...more } });

test("every end of a call is told in its words", () => {
  const calls = [
    { state: "revoked" },
    { state: "revoked", ...result({}) },
    { state: "withdrawn" },
    { state: "open" },
    { state: "open", ...result({}) },
    { state: "done" },
    result({}),
    result({ ok: false, text: "no camera" }),
    result({ picture: { path: "a.png", mediaType: "image/png" } }),
    result({ picture: { refused: "too large" } }),
    result({ sound: { refused: "no room" } }),
    result({ sound: { path: "a.webm", words: null } }),
    result({ sound: { path: "a.webm", words: "" } }),
    result({ sound: { path: "a.webm", words: "hello" } }),
    result({ picture: { refused: "odd" }, sound: { path: "b.ogg", words: "both" } }),
  ];
  expect(answerTable(calls, (each) => told(call(each)))).toMatchInlineSnapshot(`
    "{"state":"revoked"}
      {"text":"camera.snap on phone: the device, or its grant for this, was put out before it answered. It may have begun.","isError":true}
    {"state":"revoked","result":{"ok":true,"text":"Done."}}
      {"text":"camera.snap on phone: the device, or its grant for this, was put out before it answered. It may have begun.","isError":true}
    {"state":"withdrawn"}
      {"text":"camera.snap on phone was withdrawn.","isError":true}
    {"state":"open"}
      {"text":"camera.snap on phone: no answer until 1970-01-01T00:01:00.000Z. If the device was connected it may have begun; one that was asleep does not do it any more.","isError":true}
    {"state":"open","result":{"ok":true,"text":"Done."}}
      {"text":"camera.snap on phone: no answer until 1970-01-01T00:01:00.000Z. If the device was connected it may have begun; one that was asleep does not do it any more.","isError":true}
    {"state":"done"}
      {"text":"camera.snap on phone: no answer until 1970-01-01T00:01:00.000Z. If the device was connected it may have begun; one that was asleep does not do it any more.","isError":true}
    {"result":{"ok":true,"text":"Done."}}
      {"text":"Done.","source":"device phone"}
    {"result":{"ok":false,"text":"no camera"}}
      {"text":"no camera","isError":true,"source":"device phone"}
    {"result":{"ok":true,"text":"Done.","picture":{"path":"a.png","mediaType":"image/png"}}}
      {"text":"Done.","picture":{"path":"a.png","mediaType":"image/png"},"source":"device phone"}
    {"result":{"ok":true,"text":"Done.","picture":{"refused":"too large"}}}
      {"text":"Done.\\n[not shown: too large]","source":"device phone"}
    {"result":{"ok":true,"text":"Done.","sound":{"refused":"no room"}}}
      {"text":"Done.\\n[not kept: no room]","source":"device phone"}
    {"result":{"ok":true,"text":"Done.","sound":{"path":"a.webm","words":null}}}
      {"text":"Done.\\nKept as a.webm.","source":"device phone"}
    {"result":{"ok":true,"text":"Done.","sound":{"path":"a.webm","words":""}}}
      {"text":"Done.\\nKept as a.webm.\\nNothing was said in it.","source":"device phone"}
    {"result":{"ok":true,"text":"Done.","sound":{"path":"a.webm","words":"hello"}}}
      {"text":"Done.\\nKept as a.webm.\\nIt says: hello","source":"device phone"}
    {"result":{"ok":true,"text":"Done.","picture":{"refused":"odd"},"sound":{"path":"b.ogg","words":"both"}}}
      {"text":"Done.\\n[not shown: odd]\\nKept as b.ogg.\\nIt says: both","source":"device phone"}
    "
  `);
});
