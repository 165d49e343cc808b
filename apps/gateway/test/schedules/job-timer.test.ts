// When the process's timer looks at jobs: the one that waited longest first, all at once when nobody is
// served, and a few at a time beside people.
import { silentLog } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { jobTimer } from "../../src/schedules/job-timer.ts";
import { keptLog } from "./log-lines.ts";

async function looks(leftMs: (sinceMs: number) => number | null) {
  const clock = virtualClock();
  const looked: string[] = [];
  const begunAt: number[] = [];
  let beganAtMs = -Infinity;
  const startMs = clock.now();
  const timer = jobTimer({
    cells: { list: async () => [] },
    isOn: () => true,
    async fire(id) {
      looked.push(id);
      begunAt.push(clock.now() - startMs);
      return clock.now() + 3_600_000;
    },
    pace: {
      leftMs: () => leftMs(clock.now() - beganAtMs),
      began: () => void (beganAtMs = clock.now()),
    },
    isShared: false,
    clock,
    log: silentLog,
  });
  await clock.advance(1);
  for (let nth = 0; nth < 10; nth += 1) timer.changed(`job-${nth}`);
  await clock.advance(1_000);
  await timer.stop();
  return { looked, begunAt };
}

test("when nobody is served, jobs that are due are looked at without a pause", async () => {
  const { looked, begunAt } = await looks(() => null);
  expect(looked).toHaveLength(10);
  expect(new Set(begunAt).size).toBe(1);
});

test("beside people four at a time, with the pause that the pace says, and none is left out", async () => {
  const { looked, begunAt } = await looks((sinceMs) => Math.max(0, 100 - sinceMs));
  expect(new Set(looked).size).toBe(10);
  const groups = [...new Set(begunAt)].map((at) => begunAt.filter((each) => each === at).length);
  expect(groups).toEqual([4, 4, 2]);
  expect((begunAt.at(-1) ?? 0) - (begunAt[0] ?? 0)).toBe(200);
});

/** A timer over jobs that a shared store lists, each with its next instant. */
async function over(isShared: boolean) {
  const clock = virtualClock();
  const startMs = clock.now();
  const { log, lines } = keptLog();
  const jobs = new Map<string, number | null>();
  const looked: [id: string, atMs: number][] = [];
  let [listed, isOn] = [0, true];
  let answer = async (_id: string): Promise<number | null> => null;
  const timer = jobTimer({
    cells: {
      async list(prefix) {
        listed += 1;
        return [...jobs].map(([id, nextMs]) => ({
          key: `${prefix}${id}`,
          version: 1,
          value: JSON.stringify({
            id,
            staggerMs: 0,
            enabled: true,
            schedule: { kind: "every" },
            state: { nextMs: nextMs === null ? null : startMs + nextMs, paused: null },
          }),
        })) as never;
      },
    },
    isOn: () => isOn,
    async fire(id) {
      looked.push([id, clock.now() - startMs]);
      return answer(id);
    },
    pace: { leftMs: () => null, began: () => {} },
    isShared,
    clock,
    log,
  });
  const answers = (how: typeof answer): void => void (answer = how);
  const turn = (on: boolean): void => void (isOn = on);
  return { clock, startMs, timer, jobs, looked, lines, answers, turn, listed: () => listed };
}

test("each job is looked at at its time, the one that waited longest first, and one that is over no more", async () => {
  const { clock, startMs, timer, looked, answers } = await over(false);
  await clock.advance(1);
  answers(async (id) => (id === "b" ? null : startMs + 90_000));
  timer.changed("b");
  timer.changed("a");
  await clock.advance(10);
  expect(looked.map(([id]) => id)).toEqual(["b", "a"]);
  expect(timer.nextAtMs()).toBe(startMs + 90_000);
  answers(async () => null);
  await clock.advance(600_000);
  expect(looked.slice(2)).toEqual([["a", 90_000]]);
  expect([timer.nextAtMs(), clock.armed()]).toEqual([null, 0]);
  await timer.stop();
});

