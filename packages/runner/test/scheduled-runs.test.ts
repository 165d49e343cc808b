// The row of a run with all that it says, what several rows together let a turn do, the line of a job in
// each of its states, who may see and change it, and what its history and its webhook keep.
import { parseRowPayload, type Json, type SessionKey } from "@parley/protocol";
import type { Job } from "@parley/schedules";
import type { NewRow } from "@parley/store";
import { answerTable, virtualClock } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { askedJob, checkTools, problems, withModels } from "../src/schedules/asked-job.ts";
import { overBefore } from "../src/schedules/before-run.ts";
import { jobLine } from "../src/schedules/job-line.ts";
import { checkAllowed, mayChange, mayName, type JobMaker } from "../src/schedules/job-maker.ts";
import { keptEpochs } from "../src/schedules/kept-epochs.ts";
import { isManual, manualId } from "../src/schedules/manual-run.ts";
import { emptyRun, missedRun, runLog, type JobRun } from "../src/schedules/run-log.ts";
import {
  asksHeartbeat,
  isHeartbeat,
  isUnasked,
  joining,
  ownRun,
  runLimits,
  scheduleRow,
  sessionOfRuns,
  slotOf,
  slotRow,
} from "../src/schedules/slot-row.ts";
import { withBaseline } from "../src/schedules/watch-baseline.ts";
import { readCall, webhookCell, writtenCall } from "../src/schedules/webhook-cell.ts";
import { jobOf, madeAtMs, olga } from "./scheduled-runs.ts";
import { memoryStore } from "./store.ts";

const dueMs = Date.parse("2026-11-24T08:00:00Z");
const slot = { id: "cron:brief:2026-11-24T08:00:00.000Z", instantMs: dueMs };
const asOwner = { owner: true, authority: "owner" };

/** The row with its payload read. */
const whole = (row: NewRow): object => ({ ...row, payload: parseRowPayload(row.payload) });

describe("the row of a run", () => {
  test("has the place and the person of the job's maker, and all that the job says", () => {
    const job = jobOf({
      payload: {
        kind: "agentTurn",
        message: "Look.",
        model: "a/b",
        fallbacks: ["c/d"],
        thinking: "high",
        tools: ["read"],
        lightContext: true,
      },
      timeoutSeconds: 90,
    });
    expect(whole(slotRow(job, slot, asOwner, dueMs + 5))).toEqual({
      id: slot.id,
      pool: "cron",
      lane: "agent:main:cron:brief",
      conversation: "telegram:default:dm:7",
      authority: "owner",
      as: { kind: "work", ticket: slot.id, barrier: true },
      payload: {
        v: 1,
        inbound: {
          id: slot.id,
          channel: "telegram",
          account: "default",
          address: olga.conversation,
          sender: { id: "7", name: "Parley", isBot: false },
          messageId: slot.id,
          kind: "message",
          text: 'Scheduled job "Brief" (brief), due 2026-11-24 09:00 Europe/Berlin:\nLook.',
          attachments: [],
          mentions: [],
          addressed: true,
          atMs: dueMs + 5,
        },
        owner: true,
        internal: {
          kind: "schedule",
          id: "brief",
          turn: "agent:main:telegram:dm:7#1",
          slot: { version: 1, instantMs: dueMs, own: true, tools: ["read"], light: true },
          run: { label: "Brief", timeoutSeconds: 90, model: "a/b", fallbacks: ["c/d"], thinking: "high" },
        },
      },
    });
  });

  test("of an operator's job that is told nobody is the operator's, unseen, and marked where its maker had read strangers' text", () => {
    const operator: JobMaker = {
      ...olga,
      kind: "operator",
      sender: null,
      conversation: null,
      session: null,
      turn: null,
      untrusted: "a.example",
    };
    const job = jobOf({ payload: { kind: "systemEvent", text: "Night." } }, operator);
    const { lane, conversation, payload } = slotRow(job, slot, { owner: false, authority: "member" }, 0);
    const { inbound, internal, owner } = parseRowPayload(payload);
    expect([lane, conversation, owner, inbound.channel, inbound.sender.id, inbound.text]).toEqual([
      "agent:main:main",
      "hook:default:dm:main%2Fcron-brief",
      false,
      "web",
      "operator",
      'Scheduled event "Brief" (brief), due 2026-11-24 09:00 Europe/Berlin:\nNight.',
    ]);
    expect(internal).toEqual({
      kind: "schedule",
      id: "brief",
      turn: "",
      untrusted: "a.example",
      unseen: true,
      slot: { version: 1, instantMs: dueMs, own: false },
      run: { label: "Brief", timeoutSeconds: 3_600 },
    });
  });

  test("of a watch says what changed, and is told by its kind", () => {
    const job = jobOf({ schedule: { kind: "watch", path: "notes/*.md" } });
    const row = slotRow(job, { ...slot, because: "notes/a.md changed" }, asOwner, 0);
    expect(parseRowPayload(row.payload)).toMatchObject({
      inbound: { text: 'Scheduled job "Brief" (brief), notes/a.md changed:\nSay what is on today.' },
      internal: { kind: "watch" },
    });
    expect(slotOf(row)).toEqual({
      job: "brief",
      id: slot.id,
      run: { version: 1, instantMs: dueMs, own: true },
    });
  });

  test("uses no tool beside those of its maker then, and of these only what the job asks for", () => {
    const of = (tools: readonly string[] | null, wanted?: readonly string[]) => {
      const payload = { kind: "agentTurn", message: "x", ...(wanted === undefined ? {} : { tools: wanted }) };
      const row = slotRow(
        jobOf({ payload }, { ...olga, tools: tools === null ? null : [...tools] }),
        slot,
        asOwner,
        0,
      );
      return slotOf(row)?.run.tools;
    };
    expect(of(null)).toBeUndefined();
    expect(of(null, ["web_*"])).toEqual(["web_*"]);
    expect(of(["read", "web_fetch"])).toEqual(["read", "web_fetch"]);
    expect(of(["read", "web_fetch", "exec"], ["web_*", "read", "write"])).toEqual(["read", "web_fetch"]);
    expect(of(["read"], ["exec"])).toEqual([]);
  });

  test("works in the session that the job's target names", () => {
    const session = "agent:main:telegram:group:-5";
    const of = (target: Job["target"], owner: object = {}) =>
      sessionOfRuns({ id: "brief", agent: "main", target, owner: { ...jobOf().owner, ...owner } });
    expect([
      of({ kind: "isolated" }),
      of({ kind: "main" }),
      of({ kind: "main" }, { session: null }),
      of({ kind: "current", session }),
      of({ kind: "session", session }),
    ]).toEqual(["agent:main:cron:brief", "agent:main:telegram:dm:7", "agent:main:main", session, session]);
  });
});

