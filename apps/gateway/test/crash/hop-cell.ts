// One cell of the table hop x kill -9: brings the daemon to the hop, kills it, says one more, starts it again
// and judges what people saw.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { Hop } from "./hops.ts";
import { flawless } from "./said.ts";
import { stage, type Stage } from "./stage.ts";

export async function hopCell(hop: Hop): Promise<void> {
  const at = await stage({
    ...(hop.streams === true && hop.medium === "telegram" ? { telegram: { streaming: "edit" } } : {}),
    ...(hop.medium === "discord" ? { discord: hop.streams === true ? { streaming: "edit" } : {} } : {}),
    ...(hop.tools === true ? { config: { tools: { rehearsal: true } } } : {}),
  });
  try {
    hop.early?.(at);
    await at.start();
    await hop.reach(at);
    await at.kill();
    at.says(hop.medium);
    if (hop.forgets === true) at.discord.gateway.forgetSessions();
    await at.start();
    await at.quiet(hop.medium);
    await checkSeen(at, hop);
    const left = await at.end();
    expect(left).toMatchObject({ openRows: 0, openDeliveries: 0, dead: [] });
    expect(left.flagged).toHaveLength(hop.flagged ?? 0);
    expect(at.w.telegram.violations()).toEqual([]);
    if (hop.medium === "discord") expect(at.discord.violations()).toEqual([]);
    if (hop.tools === true) await checkTools(at);
  } finally {
    await at.close();
  }
}

async function checkSeen(at: Stage, hop: Hop): Promise<void> {
  const seen = at.verdict(hop.medium);
  const doubled = Array.from({ length: hop.doubled ?? 0 }, () => 1);
  expect({ ...seen, others: [] }).toEqual({ ...flawless, doubled });
  expect(seen.others, "messages that answer nothing").toHaveLength(hop.orphans ?? 0);
  if (hop.medium === "web") {
    // Live, replayed and freshly loaded are one conversation: nothing twice, each of the person's words once.
    expect((await at.web.history()).map(({ seq }) => seq)).toEqual(at.web.events().map(({ seq }) => seq));
    expect(at.web.events().filter(({ role }) => role === "user")).toHaveLength(2);
  }
}

/** A tool that writes started at most once; if nobody knows how it ended, the model was told so. */
async function checkTools(at: Stage): Promise<void> {
  const log = await readFile(join(at.daemon.home, "workspace", "rehearsal.log"), "utf8").catch(() => "");
  const ran = log.split("\n").filter((line) => line !== "");
  expect(ran.length).toBeLessThanOrEqual(1);
  if (ran.length === 0)
    expect(JSON.stringify(at.w.models.requests().at(-1)?.body["messages"])).toMatch(/outcome (is )?unknown/i);
}
