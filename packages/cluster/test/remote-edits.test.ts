// What a node that does not lead an account does with it: the leader types and edits in its place, the newest
// text in the platform's pace, and nothing more once the message is settled.
import type { Channel } from "@parley/channels";
import { Fault, silentLog, type Action, type Address } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { hearTyping, remoteChannel } from "../src/remote-channel.ts";
import { leaderEdits, tellEdit, type Edit } from "../src/remote-edits.ts";
import { buses } from "./buses.ts";

const to = (account: string): Address =>
  ({ channel: "telegram", account, kind: "dm", peer: "7" }) as unknown as Address;
const edit = (messageId: string, text: string): Edit =>
  ({ kind: "edit", messageId, text }) as unknown as Edit;

/**
 * A leader of the accounts `a` and `b`, a worker that tells it, and what reaches the platform with its time.
 */
function stage(answers: readonly (Error | null)[] = []) {
  const clock = virtualClock();
  const [worker, leader] = buses(2);
  if (worker === undefined || leader === undefined) throw new Error("two buses were asked for");
  const said: string[] = [];
  const left = [...answers];
  let waits: Promise<void> | null = null;
  const channel = {
    async act(
      where: Address,
      action: Edit & { readonly text?: string },
      options: { idempotencyKey: string },
    ) {
      said.push(
        `${clock.now()} ${where.account} ${action.messageId} ${action.text} ${options.idempotencyKey}`,
      );
      await waits;
      const answer = left.shift() ?? null;
      if (answer !== null) throw answer;
      return null;
    },
  } as unknown as Channel;
  const edits = leaderEdits({
    bus: leader,
    leads: (account) => (account === "telegram:other" ? null : channel),
    clock,
    log: silentLog,
  });
  const begun = clock.now();
  const pass = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += 250) await clock.advance(250);
  };
  const since = (): readonly string[] =>
    said.splice(0).map((each) => each.replace(/^\d+/, (ms) => String(Number(ms) - begun)));
  return {
    clock,
    edits,
    pass,
    since,
    hold: (work: Promise<void>) => void (waits = work),
    say: (account: string, id: string, text: string) => tellEdit(worker, to(account), edit(id, text)),
  };
}

test("the newest text is written once a second, each message of each account for itself, none of an account led elsewhere", async () => {
  const { edits, pass, since, say } = stage();
  say("a", "m1", "one");
  say("b", "m1", "of b");
  say("other", "m1", "not here");
  await pass(250);
  say("a", "m1", "two");
  say("a", "m1", "three");
  await pass(2_000);
  say("a", "m1", "four");
  await pass(2_000);
  expect(since()).toEqual([
    "0 a m1 one edit/m1",
    "0 b m1 of b edit/m1",
    "1000 a m1 three edit/m1",
    "2250 a m1 four edit/m1",
  ]);
  edits.close();
  say("a", "m1", "after the end");
  await pass(2_000);
  expect(since()).toEqual([]);
});

test.each<readonly [string, readonly (Error | null)[], readonly string[]]>([
  [
    "that the platform slows is written once it may",
    [new Fault("rate_limited", "slow", { retryAfterMs: 3_000 })],
    ["0 a m one edit/m", "3000 a m two edit/m"],
  ],
  [
    "that it slows without a time is written a second later",
    [new Fault("rate_limited", "slow")],
    ["0 a m one edit/m", "1000 a m two edit/m"],
  ],
  [
    "that did not reach it gives way to the next",
    [new Fault("unavailable", "away")],
    ["0 a m one edit/m", "1000 a m two edit/m"],
  ],
  [
    "whose end is not known is given two seconds to arrive",
    [new Fault("ambiguous", "lost")],
    ["0 a m one edit/m", "2000 a m two edit/m"],
  ],
  ["that it refuses is the last", [new Fault("invalid", "no")], ["0 a m one edit/m"]],
])("an edit %s", async (_what, answers, written) => {
  const { edits, pass, since, say } = stage(answers);
  say("a", "m", "one");
  await Promise.resolve();
  say("a", "m", "two");
  await pass(5_000);
  expect(since()).toEqual(written);
  edits.close();
});

