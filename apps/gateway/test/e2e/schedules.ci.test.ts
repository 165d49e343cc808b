// Schedules over the wire: a reminder asked for in a chat arrives once though the process dies in the moment
// it fires, and a real daemon on the night on which Berlin's clocks skip an hour fires what stands in it at
// the next instant there is.
import { lacks, program, type ModelAnswer, type ModelCall } from "@parley/testkit";
import { afterEach, beforeEach, expect, test } from "vitest";
import { clockNight } from "./clock-nights.ts";
import { cleanUp, eventually } from "./daemon.ts";
import { parleyJson } from "./operator.ts";
import { world, type World } from "./world.ts";

let w: World;
beforeEach(async () => {
  w = await world();
});
afterEach(async () => {
  await cleanUp();
  await w.close();
});

const me = 4242;
const faketime = program("faketime");

function reminding({ lastUserText, lastToolResult }: ModelCall): ModelAnswer {
  if (lastUserText.includes("[System Message]")) return { text: "Reminder: tea", delayMs: 300 };
  if (lastToolResult !== null) return "I will.";
  const job = {
    name: "tea",
    schedule: { kind: "at", at: "3s" },
    payload: { kind: "systemEvent", text: "Tea!" },
  };
  return { toolCalls: [{ name: "cron", args: { action: "add", job } }] };
}

test(
  "a reminder comes to its chat once, with kill -9 in the moment it fires",
  { timeout: 300_000 },
  async () => {
    const config = { commands: { ownerAllowFrom: [`telegram:${me}`] } };
    w.models.reply(reminding);
    let daemon = await w.start({ config });
    w.telegram.as(me).says("remind me of the tea");
    await w.answered(me, 1);
    // The turn of the reminder runs: its model was asked and has not answered.
    await eventually(
      () => w.models.requests().some(({ lastUserText }) => lastUserText.includes("[System Message]")),
      30_000,
      "the reminder's turn",
    );
    daemon.kill("SIGKILL");
    await daemon.exited;
    daemon = await w.start({ home: daemon.home, config });
    await w.answered(me, 2, 30_000);
    expect(await parleyJson(daemon.home, "cron", "list")).toEqual({ jobs: [] });
    expect(await daemon.stop()).toBe(0);
    expect(w.answers(me).map(({ text }) => text)).toEqual(["I will.", "Reminder: tea"]);
  },
);

test.skipIf(lacks(faketime))(
  "what stands in the hour that Berlin's clocks skip comes at the next instant",
  { timeout: 300_000 },
  async () => {
    w.models.reply("done");
    const night = await clockNight(w, faketime);
    const daemon = await night.start("2027-03-28T00:50:00Z");
    await night.set("2027-03-28T00:59:57Z");
    const job = await night.add({ kind: "cron", expression: "30 2 * * *", zone: "Europe/Berlin" });
    await night.until(async () => (await night.ran(job)).length > 0, "the run");
    expect(await night.ran(job)).toEqual(["2027-03-28T01:00:00.000Z"]);
    expect(await night.nextAt(job)).toBe("2027-03-29T00:30:00.000Z");
    daemon.kill("SIGKILL");
  },
);
