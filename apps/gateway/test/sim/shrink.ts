// Makes a failing schedule small: leaves out troubles and acts, in ever smaller groups, as long as it still
// breaks the same law; then takes away what else can go (delta debugging, Zeller 2002).
import type { Plan } from "./plan.ts";

/** Whether a plan still fails in the same way. */
export type StillFails = (plan: Plan) => Promise<boolean>;

/** Schedules that are tried at most. */
const mostTries = 250;

export async function shrink(failing: Plan, stillFails: StillFails): Promise<Plan> {
  let best = failing;
  let tries = 0;
  const attempt = async (plan: Plan): Promise<boolean> => {
    if (tries >= mostTries) return false;
    tries += 1;
    if (!(await stillFails(plan))) return false;
    best = plan;
    return true;
  };

  for (let before: Plan | null = null; before !== best && tries < mostTries;) {
    before = best;
    await without("troubles");
    await without("acts");
    for (const simpler of [
      { calm: true },
      { store: "node" },
      { streaming: "off" },
      { queue: "steer" },
      { scope: "per-channel-peer" },
    ] as const) {
      const plan = { ...best, ...simpler };
      if (JSON.stringify(plan) !== JSON.stringify(best)) await attempt(plan);
    }
    for (const [index, act] of best.acts.entries()) {
      if (act.kind !== "say" || JSON.stringify(act.script) === JSON.stringify(plainScript)) continue;
      await attempt({ ...best, acts: best.acts.with(index, { ...act, script: plainScript }) });
    }
  }
  return best;

  async function without(list: "acts" | "troubles"): Promise<void> {
    for (let size = Math.max(1, Math.floor(best[list].length / 2)); ; size = Math.floor(size / 2)) {
      for (let at = 0; at < best[list].length;) {
        const left = { ...best, [list]: best[list].filter((_, index) => index < at || index >= at + size) };
        // Fewer acts make fewer calls: what happened to the fifth may have to happen to the third.
        if (
          !(await attempt(left)) &&
          !(await attempt(earlier(left, 1))) &&
          !(await attempt(earlier(left, 2)))
        )
          at += size;
      }
      if (size <= 1) return;
    }
  }
}

/** The same plan with its troubles some calls earlier. */
function earlier(plan: Plan, by: number): Plan {
  const troubles = plan.troubles.map((trouble) =>
    "port" in trouble ? { ...trouble, nth: Math.max(1, trouble.nth - by) } : trouble,
  );
  return { ...plan, troubles };
}

const plainScript = { tools: [], answer: "plain", pieces: 1, pauseMs: 50 } as const;
