// One leased lane: a command that keeps its place, a suspect and what is ruled about it, a job that changed
// while its run waited, and a turn that failed by a bug, which is taken apart or buried.
import { Fault, formatRowPayload, silentLog, type Inbound, type SessionKey } from "@parley/protocol";
import type { Commit, Row, SqliteStore, Turn } from "@parley/store";
import { directMessage, virtualClock, type VirtualClock } from "@parley/testkit";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { Ruling } from "../src/quarantine.ts";
import type { LaneCommand } from "../src/run-command.ts";
import { runSession } from "../src/run-session.ts";
import { slotRow } from "../src/schedules/slot-row.ts";
import { jobOf } from "./scheduled-runs.ts";
import { memoryStore } from "./store.ts";

const lane = "agent:main:telegram:dm:5" as SessionKey;
const id = `${lane}#1`;

let clock: VirtualClock;
let store: SqliteStore;
beforeEach(async () => {
  clock = virtualClock();
  store = await memoryStore(clock);
  onTestFinished(() => store.close());
});

function row(name: string, payload: object = {}, inbound: Partial<Inbound> = {}): Row {
  return {
    id: name,
    seq: 1,
    payload: formatRowPayload({
      v: 1,
      inbound: { ...directMessage({ messageId: name }), ...inbound },
      owner: true,
      ...payload,
    } as never),
  } as unknown as Row;
}
const command = (name: string, args = ""): Row => row("cmd", { command: { name, args } });

interface Situation {
  readonly rows?: readonly Row[];
  readonly turn?: object;
  readonly commands?: readonly LaneCommand[];
  readonly ruling?: Ruling;
  readonly steps?: readonly object[];
  readonly job?: object | null;
  readonly fails?: () => void;
  readonly stopFails?: boolean;
  readonly lived?: () => Promise<void>;
}

function stage(what: Situation = {}) {
  const did: string[] = [];
  const written: Commit[] = [];
  const log = (level: string) => (_fields: unknown, message: string) => void did.push(`${level}: ${message}`);
  const logs = { ...silentLog, info: log("info"), warn: log("warn"), error: log("error") };
  const services = {
    sessions: store.sessions,
    cells: store.cells,
    outbox: {},
    turns: {
      commit: async (_turn: Turn, of: string, commit: Commit) => {
        what.fails?.();
        did.push(`commit ${of === id ? "" : of}${commit.outcome}: ${commit.reason}`);
        written.push(commit);
      },
      lived: what.lived ?? (async () => void did.push("lived")),
      split: async (turn: Turn) => (did.push("split"), { ...turn, rows: turn.rows.slice(0, 1) }),
      find: async () => (what.steps === undefined ? null : { log: what.steps }),
      release: async (turn: Turn, how: object) =>
        void did.push(`release ${turn.rows.length} ${JSON.stringify(how)}`),
    },
    quarantine: {
      rule: async () => what.ruling ?? { kind: "free" },
    },
    schedules: { jobs: { get: async () => (what.job === undefined ? null : { job: what.job, cell: 1 }) } },
    questions: {
      stop: async (of: object) => {
        if (what.stopFails === true) throw new Fault("unavailable", "no store");
        did.push(`questions ${JSON.stringify(of)}`);
      },
    },
    approvals: { stop: async (of: object) => void did.push(`approvals ${JSON.stringify(of)}`) },
    clock,
    log: { ...logs, child: () => logs },
  };
  const runner = runSession(services as never, what.commands ?? []);
  const turn = {
    id,
    lane,
    conversation: "telegram:default:dm:5",
    rows: what.rows ?? [command("status")],
    context: [],
    log: [],
    tickets: [],
    stop: null,
    attempt: 1,
    epoch: 1,
    ...what.turn,
  } as unknown as Turn;
  const lease = {
    signal: new AbortController().signal,
    renew: async () => void did.push("renewed"),
    cover: async (ms: number) => void did.push(`cover ${ms}`),
  };
  return {
    did,
    written,
    run: () => runner.run(turn, lease as never),
    bury: (error: unknown) => runner.bury(turn, error),
  };
}
const status = (run: LaneCommand["run"]): LaneCommand => ({ name: "status", run });
const words = ({ deliveries = [] }: Commit): readonly string[] =>
  deliveries.map(({ id: of, parts }) => {
    const { parts: shown } = JSON.parse(parts[0]?.content ?? "{}") as {
      readonly parts: readonly { readonly markdown: string }[];
    };
    return `${of}: ${shown[0]?.markdown}`;
  });

