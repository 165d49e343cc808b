// A client of one node sees what another node shows, for as long as it follows and not for ever after.
import { eventHub } from "@parley/control";
import type { Bus } from "@parley/queue";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { hubOfNodes } from "../src/cluster-events.ts";

/** Buses that hear each other at once and never themselves. */
function buses(count: number): readonly Bus[] {
  const all = Array.from({ length: count }, () => new Map<string, Set<(body: string) => void>>());
  return all.map((own) => ({
    shared: true,
    tell(topic, body) {
      for (const other of all) if (other !== own) for (const listen of other.get(topic) ?? []) listen(body);
    },
    hear(topic, listen) {
      own.set(topic, (own.get(topic) ?? new Set()).add(listen));
      return () => void own.get(topic)?.delete(listen);
    },
    close: async () => {},
  }));
}

test("what is shown reaches a follower on another node for hours, and nobody is followed once he left", async () => {
  const clock = virtualClock();
  const [worker, door] = buses(2).map((bus) => hubOfNodes(eventHub(), bus, clock));
  if (worker === undefined || door === undefined) throw new Error("two hubs were asked for");
  const shown: string[] = [];
  let woken = 0;
  const follower = { wake: () => (woken += 1), show: (frame: string) => void shown.push(frame) };
  const seconds = async (count: number): Promise<void> => {
    for (let n = 0; n < count; n += 1) await clock.advance(1_000);
  };
  const show = (text: string): void => worker.show("s", "chat.delta", { text } as never);

  show("before anybody follows");
  expect(worker.isFollowed("s")).toBe(false);
  const stops = [door.follow("s", follower), door.follow("s", follower)];
  show("at once");
  await seconds(7_310);
  show("after hours");
  expect(worker.isFollowed("s")).toBe(true);
  expect(worker.isFollowed("t")).toBe(false);
  expect(shown.map((frame) => JSON.parse(frame).payload.text)).toEqual(["at once", "after hours"]);

  // A stop counts once, so the one who stays is still seen.
  stops[0]?.();
  stops[0]?.();
  const other = door.follow("s", { wake: () => {}, show: () => {} });
  stops[1]?.();
  await seconds(120);
  expect(worker.isFollowed("s")).toBe(true);
  other();
  await seconds(59);
  const before = woken;
  worker.appended("s");
  await seconds(60);
  expect(woken).toBe(before);
  expect(worker.isFollowed("s")).toBe(false);
  show("to nobody");
  expect(shown).toHaveLength(2);
  worker.close();
  door.close();
  expect(clock.armed()).toBe(0);
});

test("a device hears of its call on another node; log lines stay where they are", () => {
  const clock = virtualClock();
  const [worker, door] = buses(2).map((bus) => hubOfNodes(eventHub(), bus, clock));
  const shown: string[] = [];
  door?.follow("device:phone", { wake: () => {}, show: (frame) => void shown.push(frame) });
  worker?.show("device:phone", "device.call", {});
  worker?.show("device:phone", "log.line", { line: "x" } as never);
  expect(shown.map((frame) => JSON.parse(frame).event)).toEqual(["device.call"]);
  worker?.close();
  door?.close();
});

test("a follower looks by itself every two seconds, since the word that a stream grew may be lost", async () => {
  const clock = virtualClock();
  const [, door] = buses(2).map((bus) => hubOfNodes(eventHub(), bus, clock));
  let woken = 0;
  door?.follow("s", { wake: () => (woken += 1), show: () => {} });
  for (let n = 0; n < 20; n += 1) await clock.advance(500);
  expect(woken).toBe(5);
  door?.close();
});
