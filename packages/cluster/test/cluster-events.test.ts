// A client of one node sees what another node shows, for as long as it follows and not for ever after.
import { eventHub } from "@parley/control";
import { silentBus } from "@parley/queue";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { hubOfNodes } from "../src/cluster-events.ts";
import { buses } from "./buses.ts";

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

test("a node alone follows its own streams, tells nobody and looks again for nothing", async () => {
  const clock = virtualClock();
  const own = eventHub();
  const hub = hubOfNodes(own, silentBus, clock);
  let woken = 0;
  const stop = hub.follow("s", { wake: () => (woken += 1), show: () => {} });
  expect([hub.looksAgain, hub.isFollowed("s"), hub.isFollowed("t"), clock.armed()]).toEqual([
    false,
    true,
    false,
    0,
  ]);
  hub.appended("s");
  hub.appended("t");
  expect(woken).toBe(1);
  stop();
  expect(hub.isFollowed("s")).toBe(false);
  hub.close();
});

test("while one of two followers of a node stays, its node goes on saying so, and looks for it", async () => {
  const clock = virtualClock();
  const [worker, door] = buses(2).map((bus) => hubOfNodes(eventHub(), bus, clock));
  let woken = 0;
  const first = door?.follow("s", { wake: () => {}, show: () => {} });
  door?.follow("s", { wake: () => (woken += 1), show: () => {} });
  first?.();
  for (let n = 0; n < 130; n += 1) await clock.advance(1_000);
  expect([worker?.looksAgain, worker?.isFollowed("s"), woken]).toEqual([true, true, 65]);
  worker?.close();
  door?.close();
});

test("of more streams than are remembered the one that was told longest ago is no longer followed elsewhere", () => {
  const clock = virtualClock();
  const [bus, other] = buses(2);
  if (bus === undefined || other === undefined) throw new Error("two buses were asked for");
  const worker = hubOfNodes(eventHub(), bus, clock);
  for (let nth = 0; nth < 10_000; nth += 1) other.tell("followed", `s${nth}`);
  // Said again, it is the newest.
  other.tell("followed", "s0");
  expect(worker.isFollowed("s1")).toBe(true);
  other.tell("followed", "one more");
  const followed = ["s0", "s1", "s2", "s9999", "one more"].filter((stream) => worker.isFollowed(stream));
  expect(followed).toEqual(["s0", "s2", "s9999", "one more"]);
  worker.close();
});

test("who followed elsewhere is believed for a minute after the last word of it, and a node says so every twenty seconds", async () => {
  const clock = virtualClock();
  const [bus, other] = buses(2);
  if (bus === undefined || other === undefined) throw new Error("two buses were asked for");
  const worker = hubOfNodes(eventHub(), bus, clock);
  other.tell("followed", "s");
  for (let n = 0; n < 60; n += 1) await clock.advance(1_000);
  expect(worker.isFollowed("s")).toBe(true);
  await clock.advance(1);
  expect(worker.isFollowed("s")).toBe(false);
  const heard: string[] = [];
  other.hear("followed", (stream) => void heard.push(`${clock.mono() - 60_001} ${stream}`));
  other.hear("appended", (stream) => void heard.push(`grew ${stream}`));
  worker.follow("t", { wake: () => {}, show: () => {} });
  worker.appended("t");
  for (let n = 0; n < 41; n += 1) await clock.advance(1_000);
  expect(heard).toEqual(["0 t", "grew t", "19999 t", "39999 t"]);
  worker.close();
});
