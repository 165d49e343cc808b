// One conversation with a tool, killed at one exact system call: the nth sync (what it was for is written,
// nobody was told) or the nth write to the database (the transaction is cut in two). Looped over n, no
// instant between two commits is left out.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { eventually, freshHome } from "../e2e/daemon.ts";
import { flawless, judge } from "./said.ts";
import { stage, type Medium, type Stage } from "./stage.ts";

/** Where the process was when it died, as the fakes saw it. */
export type Where =
  | "before it was ready"
  | "before the model was asked"
  | "between the tool and the answer"
  | "after the answer, before it was sent"
  | "after it was sent"
  | "while it stopped"
  | "not at all";

export async function killedAt(medium: Medium, under: readonly string[]): Promise<Where> {
  // One home for all starts, also when the first dies in the making of it.
  const at = await stage({
    home: await freshHome(),
    config: { tools: { rehearsal: true } },
    ...(medium === "discord" ? { discord: {} } : {}),
  });
  try {
    if (medium === "discord") await meet(at);
    at.onModel(() => ({ toolCalls: [{ name: "append", args: { line: "once" } }] }));
    const where = await runUntilKilled(at, medium, under);
    if (where === "not at all") return where;
    await at.start();
    await at.quiet(medium);
    const { flagged, ...left } = await at.end();
    expect(left).toEqual({ ambiguous: [], openRows: 0, openDeliveries: 0, dead: [] });
    const seen = at.verdict(medium);
    expect({ ...seen, doubled: [] }).toEqual(flawless);
    // Twice only where nobody can know, and then it is flagged.
    expect(seen.doubled.length).toBeLessThanOrEqual(medium === "telegram" ? 1 : 0);
    expect(flagged.length).toBeGreaterThanOrEqual(seen.doubled.length);
    const log = await readFile(join(at.daemon.home, "workspace", "rehearsal.log"), "utf8").catch(() => "");
    expect(log.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(1);
    expect(at.w.telegram.violations()).toEqual([]);
    if (medium === "discord") expect(at.discord.violations()).toEqual([]);
    return where;
  } finally {
    await at.close();
  }
}

/** Discord keeps nothing for a bot that never was there: it comes once, is heard, and stops in order. */
async function meet(at: Stage): Promise<void> {
  await at.start();
  at.says("discord");
  await at.quiet("discord");
  if ((await at.daemon.stop()) !== 0) throw new Error(`the daemon did not stop in order\n${at.daemon.log()}`);
}

/** Two messages; after the death what was said stays said. */
async function runUntilKilled(at: Stage, medium: Medium, under: readonly string[]): Promise<Where> {
  let dead = false;
  const before = {
    messages: at.count(medium),
    texts: at.texts(medium).length,
    asked: at.w.models.requests().length,
  };
  try {
    const daemon = await at.start(under);
    void daemon.exited.then(() => (dead = true));
  } catch (error) {
    if (!/exited with (SIGKILL|1)\b/.test(String(error))) throw error;
    at.says(medium);
    return "before it was ready";
  }
  const answered = (count: number): boolean =>
    dead || judge(at.texts(medium), before.messages + count).lost.length === 0;
  const where = (): Where => {
    if (at.texts(medium).length > before.texts) return "after it was sent";
    const asked = at.w.models.requests().length - before.asked;
    return asked === 0
      ? "before the model was asked"
      : asked === 1
        ? "between the tool and the answer"
        : "after the answer, before it was sent";
  };
  at.says(medium);
  await eventually(() => answered(1), 30_000);
  const first = where();
  at.says(medium);
  if (dead) return first;
  await eventually(() => answered(2), 30_000);
  // What is recorded after the last answer, and the confirmation of the last fetch.
  await new Promise((resolve) => setTimeout(resolve, 150));
  if (dead) return "after it was sent";
  return (await at.daemon.stop()) === 0 ? "not at all" : "while it stopped";
}
