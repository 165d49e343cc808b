// Hours of the console in a quarter of one: what the page holds stays the same.
import { lacks, program, programPath } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { openBrowser } from "./browser.ts";
import { heldBy, useHeavily, type Held } from "./console-soak.ts";
import { cleanUp, startDaemon } from "./daemon.ts";

const chromium = program("chromium");
/** By then lists of what the gateway did are full, and a long conversation was cut to its newest part. */
const warmRounds = 9;
const rounds = 7;

afterEach(cleanUp);

describe.skipIf(lacks(chromium))("a console that is used for hours", () => {
  test(
    "holds no more memory, nodes or listeners after thousands of messages, page changes and broken lines",
    { timeout: 1_800_000 },
    async () => {
      const daemon = await startDaemon({ config: {} });
      const browser = await openBrowser(programPath(chromium));
      try {
        const page = await (await browser.newContext()).newPage();
        const trouble: string[] = [];
        page.on("pageerror", ({ message }) => trouble.push(message));
        await page.goto(`${daemon.url}/#code=${daemon.code}`);
        const cdp = await page.context().newCDPSession(page);
        const held: Held[] = [];
        for (let round = 0; round < warmRounds + rounds; round += 1) {
          await useHeavily(page, { messages: 150, pieces: 600 });
          held.push(await heldBy(cdp));
        }
        console.log(JSON.stringify(held));
        const most = (of: readonly Held[], what: keyof Held): number =>
          Math.max(...of.map((each) => each[what]));
        for (const what of ["heapKb", "nodes", "listeners", "documents"] as const)
          expect(most(held.slice(-rounds), what), what).toBeLessThan(
            1.3 * most(held.slice(warmRounds - 3, warmRounds), what),
          );
        expect(trouble).toEqual([]);
      } finally {
        await browser.close();
      }
      expect(await daemon.stop()).toBe(0);
    },
  );
});
