// Several people at once, on Telegram, on Discord and at web pages, while the daemon is ended again and again
// at random instants. They never wait for it: what is said while it is down stays with the platform, or with
// the page, until it is back.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { toolCallStep, type ModelAnswer, type ModelCall } from "@parley/testkit";
import { eventually, type Daemon } from "../e2e/daemon.ts";
import { world, type World } from "../e2e/world.ts";
import { discordSide } from "./discord-side.ts";
import { answerTo, askedIn, judge, said, type Verdict } from "./said.ts";
import { ageBoots, lookAt, type StoreLook } from "./store-look.ts";
import { webPerson } from "./web-person.ts";

export interface TrafficOptions {
  readonly signal: "SIGKILL" | "SIGTERM";
  readonly times: number;
  readonly seed: number;
  /** Every second end falls into the recovery from the one before. */
  readonly inPairs?: boolean;
}

interface Heard {
  /** Medium, and peer of the conversation. */
  readonly who: string;
  readonly verdict: Verdict;
  readonly texts: readonly string[];
}

export interface TrafficReport {
  readonly telegram: readonly Heard[];
  readonly discord: readonly Heard[];
  readonly web: readonly Heard[];
  /**
   * How often Discord had forgotten its session while the daemon was down, so that only the history knew what
   * was said.
   */
  readonly sessionsForgotten: number;
  /** Exit code or signal of each end. */
  readonly exits: readonly (number | string)[];
  readonly store: StoreLook;
  /** What the tool that writes wrote, one line a run. */
  readonly toolRuns: readonly string[];
  readonly messages: number;
}

const chats = [101, 102, 103];
const discordPeople = [
  ["201", "private"],
  ["202", "private"],
  ["203", "server"],
] as const;
const peers = ["web-ann", "web-bob"];
/** Messages of one person that may wait for an answer. */
const timeouts = 3;
const longestUpMs = 900;
const longestThoughtMs = 200;
const longestSilenceMs = 250;
const forgottenShare = 0.3;
/** The machine has other work too. */
const heardWithinMs = 60_000;

interface Speaker {
  readonly who: string;
  readonly texts: () => readonly string[];
  readonly say: (text: string) => void;
  count: number;
}

export async function endedAtRandom(options: TrafficOptions): Promise<TrafficReport> {
  const chance = seeded(options.seed);
  const [w, side] = await Promise.all([world(), discordSide()]);
  w.models.reply((call) => thoughtful(call, chance));
  const pages = peers.map((peer) => ({ peer, page: webPerson(peer) }));
  const telegram = chats.map((id): Speaker => {
    const person = w.telegram.as(id);
    return {
      who: `telegram ${id}`,
      count: 0,
      texts: () => textsIn(w, id),
      say: (text) => void person.says(text),
    };
  });
  const web = pages.map(({ peer, page }): Speaker => {
    // Closed before it was acknowledged: the test is over.
    return {
      who: `web ${peer}`,
      count: 0,
      texts: page.heard,
      say: (text) => void page.says(text).catch(() => {}),
    };
  });
  const discord = discordPeople.map(([id, place]): Speaker => {
    const { peer, texts, say } = side.speaker(id, place);
    return { who: `discord ${peer}`, count: 0, texts, say };
  });
  const all = [...telegram, ...discord, ...web];
  let sessionsForgotten = 0;
  let daemon: Daemon | undefined;
  let talking = true;
  const exits: (number | string)[] = [];
  const start = async (): Promise<Daemon> => {
    const next = await w.start({
      ...(daemon === undefined ? {} : { home: daemon.home }),
      config: {
        tools: { rehearsal: true },
        channels: { ...(w.config["channels"] as object), discord: side.config },
      },
    });
    for (const { page } of pages) page.meets(next);
    return next;
  };
  try {
    daemon = await start();
    // A bot that nobody ever heard of misses what is said before it is there, and knows of no conversation to
    // look back at.
    await side.live();
    for (const speaker of discord) speaker.say(said((speaker.count += 1)));
    for (const speaker of discord) await allHeard(speaker, daemon);
    const talks = all.map((speaker) => talk(speaker, chance, () => talking));
    for (let n = 0; n < options.times; n += 1) {
      const before = all.map((speaker) => ({ ...speaker }));
      if (n > 0) daemon = await start();
      // Never three in a row: a message that sees the process die three times, at last alone, is poison by
      // the rules, and put aside.
      if (n % 2 === 0 || options.inPairs !== true)
        for (const speaker of before) await allHeard(speaker, daemon);
      await pause(chance() * longestUpMs);
      daemon.kill(options.signal);
      exits.push(await daemon.exited);
      ageBoots(daemon.home);
      if (chance() < forgottenShare) {
        side.discord.gateway.forgetSessions();
        sessionsForgotten += 1;
      }
    }
    talking = false;
    await Promise.all(talks);
    daemon = await start();
    for (const speaker of all) await allHeard(speaker, daemon);
    await pause(400);
    exits.push(await daemon.stop());
    const log = await readFile(join(daemon.home, "workspace", "rehearsal.log"), "utf8").catch(() => "");
    const heard = (speakers: readonly Speaker[]): readonly Heard[] =>
      speakers.map(({ who, texts, count }) => ({ who, texts: texts(), verdict: judge(texts(), count) }));
    return {
      telegram: heard(telegram),
      discord: heard(discord),
      web: heard(web),
      sessionsForgotten,
      exits,
      store: lookAt(daemon.home),
      toolRuns: log.split("\n").flatMap((line) => (line === "" ? [] : [line.slice(line.indexOf(" ") + 1)])),
      messages: all.reduce((sum, speaker) => sum + speaker.count, 0),
    };
  } finally {
    for (const { page } of pages) page.close();
    await Promise.all([w.close(), side.close()]);
  }
}

