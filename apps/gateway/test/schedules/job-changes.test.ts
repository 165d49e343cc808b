// Who hears that a job or a call was written: this process's timer each time, the others once, and nobody of
// anything else.
import { virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { jobChanges, noticingJobs } from "../../src/schedules/job-changes.ts";
import { operateFixture } from "../operator/operate-fixture.ts";
import { memoryStore } from "../receive/store.ts";

test("what this process wrote is heard here and told to others; what others wrote is heard here alone", () => {
  const changes = jobChanges();
  const heard: string[] = [];
  changes.wrote("before anybody listens");
  const stopFirst = changes.onChange((id) => heard.push(`first ${id}`));
  changes.onChange((id) => heard.push(`second ${id}`));
  const stopCalls = changes.onCall(() => heard.push("call"));
  changes.tellOthers((id) => heard.push(`others ${id}`));
  changes.wrote("a");
  changes.heard("b");
  changes.wroteCall();
  stopFirst();
  stopCalls();
  changes.wrote("c");
  changes.wroteCall();
  expect(heard).toEqual([
    "first a",
    "second a",
    "others a",
    "first b",
    "second b",
    "call",
    "second c",
    "others c",
  ]);
});

test("a store tells of its jobs and calls as they are written, changed and removed, and of no write that did not happen", async () => {
  const { close, ...plain } = await memoryStore(virtualClock());
  onTestFinished(close);
  const told: string[] = [];
  const store = noticingJobs(plain as never, {
    wrote: (id) => void told.push(id),
    wroteCall: () => void told.push("a call"),
  });
  const { cells } = store;
  await cells.put("job:a", "1", {});
  await cells.put("jobs-of:a", "1", {});
  await cells.put("cronrun:a:1", "1", {});
  expect(told.splice(0)).toEqual(["a"]);
  // Somebody else changed it: nothing was written.
  expect(await cells.put("job:a", "2", { expect: 77 })).toBeNull();
  expect(await cells.remove("job:gone")).toBe(false);
  expect(told).toEqual([]);
  expect(await cells.remove("job:a")).toBe(true);
  expect(told.splice(0)).toEqual(["a"]);
  await cells.put("cronhook:a:1", "1", {});
  expect(told).toEqual(["a call"]);
});

test("a job that a turn writes is told with its step or its end", async () => {
  const at = await operateFixture();
  const told: string[] = [];
  const { turns } = noticingJobs(at.store, {
    wrote: (id) => void told.push(id),
    wroteCall: () => void told.push("a call"),
  });
  await at.accept("1");
  const turn = await at.take();
  const write = (key: string) => ({ key, value: "1" });
  const next = await turns.checkpoint(turn, turn.log.length, {
    steps: [{ kind: "model", body: "{}" }],
    cells: [write("job:a"), write("other"), write("job:b")],
  });
  expect(told.splice(0)).toEqual(["a", "b"]);
  await turns.checkpoint(turn, next, { steps: [{ kind: "model", body: "{}" }] });
  expect(told).toEqual([]);
  await turns.commit(turn, turn.id, {
    outcome: "answered",
    entries: [],
    cells: [write("cronhook:a:1"), write("cronhook:b:1"), write("job:c")],
  });
  expect(told).toEqual(["c", "a call"]);
});