const beat = (more: Partial<Parameters<typeof scheduleRow>[0]> = {}): NewRow =>
  scheduleRow({
    id: "beat:1",
    lane: "agent:main:main" as SessionKey,
    place: null,
    job: "heartbeat",
    sender: "web:operator",
    authority: "owner",
    owner: true,
    text: "beat",
    turn: "",
    nowMs: 0,
    kind: "heartbeat",
    pool: "heartbeat",
    ...more,
  });
const slotOfRun = { version: 1, instantMs: 0, own: true };
const person = { ...beat(), payload: beat().payload.replace(/,"internal":\{.*\}\}$/, "}") };

describe("the rows of a turn", () => {
  test("let it use what all of them may, by names and patterns, and have the first one's models, time and context", () => {
    const row = (
      tools: readonly string[] | undefined,
      more: object = {},
      kind: "schedule" | "heartbeat" = "schedule",
    ) =>
      beat({
        kind,
        internal: {
          slot: { ...slotOfRun, ...(tools === undefined ? {} : { tools }), ...more },
          run: { label: "l", model: "a/b", fallbacks: ["c/d"], timeoutSeconds: 2 },
        },
      });
    const run = { fallbacks: ["c/d"], timeoutMs: 2_000 };
    expect(runLimits([])).toEqual({});
    expect(runLimits([person])).toEqual({});
    expect(runLimits([beat()])).toEqual({});
    expect(runLimits([row(undefined)])).toEqual(run);
    expect(runLimits([row(["a", "b"])])).toEqual({ within: ["a", "b"], ...run });
    expect(runLimits([row(["read", "web_*"]), row(["web_fetch", "exec", "read"])])).toEqual({
      within: ["read", "web_fetch"],
      ...run,
    });
    expect(runLimits([row(undefined), row(["a"]), row(["a", "b"])])).toEqual({ within: ["a"], ...run });
    expect(runLimits([row(["a"]), row(["b"])])).toEqual({ within: [], ...run });
    expect(runLimits([row(undefined, { light: true })])).toEqual({ light: true, ...run });
    expect(runLimits([row(undefined, { light: true }, "heartbeat")])).toEqual({
      light: "heartbeat",
      model: "a/b",
      ...run,
    });
  });

  test("are a heartbeat's, nobody's, or somebody's", () => {
    const schedule = beat({ kind: "schedule" });
    const rows = {
      none: [],
      beat: [beat()],
      "beat and schedule": [beat(), schedule],
      "schedule, watch and hook": [schedule, beat({ kind: "watch" }), beat({ kind: "hook" })],
      "beat and a person": [beat(), person],
      "a person": [person],
      unreadable: [{ payload: "{" }],
    };
    const told = answerTable(Object.entries(rows), ([, each]) => [
      isUnasked(each),
      isHeartbeat(each),
      asksHeartbeat(each),
    ]);
    expect(told.split("\n").filter((line) => line.startsWith("  "))).toEqual([
      "  [false,false,false]",
      "  [true,true,true]",
      "  [true,false,true]",
      "  [true,false,false]",
      "  [false,false,false]",
      "  [false,false,false]",
      "  [false,false,false]",
    ]);
    expect(ownRun([])).toBeNull();
    expect(ownRun([person])).toBeNull();
    expect(ownRun([beat({ internal: { slot: slotOfRun, run: { label: "l" } } })])).toEqual({
      settings: { label: "l" },
    });
    expect(
      ownRun([beat({ internal: { slot: { ...slotOfRun, own: false }, run: { label: "l" } } })]),
    ).toBeNull();
    expect(slotOf(beat({ internal: { slot: slotOfRun } }))).toBeNull();
  });

  test("an event joins a heartbeat of the same session and rights whose place no other conversation sees", () => {
    const place = olga.conversation;
    const event = beat({ id: "wake:1", kind: "schedule", pool: "cron", text: "news" });
    const shown = beat({ place });
    const joined = joining(event, shown);
    expect(joined).toMatchObject({
      id: "wake:1",
      pool: "heartbeat",
      conversation: "telegram:default:dm:7",
      as: { kind: "work", ticket: "wake:1" },
    });
    expect(joined.as).not.toHaveProperty("barrier");
    const { inbound, internal } = parseRowPayload(joined.payload);
    expect([inbound.address, inbound.text, internal]).toEqual([
      place,
      "news",
      { kind: "schedule", id: "heartbeat", turn: "" },
    ]);
    expect(parseRowPayload(joining(event, beat()).payload).internal).toMatchObject({ unseen: true });
    const elsewhere = beat({ place: { channel: "telegram", account: "default", kind: "dm", peer: "8" } });
    for (const apart of [
      elsewhere,
      beat({ id: "e", authority: "member" }),
      beat({ id: "e", lane: "agent:main:cron:x" as SessionKey }),
      person,
    ])
      expect(joining(apart, shown)).toBe(apart);
  });
});

