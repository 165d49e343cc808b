// Orderly ends that take the whole budget of a drain, and the other shapes of twenty messages.
import { afterEach, expect, test } from "vitest";
import { cleanUp, eventually } from "../e2e/daemon.ts";
import { flawless } from "./said.ts";
import { stage } from "./stage.ts";
import { killedWhileSendsHang, stoppedInTheMiddle } from "./twenty-messages.ts";

afterEach(cleanUp);

test("SIGTERM in the middle of twenty messages in four chats: twenty exact answers, no notice", () =>
  stoppedInTheMiddle(4));

test("killed while the sends of twenty chats hang at the platform: twenty exact answers, no notice", () =>
  killedWhileSendsHang(20));

test("three SIGTERMs in one turn: no strike, no notice, answered once", { timeout: 300_000 }, async () => {
  const at = await stage();
  try {
    for (let n = 1; n <= 3; n += 1) {
      let asked = false;
      at.onModel(() => {
        asked = true;
        return { hang: "body" };
      });
      const daemon = await at.start();
      if (n === 1) at.says("telegram");
      await eventually(() => asked);
      expect(await daemon.stop()).toBe(0);
    }
    await at.start();
    await at.quiet("telegram");
    expect(at.verdict("telegram")).toEqual(flawless);
    expect(at.w.models.requests()).toHaveLength(4);
    expect(at.daemon.log()).not.toContain("running it alone");
    expect(await at.end()).toEqual({ flagged: [], ambiguous: [], openRows: 0, openDeliveries: 0, dead: [] });
  } finally {
    await at.close();
  }
});

test(
  "SIGTERM while the platform does not answer a send: it stops in time and delivers at the next start",
  { timeout: 300_000 },
  async () => {
    const at = await stage();
    try {
      const daemon = await at.start();
      at.w.telegram.inject({ method: "sendMessage", times: null, trouble: { kind: "hang" } });
      at.says("telegram");
      await at.called("sendMessage", 1);
      expect(await daemon.stop()).toBe(0);
      at.w.telegram.heal();
      await at.start();
      await at.quiet("telegram");
      expect(at.verdict("telegram")).toEqual(flawless);
      expect(await at.end()).toMatchObject({ openRows: 0, openDeliveries: 0, dead: [] });
    } finally {
      await at.close();
    }
  },
);