test("a command runs under a lease that was renewed for it, and its answer, entries, fields and cells are one commit", async () => {
  const calls: unknown[] = [];
  const s = stage({
    rows: [row("cmd", { command: { name: "status", args: "all", model: "m" } })],
    commands: [
      status(async ({ key, name, args, model, inbound, owner }) => {
        calls.push([key, name, args, model, inbound.messageId, owner]);
        return {
          answer: "fine",
          entries: ["e"],
          patch: { a: 1 },
          cells: [{ key: "k", value: "v" }],
          committed: () => void s.did.push("told"),
        };
      }),
    ],
  });
  expect(await s.run()).toEqual({ settled: true });
  expect(calls).toEqual([[lane, "status", "all", "m", "cmd", true]]);
  expect(s.did).toEqual(["renewed", "commit commanded: /status", "told"]);
  expect(s.written[0]).toMatchObject({ entries: ["e"], patch: { a: 1 }, cells: [{ key: "k", value: "v" }] });
  expect(words(s.written[0] as Commit)).toEqual([`${id}/0: fine`]);
});

test("a command may say nothing, and one that is no more says so", async () => {
  const silent = stage({ commands: [status(async () => null)] });
  await silent.run();
  expect(silent.written).toEqual([{ outcome: "commanded", reason: "/status", entries: [], deliveries: [] }]);
  const gone = stage({ rows: [command("dance")], commands: [status(async () => "fine")] });
  await gone.run();
  expect(words(gone.written[0] as Commit)).toEqual([`${id}/0: There is no /dance any more.`]);
});

test("a process that lives a minute with a turn of a dead one takes the death back, unless the turn ends before", async () => {
  const waits = (forMs: number) =>
    stage({
      turn: { attempt: 2 },
      commands: [
        status(async () => {
          await clock.advance(forMs);
          return "fine";
        }),
      ],
    });
  const [short, long] = [waits(59_999), waits(60_000)];
  await short.run();
  await clock.advance(60_000);
  await long.run();
  expect([short.did.includes("lived"), long.did.includes("lived")]).toEqual([false, true]);
  const first = stage({
    commands: [
      status(async () => {
        await clock.advance(60_000);
        return "fine";
      }),
    ],
  });
  await first.run();
  expect(first.did).not.toContain("lived");
  const failing = stage({
    turn: { attempt: 2 },
    lived: async () => {
      throw new Fault("unavailable", "no store");
    },
    commands: [
      status(async () => {
        await clock.advance(60_000);
        return "fine";
      }),
    ],
  });
  await failing.run();
  expect(failing.did).toContain("warn: could not note that the process lives with this turn");
});

test("a suspect runs free, waits, runs alone a row at a time and frees its place, or is buried with the proof", async () => {
  const attempt = { attempt: 3 };
  const commands = [status(async () => "fine")];
  const free = stage({ turn: attempt, commands });
  await free.run();
  expect(free.did).toEqual(["renewed", "commit commanded: /status"]);
  const how = { afterMs: 5, reason: "wait", refund: true };
  expect(await stage({ turn: attempt, ruling: { kind: "wait", how } }).run()).toEqual(how);
  const ends: string[] = [];
  const alone = (commandsOf: readonly LaneCommand[], end = async () => void ends.push("freed")) =>
    stage({
      turn: attempt,
      rows: [command("status"), row("m2")],
      commands: commandsOf,
      ruling: { kind: "alone", end },
    });
  const one = alone(commands);
  await one.run();
  expect([one.did, ends]).toEqual([["cover 0", "split", "renewed", "commit commanded: /status"], ["freed"]]);
  const failing = alone([
    status(async () => {
      throw new Error("a bug");
    }),
  ]);
  await expect(failing.run()).rejects.toThrow("a bug");
  expect(ends).toEqual(["freed", "freed"]);
  // Whoever lives a minute with it is no suspect, and others may have the place while it works on.
  const during: number[] = [];
  const long = alone([
    status(async () => {
      for (const forMs of [59_999, 1]) {
        await clock.advance(forMs);
        during.push(ends.length);
      }
      return "fine";
    }),
  ]);
  await long.run();
  expect([during, ends.length, long.did.includes("lived")]).toEqual([[2, 3], 4, true]);
  const stuck = alone(commands, async () => {
    throw new Error("no store");
  });
  expect(await stuck.run()).toEqual({ settled: true });
  expect(stuck.did).toContain("warn: the place of a suspect could not be freed");
  const guilty = stage({
    turn: attempt,
    ruling: { kind: "guilty", cells: [{ key: "suspects:trial", value: null }] },
  });
  expect(await guilty.run()).toEqual({ settled: true });
  expect(guilty.written[0]?.cells).toEqual([{ key: "suspects:trial", value: null }]);
  expect(guilty.did[0]).toBe(
    "commit dead: the process died in this turn, the last time while it was the only suspect that ran",
  );
});

