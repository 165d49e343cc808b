// A write that the store cannot take now: repeated while that may pass, and never where it may have been
// done.
import { expect, test } from "vitest";
import { Fault } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { untilStored } from "../src/index.ts";

const away = new Fault("unavailable", "the disk is full");

function trying(answers: readonly (Error | string)[]) {
  const clock = virtualClock();
  const controller = new AbortController();
  const left = [...answers];
  const triedAtMs: number[] = [];
  const ended = untilStored({ signal: controller.signal }, clock, async () => {
    triedAtMs.push(clock.mono());
    const answer = left.shift() ?? away;
    if (answer instanceof Error) throw answer;
    return answer;
  });
  return { clock, controller, triedAtMs, ended };
}

test("it is repeated every half second until the store takes it", async () => {
  const { clock, triedAtMs, ended } = trying([away, away, "stored"]);
  await clock.advance(2_000);
  expect([await ended, triedAtMs, clock.armed()]).toEqual(["stored", [0, 500, 1_000], 0]);
});

test.each(["ambiguous", "conflict", "rate_limited", "invalid"] as const)(
  "what is %s goes to the caller at once",
  async (code) => {
    const { triedAtMs, ended } = trying([new Fault(code, "no"), "stored"]);
    await expect(ended).rejects.toMatchObject({ code });
    expect(triedAtMs).toEqual([0]);
  },
);

test("a bug goes to the caller at once, too", async () => {
  await expect(trying([new TypeError("no")]).ended).rejects.toThrow(TypeError);
});

test("work that is aborted waits no more: it tries once, and says what it met", async () => {
  const { clock, controller, triedAtMs, ended } = trying([]);
  const met = expect(ended).rejects.toBe(away);
  await clock.advance(600);
  controller.abort();
  await met;
  expect([triedAtMs, clock.armed()]).toEqual([[0, 500, 600], 0]);
});