test("a slowed edit is written later, where no newer one came", async () => {
  const { edits, pass, since, say } = stage([new Fault("rate_limited", "slow", { retryAfterMs: 500 })]);
  say("a", "m", "one");
  await pass(1_000);
  expect(since()).toEqual(["0 a m one edit/m", "500 a m one edit/m"]);
  edits.close();
});

test("once a leader is closed no text that waits is written any more, and no timer stays", async () => {
  const { clock, edits, pass, since, say } = stage();
  say("a", "m1", "one");
  say("b", "m2", "two");
  await pass(250);
  say("a", "m1", "three");
  say("b", "m2", "four");
  edits.close();
  await pass(5_000);
  expect([since().map((each) => each.split(" ")[3]), clock.armed()]).toEqual([["one", "two"], 0]);
});

test("an edit that gets no answer is given up after fifteen seconds", async () => {
  const clock = virtualClock();
  const [worker, leader] = buses(2);
  if (worker === undefined || leader === undefined) throw new Error("two buses were asked for");
  const ended: string[] = [];
  const channel = {
    act: (_to: Address, { messageId }: Edit, { signal }: { readonly signal: AbortSignal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => {
          ended.push(`${messageId} ${clock.mono()} ${String(signal.reason)}`);
          reject(signal.reason);
        });
      }),
  } as unknown as Channel;
  const edits = leaderEdits({ bus: leader, leads: () => channel, clock, log: silentLog });
  tellEdit(worker, to("a"), edit("m", "one"));
  await clock.advance(14_999);
  expect(ended).toEqual([]);
  await clock.advance(1);
  expect(ended).toEqual(["m 15000 Fault: an edit took longer than 15 s"]);
  edits.close();
});

test("to settle a message waits for the edit under way and lets none follow; other messages go on", async () => {
  const { edits, pass, since, hold, say } = stage();
  const { promise, resolve } = Promise.withResolvers<void>();
  hold(promise);
  say("a", "m1", "one");
  await pass(250);
  say("a", "m1", "two");
  let isSettled = false;
  const settling = edits.settle("telegram:a", "m1").then(() => (isSettled = true));
  await pass(1_000);
  expect(isSettled).toBe(false);
  resolve();
  await settling;
  say("a", "m1", "three");
  say("a", "m2", "another");
  await pass(5_000);
  expect(since()).toEqual(["0 a m1 one edit/m1", "1250 a m2 another edit/m2"]);
  await edits.settle("telegram:a", "unknown");
  edits.close();
});

test("where this node leads, the channel itself types, acts and answers; where it does not, only edits and typing are told", async () => {
  const [worker, leader] = buses(2);
  if (worker === undefined || leader === undefined) throw new Error("two buses were asked for");
  const did: string[] = [];
  const made = (name: string): Channel =>
    ({
      name: "telegram",
      account: "a",
      capabilities: {},
      health: () => ({ state: name === "first" ? "down" : "ok" }),
      act: async (_to: Address, action: Action) => (did.push(`${name} ${action.kind}`), null),
      typing: async (where: Address) => void did.push(`${name} types to ${where.account}`),
      settle: async (events: readonly string[]) => void did.push(`${name} settles ${events.join()}`),
      sentSince: async () => (did.push(`${name} looks`), { sent: 1 }),
    }) as unknown as Channel;
  let [now, leads] = [made("first"), true];
  const channel = remoteChannel({ bus: worker, channel: () => now, leads: () => leads });
  leader.hear("edit", (text) => did.push(`told ${text}`));
  const stop = hearTyping(leader, (account) => (account === "telegram:a" ? made("leader") : null));
  now = made("second");
  const options = { idempotencyKey: "k" } as unknown as Parameters<NonNullable<Channel["act"]>>[2];
  const all = async (): Promise<readonly string[]> => {
    await channel.act?.(to("a"), edit("m", "x"), options);
    await channel.act?.(to("a"), { kind: "delete", messageId: "m" } as unknown as Action, options);
    await channel.typing?.(to("a"));
    await channel.typing?.(to("b"));
    await channel.settle?.(["1", "2"]);
    return did.splice(0);
  };
  expect(channel.health()).toEqual({ state: "ok" });
  expect(await channel.sentSince?.({} as never, {} as never, 0 as never, {} as never)).toEqual({ sent: 1 });
  expect(did.splice(0)).toEqual(["second looks"]);
  const rest = ["second settles 1,2"];
  expect(await all()).toEqual([
    "second edit",
    "second delete",
    "second types to a",
    "second types to b",
    ...rest,
  ]);
  leads = false;
  expect(await all()).toEqual([
    `told ${JSON.stringify([to("a"), edit("m", "x")])}`,
    "second delete",
    "leader types to a",
    ...rest,
  ]);
  stop();
  await channel.typing?.(to("a"));
  expect(did).toEqual([]);
});