test("the line of a job says when it comes, or why it does not, and how it went last", () => {
  const last = { slot: "s", instantMs: 0, endedAtMs: 0, outcome: "failed", reason: "it broke" } as const;
  const paused = { reason: "it failed 10 times in a row", atMs: 0 };
  const watch = { kind: "watch", path: "*.md" };
  const jobs: { readonly [what: string]: Job } = {
    new: jobOf(),
    "after a failure": jobOf({ state: { last } }),
    "after a success": jobOf({ state: { last: { ...last, outcome: "ok", reason: null } } }),
    off: jobOf({ enabled: false, state: { last } }),
    paused: jobOf({ state: { paused } }),
    "off and paused": jobOf({ enabled: false, state: { paused } }),
    once: jobOf({ schedule: { kind: "at", at: "2026-11-24T09:00" } }),
    "once, which was": jobOf({
      schedule: { kind: "at", at: "2026-11-24T09:00" },
      deleteAfterRun: false,
      state: { runs: 1 },
    }),
    "all its runs but one": jobOf({ maxRuns: 3, state: { runs: 2 } }),
    "all its runs": jobOf({ maxRuns: 3, state: { runs: 3 } }),
    watch: jobOf({ schedule: watch }),
    "a watch that is over": jobOf({ schedule: watch, maxRuns: 1, state: { runs: 1 } }),
    event: jobOf({ name: 'say "hi"', payload: { kind: "systemEvent", text: "x" } }),
  };
  expect(answerTable(Object.keys(jobs), (what) => jobLine(jobs[what] ?? jobOf(), madeAtMs)))
    .toMatchInlineSnapshot(`
    ""new"
      "brief \\"Brief\\": every weekday at 09:00 Europe/Berlin, agentTurn, next 2026-11-24 09:00 Europe/Berlin"
    "after a failure"
      "brief \\"Brief\\": every weekday at 09:00 Europe/Berlin, agentTurn, next 2026-11-24 09:00 Europe/Berlin, last failed (it broke)"
    "after a success"
      "brief \\"Brief\\": every weekday at 09:00 Europe/Berlin, agentTurn, next 2026-11-24 09:00 Europe/Berlin, last ok"
    "off"
      "brief \\"Brief\\": every weekday at 09:00 Europe/Berlin, agentTurn, switched off, last failed (it broke)"
    "paused"
      "brief \\"Brief\\": every weekday at 09:00 Europe/Berlin, agentTurn, paused: it failed 10 times in a row"
    "off and paused"
      "brief \\"Brief\\": every weekday at 09:00 Europe/Berlin, agentTurn, switched off"
    "once"
      "brief \\"Brief\\": once at 2026-11-24 09:00 Europe/Berlin, agentTurn, next 2026-11-24 09:00 Europe/Berlin"
    "once, which was"
      "brief \\"Brief\\": once at 2026-11-24 09:00 Europe/Berlin, agentTurn, has no run any more"
    "all its runs but one"
      "brief \\"Brief\\": every weekday at 09:00 Europe/Berlin, agentTurn, next 2026-11-24 09:00 Europe/Berlin"
    "all its runs"
      "brief \\"Brief\\": every weekday at 09:00 Europe/Berlin, agentTurn, has no run any more"
    "watch"
      "brief \\"Brief\\": when *.md changes, after 5 s of quiet, agentTurn, waits for a change"
    "a watch that is over"
      "brief \\"Brief\\": when *.md changes, after 5 s of quiet, agentTurn, has no run any more"
    "event"
      "brief \\"say \\\\\\"hi\\\\\\"\\": every weekday at 09:00 Europe/Berlin, systemEvent, next 2026-11-24 09:00 Europe/Berlin"
    "
  `);
});

