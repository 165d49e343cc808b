// The webhooks of jobs: what is sent, when it is sent again, and when nobody tries any more.
import { Fault } from "@parley/protocol";
import { readCall, webhookPrefix, writtenCall, type WebhookCall } from "@parley/runner";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { callWebhooks, type Dial } from "../../src/schedules/call-webhooks.ts";
import { memoryStore } from "../receive/store.ts";
import { keptLog } from "./log-lines.ts";

type Answer = number | Error;

async function world(answers: readonly Answer[], calls: readonly Partial<WebhookCall>[] = [{}]) {
  const clock = virtualClock();
  const { cells } = await memoryStore(clock);
  const startMs = clock.now();
  const { log, lines } = keptLog();
  const put = async (more: Partial<WebhookCall>): Promise<void> => {
    const url = "https://a.example/hook";
    const call = {
      v: 1,
      url,
      id: "cron:look:1",
      job: "look",
      body: "{}",
      tries: 0,
      afterMs: 0,
      ...more,
    } as const;
    const { key, value, ttlMs } = writtenCall(call);
    await cells.put(key, value ?? "", ttlMs === undefined ? {} : { ttlMs });
  };
  for (const call of calls) await put(call);
  const asked: Parameters<Dial>[0][] = [];
  const atMs: number[] = [];
  let [underWay, most, discarded] = [0, 0, 0];
  const work = callWebhooks({
    cells,
    async dial(request) {
      asked.push(request);
      atMs.push(clock.now() - startMs);
      const answer = answers[Math.min(asked.length, answers.length) - 1];
      underWay += 1;
      most = Math.max(most, underWay);
      await Promise.resolve();
      underWay -= 1;
      if (answer instanceof Error) throw answer;
      return { status: answer, discard: () => void (discarded += 1) } as never;
    },
    clock,
    log,
  });
  const left = async () => (await cells.list(webhookPrefix, 500)).map(({ value }) => readCall(value));
  return {
    clock,
    cells,
    startMs,
    asked,
    atMs,
    lines,
    left,
    put,
    work,
    most: () => most,
    discarded: () => discarded,
  };
}

test("a call is made once, with the slot as its key, and its answer is let go of", async () => {
  const { clock, asked, left, lines, discarded } = await world([204]);
  await clock.advance(86_400_000);
  expect(asked).toEqual([
    {
      url: "https://a.example/hook",
      method: "POST",
      body: "{}",
      headers: {
        "content-type": "application/json",
        "idempotency-key": "cron:look:1",
        "x-parley-job": "look",
      },
      limits: { totalMs: 10_000, bodyBytes: 65_536, redirects: 0 },
    },
  ]);
  expect([await left(), lines, discarded(), clock.armed()]).toEqual([
    [],
    [["info", "the webhook of a job was called", { job: "look", slot: "cron:look:1" }]],
    1,
    0,
  ]);
});

test("a receiver that is away is called again after longer and longer, and one that takes it ends that", async () => {
  const away = new Fault("unavailable", "nobody answers");
  const { clock, atMs, left, lines } = await world([500, 408, 429, away, 599, 503, 200]);
  await clock.advance(20_000);
  expect(await left()).toMatchObject([{ tries: 1, id: "cron:look:1" }]);
  await clock.advance(86_400_000);
  const pauses = [30, 60, 300, 900, 3_600, 3_600].map((seconds) => seconds * 1_000);
  expect(atMs.map((at, nth) => at - (atMs[nth - 1] ?? at))).toEqual([0, ...pauses]);
  const again = (why: string, pauseMs: number) => [
    "info",
    "the webhook of a job is called again",
    { job: "look", slot: "cron:look:1", why, pauseMs },
  ];
  const whys = [
    "it answered 500",
    "it answered 408",
    "it answered 429",
    "nobody answers",
    "it answered 599",
    "it answered 503",
  ];
  expect(lines).toEqual([
    ...whys.map((why, nth) => again(why, pauses[nth] ?? 0)),
    ["info", "the webhook of a job was called", { job: "look", slot: "cron:look:1" }],
  ]);
  expect(await left()).toEqual([]);
});