async function allHeard(speaker: Speaker, { home, log }: Daemon): Promise<void> {
  const waiting = (): readonly number[] => {
    const { lost } = judge(speaker.texts(), speaker.count);
    if (lost.length === 0) return lost;
    const { ambiguous } = lookAt(home);
    return lost.filter((n) => !isKnown(ambiguous, speaker.who, n));
  };
  try {
    await eventually(() => waiting().length === 0, heardWithinMs);
  } catch (cause) {
    const state = JSON.stringify({
      ...judge(speaker.texts(), speaker.count),
      count: speaker.count,
      store: lookAt(home),
    });
    throw new Error(`${speaker.who} waits for answers: ${state}\n${log()}`, { cause });
  }
}

/** Whether the answer to this person's m<n> is among these parts of the store. */
export function isKnown(parts: readonly string[], who: string, n: number): boolean {
  const peer = who.replace(/^\w+ /, "");
  return parts.some((part) => part.includes(`:${peer} `) && new RegExp(`\\bre m${n}\\b`).test(part));
}

function unanswered({ texts, count }: Speaker): number {
  return judge(texts(), count).lost.length;
}

async function talk(speaker: Speaker, chance: () => number, goesOn: () => boolean): Promise<void> {
  while (goesOn()) {
    if (unanswered(speaker) < timeouts) speaker.say(said((speaker.count += 1)));
    await pause(chance() * longestSilenceMs);
  }
}

/**
 * Takes its time, and for every third number asks for a tool first. It reads only the request, so a turn that
 * begins anew asks anew.
 */
function thoughtful(call: ModelCall, chance: () => number): ModelAnswer {
  const delayMs = chance() * longestThoughtMs;
  const asked = askedIn(call);
  const session = /agent:main:[\w:-]+/.exec(call.system)?.[0] ?? "";
  const messages = call.body["messages"] as readonly {
    readonly role: string;
    readonly tool_calls?: unknown;
  }[];
  const answered = messages.findLastIndex(
    (message) => message.role === "assistant" && message.tool_calls === undefined,
  );
  const triedTool = messages.slice(answered + 1).some((message) => message.tool_calls !== undefined);
  const third = asked.find((n) => n % 3 === 0);
  if (third === undefined || triedTool) return { text: answerTo(call), delayMs };
  return { ...toolCallStep("append", { line: `${session} m${third}` }), delayMs };
}

function textsIn(w: World, chat: number): readonly string[] {
  try {
    return w.answers(chat).map((message) => message.text);
  } catch {
    // Nothing was said there yet.
    return [];
  }
}

/** A small generator (mulberry32, public domain), so that a run's choices can be made again. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
