// Twenty messages at once, and an end in the middle of answering them: each is answered exactly, and nobody
// hears of the restart.
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { eventually } from "../e2e/daemon.ts";
import { world, type World } from "../e2e/world.ts";
import { answerTo, flawless, judge, said } from "./said.ts";
import { lookAt } from "./store-look.ts";

const modelMs = 2_000;
const roomy = { agents: { defaults: { model: { primary: "fake/m1" }, maxConcurrent: 20 } } };

/** SIGTERM while the model, which takes two seconds, has half of its time left. */
export async function stoppedInTheMiddle(people: number): Promise<void> {
  const w = await world();
  try {
    w.models.reply((call) => ({ text: answerTo(call), delayMs: modelMs }));
    const daemon = await w.start({ config: roomy });
    const counts = sayTwenty(w, people);
    await eventually(() => w.models.requests().length >= 4);
    await pause(modelMs / 2);
    expect(await daemon.stop()).toBe(0);
    await answeredByTheNext(w, daemon.home, counts);
    expect(lookAt(daemon.home).flagged).toEqual([]);
  } finally {
    await w.close();
  }
}

/** kill -9 while the platform has the sends and answers none. */
export async function killedWhileSendsHang(people: number): Promise<void> {
  const w = await world();
  try {
    w.models.reply((call) => answerTo(call));
    const daemon = await w.start({ config: roomy });
    w.telegram.inject({ method: "sendMessage", times: null, trouble: { kind: "hang" } });
    const counts = sayTwenty(w, people);
    // The driver has sixteen connections for sending, so not every chat's send needs to be there.
    await eventually(() => w.telegram.calls("sendMessage").length >= 4);
    daemon.kill("SIGKILL");
    await daemon.exited;
    w.telegram.heal();
    await answeredByTheNext(w, daemon.home, counts);
  } finally {
    await w.close();
  }
}

/** From so many people; each one's are numbered from 1. Returns how many each chat has. */
function sayTwenty(w: World, people: number): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (let n = 0; n < 20; n += 1) {
    const chat = 500 + (n % people);
    const count = (counts.get(chat) ?? 0) + 1;
    counts.set(chat, count);
    w.telegram.as(chat).says(said(count));
  }
  return counts;
}

async function answeredByTheNext(w: World, home: string, counts: ReadonlyMap<number, number>): Promise<void> {
  const daemon = await w.start({ home, config: roomy });
  const texts = (chat: number): string[] => w.answers(chat).map((message) => message.text);
  for (const [chat, count] of counts) {
    await eventually(
      () => judge(texts(chat), count).lost.length === 0,
      20_000,
      `an answer to each message of chat ${chat}`,
    );
  }
  // Long enough for a repeat that is on its way to show.
  await pause(200);
  for (const [chat, count] of counts)
    expect({ chat, ...judge(texts(chat), count) }).toEqual({ chat, ...flawless });
  expect(await daemon.stop()).toBe(0);
  expect(lookAt(home)).toMatchObject({ openRows: 0, openDeliveries: 0, dead: [] });
  expect(w.telegram.violations()).toEqual([]);
}