test.for([
  [301, "it answered 301"],
  [400, "it answered 400"],
  [404, "it answered 404"],
  [499, "it answered 499"],
  [199, "it answered 199"],
  [new Fault("denied", "a private address"), "a private address"],
  [new Fault("invalid", "no address"), "no address"],
] as const)("one that refuses (%s) is not called again", async ([answer, why]) => {
  const { clock, asked, left, lines } = await world([answer]);
  await clock.advance(86_400_000);
  expect([asked.length, await left()]).toEqual([1, []]);
  expect(lines).toEqual([["warn", "the webhook of a job failed", { job: "look", slot: "cron:look:1", why }]]);
});

test("a receiver that is away is called for a day after the run, and then given up", async () => {
  const { clock, put, atMs, left, lines, work, startMs } = await world([500], []);
  await put({ untilMs: startMs + 86_400_000 });
  work.look();
  await clock.advance(5 * 86_400_000);
  expect(atMs.every((at) => at <= 86_400_000)).toBe(true);
  expect(atMs.at(-1)).toBeGreaterThan(86_400_000 - 3_600_000);
  expect(await left()).toEqual([]);
  expect(lines.at(-1)).toEqual([
    "warn",
    "the webhook of a job failed",
    { job: "look", slot: "cron:look:1", why: "it answered 500" },
  ]);
});

test("the others wait for none: each has its own time, eight are called at once, and none is left out", async () => {
  const many = Array.from({ length: 20 }, (_, nth) => ({ id: `cron:look:${String(nth).padStart(2, "0")}` }));
  const later = { id: "cron:late:1", afterMs: Date.UTC(2026, 0, 1) + 100_000 };
  const { clock, asked, atMs, left, most } = await world([200], [...many, later]);
  await clock.advance(99_999);
  expect([asked.length, most(), (await left()).map((call) => call?.id)]).toEqual([20, 8, ["cron:late:1"]]);
  await clock.advance(1);
  expect([asked.at(-1)?.headers?.["idempotency-key"], atMs.at(-1)]).toEqual(["cron:late:1", 100_000]);
});

test("a run that ends is heard of, and a call that comes while others are made is made too", async () => {
  const { clock, asked, put, work } = await world([200], []);
  await clock.advance(1_000);
  await put({ id: "cron:look:2" });
  await clock.advance(60_000);
  expect(asked).toEqual([]);
  work.look();
  await put({ id: "cron:look:3" });
  work.look();
  await clock.advance(1);
  expect(asked.map(({ headers }) => headers?.["idempotency-key"])).toEqual(["cron:look:2", "cron:look:3"]);
});

test("a store that is away is asked again, and the end stops both calls and waiting", async () => {
  const clock = virtualClock();
  const { log, lines } = keptLog();
  let asked = 0;
  const work = callWebhooks({
    cells: {
      async list() {
        asked += 1;
        if (asked === 1) throw new Error("the store is away");
        const call = { v: 1, url: "https://a.example/", id: "s", job: "j", body: "", tries: 0, afterMs: 0 };
        return [{ key: `${webhookPrefix}s`, value: JSON.stringify(call), version: 1 }] as never;
      },
      put: async () => ({}) as never,
      remove: async () => true,
    },
    dial: (_request, signal) =>
      new Promise((_resolve, reject) =>
        signal?.addEventListener("abort", () => reject(new Fault("aborted", "it ended"))),
      ),
    clock,
    log,
  });
  await clock.advance(29_999);
  expect([asked, lines]).toEqual([
    1,
    [["warn", "webhooks of jobs could not be looked at, trying again", { error: "the store is away" }]],
  ]);
  await clock.advance(1);
  expect(asked).toBe(2);
  await work.stop();
  expect([asked, clock.armed()]).toEqual([2, 0]);
  work.look();
  await clock.advance(3_600_000);
  expect([asked, clock.armed()]).toEqual([2, 0]);
});

test("one that never answers is let go after ten seconds, and called again", async () => {
  const clock = virtualClock();
  const { cells } = await memoryStore(clock);
  const { log, lines } = keptLog();
  const { key, value } = writtenCall({
    v: 1,
    url: "https://a.example/",
    id: "s",
    job: "j",
    body: "",
    tries: 4,
    afterMs: 0,
  });
  await cells.put(key, value ?? "", {});
  const work = callWebhooks({
    cells,
    dial: (_request, signal) =>
      new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason))),
    clock,
    log,
  });
  await clock.advance(9_999);
  expect(lines).toEqual([]);
  await clock.advance(1);
  expect(lines).toMatchObject([["info", "the webhook of a job is called again", { pauseMs: 3_600_000 }]]);
  await work.stop();
});
