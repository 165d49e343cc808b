// Three starts in five minutes that did not end well: the channels are held, the operator's way in is open. The rule itself, and how it
// ends, run under a virtual clock.
import { afterEach, describe, expect, test } from "vitest";
import { virtualClock } from "@parley/testkit";
import { crashLoopReason, safeMode } from "../../src/safe-mode.ts";
import { controlClient } from "../e2e/control-client.ts";
import { cleanUp } from "../e2e/daemon.ts";
import { flawless } from "./said.ts";
import { stage } from "./stage.ts";

afterEach(cleanUp);

test("after three unclean starts Telegram is held, the web answers and the status says why", async () => {
  const at = await stage();
  try {
    for (let n = 1; n <= 3; n += 1) {
      await at.start();
      await at.kill();
    }
    const polls = at.w.telegram.calls("getUpdates").length;
    const daemon = await at.start();
    at.says("telegram");
    at.says("web");
    await at.quiet("web");
    const client = await controlClient(daemon);
    const status = (await client.call("status")) as { readonly state: string; readonly reasons: readonly string[] };
    client.close();
    expect(status.state).toBe("safe-mode");
    expect(status.reasons.join("\n")).toMatch(/3 starts within five minutes[\s\S]*parley resume/);
    expect(at.w.telegram.calls("getUpdates").length).toBe(polls);
    expect(at.texts("telegram")).toEqual([]);
    expect(at.verdict("web")).toEqual(flawless);
    expect(await daemon.stop()).toBe(0);
  } finally {
    await at.close();
  }
});

describe("the rule", () => {
  const boot = (minutesAgo: number, ended: boolean) => {
    const startedAtMs = 3_600_000 - minutesAgo * 60_000;
    return { boot: `boot-${minutesAgo}`, startedAtMs, stoppedAtMs: ended ? startedAtMs + 1_000 : null, worked: false };
  };
  const now = boot(0, false);

  test("counts unclean starts of the last five minutes, not the current one", () => {
    expect(crashLoopReason([now, boot(1, false), boot(2, false), boot(3, false)], 3_600_000)).toMatch(/^3 starts/);
    expect(crashLoopReason([now, boot(1, false), boot(2, false)], 3_600_000)).toBeNull();
    expect(crashLoopReason([now, boot(1, false), boot(2, true), boot(3, false)], 3_600_000)).toBeNull();
    expect(crashLoopReason([now, boot(1, false), boot(2, false), boot(6, false)], 3_600_000)).toBeNull();
  });

  test("ends by itself after ten minutes, once, or at once when asked", async () => {
    const clock = virtualClock();
    let released = 0;
    const release = async (): Promise<void> => void (released += 1);
    const byItself = safeMode(clock, release);
    await clock.advance(599_999);
    expect(released).toBe(0);
    await clock.advance(1);
    expect(released).toBe(1);
    expect(await byItself.resume()).toBe(false);

    const asked = safeMode(clock, release);
    expect(await asked.resume()).toBe(true);
    await clock.advance(600_000);
    expect(released).toBe(2);
  });
});
