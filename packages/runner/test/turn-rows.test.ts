// What a turn reads from its rows.
import { formatRowPayload, type Inbound } from "@parley/protocol";
import { directMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { showsWaiting } from "../src/turn-rows.ts";

test.each([
  ["a platform's own command", { kind: "command" }, true],
  ["a message", { kind: "message" }, false],
] as const)("a platform that shows who waits shows it for %s: %j", (_what, more, shown) => {
  const inbound: Inbound = { ...directMessage(), ...more };
  const row = { payload: formatRowPayload({ v: 1, inbound, owner: false }) };
  const asked: string[] = [];
  expect(showsWaiting(row, (account) => asked.push(account) > 0)).toBe(shown);
  expect(asked).toEqual(shown ? [`${inbound.channel}:${inbound.account}`] : []);
  expect(showsWaiting(row, () => false)).toBe(false);
});

test("nobody is shown waiting for a row whose words were not kept", () => {
  expect(showsWaiting({ payload: "" }, () => true)).toBe(false);
});
