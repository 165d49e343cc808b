// An owner asks the agent for an update, and the gateway is killed while that goes on: what the chat is told,
// and what runs at the end.
import { setTimeout as pause } from "node:timers/promises";
import type { ModelAnswer, ModelCall } from "@parley/testkit";
import { hasEnded, readRecord, type UpdateRecord } from "@parley/update";
import { expect } from "vitest";
import { answerTo } from "../crash/said.ts";
import { eventually } from "../e2e/daemon.ts";
import type { InventedReleases } from "./invented-releases.ts";
import { inForce, owner, stranger, traffic, type Traffic } from "./update-traffic.ts";

/** An update asks its own gateway several times a second. */
const lookEveryMs = 5;
const endsWithinMs = 300_000;

export type Moment = "backup" | "start" | "watch" | "never";

const reached: { readonly [moment in Moment]: (record: UpdateRecord) => boolean } = {
  backup: ({ before, state }) => state === "preparing" && before !== null,
  start: ({ state }) => state === "trying",
  watch: ({ state, worked }) => state === "trying" && worked === true,
  never: () => false,
};

/** The model does what it is asked, tells what came of it, and hands on what it is told. */
function obliging(to: string): (call: ModelCall) => ModelAnswer {
  return (call) => {
    const { lastUserText, lastToolResult } = call;
    const told = /Parley is updated.*|The update of Parley.*|Parley was not updated.*/.exec(lastUserText);
    if (told !== null) return { text: `told: ${told[0]}` };
    const action = /please (update\.\w+)/.exec(lastUserText)?.[1];
    if (action === undefined) return { text: answerTo(call), delayMs: 60 };
    return lastToolResult === null
      ? { toolCalls: [{ name: "gateway", args: action === "update.run" ? { action, to } : { action } }] }
      : { text: `so: ${lastToolResult}` };
  };
}

export interface AskedOptions {
  readonly releases: InventedReleases;
  readonly older: string;
  readonly newer: string;
  readonly supervisor: { readonly afterMs: number } | null;
  /** `kill -9` of the gateway comes then. */
  readonly killedAt: Moment;
}

/** Returns how the update ended, once the chat that asked was told. */
export async function askedInChat(
  { releases, older, newer, supervisor, killedAt }: AskedOptions,
  began: (people: Traffic) => void,
): Promise<UpdateRecord> {
  const people = await traffic({ releases, program: await releases.install("tarball", older), supervisor });
  began(people);
  const { w, kept, home, toldTo } = people;
  w.models.reply(obliging(newer));
  const asks = async (chat: number, action: string): Promise<string | undefined> => {
    const before = toldTo(chat).length;
    w.telegram.as(chat).says(`please ${action}`);
    await eventually(() => toldTo(chat).length > before, endsWithinMs, `the answer to ${action}`);
    return toldTo(chat)[before];
  };
  for (const action of ["update.check", "update.run"])
    expect(await asks(stranger, action)).toMatch(/^so: There is no tool "gateway"/);
  expect(await asks(owner, "update.check")).toMatch(
    /^so: Parley [\d.]+ is there; I am [\d.]+\. \/update brings it\.$/,
  );
  expect(readRecord(home)).toBeNull();
  const answered = asks(owner, "update.run");
  if (killedAt !== "never") await killAt(people, reached[killedAt]);
  // A kill in the middle of the call leaves its outcome unknown.
  expect(await answered).toMatch(/^so: (?:The update begins|.*outcome)/is);
  await eventually(() => toldTo(owner).some((text) => text.startsWith("told: ")), endsWithinMs, "the end");
  const record = readRecord(home);
  if (record === null || !hasEnded(record)) throw new Error(`told before its end: ${kept.log()}`);
  const runs = record.state === "done" ? newer : older;
  expect(await inForce(people), kept.log().slice(-4_000)).toBe(runs);
  const status = await kept.parley("status", "--json").ended;
  expect(JSON.parse(status.out), kept.log().slice(-4_000)).toMatchObject({ version: runs });
  return record;
}

async function killAt({ home, kept }: Traffic, isReached: (record: UpdateRecord) => boolean): Promise<void> {
  const until = Date.now() + endsWithinMs;
  for (;;) {
    const record = readRecord(home);
    const pid = kept.pid();
    if (record !== null && hasEnded(record)) throw new Error(`it ended before: ${JSON.stringify(record)}`);
    if (record !== null && pid !== null && isReached(record)) return void process.kill(pid, "SIGKILL");
    if (Date.now() > until) throw new Error(`it never came so far: ${kept.log()}`);
    await pause(lookEveryMs);
  }
}
