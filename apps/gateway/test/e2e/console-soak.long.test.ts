// Hours of the console in a quarter of one: what the page holds stays the same.
import { lacks, program, programPath } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { openBrowser } from "./browser.ts";
import { fillUp, heldBy, useHeavily, type Held } from "./console-soak.ts";
import { cleanUp, startDaemon } from "./daemon.ts";

const chromium = program("chromium");
/** More than the page keeps of a conversation. */
const saidBefore = 1_500;
/** By then every page was open, and the lists of what the gateway did are full. */
const warmRounds = 5;
const rounds = 10;
/** The chat draws the newest three or four blocks of five messages, and lists gain a row now and then. */
const mostGrowth = { heapKb: 1.15, nodes: 1.05, listeners: 1.05, documents: 1 } as const;

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
        await fillUp(page, saidBefore);
        const held: Held[] = [];
        for (let round = 0; round < warmRounds + rounds; round += 1) {
          await useHeavily(page, { messages: 50, pieces: 400 });
          held.push(await heldBy(cdp));
        }
        console.log(JSON.stringify(held));
        const most = (of: readonly Held[], what: keyof Held): number =>
          Math.max(...of.map((each) => each[what]));
        for (const what of ["heapKb", "nodes", "listeners", "documents"] as const)
          expect(most(held.slice(warmRounds), what), what).toBeLessThanOrEqual(
            mostGrowth[what] * most(held.slice(0, warmRounds), what),
          );
        expect(trouble).toEqual([]);
      } finally {
        await browser.close();
      }
      expect(await daemon.stop()).toBe(0);
    },
  );
});
