// Tasks of a process of its own, which a test plays: how long it may take to start and to answer, what is
// told when it dies, which task gets which process, and that none is left behind.
import { isFault, type Clock } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { workerProcess } from "../src/worker-process.ts";

interface Said {
  readonly said: string;
  readonly pid: number;
}

function stage() {
  const clock = virtualClock();
  /** Each time for which something waited, in order. */
  const waits: number[] = [];
  const noted: Clock = {
    ...clock,
    after(ms, run) {
      waits.push(ms);
      return clock.after(ms, run);
    },
  };
  const worker = workerProcess<{ readonly does: string }, Said>({
    clock: noted,
    program: "../test/odd-worker",
    what: "riddles",
    taskMs: 5_000,
  });
  onTestFinished(() => worker.close());
  const run = (does: string, signal = new AbortController().signal): Promise<Said | string> =>
    worker
      .run({ does }, signal)
      .catch((error: unknown) => (isFault(error) ? `${error.code}: ${error.message}` : String(error)));
  return { clock, waits, worker, run };
}

test("a process has half a minute to start, and from then on its time for the task; then it is ended", async () => {
  const { clock, waits, worker, run } = stage();
  const over: unknown[] = [];
  const late = run("nothing").then((said) => void over.push(said));
  await clock.advance(29_999);
  expect([over, worker.processes()]).toEqual([[], 1]);
  await clock.advance(1);
  await late;
  expect([over.splice(0), worker.processes()]).toEqual([
    ["unavailable: the reader of riddles did not start"],
    0,
  ]);
  const slow = run("waits").then((said) => void over.push(said));
  await expect.poll(() => waits).toEqual([30_000, 30_000, 5_000]);
  await clock.advance(4_999);
  expect([over, worker.processes()]).toEqual([[], 1]);
  await clock.advance(1);
  await slow;
  expect([over, worker.processes(), clock.armed()]).toEqual([
    ["unsupported: it takes too long to be decoded"],
    0,
    0,
  ]);
});

test("tasks run one after the other in the same process; after one that died, was stopped or failed in another", async () => {
  const { clock, waits, worker, run } = stage();
  const stop = new AbortController();
  const [first, second, died, third] = await Promise.all(
    ["says one", "says two", "dies", "says three"].map((does) => run(does)),
  );
  const pidOf = (said: Said | string | undefined): number => (typeof said === "object" ? said.pid : 0);
  expect([first, second, died, third]).toEqual([
    { said: "one", pid: expect.any(Number) },
    { said: "two", pid: pidOf(first) },
    "unsupported: its decoder broke down over it",
    { said: "three", pid: expect.any(Number) },
  ]);
  expect([pidOf(third) === pidOf(first), worker.processes()]).toEqual([false, 1]);
  const stopped = run("waits", stop.signal);
  const after = run("says four");
  await expect.poll(() => waits.at(-1)).toBe(5_000);
  stop.abort();
  expect([await stopped, pidOf(await after) === pidOf(third)]).toEqual([
    "aborted: reading riddles was stopped",
    false,
  ]);
  expect([worker.processes(), clock.armed()]).toEqual([1, 1]);
  expect(await run("says five", stop.signal)).toBe("aborted: reading riddles was stopped");
  await worker.close();
  expect([worker.processes(), clock.armed()]).toEqual([0, 0]);
});
