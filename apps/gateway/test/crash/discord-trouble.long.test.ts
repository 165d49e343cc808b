// A hundred and twenty troubles of Discord, with whole and with growing answers.
import { afterEach, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { troubledDiscord } from "./discord-trouble.ts";
import { flawless } from "./said.ts";

afterEach(cleanUp);

test.each(["off", "edit"] as const)(
  "sixty random troubles at the gateway and in calls: each message is answered once, in order (streaming: %s)",
  { timeout: 900_000 },
  async (streaming) => {
    const seed = Date.now() % 1_000_000;
    const report = await troubledDiscord({ seed, troubles: 60, streaming });
    console.log(`seed ${seed}: ${report.messages} messages, ${report.troubles} troubles`);
    expect(report.verdicts).toEqual([flawless, flawless, flawless]);
    expect(report.store).toEqual({ flagged: [], ambiguous: [], openRows: 0, openDeliveries: 0, dead: [] });
    expect(report.violations).toEqual([]);
  },
);