test("what a channel can do is done by the one that there is now; what it cannot is not offered", async () => {
  const [bus] = buses(1);
  if (bus === undefined) throw new Error("a bus was asked for");
  const did: unknown[] = [];
  const made = (name: string, more: object = {}): Channel =>
    ({
      name: "telegram",
      account: name,
      capabilities: { textChars: name.length },
      actions: ["edit"],
      start: async (receive: unknown) => void did.push([name, "start", receive]),
      stop: async () => void did.push([name, "stop"]),
      send: async (...args: unknown[]) => (did.push([name, "send", ...args]), { messageId: name }),
      act: async (...args: unknown[]) => (did.push([name, "act", ...args]), { messageId: `${name} acted` }),
      suggestsWith: (...args: unknown[]) => void did.push([name, "suggests", ...args]),
      download: async (...args: unknown[]) => (did.push([name, "download", ...args]), `${name}'s file`),
      ...more,
    }) as unknown as Channel;
  let now = made("first");
  const channel = remoteChannel({ bus, channel: () => now, leads: () => false });
  expect([channel.name, channel.account, channel.capabilities, channel.actions]).toEqual([
    "telegram",
    "first",
    { textChars: 5 },
    ["edit"],
  ]);
  now = made("second");
  const pin = { kind: "pin", messageId: "1", pinned: true } as const;
  expect([
    await channel.send("to" as never, "part" as never, "how" as never),
    await channel.act?.("to" as never, pin, "how" as never),
    await channel.download?.("attachment" as never, 7, "signal" as never),
    await channel.start("receive" as never),
    await channel.stop(),
    channel.suggestsWith?.("suggest" as never),
  ]).toEqual([
    { messageId: "second" },
    { messageId: "second acted" },
    "second's file",
    undefined,
    undefined,
    undefined,
  ]);
  expect(did).toEqual([
    ["second", "send", "to", "part", "how"],
    ["second", "act", "to", pin, "how"],
    ["second", "download", "attachment", 7, "signal"],
    ["second", "start", "receive"],
    ["second", "stop"],
    ["second", "suggests", "suggest"],
  ]);
  now = made("third", { download: undefined });
  expect(() => channel.download?.("attachment" as never, 7, "signal" as never)).toThrow(
    "a channel of the same account downloads, too",
  );
  const bare = made("bare", { act: undefined, actions: undefined, download: undefined });
  const poor = remoteChannel({ bus, channel: () => bare, leads: () => true });
  expect(Object.keys(poor).toSorted()).toEqual([
    "account",
    "capabilities",
    "health",
    "name",
    "send",
    "start",
    "stop",
    "suggestsWith",
  ]);
});

test("typing that fails on the leader is nobody's trouble, and what was told in vain is told to the log", async () => {
  const clock = virtualClock();
  const [worker, leader] = buses(2);
  if (worker === undefined || leader === undefined) throw new Error("two buses were asked for");
  const fails = { typing: () => Promise.reject(new Error("away")) } as unknown as Channel;
  const stop = hearTyping(leader, () => fails);
  worker.tell("typing", JSON.stringify(to("a")));
  stop();
  const logged: unknown[] = [];
  const error = new Fault("denied", "no");
  const channel = { act: () => Promise.reject(error) } as unknown as Channel;
  const edits = leaderEdits({
    bus: leader,
    leads: () => channel,
    clock,
    log: { ...silentLog, debug: (...line: unknown[]) => void logged.push(line) },
  });
  tellEdit(worker, to("a"), edit("m", "one"));
  await clock.advance(1);
  expect(logged).toEqual([
    [{ error, messageId: "m" }, "preview edit failed; the final answer will be written all the same"],
  ]);
  edits.close();
  expect(clock.armed()).toBe(0);
});
