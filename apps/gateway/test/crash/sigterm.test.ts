// Orderly ends: what is running gets its time, the rest is there at the next start. No notice ever takes the place of an answer.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { cleanUp, eventually, freshHome } from "../e2e/daemon.ts";
import { world, type World } from "../e2e/world.ts";
import { answerTo, flawless, judge, said } from "./said.ts";
import { stage } from "./stage.ts";
import { lookAt } from "./store-look.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  expect(w.telegram.violations()).toEqual([]);
  await w.close();
});

const modelMs = 2_000;
const twenty = Array.from({ length: 20 }, (_, at) => at + 1);
const roomy = { agents: { defaults: { model: { primary: "fake/m1" }, maxConcurrent: 20 } } };

/** Twenty messages from so many people; each is numbered in its chat. Returns the number of messages of each chat. */
function sayTwenty(people: number): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const n of twenty) {
    const chat = 500 + (n % people);
    counts.set(chat, (counts.get(chat) ?? 0) + 1);
    w.telegram.as(chat).says(said(counts.get(chat) ?? 0));
  }
  return counts;
}

function readText(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

async function allAnswered(counts: ReadonlyMap<number, number>): Promise<void> {
  const texts = (chat: number): string[] => w.answers(chat).map((message) => message.text);
  for (const [chat, count] of counts) {
    await eventually(() => judge(texts(chat), count).lost.length === 0, 20_000, `an answer to each message of chat ${chat}`);
  }
  await pause(200);
  for (const [chat, count] of counts) expect({ chat, ...judge(texts(chat), count) }).toEqual({ chat, ...flawless });
}

describe("twenty messages", () => {
  test.each([20, 4])(
    "in %i chats, a model that takes two seconds, SIGTERM in the middle: twenty exact answers, no notice",
    async (people) => {
      w.models.reply((call) => ({ text: answerTo(call), delayMs: modelMs }));
      const daemon = await w.start({ config: roomy });
      const counts = sayTwenty(people);
      await eventually(() => w.models.requests().length >= 4);
      await pause(modelMs / 2);
      expect(await daemon.stop()).toBe(0);
      const again = await w.start({ home: daemon.home, config: roomy });
      await allAnswered(counts);
      expect(await again.stop()).toBe(0);
      expect(lookAt(daemon.home)).toEqual({ flagged: [], openRows: 0, openDeliveries: 0, dead: [] });
    },
  );

  test.each([20, 4])("in %i chats, killed while the sends hang at the platform: twenty exact answers, no notice", async (people) => {
    w.models.reply((call) => answerTo(call));
    const daemon = await w.start({ config: roomy });
    w.telegram.inject({ method: "sendMessage", times: null, trouble: { kind: "hang" } });
    const counts = sayTwenty(people);
    await eventually(() => w.telegram.calls("sendMessage").length >= 4);
    daemon.kill("SIGKILL");
    await daemon.exited;
    w.telegram.heal();
    const again = await w.start({ home: daemon.home, config: roomy });
    await allAnswered(counts);
    expect(await again.stop()).toBe(0);
    expect(lookAt(daemon.home)).toMatchObject({ openRows: 0, openDeliveries: 0, dead: [] });
  });
});

test("SIGTERM while it starts: it still ends in order, and the next start finds nothing unclean", async () => {
  const home = await freshHome();
  const ended = w.start({ home }).then(
    async (daemon) => String(await daemon.exited),
    // It may end before it has printed its address.
    (error: unknown) => /exited with (\S+)/.exec(String(error))?.[1],
  );
  const pid = await eventually(() => Number(readText(join(home, "daemon.pid"))) || undefined);
  process.kill(pid, "SIGTERM");
  expect(await ended).toBe("0");
  const again = await w.start({ home });
  expect(again.log()).not.toContain("did not end cleanly");
  expect(await again.stop()).toBe(0);
});

test("a second SIGTERM does not wait for the turn, which is answered once after the next start", async () => {
  const at = await stage();
  try {
    let asked = false;
    at.onModel(() => {
      asked = true;
      return { hang: "headers" };
    });
    const daemon = await at.start();
    at.says("telegram");
    await eventually(() => asked);
    daemon.kill("SIGTERM");
    await eventually(() => daemon.log().includes('"stopping"'));
    daemon.kill("SIGTERM");
    expect(await daemon.exited).toBe(1);
    await at.start();
    await at.quiet("telegram");
    expect(at.verdict("telegram")).toEqual(flawless);
    expect(await at.end()).toEqual({ flagged: [], openRows: 0, openDeliveries: 0, dead: [] });
  } finally {
    await at.close();
  }
});
