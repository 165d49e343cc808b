// How a run's end is written down: the job as it then is, one line of its history, a webhook that is due and
// what people are told, for each outcome; and that a job which was written meanwhile is read again.
import {
  Fault,
  formatContent,
  parseContent,
  type Address,
  type ConversationKey,
  type SessionKey,
} from "@parley/protocol";
import { jobStore, type Job } from "@parley/schedules";
import type { Commit, NewDelivery, RowView, Store, Turn } from "@parley/store";
import { laterAnswerTable, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { runLog } from "../src/schedules/run-log.ts";
import { scheduledStore } from "../src/schedules/scheduled-turns.ts";
import { scheduleRow, slotRow } from "../src/schedules/slot-row.ts";
import { jobOf, olga } from "./scheduled-runs.ts";
import { memoryStore } from "./store.ts";

const dueMs = Date.parse("2026-11-24T08:00:00Z");
const slot = { id: "cron:brief:2026-11-24T08:00:00.000Z", instantMs: dueMs };
const owners: readonly Address[] = ["1", "2"].map((peer) => ({
  channel: "telegram",
  account: "default",
  kind: "dm",
  peer,
}));
const turnId = "agent:main:cron:brief#4";

const said = (text: string, cause: string, id = `${cause}/a`): NewDelivery => ({
  id,
  pool: "telegram:default",
  lane: "telegram:default:dm:7" as ConversationKey,
  cause,
  parts: [
    {
      content: formatContent({ v: 1, kind: "reply", parts: [{ kind: "text", markdown: text }] }),
    },
  ],
});
const wordsOf = ({ id, lane, cause, parts }: NewDelivery): string => {
  const words = parts.flatMap(({ content }) => {
    const meant = parseContent(content);
    return meant.kind === "reply"
      ? meant.parts.map((part) => (part.kind === "text" ? part.markdown : ""))
      : [];
  });
  return `${id} to ${lane} for ${cause}: ${words.join(" / ")}`;
};

interface Situation {
  readonly job?: Parameters<typeof jobOf>[0] | null;
  readonly by?: typeof olga;
  /** Tokens of the session before and after the turn. */
  readonly tokens?: readonly [before: number, after: number];
  /** How often the job is written by another while the turn commits. */
  readonly meddled?: number;
  /** Whoever wrote to the session joined the turn. */
  readonly joined?: boolean;
}

async function ending(what: Pick<Commit, "outcome" | "reason">, situation: Situation = {}) {
  const { tokens: [before, after] = [100, 100], meddled = 0 } = situation;
  const clock = virtualClock({ startMs: dueMs + 60_000 });
  const { cells, close } = await memoryStore(clock);
  const job = jobOf(situation.job ?? {}, situation.by);
  const jobs = jobStore(cells);
  if (situation.job !== null) await jobs.add(job);
  const row = slotRow(job, slot, { owner: true, authority: "owner" }, dueMs) as unknown as RowView;
  const person = { ...row, id: "telegram:9", payload: row.payload.replace(/,"internal":.*\}$/, "}") };
  const commits: Commit[] = [];
  const usage = (count: number) => ({ inputTokens: count - 10, outputTokens: 10 });
  const { turns } = scheduledStore(
    {
      cells,
      sessions: { open: async () => ({ fields: { usage: usage(before) } }) },
      inbox: { find: async () => (situation.joined === true ? [row, person] : [row]) },
      turns: {
        commit: async (_turn: Turn, id: string, commit: Commit) => {
          expect(id).toBe(turnId);
          if (commits.push(commit) > meddled) return { done: true };
          const kept = await jobs.get(job.id);
          if (kept !== null)
            await cells.put(
              `job:${job.id}`,
              JSON.stringify({ ...kept.job, name: `Brief ${commits.length}` }),
              {},
            );
          throw new Fault("conflict", "a cell was written meanwhile");
        },
      },
    } as unknown as Store,
    {
      log: runLog(cells, { retentionMs: 1_000_000, keepLines: 100 }),
      ownersAt: async () => owners,
      clock,
    },
  );
  const turn = {
    lane: "agent:main:cron:brief" as SessionKey,
    rows: [row],
    openedAtMs: dueMs + 5_000,
  } as unknown as Turn;
  const deliveries = [said("It rains.", turnId), said("Beside it.", "another cause", "b")];
  const patch = { usage: usage(after) };
  const done = await turns
    .commit(turn, turnId, { patch, deliveries, ...what } as unknown as Commit)
    .catch((error: unknown) => String(error));
  await close();
  return { done, commits, job };
}

