// A disk that is full again and again under traffic, and a daemon that is killed meanwhile: what was
// acknowledged is answered once and in order, what was not comes again from the platform, and no restart is
// needed.
import { spawnSync } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, describe, expect, test } from "vitest";
import { cleanUp, eventually, processEnv, programOf, type Daemon } from "../e2e/daemon.ts";
import { world } from "../e2e/world.ts";
import { smallDisk, whyNoSmallDisk } from "./full-disk.ts";
import { answerTo, flawless, judge, said } from "./said.ts";
import { ageBoots, lookAt } from "./store-look.ts";
import { webPerson } from "./web-person.ts";

afterEach(cleanUp);

const rounds = 8;
const chats = [11, 12];
const fix = /the disk is full.*free some space/;

describe.skipIf(whyNoSmallDisk !== null)(`a full disk (${whyNoSmallDisk ?? "a small tmpfs"})`, () => {
  test("again and again, with a kill every third time", { timeout: 900_000 }, async () => {
    const disk = await smallDisk(8);
    const w = await world();
    const page = webPerson("web-alice");
    try {
      w.models.reply((call) => answerTo(call));
      let daemon = await w.start({ home: disk.home });
      page.meets(daemon);
      let count = 0;
      const filling = " and so on ".repeat(300);
      const speak = (): void => {
        count += 1;
        // Too long for what is left of a page of the log.
        for (const chat of chats) w.telegram.as(chat).says(`${said(count)}${filling}`);
        // Closed at the end of a test that failed.
        void page.says(`${said(count)}${filling}`).catch(() => {});
      };
      const seen = (chat: number): readonly string[] => w.answers(chat).map(({ text }) => text);
      const status = (): { readonly state: string; readonly reasons: readonly string[] } => {
        const args = [programOf("cli"), "status", "--json"];
        const { stdout } = spawnSync(process.execPath, args, {
          env: { ...processEnv(disk.home) },
          encoding: "utf8",
        });
        return JSON.parse(stdout) as ReturnType<typeof status>;
      };
      const answered = (): Promise<unknown> =>
        eventually(
          () =>
            chats.every((chat) => judge(seen(chat), count).lost.length === 0) &&
            judge(page.heard(), count).lost.length === 0,
          120_000,
          `answers to ${count} messages`,
        );
      speak();
      await answered();
      for (let round = 1; round <= rounds; round += 1) {
        // In the middle of what the last round still has to write, or in quiet.
        if (round % 2 === 0) speak();
        const logged = daemon.log().length;
        disk.fill();
        speak();
        speak();
        await eventually(() => status().reasons.some((reason) => fix.test(reason)), 60_000, "degraded");
        expect(status().state).toBe("degraded");
        // The log is asked as seldom as the store is checked.
        await eventually(() => fix.test(daemon.log().slice(logged)), 60_000, "a line of the log");
        if (round % 3 === 0) {
          daemon.kill("SIGKILL");
          await daemon.exited;
          // No start can succeed that cannot write, and it says why.
          await expect(w.start({ home: disk.home })).rejects.toThrow(/full|no space left/i);
          disk.free();
          ageBoots(disk.home);
          daemon = await again();
        } else disk.free();
        await answered();
        await eventually(() => status().state === "ok", 60_000, "health");
      }
      await pause(500);
      for (const chat of chats) expect([chat, judge(seen(chat), count)]).toEqual([chat, flawless]);
      expect(judge(page.heard(), count)).toEqual(flawless);
      expect(await daemon.stop()).toBe(0);
      expect(lookAt(disk.home)).toEqual({
        flagged: [],
        ambiguous: [],
        openRows: 0,
        openDeliveries: 0,
        dead: [],
      });

      async function again(): Promise<Daemon> {
        const next = await w.start({ home: disk.home });
        page.meets(next);
        return next;
      }
    } finally {
      page.close();
      await w.close();
      disk.unmount();
    }
  });
});