test("a look that fails is told, holds up no other, and is made again five seconds later", async () => {
  const { clock, timer, looked, lines, answers } = await over(false);
  await clock.advance(1);
  let fails = true;
  answers(async (id) => {
    if (id === "bad" && fails) throw new Error("the store is away");
    return null;
  });
  timer.changed("bad");
  timer.changed("good");
  await clock.advance(4_000);
  fails = false;
  await clock.advance(4_000);
  expect(looked.map(([id]) => id)).toEqual(["bad", "good", "bad"]);
  expect((looked[2]?.[1] ?? 0) - (looked[0]?.[1] ?? 0)).toBe(5_000);
  expect(lines).toEqual([
    ["warn", "a schedule could not be looked at, trying again", { job: "bad", error: "the store is away" }],
  ]);
  await timer.stop();
});

test("of a shared store the jobs of others are seen within a minute, and those that went are forgotten", async () => {
  const { clock, startMs, timer, jobs, looked, listed, answers } = await over(true);
  answers(async (id) => {
    jobs.set(id, 10_000_000);
    return startMs + 10_000_000;
  });
  await clock.advance(1);
  expect([listed(), timer.nextAtMs()]).toEqual([1, null]);
  for (let nth = 0; nth < 201; nth += 1) jobs.set(`far${nth}`, 5_000_000 + nth);
  jobs.set("soon", 100_000);
  await clock.advance(59_000);
  expect(listed()).toBe(1);
  await clock.advance(31_000);
  expect([listed(), timer.nextAtMs()]).toEqual([2, startMs + 100_000]);
  jobs.delete("far0");
  await clock.advance(100_000);
  expect(looked).toEqual([["soon", 100_000]]);
  expect(timer.nextAtMs()).toBe(startMs + 5_000_001);
  jobs.set("far1", null);
  await clock.advance(120_000);
  expect(timer.nextAtMs()).toBe(startMs + 5_000_002);
  await timer.stop();
  expect(clock.armed()).toBe(0);
});

test("a store of one's own is read once, and nothing fires while schedules are off", async () => {
  const { clock, timer, looked, listed, turn } = await over(false);
  await clock.advance(1);
  turn(false);
  timer.changed("a");
  await clock.advance(300_000);
  expect(looked).toEqual([]);
  turn(true);
  await clock.advance(30_000);
  expect(looked.map(([id]) => id)).toEqual(["a"]);
  await clock.advance(3_600_000);
  expect(listed()).toBe(1);
  await timer.stop();
});

test("a list that cannot be read is told, and read again within half a minute", async () => {
  const clock = virtualClock();
  const { log, lines } = keptLog();
  let listed = 0;
  const timer = jobTimer({
    cells: {
      async list() {
        listed += 1;
        if (listed === 1) throw new Error("the store is away");
        return [];
      },
    },
    isOn: () => true,
    fire: async () => null,
    pace: { leftMs: () => null, began: () => {} },
    isShared: false,
    clock,
    log,
  });
  await clock.advance(29_999);
  expect(listed).toBe(1);
  await clock.advance(1);
  expect([listed, lines, clock.armed()]).toEqual([
    2,
    [["warn", "the schedules could not be looked at, trying again", { error: "the store is away" }]],
    0,
  ]);
  await timer.stop();
});

test("a change while a job is looked at wants another look, and the end waits for what is under way", async () => {
  const { clock, startMs, timer, looked, answers } = await over(false);
  await clock.advance(1);
  let end = (): void => {};
  answers(() => new Promise((resolve) => (end = () => resolve(startMs + 3_600_000))));
  timer.changed("a");
  await clock.advance(10);
  timer.changed("a");
  end();
  await clock.advance(10);
  expect(looked).toHaveLength(2);
  let isEnded = false;
  const ending = timer.stop().then(() => (isEnded = true));
  await clock.advance(10);
  expect(isEnded).toBe(false);
  end();
  await ending;
  await clock.advance(3_700_000);
  expect([looked.length, clock.armed()]).toEqual([2, 0]);
});
