// A hundred kills in a row, each before the model has answered.
import { afterEach, expect, test } from "vitest";
import { cleanUp } from "../e2e/daemon.ts";
import { flawless } from "./said.ts";
import { killedFasterThanTheModel } from "./slow-model.ts";

afterEach(cleanUp);

const modelMs = 4_000;

test(
  "a hundred kills: nothing innocent is buried, and then nobody waits for the others",
  { timeout: 1_800_000 },
  async () => {
    const seed = Date.now() % 1_000_000;
    const report = await killedFasterThanTheModel({ kills: 100, modelMs, upMs: 3_000, people: 8, seed });
    const { messages, newcomerMs, lastAnswerMs, store } = report;
    console.log(
      `seed ${seed}: ${messages} messages of 9 people, 100 kills, the model takes ${modelMs} ms; after the last start a newcomer was answered ` +
        `after ${newcomerMs} ms, the last of the others after ${lastAnswerMs} ms; dead: ${store.dead.length}, flagged: ${store.flagged.length}`,
    );
    expect(report.verdicts).toEqual(report.verdicts.map(() => flawless));
    expect(store).toMatchObject({ openRows: 0, openDeliveries: 0, dead: [] });
  },
);
