// Three starts in five minutes that did not end well: the channels are held, the operator's way in is open.
// The rule itself, and its ten minutes, are in test/safe-mode.test.ts under a virtual clock.
import { afterEach, expect, test } from "vitest";
import { controlClient } from "../e2e/control-client.ts";
import { cleanUp } from "../e2e/daemon.ts";
import { flawless } from "./said.ts";
import { stage } from "./stage.ts";

afterEach(cleanUp);

test("after three unclean starts Telegram is held, the web answers, the status says why, and resume lets everybody in", async () => {
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
    const status = (await client.call("status")) as {
      readonly state: string;
      readonly reasons: readonly string[];
    };
    expect(status.state).toBe("safe-mode");
    const health = async (path: string): Promise<number> => (await fetch(`${daemon.url}${path}`)).status;
    expect([await health("/healthz"), await health("/readyz")]).toEqual([200, 503]);
    expect(status.reasons.join("\n")).toMatch(/3 starts within five minutes[\s\S]*parley resume/);
    expect(at.w.telegram.calls("getUpdates").length).toBe(polls);
    expect(at.texts("telegram")).toEqual([]);
    expect(at.verdict("web")).toEqual(flawless);

    expect(await client.call("resume")).toEqual({ resumed: true });
    await at.quiet("telegram");
    expect(at.verdict("telegram")).toEqual(flawless);
    expect(await client.call("health")).toEqual({ ok: true, reasons: [] });
    expect(await health("/readyz")).toBe(200);
    client.close();
    expect(await daemon.stop()).toBe(0);
  } finally {
    await at.close();
  }
});