/** What of the commit a person or an operator would see. */
async function written(what: Pick<Commit, "outcome" | "reason">, situation: Situation = {}) {
  const { commits, job, done } = await ending(what, situation);
  expect(done).toEqual({ done: true });
  const { cells = [], deliveries = [] } = commits.at(-1) ?? {};
  return {
    told: deliveries.map(wordsOf),
    cells: cells.map(({ key, value, expect: version, ttlMs }) => {
      if (value === null) return `${key} goes, from ${version}`;
      if (key.startsWith("cronrun:")) return { ...(JSON.parse(value) as object), ttlMs, key };
      if (key !== `job:${job.id}`) return { key, ...(JSON.parse(value) as object) };
      const { state, name } = JSON.parse(value) as Job;
      return { name, ...state, from: version };
    }),
  };
}

const ended = (outcome: string, reason?: string) =>
  ({ outcome, ...(reason === undefined ? {} : { reason }) }) as Pick<Commit, "outcome" | "reason">;
const state = (more: Partial<Job["state"]>) => ({ state: more });

test("the job, its history, its webhook and people are told each outcome as it was", async () => {
  const hook = { delivery: { kind: "webhook", url: "https://a.example/x" } };
  const operator = {
    ...olga,
    kind: "operator" as const,
    sender: null,
    conversation: null,
    session: null,
    turn: null,
  };
  const endings: readonly (readonly [string, ReturnType<typeof ended>, Situation?])[] = [
    ["answered", ended("answered"), { tokens: [100, 350] }],
    ["silent", ended("silent", "token")],
    ["superseded", ended("superseded", "a newer one")],
    ["stopped", ended("stopped", "by /stop")],
    ["stopped without a reason", ended("stopped")],
    ["refused", ended("refused", "no model")],
    ["dead without a reason", ended("dead")],
    ["failed the second time", ended("dead", "no key"), { job: state({ consecutiveErrors: 1 }) }],
    ["failed the tenth time", ended("dead", "no key"), { job: state({ consecutiveErrors: 9 }) }],
    ["works again", ended("answered"), { job: state({ consecutiveErrors: 4, alertedAtMs: dueMs }) }],
    [
      "silent, and works again",
      ended("silent"),
      { job: state({ consecutiveErrors: 4, alertedAtMs: dueMs }) },
    ],
    ["the last run fails", ended("dead", "no key"), { job: { maxRuns: 1 } }],
    [
      "the last run of an event fails",
      ended("dead"),
      { job: { maxRuns: 2, payload: { kind: "systemEvent", text: "Tea." }, ...state({ runs: 1 }) } },
    ],
    ["the last run answers", ended("answered"), { job: { maxRuns: 1 } }],
    ["the last run but one fails", ended("dead", "no key"), { job: { maxRuns: 2 } }],
    ["a webhook of an answer", ended("answered"), { job: hook }],
    ["a webhook of a failure", ended("dead", "no key"), { job: hook }],
    ["no webhook of silence", ended("silent"), { job: hook }],
    ["an operator's job fails", ended("dead", "x"), { job: state({ consecutiveErrors: 1 }), by: operator }],
    [
      "a job of one instant is over",
      ended("answered"),
      { job: { schedule: { kind: "at", at: "2026-11-24T08:00:00Z" } } },
    ],
    ["the job is gone", ended("answered"), { job: null }],
    ["fails where somebody wrote too", ended("dead", "x"), { joined: true }],
    ["tokens that went down", ended("answered"), { tokens: [500, 100] }],
  ];
  const table = await laterAnswerTable(endings, ([, what, situation]) => written(what, situation));
  await expect(table).toMatchFileSnapshot("tables/run-endings.txt");
});

