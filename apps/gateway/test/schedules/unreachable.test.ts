// What becomes of a job whose place may not be written to: it pauses and says so, or works on without being
// heard where its maker said that this is enough. A webhook of the second kind is called once.
import { silentLog, type Address } from "@parley/protocol";
import { readCall, runLog, sessionOfRuns, webhookPrefix } from "@parley/runner";
import { jobStore, newJob } from "@parley/schedules";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { callWebhooks } from "../../src/schedules/call-webhooks.ts";
import { fireJob } from "../../src/schedules/fire-job.ts";
import { slotCounts } from "../../src/schedules/slot-counts.ts";
import { watchSlots } from "../../src/schedules/watch-slots.ts";
import { memoryStore } from "../receive/store.ts";

const olga: Address = { channel: "telegram", account: "default", kind: "dm", peer: "olga" };

async function fired(bestEffort: boolean) {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  const jobs = jobStore(store.cells);
  const made = newJob(
    {
      name: "look",
      schedule: { kind: "every", every: "10m" },
      payload: { kind: "agentTurn", message: "look" },
      delivery: { kind: "announce", to: { ...olga, peer: "gone" }, bestEffort },
    },
    {
      nowMs: clock.now(),
      zone: "UTC",
      id: "look",
      agent: "main",
      owner: {
        kind: "operator",
        sender: null,
        isOwner: true,
        conversation: null,
        session: null,
        turn: null,
        authority: "owner",
        tools: null,
      },
    },
  );
  if (!made.ok) throw new Error(JSON.stringify(made.problems));
  await jobs.add(made.job);
  await clock.advance(600_000);
  const fire = fireJob({
    schedules: {
      jobs,
      log: runLog(store.cells, { retentionMs: 1e9, keepLines: 100 }),
      rightsNow: async () => ({ owner: true, authority: "owner" }),
    },
    store,
    agents: ["main"],
    running: { stop: () => false },
    reach: async ({ address }) => (address.peer === "gone" ? "this person may not write to the agent" : null),
    closedAt: async () => null,
    ownersAt: async () => [olga],
    keeping: () => null,
    sessionRetentionMs: 0,
    counts: slotCounts(),
    watches: watchSlots(async () => "", clock),
    clock,
    log: silentLog,
  });
  await fire("look");
  const rows = await store.inbox.find({ lane: sessionOfRuns(made.job), limit: 10 });
  const told = await store.outbox.find({ limit: 10 });
  const paused = (await jobs.get("look"))?.job.state.paused?.reason ?? null;
  return { rows, told, paused };
}

test("a job whose place is closed pauses, and its owners hear of it", async () => {
  const { rows, told, paused } = await fired(false);
  expect(rows).toEqual([]);
  expect(paused).toBe("its answer can not be delivered: this person may not write to the agent");
  expect(told.map(({ lane }) => lane)).toEqual(["telegram:default:dm:olga"]);
});

test("with bestEffort it works on, and its answer stays in its session", async () => {
  const { rows, told, paused } = await fired(true);
  expect(rows.map(({ conversation }) => conversation)).toEqual(["hook:default:dm:main%2Fcron-look"]);
  expect([told, paused]).toEqual([[], null]);
});

test.for([
  [true, 0],
  [false, 1],
] as const)("a webhook that is away, with bestEffort %s", async ([once, left]) => {
  const clock = virtualClock();
  const { cells } = await memoryStore(clock);
  const call = { v: 1, url: "https://a.example/", id: "cron:look:x", job: "look", body: "{}", tries: 0 };
  const value = JSON.stringify({ ...call, afterMs: 0, ...(once ? { once } : {}) });
  await cells.put(`${webhookPrefix}${call.id}`, value, {});
  let dialled = 0;
  const calls = callWebhooks({
    cells,
    async dial() {
      dialled += 1;
      return { status: 503, discard: () => {} } as never;
    },
    clock,
    log: silentLog,
  });
  await clock.advance(1_000);
  await calls.stop();
  const found = (await cells.list(webhookPrefix, 10)).map((cell) => readCall(cell.value)?.tries);
  expect([dialled, found]).toEqual([1, left === 1 ? [1] : []]);
});
