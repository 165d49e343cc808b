// Three people on Discord at once while its gateway and its REST break at random: connections end in every
// way, sessions are refused, sends fail before and after Discord has acted, what is read is torn. The daemon
// lives on; each message is answered once.
import { setTimeout as pause } from "node:timers/promises";
import type { FakeDiscord } from "@parley/testkit";
import { eventually } from "../e2e/daemon.ts";
import { world } from "../e2e/world.ts";
import { createRoute, discordSide } from "./discord-side.ts";
import { seeded } from "./mixed-traffic.ts";
import { answerTo, judge, said, type Verdict } from "./said.ts";
import { lookAt, type StoreLook } from "./store-look.ts";

export interface TroubleReport {
  readonly verdicts: readonly Verdict[];
  readonly messages: number;
  readonly troubles: number;
  readonly store: StoreLook;
  readonly violations: readonly string[];
}

const editRoute = "PATCH /channels/:channel/messages/:message";
const historyRoute = "GET /channels/:channel/messages";
const badGateway = { kind: "answer", status: 502, body: "<html>Bad Gateway" } as const;
const tooFast = {
  kind: "answer",
  status: 429,
  body: { message: "You are being rate limited.", retry_after: 0.3, global: false },
  headers: { "retry-after": "0.3" },
} as const;

const troubles: readonly ((discord: FakeDiscord) => void)[] = [
  ({ gateway }) => gateway.drop(),
  ({ gateway }) => gateway.drop(4000),
  ({ gateway }) => gateway.drop(4009),
  ({ gateway }) => gateway.reconnect(),
  ({ gateway }) => gateway.invalidate(true),
  ({ gateway }) => gateway.invalidate(false),
  ({ gateway }) => (gateway.refuseResume(3), gateway.drop()),
  ({ gateway }) => (gateway.repeatAfterResume(5), gateway.drop()),
  ({ gateway }) => gateway.pushText('{"op":'),
  ({ inject }) => inject({ method: createRoute, trouble: badGateway }),
  ({ inject }) => inject({ method: createRoute, when: "after", trouble: badGateway }),
  ({ inject }) => inject({ method: createRoute, trouble: { kind: "reset" } }),
  ({ inject }) => inject({ method: createRoute, when: "after", trouble: { kind: "reset" } }),
  ({ inject }) => inject({ method: createRoute, trouble: { kind: "truncate" } }),
  ({ inject }) => inject({ method: createRoute, trouble: { kind: "delay", delayMs: 2_000 } }),
  ({ inject }) => inject({ method: createRoute, trouble: tooFast }),
  ({ inject }) => inject({ method: editRoute, when: "after", trouble: { kind: "reset" } }),
  ({ inject }) => inject({ method: editRoute, trouble: badGateway }),
  ({ inject }) => inject({ method: historyRoute, trouble: badGateway }),
];
const longestCalmMs = 1_200;
const longestSilenceMs = 400;
const timeouts = 3;
/** The machine has other work too. */
const answeredWithinMs = 90_000;

export async function troubledDiscord(how: {
  readonly seed: number;
  readonly troubles: number;
  readonly streaming: "off" | "edit";
}): Promise<TroubleReport> {
  const chance = seeded(how.seed);
  const [w, side] = await Promise.all([world(), discordSide({ streaming: how.streaming })]);
  try {
    const thinking =
      how.streaming === "off" ? "" : "Let me think about it for a while, in many words. ".repeat(6);
    w.models.reply((call) => ({ text: thinking + answerTo(call), delayMs: chance() * 300, betweenMs: 15 }));
    const people = (["private", "private", "server"] as const).map((place, index) => ({
      ...side.speaker(`${301 + index}`, place),
      count: 0,
    }));
    const waits = (): boolean => people.some(({ texts, count }) => judge(texts(), count).lost.length > 0);
    const daemon = await w.start({
      config: { channels: { ...(w.config["channels"] as object), discord: side.config } },
    });
    await side.live();
    for (const person of people) person.say(said((person.count += 1)));
    await eventually(() => !waits(), answeredWithinMs);
    let talking = true;
    const talks = people.map(async (person) => {
      while (talking) {
        if (judge(person.texts(), person.count).lost.length < timeouts) person.say(said((person.count += 1)));
        await pause(chance() * longestSilenceMs);
      }
    });
    for (let n = 0; n < how.troubles; n += 1) {
      troubles[Math.floor(chance() * troubles.length)]?.(side.discord);
      await pause(chance() * longestCalmMs);
    }
    talking = false;
    await Promise.all(talks);
    side.discord.heal();
    await eventually(
      () => !waits(),
      answeredWithinMs,
      `an answer to everybody (seed ${how.seed})\n${daemon.log()}`,
    );
    await daemon.stop();
    return {
      verdicts: people.map(({ texts, count }) => judge(texts(), count)),
      messages: people.reduce((sum, { count }) => sum + count, 0),
      troubles: how.troubles,
      store: lookAt(daemon.home),
      violations: side.discord.violations(),
    };
  } finally {
    await Promise.all([w.close(), side.close()]);
  }
}
