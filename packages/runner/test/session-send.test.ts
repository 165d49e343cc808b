// A message to another session: to whom it may go, as what it arrives, how its answer is waited for, and when
// sessions that keep writing to each other are stopped.
import {
  formatRowPayload,
  parseContent,
  parseRowPayload,
  silentLog,
  type SessionKey,
} from "@parley/protocol";
import { directMessage, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { sentId } from "../src/sessions/asked-rows.ts";
import { sendToSession } from "../src/sessions/session-send.ts";

const own = "agent:main:telegram:dm:7" as SessionKey;
const other = "agent:main:telegram:dm:8" as SessionKey;
const turn = `${own}#1`;
const id = sentId(turn, "c1");

interface Odds {
  /** Messages between sessions that this turn follows from. */
  readonly hops?: number;
  readonly answer?: object;
  /** When the message was sent, if this call sent it before. */
  readonly sentAtMs?: number;
  readonly child?: object;
  readonly sandboxes?: { readonly [agent: string]: string };
  readonly scope?: object;
  readonly untrusted?: string;
}

async function send(request: object, odds: Odds = {}) {
  const clock = virtualClock({ startMs: 100_000 });
  const logged: unknown[] = [];
  const began = {
    id: "m1",
    pool: "main",
    lane: own,
    conversation: "telegram:default:dm:7",
    authority: "owner",
    payload: formatRowPayload({
      v: 1,
      inbound: directMessage({ sender: { id: "7" } }),
      owner: true,
      ...(odds.hops === undefined
        ? {}
        : { internal: { kind: "message", id: "x", turn: "t0", hops: odds.hops } }),
    } as never),
  };
  const keys = [own, other, "agent:main:main", "agent:boxed:main", "agent:main:cron:j", "agent:main:api:p:u"];
  const done = await sendToSession(
    {
      config: {
        tools: { sessions: { visibility: "all" }, agentToAgent: { enabled: true, allow: ["*"] } },
        agents: {
          list: ["main", "boxed"].map((agent) => ({
            id: agent,
            sandbox: { mode: odds.sandboxes?.[agent] ?? "off" },
          })),
        },
      },
      sessions: {
        list: async ({ prefix }: { readonly prefix: string }) =>
          keys.filter((key) => key.startsWith(prefix)).map((key) => ({ key })),
        open: async () => ({ epoch: 4 }),
      },
      children: {
        below: async () =>
          odds.child === undefined
            ? []
            : [
                {
                  id: "0123456789ab-1",
                  session: "agent:main:subagent:0123456789ab-1",
                  label: "digger",
                  mode: "run",
                  end: null,
                  killed: false,
                  ...odds.child,
                },
              ],
      },
      inbox: {
        find: async ({ id: named, turn: of }: { readonly id?: string; readonly turn?: string }) => {
          if (of === turn) return [began];
          if (named === `message:${id}`)
            return odds.sentAtMs === undefined ? [] : [{ acceptedAtMs: odds.sentAtMs, lane: other }];
          return named === `answer:${id}` && odds.answer !== undefined ? [odds.answer] : [];
        },
      },
      clock,
      log: { ...silentLog, warn: (fields: unknown, message: string) => void logged.push([message, fields]) },
    } as never,
    {
      turn,
      callId: "c1",
      session: own,
      conversation: "telegram:default:dm:7",
      agent: "main",
      by: { owner: true, senders: ["telegram:7"] },
      ...(odds.untrusted === undefined ? {} : { untrusted: odds.untrusted }),
      ...odds.scope,
    } as never,
    { session: other, message: "the word?", reply: "wait", timeoutSeconds: 30, ...request } as never,
  ).catch((error: unknown) => {
    const { code, message } = error as { readonly code: string; readonly message: string };
    return { text: `${code}: ${message}` };
  });
  const { effects, waitsFor } = done as {
    readonly effects?: {
      readonly rows?: readonly { payload: string }[];
      readonly deliveries?: readonly object[];
    };
    readonly waitsFor?: object;
  };
  const [row] = effects?.rows ?? [];
  return { text: done.text, waitsFor, row, effects, logged, done };
}

test("it is a row in the other session's lane with the people and place of this one, which no conversation sees", async () => {
  const { text, row, waitsFor } = await send({});
  expect([text, waitsFor]).toEqual([
    `${other} has the message and has not answered yet. Its answer comes here by itself as a [System Message]; do not wait for it.`,
    { ticket: id, untilMs: 130_000 },
  ]);
  expect(row).toMatchObject({
    id: `message:${id}`,
    lane: other,
    pool: "main",
    conversation: "telegram:default:dm:7",
    authority: "owner",
  });
  const { inbound, internal, owner } = parseRowPayload(row?.payload ?? "");
  expect([owner, inbound.sender.id, inbound.text, inbound.atMs]).toEqual([
    true,
    "7",
    `Message from session ${own}: the word?\nIt waits for your answer, which goes to that session only: no chat sees it.`,
    100_000,
  ]);
  expect(internal).toEqual({
    kind: "message",
    id,
    turn,
    asker: { session: own, pool: "main", epoch: 4, reply: "wait", hops: 1 },
    unseen: true,
  });
});

test("an answer that comes by itself, or none, is said to both, and nothing is waited for", async () => {
  const words = async (reply: string) => {
    const { text, row, waitsFor } = await send({ reply });
    const { inbound, internal } = parseRowPayload(row?.payload ?? "");
    return [text, waitsFor, inbound.text.split("\n").at(-1), internal?.asker?.reply];
  };
  expect([await words("push"), await words("none")]).toEqual([
    [
      `Sent to ${other}. Its answer comes here by itself as a [System Message].`,
      undefined,
      "Your answer goes to that session only: no chat sees it.",
      "push",
    ],
    [`Sent to ${other}. Its answer is not told here.`, undefined, "Nobody is told your answer.", "none"],
  ]);
});

test("a sub-agent is written to in its own pool, while it runs and was not killed", async () => {
  const to = (child: object, name = "digger") => send({ session: name, reply: "none" }, { child });
  expect((await to({})).row).toMatchObject({
    pool: "subagent",
    lane: "agent:main:subagent:0123456789ab-1",
  });
  const ended = { state: "answered" };
  const over = "conflict: sub-agent 0123456789ab-1 has ended";
  expect([
    (await to({ end: ended })).text,
    (await to({ killed: true })).text,
    (await to({ end: ended, mode: "session" }, "0123456789ab-1")).text,
  ]).toEqual([
    `${over}, and it was spawned for one run: spawn another`,
    `${over}, and it was spawned for one run: spawn another`,
    `${over}: give it more work with subagents, action steer`,
  ]);
});

test("it is refused to itself, to kinds that take none, to nobody, and out of a sandbox", async () => {
  const to = async (session: string, odds: Odds = {}) => (await send({ session }, odds)).text;
  expect([
    await to(own),
    await to("agent:main:cron:j"),
    await to("agent:main:api:p:u"),
    await to("agent:main:nobody"),
    await to("agent:boxed:main", { sandboxes: { main: "all", boxed: "off" } }),
    (await to("agent:boxed:main", { sandboxes: { main: "all", boxed: "all" } })).split(" ")[0],
    // Its main session works outside of the sandbox that the others work in.
    await to("agent:main:main", { sandboxes: { main: "non-main" } }),
    (await to("agent:boxed:main", { sandboxes: { boxed: "all" } })).split(" ")[0],
  ]).toEqual([
    "invalid: this is the session itself: just go on",
    "denied: sessions of kind cron take no messages, because nobody in them would act on one; sessions_history reads it",
    "denied: sessions of kind api take no messages, because nobody in them would act on one; sessions_history reads it",
    'missing: no session that may be seen from here is called "agent:main:nobody"; sessions_list lists them',
    "denied: this session is sandboxed and agent:boxed:main is not: it could do more than you",
    "agent:boxed:main",
    "denied: this session is sandboxed and agent:main:main is not: it could do more than you",
    "agent:boxed:main",
  ]);
});

test("the sixth message that follows from messages is not sent, the person is told, and the log names both", async () => {
  const fifth = await send({}, { hops: 4 });
  expect(parseRowPayload(fifth.row?.payload ?? "").internal?.asker?.hops).toBe(5);
  const { text, row, waitsFor, effects, logged } = await send({}, { hops: 5 });
  expect([text, row, waitsFor]).toEqual([
    `Not sent to ${other}: 5 messages between sessions have followed from one another already, and 5 may. Go on without it, or let a person ask again.`,
    undefined,
    undefined,
  ]);
  const [told] = effects?.deliveries ?? [];
  expect(told).toMatchObject({ id: `${turn}/loop`, lane: "telegram:default:dm:7", cause: turn });
  const { parts } = told as { readonly parts: readonly { readonly content: string }[] };
  expect(parseContent(parts[0]?.content ?? "")).toMatchObject({
    parts: [
      {
        markdown: `⚠️ My sessions kept writing to each other, so I stopped them after 5 messages: ${own} was about to write to ${other}. Write to me if they should go on.`,
      },
    ],
  });
  expect(logged).toEqual([
    ["sessions kept writing to each other and were stopped", { session: own, to: other, turn, hops: 5 }],
  ]);
  const program = await send({}, { hops: 5, scope: { conversation: "hook:default:dm:main%2Fci" } });
  expect(program.effects).toBeUndefined();
});

test("the call that runs again waits on from when it was sent, and has the answer that its turn claimed as its result", async () => {
  const later = `${other} has the message and has not answered yet. Its answer comes here by itself as a [System Message]; do not wait for it.`;
  const answer = (of: string, untrusted?: string) => ({
    turn: of,
    payload: formatRowPayload({
      v: 1,
      inbound: directMessage({ text: "moon" }),
      owner: true,
      internal: { kind: "answer", id, turn, ...(untrusted === undefined ? {} : { untrusted }) },
    } as never),
  });
  const again = async (odds: Odds) => (await send({}, odds)).done;
  expect([
    await again({ sentAtMs: 70_001 }),
    await again({ sentAtMs: 70_000 }),
    await again({ sentAtMs: 70_000, answer: answer(turn) }),
    await again({ sentAtMs: 90_000, answer: answer(turn, "a.example") }),
    // Another turn was told it.
    await again({ sentAtMs: 90_000, answer: answer("another#2") }),
  ]).toEqual([
    { text: later, waitsFor: { ticket: id, untilMs: 100_001 } },
    { text: later },
    { text: "moon" },
    { text: "moon", untrusted: { source: "a.example" } },
    { text: later, waitsFor: { ticket: id, untilMs: 120_000 } },
  ]);
});
