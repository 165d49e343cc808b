// One conversation with a tool, killed at one exact system call: the nth sync (what it was for is written, nobody was told) or the nth
// write to the database (the transaction is cut in two). Looped over n, no instant between two commits is left out.
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
  const at = await stage({ home: await freshHome(), config: { tools: { rehearsal: true } } });
  try {
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
    expect(seen.doubled.length).toBeLessThanOrEqual(medium === "web" ? 0 : 1);
    expect(flagged.length).toBeGreaterThanOrEqual(seen.doubled.length);
    const log = await readFile(join(at.daemon.home, "workspace", "rehearsal.log"), "utf8").catch(() => "");
    expect(log.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(1);
    expect(at.w.telegram.violations()).toEqual([]);
    return where;
  } finally {
    await at.close();
  }
}

/** Two messages; after the death what was said stays said. */
async function runUntilKilled(at: Stage, medium: Medium, under: readonly string[]): Promise<Where> {
  let dead = false;
  try {
    const daemon = await at.start(under);
    void daemon.exited.then(() => (dead = true));
  } catch (error) {
    if (!/exited with (SIGKILL|1)\b/.test(String(error))) throw error;
    at.says(medium);
    return "before it was ready";
  }
  const answered = (count: number): boolean => dead || judge(at.texts(medium), count).lost.length === 0;
  const where = (): Where => {
    if (at.texts(medium).length > 0) return "after it was sent";
    const asked = at.w.models.requests().length;
    return asked === 0
      ? "before the model was asked"
      : asked === 1
        ? "between the tool and the answer"
        : "after the answer, before it was sent";
  };
  at.says(medium);
  await eventually(() => answered(1), 15_000);
  const first = where();
  at.says(medium);
  if (dead) return first;
  await eventually(() => answered(2), 15_000);
  // What is recorded after the last answer, and the confirmation of the last fetch.
  await new Promise((resolve) => setTimeout(resolve, 150));
  if (dead) return "after it was sent";
  return (await at.daemon.stop()) === 0 ? "not at all" : "while it stopped";
}
