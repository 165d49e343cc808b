// A message in whose turn the process dies, every time. Others are served; after its strikes it is put aside
// with one notice.
import { afterEach, expect, test } from "vitest";
import { cleanUp, eventually, type Daemon } from "../e2e/daemon.ts";
import { world } from "../e2e/world.ts";
import { answerTo, flawless, judge, said } from "./said.ts";
import { ageBoots, lookAt } from "./store-look.ts";

afterEach(cleanUp);

/** Two deaths beside others, one alone; a fourth would be one too many. */
const deaths = 3;

test(
  "a message that kills the process is buried after its strikes, told once, while others are answered",
  { timeout: 300_000 },
  async () => {
    const w = await world();
    try {
      let daemon: Daemon | undefined;
      const current = (): Daemon => {
        if (daemon === undefined) throw new Error("not started");
        return daemon;
      };
      w.models.reply(async (call) => {
        if (!call.lastUserText.includes("poison")) return answerTo(call);
        current().kill("SIGKILL");
        await current().exited;
        return "nobody hears this";
      });
      const [mallory, alice] = [w.telegram.as(66), w.telegram.as(1)];
      daemon = await w.start();
      mallory.says("this is poison");
      for (let n = 1; n <= deaths; n += 1) {
        expect(await current().exited).toBe("SIGKILL");
        alice.says(said(n));
        // The deaths of a real poison may lie further apart than a crash loop's; the same rules hold.
        ageBoots(current().home);
        daemon = await w.start({ home: current().home });
      }
      await eventually(() => w.answers(66).length > 0, 15_000, "the notice");
      await eventually(
        () =>
          judge(
            w.answers(1).map(({ text }) => text),
            deaths,
          ).lost.length === 0,
        15_000,
        "alice's answers",
      );
      mallory.says(said(1));
      await eventually(() => w.answers(66).length > 1, 15_000, "the answer after the poison");
      expect(await current().stop()).toBe(0);

      expect(w.answers(66).map(({ text }) => text)).toEqual([expect.stringMatching(/put it aside/), "re m1"]);
      expect(
        judge(
          w.answers(1).map(({ text }) => text),
          deaths,
        ),
      ).toEqual(flawless);
      expect(w.models.requests().filter(({ lastUserText }) => lastUserText.includes("poison"))).toHaveLength(
        deaths,
      );
      expect(lookAt(current().home)).toMatchObject({
        openRows: 0,
        openDeliveries: 0,
        dead: [expect.stringMatching(/died in this turn/)],
      });
    } finally {
      await w.close();
    }
  },
);