describe("who may do what with a job", () => {
  const group = { channel: "telegram", account: "default", kind: "group", peer: "-5" } as const;
  const makers: { readonly [who: string]: JobMaker } = {
    "who made it": olga,
    operator: { ...olga, kind: "operator", conversation: null, session: null, sender: null },
    "an owner in another private chat": {
      ...olga,
      session: "agent:main:x",
      conversation: { ...group, kind: "dm", peer: "9" },
    },
    "an owner in a group": { ...olga, session: "agent:main:telegram:group:-5", conversation: group },
    "an owner at another agent": { ...olga, agent: "other" },
    "a stranger in the same chat": { ...olga, isOwner: false, sender: "telegram:8", session: null },
    "a stranger in the same session": { ...olga, isOwner: false, sender: "telegram:8", conversation: null },
    "a stranger elsewhere": { ...olga, isOwner: false, session: "agent:main:x", conversation: group },
  };

  test("what people may see, and change", () => {
    const theirs = jobOf({}, { ...olga, isOwner: false });
    const may = (job: Job, by: JobMaker): string => {
      try {
        mayChange(job, by);
        return "changes";
      } catch (error) {
        return (error as Error).message;
      }
    };
    const told = answerTable(Object.keys(makers), (who) => {
      const by = makers[who] ?? olga;
      return [
        mayName(jobOf(), by),
        may(jobOf(), by),
        may(theirs, by),
        may(theirs, { ...by, sender: "telegram:7" }),
      ];
    });
    expect(told).toMatchInlineSnapshot(`
      ""who made it"
        [true,"changes","changes","changes"]
      "operator"
        [true,"changes","changes","changes"]
      "an owner in another private chat"
        [true,"changes","changes","changes"]
      "an owner in a group"
        [false,"changes","changes","changes"]
      "an owner at another agent"
        [false,"changes","changes","changes"]
      "a stranger in the same chat"
        [true,"only an owner may change the job brief: it works with the rights of another","only an owner may change the job brief: it works with the rights of another","changes"]
      "a stranger in the same session"
        [true,"only an owner may change the job brief: it works with the rights of another","only an owner may change the job brief: it works with the rights of another","changes"]
      "a stranger elsewhere"
        [false,"only an owner may change the job brief: it works with the rights of another","changes","changes"]
      "
    `);
  });

  test("what no job may be, and what only an owner's may", () => {
    const job = jobOf();
    const asked: { readonly [what: string]: Job } = {
      plain: job,
      command: { ...job, payload: { kind: "command", command: "ls" } },
      "a model in a session": {
        ...job,
        target: { kind: "main" },
        payload: { kind: "agentTurn", message: "x", model: "a/b" },
      },
      "thinking in a session": {
        ...job,
        target: { kind: "main" },
        payload: { kind: "agentTurn", message: "x", thinking: "low" },
      },
      "a model of its own": {
        ...job,
        payload: { kind: "agentTurn", message: "x", model: "a/b", thinking: "low" },
      },
      "an event in the main session": {
        ...job,
        target: { kind: "main" },
        payload: { kind: "systemEvent", text: "x" },
      },
      current: { ...job, target: { kind: "current", session: "agent:main:telegram:dm:7" } },
      "the same session": { ...job, target: { kind: "session", session: "agent:main:telegram:dm:7" } },
      "another session": { ...job, target: { kind: "session", session: "agent:main:x" } },
      watch: { ...job, schedule: { kind: "watch", path: "x", debounceMs: 100 } },
      webhook: { ...job, delivery: { kind: "webhook", url: "https://a.example/", bestEffort: false } },
    };
    const allowed = (who: string): string =>
      answerTable(Object.keys(asked), (what) => checkAllowed(asked[what] ?? job, makers[who] ?? olga));
    expect(allowed("operator")).toMatchInlineSnapshot(`
        ""plain"
          "(undefined)"
        "command"
          throws invalid: payload.kind: "command" is not there: use { kind: "agentTurn", message } and let the agent run it
        "a model in a session"
          throws invalid: payload.model and payload.thinking are for isolated runs: in a session, /model and /think say them. Use the target isolated
        "thinking in a session"
          throws invalid: payload.model and payload.thinking are for isolated runs: in a session, /model and /think say them. Use the target isolated
        "a model of its own"
          "(undefined)"
        "an event in the main session"
          "(undefined)"
        "current"
          throws invalid: target "current" means the session in which the job is made, and there is none here. Fix: name one with session:<key>, or use main or isolated
        "the same session"
          "(undefined)"
        "another session"
          "(undefined)"
        "watch"
          "(undefined)"
        "webhook"
          "(undefined)"
        "
      `);
    expect(allowed("who made it")).toMatchInlineSnapshot(`
        ""plain"
          "(undefined)"
        "command"
          throws invalid: payload.kind: "command" is not there: use { kind: "agentTurn", message } and let the agent run it
        "a model in a session"
          throws invalid: payload.model and payload.thinking are for isolated runs: in a session, /model and /think say them. Use the target isolated
        "thinking in a session"
          throws invalid: payload.model and payload.thinking are for isolated runs: in a session, /model and /think say them. Use the target isolated
        "a model of its own"
          "(undefined)"
        "an event in the main session"
          "(undefined)"
        "current"
          "(undefined)"
        "the same session"
          "(undefined)"
        "another session"
          "(undefined)"
        "watch"
          "(undefined)"
        "webhook"
          "(undefined)"
        "
      `);
    expect(allowed("a stranger in the same chat")).toMatchInlineSnapshot(`
        ""plain"
          "(undefined)"
        "command"
          throws invalid: payload.kind: "command" is not there: use { kind: "agentTurn", message } and let the agent run it
        "a model in a session"
          throws invalid: payload.model and payload.thinking are for isolated runs: in a session, /model and /think say them. Use the target isolated
        "thinking in a session"
          throws invalid: payload.model and payload.thinking are for isolated runs: in a session, /model and /think say them. Use the target isolated
        "a model of its own"
          "(undefined)"
        "an event in the main session"
          "(undefined)"
        "current"
          "(undefined)"
        "the same session"
          "(undefined)"
        "another session"
          throws denied: target: only an owner's job may run in another session
        "watch"
          throws denied: schedule: only an owner's job may watch files of the workspace
        "webhook"
          throws denied: delivery: only an owner's job may call a webhook
        "
      `);
  });

  test("a place that is not the maker's own is an owner's to use, where something can be sent", async () => {
    const reached: string[] = [];
    const reach = async ({ address }: { readonly address: { readonly peer: string } }) => {
      reached.push(address.peer);
      return address.peer === "9" ? "this person may not write to the agent" : null;
    };
    const ask = (to: unknown, by: JobMaker = olga) =>
      askedJob({ name: "n", agentId: "main", delivery: { kind: "announce", to } }, by, {
        isNew: true,
        reach,
      });
    expect(await ask("here", { ...olga, isOwner: false })).toMatchObject({
      delivery: { to: olga.conversation },
    });
    expect(await ask("telegram:8")).not.toHaveProperty("agentId");
    await expect(ask("telegram:8", { ...olga, isOwner: false })).rejects.toThrow(
      "delivery.to: only an owner's job may speak in another conversation: leave it out",
    );
    await expect(ask("telegram:9")).rejects.toThrow(
      "delivery.to: nothing can be sent to telegram:default:dm:9: this person may not write to the agent",
    );
    expect(reached).toEqual(["8", "9"]);
  });

  test("models are resolved once, and those that an edit did not touch not again", async () => {
    const asked: string[] = [];
    const named = async (agent: string, word: string): Promise<string> => {
      asked.push(`${agent} ${word}`);
      return `ref/${word}`;
    };
    const of = (more: object): Job => jobOf({ payload: { kind: "agentTurn", message: "x", ...more } });
    const first = await withModels(of({ model: "fast", fallbacks: ["slow", "odd"] }), named);
    expect(first.payload).toEqual({
      kind: "agentTurn",
      message: "x",
      model: "ref/fast",
      fallbacks: ["ref/slow", "ref/odd"],
    });
    asked.length = 0;
    const edited = await withModels(of({ model: "ref/odd", fallbacks: ["ref/fast", "new"] }), named, first);
    expect(edited.payload).toMatchObject({ model: "ref/odd", fallbacks: ["ref/fast", "ref/new"] });
    expect(asked).toEqual(["main new"]);
    const event = jobOf({ payload: { kind: "systemEvent", text: "x" } });
    expect(await withModels(event, named)).toBe(event);
    expect(await withModels(of({}), named)).toEqual(of({}));
  });

  test("a tool's name that means none is refused, but for one that stood there before", () => {
    const unknown = (names: readonly string[]) => names.filter((name) => name.startsWith("no"));
    const of = (tools: readonly string[]) => jobOf({ payload: { kind: "agentTurn", message: "x", tools } });
    expect(() => checkTools(of(["read", "nothing", "none"]), unknown)).toThrow(
      /^payload\.tools "nothing" is no tool\. Fix: name tools \(.*read.*\), groups such as group:fs, or patterns such as web_\*;/,
    );
    expect(() => checkTools(of(["nothing"]), unknown, of(["nothing"]))).not.toThrow();
    expect(() => checkTools(of(["nothing", "none"]), unknown, of(["nothing"]))).toThrow('"none"');
    expect(() =>
      checkTools(jobOf({ payload: { kind: "systemEvent", text: "x" } }), () => ["x"]),
    ).not.toThrow();
  });

  test("mistakes are told a line each, with the place, the beginning of the value and the fix", () => {
    const long = "x".repeat(300);
    const found = problems([
      { path: "", value: undefined, why: "says nothing", fix: "say something" },
      { path: "a.b", value: null, why: "is missing", fix: "give it" },
      { path: "c", value: { d: long }, why: "is long", fix: "cut it" },
      { path: "e", value: 0, why: "is nothing", fix: "1" },
    ]);
    expect([found.code, found.message.split("\n")]).toEqual([
      "invalid",
      [
        "the job says nothing. Fix: say something",
        "a.b is missing. Fix: give it",
        `c {"d":"${"x".repeat(194)} is long. Fix: cut it`,
        "e 0 is nothing. Fix: 1",
      ],
    ]);
  });
});