test("a run whose job was removed while it waited is not begun, and nobody is told", async () => {
  const slot = slotRow(jobOf(), { id: "cron:brief:1", instantMs: 1 }, { owner: true, authority: "owner" }, 1);
  const s = stage({ rows: [{ ...slot, seq: 1 } as unknown as Row] });
  expect(await s.run()).toEqual({ settled: true });
  expect(s.written).toEqual([{ outcome: "superseded", reason: "the job was removed", entries: [] }]);
  expect(s.did.at(-1)).toBe("info: a scheduled run was not begun");
});

test("a turn that failed by a bug is buried with the reason, its person is told, and its requests end", async () => {
  const s = stage();
  await s.bury(new Error("it broke"));
  expect(s.did).toEqual([
    "commit dead: a bug: it broke",
    "error: turn buried",
    `questions ${JSON.stringify({ turn: id })}`,
    `approvals ${JSON.stringify({ turn: id })}`,
  ]);
  expect(words(s.written[0] as Commit)).toEqual([
    `${id}/buried: Sorry, I failed on your message for good and put it aside. The operator can see why. Please try in other words.`,
  ]);
  expect(s.written[0]).toMatchObject({ entries: [], cells: [] });
  const odd = stage({ stopFails: true });
  await odd.bury("odd");
  expect([odd.did[0], odd.did.at(-1)]).toEqual([
    "commit dead: a bug: odd",
    "warn: requests of a buried turn were not ended",
  ]);
});

test("several messages that failed together are tried one by one, as long as nothing was done for them", async () => {
  const several = [row("m1"), row("m2")];
  const absorbed = { kind: "absorbed", body: "[]" };
  const preview = { kind: "preview", body: "{}" };
  const is = async (what: Situation) => {
    const s = stage(what);
    await s.bury(new Error("it broke"));
    return s.did;
  };
  const apart = [
    "split",
    `release 1 ${JSON.stringify({ afterMs: 0, reason: "a bug: it broke", refund: true })}`,
    "warn: a turn of several messages failed by a bug, trying each by itself",
  ];
  expect([
    await is({ rows: several }),
    await is({ rows: several, steps: [preview] }),
    await is({ rows: [row("m1")], steps: [absorbed, preview] }),
    (await is({ rows: several, steps: [{ kind: "model", body: "{}" }] }))[0],
    (await is({ rows: [row("m1")], steps: [preview] }))[0],
    (await is({ rows: several, turn: { log: [{ kind: "result", body: "{}" }] } }))[0],
  ]).toEqual([apart, apart, apart, ...Array.from({ length: 3 }, () => "commit dead: a bug: it broke")]);
});

test("what cannot be buried is an outage, tried again, and a fault keeps what it says", async () => {
  const bury = (error: Error) =>
    stage({
      fails: () => {
        throw error;
      },
    }).bury(new Error("it broke"));
  await expect(bury(new Error("odd"))).rejects.toMatchObject({
    code: "unavailable",
    message: "could not bury a turn",
  });
  await expect(bury(new Fault("conflict", "another holds it"))).rejects.toMatchObject({
    code: "conflict",
    message: "another holds it",
  });
});
