// A lease in the hands of its holder: when it is renewed, how far it is covered, and what ends it.
import { expect, onTestFinished, test } from "vitest";
import { Fault } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { holdLease } from "../src/lease-handle.ts";

const lease = { lane: "a", token: 7, holder: "me" };

/** A lease of half a minute, and every question for more of it as "second for milliseconds". */
function held(answer: (asked: number) => Promise<number> = async (asked) => asked) {
  const clock = virtualClock();
  const asked: string[] = [];
  let times = 0;
  const extend = async (of: typeof lease, forMs: number): Promise<number> => {
    expect(of).toBe(lease);
    asked.push(`${clock.mono() / 1_000} for ${forMs}`);
    return answer((times += 1));
  };
  const handle = holdLease({ lanes: { extend }, lease, leaseMs: 30_000, clock });
  onTestFinished(() => {
    handle.end();
    expect(clock.armed()).toBe(0);
  });
  const since = (): readonly string[] => asked.splice(0);
  return { clock, handle, since };
}

test("it is renewed every third of its time for the whole of it, tells how many waited then, and no more once it ended", async () => {
  const { clock, handle, since } = held();
  expect(handle.waiting()).toBe(0);
  await clock.advance(20_000);
  expect([since(), handle.waiting()]).toEqual([["10 for 30000", "20 for 30000"], 2]);
  expect([await handle.renew(), handle.waiting(), since()]).toEqual([3, 3, ["20 for 30000"]]);
  handle.end();
  await clock.advance(60_000);
  expect(since()).toEqual([]);
});

test("it is extended only past its end, by as much again as it lasts, and no renewal shortens that", async () => {
  const { clock, handle, since } = held();
  await handle.cover(30_000);
  expect(since()).toEqual([]);
  await handle.cover(30_001);
  expect(since()).toEqual(["0 for 60001"]);
  await handle.cover(60_001);
  await clock.advance(10_000);
  expect(since()).toEqual(["10 for 50001"]);
  await handle.cover(50_001);
  expect(since()).toEqual([]);
  await clock.advance(30_000);
  expect(since()).toEqual(["20 for 40001", "30 for 30001", "40 for 30000"]);
});

test("an answer that takes its time does not make it longer: it counts from the question", async () => {
  let answers = (): void => {};
  const { clock, handle, since } = held(async (asked) => {
    if (asked === 1) await new Promise<void>((resolve) => (answers = resolve));
    return 0;
  });
  const covering = handle.cover(40_000);
  await clock.advance(5_000);
  answers();
  await covering;
  expect(since()).toEqual(["0 for 70000"]);
  await handle.cover(65_000);
  expect(since()).toEqual([]);
  await handle.cover(65_001);
  expect(since()).toEqual(["5 for 95001"]);
});

test("a lost one aborts the work with what the store said, and is asked for no more", async () => {
  const lost = new Fault("conflict", "the lease 7 on a is lost");
  const { clock, handle, since } = held(() => Promise.reject(lost));
  await clock.advance(10_000);
  expect(handle.signal.reason).toBe(lost);
  since();
  await expect(handle.renew()).rejects.toBe(lost);
  await expect(handle.cover(1)).rejects.toBe(lost);
  expect(since()).toEqual([]);
  handle.abort(new Fault("aborted", "the daemon is stopping"));
  expect(handle.signal.reason).toBe(lost);
});

test("one whose work is stopped is renewed until the work gives it back, and covers nothing new", async () => {
  const { clock, handle, since } = held();
  const stopping = new Fault("aborted", "the daemon is stopping");
  handle.abort(stopping);
  handle.abort(new Fault("aborted", "again"));
  await clock.advance(10_000);
  expect([since(), await handle.renew(), handle.signal.reason]).toEqual([["10 for 30000"], 2, stopping]);
  await expect(handle.cover(1)).rejects.toBe(stopping);
});
