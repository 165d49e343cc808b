// Orderly ends: what is running gets its time, the rest is there at the next start. No notice ever takes the
// place of an answer.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { cleanUp, eventually, freshHome } from "../e2e/daemon.ts";
import { flawless } from "./said.ts";
import { stage } from "./stage.ts";
import { killedWhileSendsHang, stoppedInTheMiddle } from "./twenty-messages.ts";

afterEach(cleanUp);

test("SIGTERM in the middle of twenty messages: twenty exact answers, no notice", () =>
  stoppedInTheMiddle(20));

test("killed while the sends of twenty messages hang at the platform: twenty exact answers, no notice", () =>
  killedWhileSendsHang(4));

test("SIGTERM while the platform takes an answer: it is waited for, not cut, not sent again", async () => {
  const at = await stage();
  try {
    const daemon = await at.start();
    at.w.telegram.inject({ method: "sendMessage", trouble: { kind: "delay", delayMs: 700 } });
    at.says("telegram");
    await at.called("sendMessage", 1);
    expect(await daemon.stop()).toBe(0);
    await at.start();
    at.says("telegram");
    await at.quiet("telegram");
    expect(at.verdict("telegram")).toEqual(flawless);
    expect(await at.end()).toEqual({ flagged: [], ambiguous: [], openRows: 0, openDeliveries: 0, dead: [] });
  } finally {
    await at.close();
  }
});

test("SIGTERM while it starts: it still ends in order, and the next start finds nothing unclean", async () => {
  const home = await freshHome();
  const at = await stage({ home });
  try {
    const ended = at.start().then(
      async (daemon) => String(await daemon.exited),
      // It may end before it has printed its address.
      (error: unknown) => /exited with (\S+)/.exec(String(error))?.[1],
    );
    const pidFile = join(home, "daemon.pid");
    const pid = await eventually(() => existsSync(pidFile) && Number(readFileSync(pidFile, "utf8")));
    process.kill(Number(pid), "SIGTERM");
    expect(await ended).toBe("0");
    const again = await at.start();
    expect(again.log()).not.toContain("did not end cleanly");
    await at.end();
  } finally {
    await at.close();
  }
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
    expect(await at.end()).toEqual({ flagged: [], ambiguous: [], openRows: 0, openDeliveries: 0, dead: [] });
  } finally {
    await at.close();
  }
});