describe("a run that waited", () => {
  const over = (job: Job | null, { id = slot.id, log = 0, rows = 1 } = {}) => {
    const row = slotRow(jobOf(), { ...slot, id }, asOwner, 0);
    return overBefore(
      { schedules: { jobs: { get: async () => (job === null ? null : { job, cell: 1 }) } } } as never,
      {
        rows: Array.from({ length: rows }, () => row),
        log: Array.from({ length: log }, () => ({})),
      } as never,
    );
  };

  test("does not begin once its job changed, and goes on when it has begun, is joined, or somebody wants it", async () => {
    const edited = { ...jobOf(), version: 2 };
    const off = jobOf({ enabled: false });
    const manual = { id: manualId("brief", "k:1") };
    expect([isManual(manual.id), isManual(slot.id), isManual("cron:run:run")]).toEqual([true, false, false]);
    expect([
      await over(jobOf()),
      await over(null),
      await over(edited),
      await over(off),
      await over(jobOf({ state: { paused: { reason: "no money", atMs: 0 } } })),
      await over(edited, { log: 1 }),
      await over(edited, { rows: 2 }),
      await over(off, manual),
      await over(null, manual),
    ]).toEqual([
      null,
      "the job was removed",
      "the job was edited: this is version 1, now it is 2",
      "the job is switched off",
      "the job is paused: no money",
      null,
      null,
      null,
      "the job was removed",
    ]);
    const heard = { rows: [person], log: [] } as never;
    expect(await overBefore({} as never, heard)).toBeNull();
  });
});