test("a job that was written meanwhile is read again, until it is clear that it was something else", async () => {
  const { commits, done } = await ending(ended("answered"), { meddled: 3 });
  expect(done).toEqual({ done: true });
  const names = commits.map(({ cells = [] }) =>
    cells.flatMap(({ key, value }) => (key === "job:brief" ? [(JSON.parse(value ?? "") as Job).name] : [])),
  );
  expect(names).toEqual([["Brief"], ["Brief 1"], ["Brief 2"], ["Brief 3"]]);
  const always = await ending(ended("answered"), { meddled: 100 });
  expect([always.commits.length, always.done]).toEqual([20, expect.stringContaining("written meanwhile")]);
  // A job that is gone is written by nobody: the lease was lost.
  const gone = await ending(ended("answered"), { meddled: 3, job: null });
  expect([gone.commits.length, gone.done]).toEqual([1, expect.stringContaining("written meanwhile")]);
});

test("a heartbeat that fails is no news for a person; beside somebody's words, or well, it ends as any turn", async () => {
  const clock = virtualClock({ startMs: dueMs });
  const { cells, close } = await memoryStore(clock);
  const row = (id: string, kind: "heartbeat" | "hook" | null) => {
    const made = scheduleRow({
      id,
      lane: "agent:main:main" as SessionKey,
      place: null,
      job: "heartbeat",
      sender: "web:operator",
      authority: "owner",
      owner: true,
      text: "beat",
      turn: "",
      nowMs: 0,
      kind: kind ?? "hook",
      pool: "heartbeat",
    });
    return kind === null ? { ...made, payload: made.payload.replace(/,"internal":.*\}$/, "}") } : made;
  };
  const commitOf = async (
    taken: readonly object[],
    known: readonly object[],
    what: ReturnType<typeof ended>,
    lease: object = { rows: taken },
  ) => {
    const commits: Commit[] = [];
    const { turns } = scheduledStore(
      {
        cells,
        inbox: { find: async () => known },
        turns: {
          commit: async (_lease: unknown, _id: string, commit: Commit) => (commits.push(commit), { seq: 1 }),
        },
      } as unknown as Store,
      { log: runLog(cells, { retentionMs: 1, keepLines: 1 }), ownersAt: async () => owners, clock },
    );
    const deliveries = [said("It broke.", turnId), said("Beside it.", "another cause", "b")];
    await turns.commit(lease as Turn, turnId, { entries: [], deliveries, ...what } as unknown as Commit);
    const [commit] = commits;
    return [commit?.outcome, commit?.reason, commit?.deliveries?.map(({ id }) => id), commit?.cells];
  };
  const beat = row("beat", "heartbeat");
  const both = [`${turnId}/a`, "b"];
  expect([
    await commitOf([beat], [beat], ended("dead", "no key")),
    await commitOf([beat], [beat], ended("refused", "no money")),
    await commitOf([beat], [beat], ended("answered")),
    await commitOf([beat], [beat], ended("stopped", "/stop")),
    await commitOf([beat], [beat, row("m1", null)], ended("dead", "no key")),
    await commitOf([beat], [beat, row("h1", "hook")], ended("dead", "no key")),
    await commitOf([row("h1", "hook")], [], ended("dead", "no key")),
    await commitOf([], [], ended("dead", "no key"), { lane: "x" }),
  ]).toEqual([
    ["refused", "no key", ["b"], undefined],
    ["refused", "no money", ["b"], undefined],
    ["answered", undefined, both, undefined],
    ["stopped", "/stop", both, undefined],
    ["dead", "no key", both, undefined],
    ["dead", "no key", both, undefined],
    ["dead", "no key", both, undefined],
    ["dead", "no key", both, undefined],
  ]);
  await close();
});
