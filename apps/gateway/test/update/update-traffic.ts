// People write on Telegram and at the web page while an installation is updated: numbered messages, one
// answer to each.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { expect } from "vitest";
import { answerTo, flawless, judge, said, type Verdict } from "../crash/said.ts";
import { lookAt } from "../crash/store-look.ts";
import { webPerson } from "../crash/web-person.ts";
import { eventually, freshHome, testToken } from "../e2e/daemon.ts";
import { findableGateway } from "../e2e/operator.ts";
import { world, type World } from "../e2e/world.ts";
import type { InventedReleases } from "./invented-releases.ts";
import { keptUp, type KeptUp } from "./kept-up.ts";

const chats = [101, 102, 103];
/** They write /update, and nothing with a number. */
export const owner = 4242;
export const stranger = 4243;
/** Messages of one person that may wait for an answer. */
const patience = 3;
const silenceMs = 360;
/** The machine has other work too. */
const heardWithinMs = 120_000;

interface Speaker {
  readonly who: string;
  count: number;
  readonly say: (text: string) => void;
  readonly texts: () => readonly string[];
}

export interface Traffic {
  readonly w: World;
  readonly home: string;
  readonly kept: KeptUp;
  /** Everything that was said so far is answered. */
  heard(): Promise<void>;
  /** What the bot said to this chat. */
  toldTo(chat: number): readonly string[];
  /** They stop; everything is answered; the gateway ends. */
  end(): Promise<readonly { readonly who: string; readonly count: number; readonly verdict: Verdict }[]>;
  close(): Promise<void>;
}

export interface TrafficOptions {
  readonly releases: Pick<InventedReleases, "folder">;
  /** The launcher. */
  readonly program: string;
  readonly supervisor: { readonly afterMs: number } | null;
}

/** Starts the gateway, and people who talk until they are told to stop. */
export async function traffic({ releases, program, supervisor }: TrafficOptions): Promise<Traffic> {
  const w = await world();
  w.models.reply((call) => ({ text: answerTo(call), delayMs: 60 }));
  const home = await freshHome();
  const { gateway } = await findableGateway();
  const config = {
    ...w.config,
    gateway,
    update: { url: releases.folder, watchSeconds: 3 },
    commands: { ownerAllowFrom: [`telegram:${owner}`] },
  };
  writeFileSync(join(home, "parley.json5"), JSON.stringify(config));
  const kept = keptUp(program, home, supervisor);
  const page = webPerson("web-ann");
  const { port } = gateway as { readonly port: number };
  page.meets({ url: `http://127.0.0.1:${port}`, token: testToken });
  const toldTo = (chat: number): readonly string[] => {
    try {
      return w.answers(chat).map(({ text }) => text);
    } catch {
      // Nothing was said there yet.
      return [];
    }
  };
  const all: Speaker[] = [
    ...chats.map((id): Speaker => {
      const person = w.telegram.as(id);
      return {
        who: `telegram ${id}`,
        count: 0,
        say: (text) => void person.says(text),
        texts: () => toldTo(id),
      };
    }),
    // Closed before it was acknowledged: the test is over.
    { who: "web", count: 0, say: (text) => void page.says(text).catch(() => undefined), texts: page.heard },
  ];
  const waiting = ({ texts, count }: Speaker): readonly number[] => judge(texts(), count).lost;
  const heard = async (): Promise<void> => {
    const saidBefore = new Map(all.map((speaker) => [speaker, speaker.count]));
    const isHeard = (speaker: Speaker): boolean =>
      waiting(speaker).every((n) => n > (saidBefore.get(speaker) ?? 0));
    try {
      await eventually(() => all.every(isHeard), heardWithinMs);
    } catch (cause) {
      const left = all.map(({ who, texts, count }) => ({ who, count, ...judge(texts(), count) }));
      throw new Error(`${JSON.stringify(left)}\n${kept.log().slice(-6_000)}`, { cause });
    }
  };
  for (const speaker of all) speaker.say(said((speaker.count += 1)));
  await heard();
  let isTalking = true;
  const talks = all.map(async (speaker) => {
    while (isTalking) {
      if (waiting(speaker).length < patience) speaker.say(said((speaker.count += 1)));
      await pause(silenceMs);
    }
  });
  return {
    w,
    home,
    kept,
    heard,
    toldTo,
    async end() {
      isTalking = false;
      await Promise.all(talks);
      await heard();
      await kept.stop();
      return all.map(({ who, texts, count }) => ({ who, count, verdict: judge(texts(), count) }));
    },
    async close() {
      isTalking = false;
      await kept.stop();
      page.close();
      await w.close();
    },
  };
}

export async function inForce({ kept }: Pick<Traffic, "kept">): Promise<string> {
  return (await kept.parley("--version").ended).out.trim();
}

export async function expectGoesBack(people: Traffic, to: string, from: string): Promise<void> {
  const { code, err } = await people.kept.parley("update", "--to", to, "--watch", "4").ended;
  expect([code, err], people.kept.log()).toEqual([
    1,
    expect.stringContaining(`Parley ${from} is in force again; ${to} did not do`),
  ]);
  expect(await inForce(people)).toBe(from);
}

/**
 * Everything was answered, once, in its order. What Telegram was shown twice after a kill, the store flagged.
 */
export async function expectFlawless({ end, home }: Traffic): Promise<void> {
  const verdicts = await end();
  console.log(verdicts.map(({ who, count }) => `${who}: ${count}`).join(", "));
  const { flagged, ...look } = lookAt(home);
  expect(look).toMatchObject({ openRows: 0, openDeliveries: 0, dead: [] });
  for (const { who, verdict } of verdicts) {
    const isFlagged = (n: number): boolean =>
      who.startsWith("telegram") && flagged.some((each) => new RegExp(`\\bre m${n}\\b`).test(each));
    expect({ who, ...verdict, doubled: verdict.doubled.filter((n) => !isFlagged(n)) }).toEqual({
      who,
      ...flawless,
    });
  }
}