test("whoever has no session and no conversation sees no job that has none either", () => {
  const nowhere: JobMaker = { ...olga, isOwner: false, session: null, conversation: null };
  const operators = jobOf({}, { ...nowhere, kind: "operator" });
  expect([mayName(operators, nowhere), mayName(operators, { ...nowhere, kind: "operator" })]).toEqual([
    false,
    true,
  ]);
});

test("of the conversations of a job's own session, those go that ended longer ago than the age, noted a few times an age", () => {
  const day = 86_400_000;
  const at = (epoch: number, nowMs: number, marks: Json = null) => {
    const { before, patch } = keptEpochs({ epoch, fields: { epochMarks: marks } }, day, nowMs);
    return [before, patch.epochMarks];
  };
  expect(at(1, 0)).toEqual([null, [[1, 0]]]);
  // A mark an hour at most.
  expect(at(2, day / 24 - 1, [[1, 0]])).toEqual([null, [[1, 0]]]);
  expect(at(2, day / 24, [[1, 0]])).toEqual([
    null,
    [
      [1, 0],
      [2, day / 24],
    ],
  ]);
  // What lies before a mark of that age goes; before the first epoch there is nothing.
  const marks = [
    [5, 0],
    [9, day / 2],
  ];
  expect(at(20, day - 1, marks)).toEqual([null, [...marks, [20, day - 1]]]);
  expect(at(20, day, marks)).toEqual([
    5,
    [
      [9, day / 2],
      [20, day],
    ],
  ]);
  expect(at(20, day * 1.5, marks)).toEqual([9, [[20, day * 1.5]]]);
  expect(at(20, day, [[1, 0]])).toEqual([null, [[20, day]]]);
  // What is no mark, and marks of a clock that was ahead, count for nothing.
  expect(at(3, 10, "x")).toEqual([null, [[3, 10]]]);
  expect(at(3, 10, [[1, "0"], [1], [1, 2, 3], null, [2, 11]])).toEqual([null, [[3, 10]]]);
});

