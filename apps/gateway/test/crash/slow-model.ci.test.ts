// Some kills in a row, more than make a turn a suspect, each before the model has answered;
// slow-model.long.test.ts has a hundred.
import { afterEach, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { flawless } from "./said.ts";
import { killedFasterThanTheModel } from "./slow-model.ts";

afterEach(cleanUp);

test(
  "five kills, each before the model has answered: all is answered once, in order, and nothing is buried",
  { timeout: 300_000 },
  async () => {
    const report = await killedFasterThanTheModel({
      kills: 5,
      modelMs: 3_000,
      upMs: 1_500,
      people: 8,
      seed: 14,
    });
    expect(report.verdicts).toEqual(report.verdicts.map(() => flawless));
    expect(report.store).toMatchObject({ openRows: 0, openDeliveries: 0, dead: [] });
  },
);
