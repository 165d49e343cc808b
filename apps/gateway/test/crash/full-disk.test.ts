// A full disk: nothing is acknowledged, the state says so, and with space it heals by itself (I10).
import { afterEach, describe, expect, test } from "vitest";
import { controlClient } from "../e2e/control-client.ts";
import { cleanUp, eventually, type Daemon } from "../e2e/daemon.ts";
import { world } from "../e2e/world.ts";
import { smallDisk, whyNoSmallDisk } from "./full-disk.ts";
import { answerTo, flawless, judge, said } from "./said.ts";
import { webPerson } from "./web-person.ts";

afterEach(cleanUp);

async function health(daemon: Daemon): Promise<{ readonly ok: boolean; readonly reasons: readonly string[] }> {
  const client = await controlClient(daemon);
  try {
    return (await client.call("health")) as { ok: boolean; reasons: string[] };
  } finally {
    client.close();
  }
}

describe.skipIf(whyNoSmallDisk !== null)(`a full disk (${whyNoSmallDisk ?? "a small tmpfs"})`, () => {
  test("acknowledges nothing, says so, and goes on by itself when there is space", async () => {
    const disk = await smallDisk(4);
    const w = await world();
    const page = webPerson("web-alice");
    try {
      w.models.reply((call) => answerTo(call));
      const daemon = await w.start({ home: disk.home });
      page.meets(daemon);
      const alice = w.telegram.as(7);
      const texts = (): string[] => w.answers(7).map((message) => message.text);
      alice.says(said(1));
      await eventually(() => judge(texts(), 1).lost.length === 0);
      await page.says(said(1));
      expect(await health(daemon)).toEqual({ ok: true, reasons: [] });
      const queue = w.telegram.bot().queue;
      await eventually(() => queue.pending().length === 0);
      const confirmed = queue.confirmed().length;

      disk.fill();
      // Longer than what may still fit into the last page of the log.
      const long = "x".repeat(20_000).match(/.{4000}/g) ?? [];
      for (const [at, filling] of long.entries()) alice.says(`${said(at + 2)} ${filling}`);
      let acknowledged = false;
      const saying = page.says(`${said(2)} ${"x".repeat(20_000)}`).then(() => (acknowledged = true));
      await eventually(async () => (await health(daemon)).reasons.some((reason) => /disk is full/.test(reason)), 15_000, "degraded");
      expect(queue.confirmed().length).toBe(confirmed);
      expect(acknowledged).toBe(false);

      disk.free();
      await saying;
      await eventually(() => judge(texts(), 1 + long.length).lost.length === 0, 30_000, "answers on Telegram");
      await eventually(() => judge(page.heard(), 2).lost.length === 0, 30_000, "answers on the web");
      await eventually(async () => (await health(daemon)).ok, 15_000, "health");
      expect(judge(texts(), 1 + long.length)).toEqual(flawless);
      expect(judge(page.heard(), 2)).toEqual(flawless);
      expect(await daemon.stop()).toBe(0);
    } finally {
      page.close();
      await w.close();
      disk.unmount();
    }
  });
});