describe("the history of a job", () => {
  const run = (instantMs: number, more: Partial<JobRun> = {}): JobRun => ({
    ...emptyRun({ id: "brief" }, instantMs),
    slot: `cron:brief:${new Date(instantMs).toISOString()}`,
    instantMs,
    outcome: "ok",
    reason: null,
    ...more,
  });

  test("gives the newest first, over the digits of any instant, and keeps runs of one instant apart", async () => {
    const { cells, close } = await memoryStore(virtualClock());
    const log = runLog(cells, { retentionMs: 1_000, keepLines: 2 });
    await log.note([run(999), run(dueMs), run(0), run(1_000), run(dueMs, { slot: manualId("brief", "a") })]);
    await log.note([run(dueMs, { outcome: "failed" }), run(5, { job: "brief2" })]);
    const listed = await log.list("brief", 10);
    expect(listed.map(({ instantMs }) => instantMs)).toEqual([dueMs, dueMs, 1_000, 999, 0]);
    expect(listed.filter(({ slot: id }) => id === slot.id).map(({ outcome }) => outcome)).toEqual(["failed"]);
    expect((await log.list("brief", 1)).map(({ instantMs }) => instantMs)).toEqual([dueMs]);
    await cells.put("cronrun:brief:9:x", JSON.stringify({ v: 2 }), {});
    expect(await log.list("brief", 10)).toHaveLength(5);
    await log.trim("brief");
    expect((await log.list("brief", 10)).map(({ instantMs }) => instantMs)).toEqual([dueMs, dueMs]);
    await log.forget("brief");
    expect([await log.list("brief", 10), (await log.list("brief2", 10)).length]).toEqual([[], 1]);
    await close();
  });

  test("keeps the beginning of what was said and why, and for how long", () => {
    const log = runLog({} as never, { retentionMs: 77, keepLines: 2 });
    const said = `${"s".repeat(499)}😀`;
    const { value, ttlMs, key } = log.writing(run(dueMs, { said, reason: "r".repeat(1_001) }));
    expect(ttlMs).toBe(77);
    expect(key).toBe(`cronrun:brief:${9_999_999_999_999 - dueMs}:${slot.id.length}${slot.id}`);
    expect(JSON.parse(value ?? "")).toEqual(
      run(dueMs, { said: `${"s".repeat(499)}\ufffd`, reason: "r".repeat(1_000) }),
    );
  });

  test("says of what did not run how many it stands for, and why", () => {
    const missed = (why: "policy" | "window", misfire: Job["misfire"]) =>
      missedRun({ id: "brief", misfire }, { firstMs: 0, lastMs: dueMs, count: 3, why }, 9);
    expect(missed("policy", "none")).toEqual({
      v: 1,
      job: "brief",
      slot: "cron:brief:missed:2026-11-24T08:00:00.000Z",
      instantMs: dueMs,
      turn: null,
      session: null,
      outcome: "missed",
      reason: "misfire none: what is late does not run",
      count: 3,
      startedAtMs: null,
      endedAtMs: 9,
      tokens: 0,
      said: "",
    });
    expect(missed("policy", "latest").reason).toBe("misfire latest: a later one stands for it");
    expect(missed("window", "all").reason).toBe("longer ago than the job catches up (catchUpMs)");
  });
});

