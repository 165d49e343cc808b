// A full disk: nothing is acknowledged, the state says so, and with space it heals by itself (I10).
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { controlClient } from "../e2e/control-client.ts";
import { cleanUp, eventually, type Daemon } from "../e2e/daemon.ts";
import { world, type World } from "../e2e/world.ts";
import { smallDisk, whyNoSmallDisk, type SmallDisk } from "./full-disk.ts";
import { answerTo, flawless, judge, said } from "./said.ts";
import { lookAt } from "./store-look.ts";
import { webPerson } from "./web-person.ts";

afterEach(cleanUp);

async function health(
  daemon: Daemon,
): Promise<{ readonly ok: boolean; readonly reasons: readonly string[] }> {
  const client = await controlClient(daemon, { peer: "web-operator" });
  try {
    return (await client.call("health")) as { ok: boolean; reasons: string[] };
  } finally {
    client.close();
  }
}

describe.skipIf(whyNoSmallDisk !== null)(`a full disk (${whyNoSmallDisk ?? "a small tmpfs"})`, () => {
  let disk: SmallDisk;
  let w: World;
  const page = { alice: webPerson("web-alice") };
  beforeEach(async () => {
    disk = await smallDisk(4);
    w = await world();
    w.models.reply((call) => answerTo(call));
    page.alice = webPerson("web-alice");
  });
  afterEach(async () => {
    page.alice.close();
    await w.close();
    disk.unmount();
  });

  const texts = (): readonly string[] => w.answers(7).map((message) => message.text);
  const answered = (count: number): Promise<unknown> =>
    eventually(() => judge(texts(), count).lost.length === 0, 20_000, `${count} answers on Telegram`);
  const fullFor = async (daemon: Daemon, ms: number): Promise<void> => {
    disk.fill();
    await eventually(
      async () => (await health(daemon)).reasons.some((reason) => /disk is full/.test(reason)),
      15_000,
      "degraded",
    );
    await pause(ms);
    disk.free();
  };

  test("before a message: nothing is acknowledged, the state says so, and with space it goes on by itself", async () => {
    const daemon = await w.start({ home: disk.home });
    page.alice.meets(daemon);
    const alice = w.telegram.as(7);
    alice.says(said(1));
    await answered(1);
    await page.alice.says(said(1));
    expect(await health(daemon)).toEqual({ ok: true, reasons: [] });
    const queue = w.telegram.bot().queue;
    await eventually(() => queue.pending().length === 0);
    const confirmed = queue.confirmed().length;

    disk.fill();
    // Longer than what may still fit into the last page of the log.
    const long = "x".repeat(20_000).match(/.{4000}/g) ?? [];
    for (const [at, filling] of long.entries()) alice.says(`${said(at + 2)} ${filling}`);
    let acknowledged = false;
    const saying = page.alice.says(`${said(2)} ${"x".repeat(20_000)}`).then(() => (acknowledged = true));
    await eventually(
      async () => (await health(daemon)).reasons.some((reason) => /disk is full/.test(reason)),
      15_000,
      "degraded",
    );
    expect(queue.confirmed().length).toBe(confirmed);
    expect(acknowledged).toBe(false);

    disk.free();
    await saying;
    await answered(1 + long.length);
    await eventually(() => judge(page.alice.heard(), 2).lost.length === 0, 20_000, "answers on the web");
    await eventually(async () => (await health(daemon)).ok, 15_000, "health");
    expect(judge(texts(), 1 + long.length)).toEqual(flawless);
    expect(judge(page.alice.heard(), 2)).toEqual(flawless);
    expect(await daemon.stop()).toBe(0);
  });

  test("while the model answers: the answer is kept and sent once there is space", async () => {
    const daemon = await w.start({ home: disk.home });
    let full: Promise<void> | undefined;
    w.models.reply(async (call) => {
      full ??= fullFor(daemon, 1_500);
      await pause(700);
      return answerTo(call);
    });
    w.telegram.as(7).says(said(1));
    await answered(1);
    await full;
    expect(judge(texts(), 1)).toEqual(flawless);
    expect(w.models.requests()).toHaveLength(1);
    expect(await daemon.stop()).toBe(0);
    expect(lookAt(disk.home)).toEqual({
      flagged: [],
      ambiguous: [],
      openRows: 0,
      openDeliveries: 0,
      dead: [],
    });
  });

  test("while the platform takes the answer: it is not sent again", async () => {
    const daemon = await w.start({ home: disk.home });
    w.telegram.inject({ method: "sendMessage", trouble: { kind: "delay", delayMs: 1_000 } });
    const alice = w.telegram.as(7);
    alice.says(said(1));
    await eventually(() => w.telegram.calls("sendMessage").length === 1);
    await fullFor(daemon, 2_000);
    alice.says(said(2));
    await answered(2);
    expect(judge(texts(), 2)).toEqual(flawless);
    expect(await daemon.stop()).toBe(0);
    expect(lookAt(disk.home)).toEqual({
      flagged: [],
      ambiguous: [],
      openRows: 0,
      openDeliveries: 0,
      dead: [],
    });
  });
});
