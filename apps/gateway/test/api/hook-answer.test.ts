// How long a webhook's caller waits for the end of its call, and what it is told when that does not come.
import { Fault, noUsage } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { hookAnswers } from "../../src/api/hook-answer.ts";

const again = "call again under the same Idempotency-Key to wait on";
const pending = (why: string) => ({ status: "pending", reason: `${why}; ${again}` });

function world() {
  const clock = virtualClock();
  const closing = new AbortController();
  const asked: string[] = [];
  const ends: { readonly resolve: (answer: never) => void; readonly reject: (error: unknown) => void }[] = [];
  const answers = hookAnswers({
    requests: {
      answer: (id, signal) =>
        new Promise((resolve, reject) => {
          asked.push(id);
          ends.push({ resolve: resolve as never, reject });
          signal.addEventListener("abort", () => reject(new Fault("aborted", "nobody waits")));
        }),
    },
    closing: closing.signal,
    clock,
  });
  return { clock, closing, asked, ends, answers };
}
const here = (): AbortSignal => new AbortController().signal;

test("an end is told as well where it was answered or silent, as an error otherwise, and no timer is left", async () => {
  const { answers, ends, asked, clock } = world();
  const told = async (outcome: string) => {
    const waiting = answers.of(`row ${outcome}`, here());
    ends.at(-1)?.resolve({ outcome, text: `t ${outcome}`, reason: `r ${outcome}`, usage: noUsage } as never);
    return waiting;
  };
  for (const [outcome, status] of [
    ["answered", "ok"],
    ["silent", "ok"],
    ["dead", "error"],
    ["refused", "error"],
    ["stopped", "error"],
  ] as const)
    expect(await told(outcome)).toEqual({ status, outcome, text: `t ${outcome}`, reason: `r ${outcome}` });
  expect(asked).toEqual(["answered", "silent", "dead", "refused", "stopped"].map((end) => `row ${end}`));
  expect(clock.armed()).toBe(0);
});

test("nobody waits longer than ten minutes, for an approval, after having left, or for a gateway that closes", async () => {
  const { answers, ends, clock, closing } = world();
  let told: unknown = null;
  const late = answers.of("a", here());
  void late.then((answer) => (told = answer));
  await clock.advance(599_999);
  expect(told).toBeNull();
  await clock.advance(1);
  expect(await late).toEqual(pending("it is not done yet"));
  const parked = answers.of("b", here());
  ends.at(-1)?.reject(new Fault("conflict", "parked"));
  expect(await parked).toEqual(pending("the agent waits for somebody's approval"));
  const broken = answers.of("c", here());
  ends.at(-1)?.reject(new Fault("missing", "nothing is known of it"));
  await expect(broken).rejects.toThrow("nothing is known of it");
  const left = new AbortController();
  const gone = answers.of("d", left.signal);
  left.abort();
  expect(await gone).toEqual(pending("it is not done yet"));
  const last = answers.of("e", here());
  closing.abort();
  expect(await last).toEqual(pending("it is not done yet"));
  expect(clock.armed()).toBe(0);
});

test("32 wait at once; one more is told so, and may as soon as one of them ended", async () => {
  const { answers, ends } = world();
  const all = Array.from({ length: 32 }, (_, n) => answers.of(`${n}`, here()));
  expect(await answers.of("more", here())).toEqual(pending("32 callers wait already"));
  ends[0]?.reject(new Fault("conflict", "parked"));
  await all[0];
  const next = answers.of("next", here());
  expect(ends).toHaveLength(33);
  for (const { reject } of ends) reject(new Fault("conflict", "parked"));
  expect(await next).toMatchObject({ status: "pending" });
});