test("a webhook is called with the slot's id, and once where that is enough; what no version wrote is not called", () => {
  const of = (delivery: Job["delivery"]) =>
    webhookCell(
      { id: "brief", name: "Brief", delivery },
      slot.id,
      { outcome: "failed", reason: "no" },
      "said",
      dueMs,
    );
  expect(of({ kind: "none" })).toEqual([]);
  const [cell, ...more] = of({ kind: "webhook", url: "https://a.example/", bestEffort: false });
  const call = readCall(cell?.value ?? "");
  expect(more).toEqual([]);
  expect(call).toEqual({
    v: 1,
    url: "https://a.example/",
    id: slot.id,
    job: "brief",
    body: JSON.stringify({
      id: slot.id,
      job: { id: "brief", name: "Brief" },
      status: "failed",
      error: "no",
      text: "said",
      at: "2026-11-24T08:00:00.000Z",
    }),
    tries: 0,
    afterMs: dueMs,
    untilMs: dueMs + 86_400_000,
  });
  expect(cell).toEqual({ key: `cronhook:${slot.id}`, value: cell?.value, ttlMs: 86_400_000 });
  const [once] = of({ kind: "webhook", url: "https://a.example/", bestEffort: true });
  expect(readCall(once?.value ?? "")).toEqual({ ...call, once: true });
  expect(call === null ? null : writtenCall(call)).toEqual(cell);
  expect(readCall(JSON.stringify({ ...call, v: 2 }))).toBeNull();
});

test("a watch begins from what its files are like now, when it is new, its schedule is another or it begins anew; else nobody looks", async () => {
  const looked: string[] = [];
  const files = async (agent: string, path: string) => {
    looked.push(`${agent} ${path}`);
    return path === "out" ? "leads out of the workspace" : { digest: `d${looked.length}`, files: [] };
  };
  const of = (path: string, more: Partial<Job> = {}): Job => ({
    ...jobOf({ schedule: { kind: "watch", path } }),
    ...more,
  });
  const made = await withBaseline(of("a"), null, files);
  expect(made.state.seen).toEqual({ generation: 0, digest: "d1", atMs: madeAtMs });
  const seen = { generation: 4, digest: "x", atMs: 1 };
  const before = { ...made, state: { ...made.state, seen } };
  expect((await withBaseline({ ...before, name: "new" }, before, files)).state.seen).toEqual(seen);
  expect(looked).toEqual(["main a"]);
  const later = { ...before, effectiveFromMs: madeAtMs + 9 };
  expect((await withBaseline(later, before, files)).state.seen).toEqual({
    generation: 4,
    digest: "d2",
    atMs: madeAtMs + 9,
  });
  expect(
    (await withBaseline({ ...before, schedule: of("b").schedule }, before, files)).state.seen?.digest,
  ).toBe("d3");
  await expect(withBaseline(of("out"), null, files)).rejects.toThrow(
    'schedule.path "out" leads out of the workspace',
  );
  const cron = jobOf();
  expect(await withBaseline(cron, null, files)).toBe(cron);
});
