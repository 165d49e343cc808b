// A database that others hold for longer than anybody waits for a lock: five seconds.
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { flawless } from "./said.ts";
import { stage } from "./stage.ts";

afterEach(cleanUp);

const heldMs = 12_000;

test("held while messages arrive: nothing is lost, and health is back by itself", async () => {
  const at = await stage();
  try {
    await at.start();
    await at.called("getUpdates", 2);
    at.freeze();
    at.says("telegram");
    at.says("web");
    await pause(heldMs);
    at.thaw();
    await Promise.all([at.quiet("telegram", 30_000), at.quiet("web", 30_000)]);
    expect(at.verdict("telegram")).toEqual(flawless);
    expect(at.verdict("web")).toEqual(flawless);
    expect(await at.end()).toEqual({ flagged: [], ambiguous: [], openRows: 0, openDeliveries: 0, dead: [] });
  } finally {
    await at.close();
  }
});

test("held while the platform takes the answer: it is not sent again", async () => {
  const at = await stage();
  try {
    await at.start();
    at.w.telegram.inject({ method: "sendMessage", trouble: { kind: "delay", delayMs: 300 } });
    at.says("telegram");
    await at.called("sendMessage", 1);
    at.freeze();
    await pause(heldMs);
    at.thaw();
    at.says("telegram");
    await at.quiet("telegram", 30_000);
    expect(at.verdict("telegram")).toEqual(flawless);
    expect(await at.end()).toEqual({ flagged: [], ambiguous: [], openRows: 0, openDeliveries: 0, dead: [] });
  } finally {
    await at.close();
  }
});

test("held while it starts: exit code 1, so that a supervisor tries again, and that works", async () => {
  const at = await stage();
  try {
    await at.start();
    await at.end();
    at.freeze();
    await expect(at.start()).rejects.toThrow(/exited with 1 [\s\S]*state\.db is locked by another process/);
    at.thaw();
    await at.start();
    at.says("telegram");
    await at.quiet("telegram");
    await at.end();
  } finally {
    await at.close();
  }
});
