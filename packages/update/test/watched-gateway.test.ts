// How long a new version is watched, what ends the trial, and what is said: a gateway that answers as a list
// says, in time that passes by itself.
import { Fault, type Clock } from "@parley/protocol";
import { describe, expect, test } from "vitest";
import { lookAfterTrial } from "../src/at-start.ts";
import { resumeUpdate, runUpdate } from "../src/run-update.ts";
import type { GatewayNow, UpdateWorld } from "../src/update-world.ts";
import type { UpdateRecord } from "../src/update-record.ts";

const ok = (changes: Partial<GatewayNow> = {}): GatewayNow => ({
  bootId: "new",
  version: "2.0.0",
  state: "ok",
  reasons: [],
  up: ["telegram:a", "slack:b"],
  ...changes,
});
const begun: UpdateRecord = {
  id: "one",
  root: "/r",
  from: "version 1",
  to: "version 2",
  fromRef: "1.0.0",
  toRef: "2.0.0",
  state: "preparing",
  reason: null,
  backup: null,
  restore: null,
  replaced: null,
  kept: null,
  worked: null,
  watchMs: 60_000,
  askedBy: null,
  driver: 1,
  before: null,
  begunAtMs: 1,
  endedAtMs: null,
};

const byHand = { args: [], service: null };

type Answer = GatewayNow | "silent" | null;

interface Script {
  /** What the gateway answers so long after its restart. */
  readonly afterwards: (sinceMs: number) => Answer;
  readonly before?: Answer;
  readonly isThere?: (sinceMs: number) => boolean;
  readonly page?: string;
  readonly config?: string;
  readonly rehearsal?: string;
  readonly refuses?: boolean;
  readonly copy?: string | null;
  readonly backup?: string | null;
  readonly checkedAfterSwap?: boolean;
  readonly swapFails?: "before" | "after";
  /** What the version before answers once it is back. */
  readonly back?: Answer;
}

/** A world in which 200 ms pass with each look; all that is done in it stands in `did`. */
function stage(script: Script) {
  const did: string[] = [];
  const said: string[] = [];
  const states: string[] = [];
  let nowMs = 0;
  let restartedAt: number | null = null;
  let inForce = "1.0.0";
  let stored: UpdateRecord | null = null;
  const clock: Clock = {
    now: () => 1_000_000 + nowMs,
    mono: () => nowMs,
    after(afterMs, run) {
      queueMicrotask(() => {
        nowMs += afterMs;
        run();
      });
      return { cancel: () => undefined };
    },
  };
  const since = (): number => nowMs - (restartedAt ?? 0);
  const started = (how: string) => async (): Promise<void> => {
    did.push(how);
    restartedAt = nowMs;
  };
  const world: UpdateWorld = {
    gateway: {
      now: async () => {
        if (restartedAt === null)
          return script.before === undefined ? ok({ bootId: "old", version: "1.0.0" }) : script.before;
        if (inForce !== "1.0.0") return script.afterwards(since());
        return script.back === undefined ? ok({ bootId: "old again", version: "1.0.0" }) : script.back;
      },
      ranAs: async () => byHand,
      isThere: async () => script.isThere?.(since()) ?? false,
      restart: started("restart"),
      start: started("start"),
      stop: async () => void did.push("stop"),
      pageTrouble: async () => script.page ?? null,
    },
    inForce: {
      checkedAfterSwap: script.checkedAfterSwap ?? false,
      now: () => inForce,
      prepare: async () => void did.push("prepare"),
      begin: () => void did.push("begin"),
      swapTo: async (ref) => {
        if (script.swapFails === "before" && ref === "2.0.0") throw new Fault("denied", "no right to write");
        did.push(`swap to ${ref}`);
        inForce = ref;
        if (script.swapFails === "after" && ref === "2.0.0") throw new Error("the disk went");
      },
      end: ({ state }) => void did.push(`end ${state}`),
    },
    programs: {
      configTrouble: async (ref) => (did.push(`config of ${ref}`), script.config ?? null),
      rehearsal: async (ref, backup) => (
        did.push(`rehearsal of ${ref} on ${backup}`),
        script.rehearsal ?? null
      ),
      refusesDatabase: async () => script.refuses ?? false,
      restore: async (ref, file, goOn) => {
        did.push(`restore ${file} for ${ref}${goOn ? ", nobody worked on it" : ""}`);
        return `${file}.aside`;
      },
    },
    backUp: async () => (did.push("back up"), script.backup === undefined ? "/backup" : script.backup),
    schemaCopy: () => script.copy ?? null,
    aloneWithDatabase: async (work) => work(),
    read: () => stored,
    write: (record) => {
      stored = record;
      if (states.at(-1) !== record.state) states.push(record.state);
    },
    clock,
    say: (words) => void said.push(words),
  };
  return { world, did, said, states, sinceRestartMs: since, force: (ref: string) => void (inForce = ref) };
}

const steps = [
  "prepare",
  "back up",
  "config of 2.0.0",
  "rehearsal of 2.0.0 on /backup",
  "begin",
  "swap to 2.0.0",
  "restart",
];
const back = ["swap to 1.0.0", "stop", "start", "end went-back"];

test("an update that does well says each step, keeps the order of what it does, and is watched for its whole time", async () => {
  const s = stage({ afterwards: () => ok() });
  const ended = await runUpdate(begun, s.world);
  expect(ended).toEqual({
    ...begun,
    state: "done",
    backup: "/backup",
    worked: true,
    before: { bootId: "old", state: "ok", up: ["telegram:a", "slack:b"], reasons: [] },
    ran: byHand,
    endedAtMs: 1_060_000,
  });
  expect(s.did).toEqual([...steps, "end done"]);
  expect(s.states).toEqual(["preparing", "swapping", "trying", "done"]);
  expect(s.said).toEqual([
    "Backing up ...",
    "Looking whether version 2 would start ...",
    "Restarting: what runs may end first ...",
    "2.0.0 is up; watching it for 60 s ...",
    "version 2 is well.",
  ]);
  expect(s.sinceRestartMs()).toBe(60_000);
});

/** From `fromMs` on the second answer. */
const later = (fromMs: number, first: Answer, second: Answer) => (sinceMs: number) =>
  sinceMs < fromMs ? first : second;

test.each<[string, Answer, readonly string[]]>([
  ["listens again before the swap", ok({ bootId: "again", version: "1.0.0" }), ["restart"]],
  ["listens again after the swap only", null, ["start", "restart"]],
  ["does not answer at the swap", "silent", ["restart"]],
])(
  "an old version that was killed while the update prepared, and %s, does not pass for the new one",
  async (_, atSwap, did) => {
    const s = stage({ afterwards: () => ok() });
    let looks = 0;
    const now = async (): Promise<Answer> => {
      if (s.world.inForce.now() === "1.0.0") return ok({ bootId: "old", version: "1.0.0" });
      if ((looks += 1) === 1) return atSwap;
      // It drains for some looks after it was told to end.
      if (s.did.includes("restart")) looks += 10;
      return looks > 50 ? ok() : ok({ bootId: "again", version: "1.0.0" });
    };
    const ended = await runUpdate(begun, { ...s.world, gateway: { ...s.world.gateway, now } });
    expect([ended.state, ended.reason]).toEqual(["done", null]);
    expect(s.did).toEqual([...steps.slice(0, -1), ...did, "end done"]);
  },
);

test("one of a checkout, where two commits say the same version, is restarted by what was found at the swap", async () => {
  const s = stage({ afterwards: () => ok() });
  const now = async (): Promise<Answer> => {
    const bootId = s.world.inForce.now() === "1.0.0" ? "old" : s.did.includes("restart") ? "new" : "again";
    return ok({ bootId, version: "0.1.0" });
  };
  const ended = await runUpdate(begun, { ...s.world, gateway: { ...s.world.gateway, now } });
  expect(ended.state).toBe("done");
  expect(s.did).toEqual([...steps, "end done"]);
});

test("a new version that was started before the update came to it is not restarted", async () => {
  const s = stage({ afterwards: () => ok() });
  const now = async (): Promise<Answer> =>
    s.world.inForce.now() === "1.0.0" ? ok({ bootId: "old", version: "1.0.0" }) : ok();
  const ended = await runUpdate(begun, { ...s.world, gateway: { ...s.world.gateway, now } });
  expect(ended.state).toBe("done");
  expect(s.did).toEqual([...steps.slice(0, -1), "end done"]);
});

describe("a new version goes back", () => {
  test.each<[string, Script, string, number]>([
    [
      "when it ends and is started again",
      { afterwards: later(59_800, ok(), ok({ bootId: "third" })) },
      "it ended, and was started again",
      59_800,
    ],
    [
      "in safe mode",
      { afterwards: later(400, null, ok({ state: "safe-mode" })) },
      "it came up in safe mode",
      400,
    ],
    ["when it is gone for more than 10 s", { afterwards: () => null }, "it did not stay up", 10_200],
    [
      "when it goes while it is watched",
      { afterwards: later(5_000, ok(), null), isThere: () => true },
      "it did not stay up",
      15_000,
    ],
    ["when it is silent for more than 30 s", { afterwards: () => "silent" }, "it does not answer", 30_200],
    [
      "when it does not listen in 3 minutes",
      { afterwards: () => null, isThere: () => true },
      "it did not come up in time",
      180_200,
    ],
    [
      "when it starts for 3 minutes",
      { afterwards: () => ok({ state: "starting" }) },
      "it did not come up in time",
      180_200,
    ],
    [
      "when its page cannot be opened",
      { afterwards: () => ok(), page: "404" },
      "its page cannot be opened: 404",
      60_000,
    ],
    [
      "when an account hears no more",
      { afterwards: () => ok({ up: ["slack:b"], state: "degraded", reasons: ["x"] }) },
      "telegram:a heard before, and does not now",
      60_000,
    ],
    [
      "when none hears any more",
      { afterwards: () => ok({ up: [] }) },
      "telegram:a, slack:b heard before, and does not now",
      60_000,
    ],
    [
      "when it is not well and was before",
      { afterwards: () => ok({ state: "degraded", reasons: ["the disk is full", "a model is down"] }) },
      "it is degraded: the disk is full; a model is down",
      60_000,
    ],
  ])("%s", async (_, script, reason, atMs) => {
    const seen: number[] = [];
    const s = stage(script);
    const swapTo = s.world.inForce.swapTo;
    const inForce = {
      ...s.world.inForce,
      swapTo: async (ref: string) => {
        if (ref === "1.0.0") seen.push(s.sinceRestartMs());
        await swapTo(ref);
      },
    };
    const ended = await runUpdate(begun, { ...s.world, inForce });
    expect([ended.state, ended.reason, seen]).toEqual(["went-back", reason, [atMs]]);
    expect(s.did).toEqual([...steps, ...back]);
    expect(s.said.at(-1)).toBe(`version 2 does not do: ${reason}. Going back to version 1 ...`);
  });
});

describe("a new version stays", () => {
  test.each<[string, Script]>([
    ["that was gone for 10 s", { afterwards: later(10_200, null, ok()) }],
    ["that was silent for 30 s", { afterwards: later(30_200, "silent", ok()) }],
    ["that starts for 3 minutes", { afterwards: later(180_000, null, ok()), isThere: () => true }],
    [
      "that is not well where the one before was not",
      { before: ok({ bootId: "old", state: "degraded" }), afterwards: () => ok({ state: "degraded" }) },
    ],
    ["with more accounts than before", { afterwards: () => ok({ up: ["telegram:a", "slack:b", "irc:c"] }) }],
    ["that drains for a moment", { afterwards: later(600, ok({ state: "draining" }), ok()) }],
  ])("%s", async (_, script) => {
    const ended = await runUpdate(begun, stage(script).world);
    expect([ended.state, ended.reason]).toEqual(["done", null]);
  });
});

describe("an update is not begun", () => {
  const prepared = ["prepare", "back up", "config of 2.0.0"];
  test.each<[string, Script, string, readonly string[]]>([
    [
      "while the gateway is silent",
      { afterwards: () => ok(), before: "silent" },
      "the gateway runs and does not answer: end it first",
      ["prepare"],
    ],
    [
      "with a config that the new version refuses",
      { afterwards: () => ok(), config: "x is unknown" },
      "version 2 would not start with this config: x is unknown",
      prepared,
    ],
    [
      "with a database that the new version cannot take over",
      { afterwards: () => ok(), rehearsal: "it is torn" },
      "version 2 cannot take the database over: it is torn",
      [...prepared, "rehearsal of 2.0.0 on /backup"],
    ],
    [
      "where the link cannot be set",
      { afterwards: () => ok(), swapFails: "before" },
      "no right to write",
      steps.slice(0, 5),
    ],
  ])("%s, and nothing in force was changed", async (_, script, reason, did) => {
    const s = stage(script);
    const ended = await runUpdate(begun, s.world);
    expect([ended.state, ended.reason, s.world.inForce.now()]).toEqual(["failed", reason, "1.0.0"]);
    expect(s.did).toEqual([...did, "end failed"]);
  });
});

test("without a copy of the database, or with one to restore, no rehearsal is made", async () => {
  const none = stage({ afterwards: () => ok(), backup: null });
  expect((await runUpdate(begun, none.world)).state).toBe("done");
  expect(none.did).toEqual([
    "prepare",
    "back up",
    "config of 2.0.0",
    "begin",
    "swap to 2.0.0",
    "restart",
    "end done",
  ]);
  const restored = stage({ afterwards: () => ok() });
  expect(await runUpdate({ ...begun, restore: "/older" }, restored.world)).toMatchObject({
    state: "done",
    restore: null,
    replaced: "/older.aside",
    kept: null,
  });
  expect(restored.did).toEqual([
    "prepare",
    "back up",
    "config of 2.0.0",
    "begin",
    "swap to 2.0.0",
    "stop",
    "restore /older for 2.0.0",
    "start",
    "end done",
  ]);
});

test("a checkout is checked after its files changed, and goes back without a restart when it would not start", async () => {
  const s = stage({ afterwards: () => ok(), checkedAfterSwap: true, config: "x is unknown" });
  const ended = await runUpdate(begun, s.world);
  expect([ended.state, ended.reason]).toEqual([
    "went-back",
    "version 2 would not start with this config: x is unknown",
  ]);
  expect(s.did).toEqual([
    "prepare",
    "back up",
    "begin",
    "swap to 2.0.0",
    "config of 2.0.0",
    "swap to 1.0.0",
    "end went-back",
  ]);
});

test("a swap that fails after it came into force is taken back", async () => {
  const s = stage({ afterwards: () => ok(), swapFails: "after" });
  const ended = await runUpdate(begun, s.world);
  expect([ended.state, ended.reason, s.world.inForce.now()]).toEqual(["went-back", "the disk went", "1.0.0"]);
});

test.each<[string, Answer, boolean]>([
  ["is well", ok({ bootId: "old again" }), true],
  ["is not well, as before", ok({ bootId: "old again", state: "degraded" }), true],
  ["never gets further than its start", ok({ bootId: "old again", state: "starting" }), false],
  ["says nothing", "silent", false],
  ["is gone", null, false],
])("of a version before that, back again, %s, it is told whether it came up", async (_what, again, isUp) => {
  const s = stage({ afterwards: () => ok({ state: "safe-mode" }), back: again });
  const { reason } = await runUpdate(begun, s.world);
  const failed = "; and version 1 did not come up again: look at `parley logs`";
  expect(reason).toBe(`it came up in safe mode${isUp ? "" : failed}`);
});

describe("the database of before", () => {
  const sick: Script = { afterwards: () => ok({ state: "safe-mode" }), refuses: true };
  test.each<[string, Script, Partial<UpdateRecord>, string]>([
    [
      "is the copy from before the schema changed",
      { ...sick, copy: "/schema-1" },
      {},
      "restore /schema-1 for 1.0.0, nobody worked on it",
    ],
    ["is the backup where there is no such copy", sick, {}, "restore /backup for 1.0.0, nobody worked on it"],
    [
      "is what a restore for the new version took away",
      { ...sick, copy: "/schema-1" },
      { restore: "/older" },
      "restore /older.aside for 1.0.0, nobody worked on it",
    ],
  ])("%s", async (_, script, changes, restore) => {
    const s = stage(script);
    const ended = await runUpdate({ ...begun, ...changes }, s.world);
    expect(s.did.slice(-5)).toEqual(["swap to 1.0.0", "stop", restore, "start", "end went-back"]);
    expect([ended.restore, ended.replaced, ended.kept]).toEqual([
      null,
      null,
      `${restore.split(" ")[1]}.aside`,
    ]);
  });

  test("that the new version worked on is kept as another's, and without any copy nothing is replaced", async () => {
    const worked = stage({
      ...sick,
      afterwards: later(200, ok(), ok({ bootId: "third" })),
      copy: "/schema-1",
    });
    await runUpdate(begun, worked.world);
    expect(worked.did).toContain("restore /schema-1 for 1.0.0");
    const none = stage({ ...sick, backup: null });
    await expect(runUpdate(begun, none.world)).rejects.toThrow(
      "there is no copy of the database from before",
    );
  });
});

test("an update of a gateway that does not run is in force, and its next start is watched", async () => {
  const s = stage({ afterwards: () => ok(), before: null });
  const ended = await runUpdate(begun, s.world);
  expect([ended.state, ended.worked, ended.endedAtMs]).toEqual(["trying", false, null]);
  expect(s.said.at(-1)).toBe(
    "version 2 is in force; the gateway was not running, and its next start is watched.",
  );
  expect(s.did).toEqual(steps.slice(0, -1));
});

describe("an update whose process died", () => {
  const before = { bootId: "old", state: "ok", up: ["telegram:a"], reasons: [] };
  test.each<[string, Partial<UpdateRecord>, string, string, string | null, readonly string[]]>([
    [
      "while it prepared is given up",
      { state: "preparing" },
      "1.0.0",
      "failed",
      "it was interrupted before anything was changed",
      ["end failed"],
    ],
    [
      "before the swap is given up",
      { state: "swapping" },
      "1.0.0",
      "failed",
      "it was interrupted before anything was changed",
      ["end failed"],
    ],
    ["after the swap goes on", { state: "swapping" }, "2.0.0", "done", null, ["restart", "end done"]],
    [
      "while it was watched goes on",
      { state: "trying", worked: false },
      "2.0.0",
      "done",
      null,
      ["restart", "end done"],
    ],
    [
      "while it went back goes on back",
      { state: "going-back", reason: "bad" },
      "2.0.0",
      "went-back",
      "bad",
      ["swap to 1.0.0", "end went-back"],
    ],
    [
      "while it went back, for nobody knows what",
      { state: "going-back" },
      "2.0.0",
      "went-back",
      "it was to go back",
      ["swap to 1.0.0", "end went-back"],
    ],
    [
      "after its end stays as it ended",
      { state: "failed", reason: "bad", endedAtMs: 5 },
      "1.0.0",
      "failed",
      "bad",
      [],
    ],
  ])("%s", async (_, changes, ref, state, reason, did) => {
    const s = stage({ afterwards: () => ok() });
    s.force(ref);
    const ended = await resumeUpdate({ ...begun, before, ...changes }, s.world);
    expect([ended.state, ended.reason, s.did]).toEqual([state, reason, did]);
    expect(ended.driver).toBe(did.length === 0 ? 1 : process.pid);
  });

  test("after a start that put the database in place: what the new version did with it, nobody has seen", async () => {
    const s = stage({ afterwards: () => null });
    s.force("2.0.0");
    const asked: UpdateRecord = { ...begun, before, state: "trying", worked: false, restore: "/copy" };
    // The start comes while the one that goes on waits for its turn with the database.
    s.world.write({ ...asked, restore: null, replaced: "/aside" });
    expect(await resumeUpdate(asked, s.world)).toMatchObject({ state: "went-back", driver: process.pid });
    expect(s.did).toEqual([
      "stop",
      "start",
      "swap to 1.0.0",
      "stop",
      "restore /aside for 1.0.0",
      "start",
      "end went-back",
    ]);
  });
});

describe("a start of the gateway", () => {
  const start = async (
    record: UpdateRecord | null,
    { starts = 0, home = "/home", refuses = false, copy = null as string | null, current = "2.0.0" } = {},
  ) => {
    const did: string[] = [];
    let stored = record;
    await lookAfterTrial({
      folders: {
        current: () => current,
        readTrial: () => ({ home, starts }),
        writeTrial: (trial: { readonly starts: number }) => did.push(`start ${trial.starts}`),
        endTrial: () => did.push("trial ends"),
        swapTo: (ref: string) => did.push(`swap to ${ref}`),
      } as never,
      home: "/home",
      programs: {
        refusesDatabase: async () => refuses,
        restore: async (ref, file, goOn) => {
          did.push(`restore ${file} for ${ref}${goOn ? ", nobody worked on it" : ""}`);
          return `${file}.aside`;
        },
      },
      aloneWithDatabase: (work) => work(),
      read: () => stored,
      write: (next) => void (stored = next),
      schemaCopy: () => copy,
      nowMs: () => 9,
      say: (words) => void did.push(`says: ${words}`),
    });
    return { did, stored };
  };
  const trying: UpdateRecord = { ...begun, state: "trying", worked: false };
  const givenUp = "it was started 3 times and did not stay up";
  const goes = [`says: version 2 does not do: ${givenUp}. Going back to version 1.`, "swap to 1.0.0"];

  test("that another state folder's update is not about leaves it alone", async () => {
    expect(await start(trying, { home: "/other" })).toEqual({ did: [], stored: trying });
  });
  test("after an update ended, or whose record is lost, ends the trial", async () => {
    expect((await start({ ...trying, endedAtMs: 5 })).did).toEqual(["trial ends"]);
    expect(await start(null)).toEqual({ did: ["trial ends"], stored: null });
  });
  test.each([
    [0, ["start 1"]],
    [1, ["start 2"]],
    [2, ["start 3"]],
    [3, ["start 4", ...goes, "trial ends"]],
  ])("after %i others tries again, three times in all", async (starts, did) => {
    const found = await start(trying, { starts });
    expect(found.did).toEqual(did);
    const ended = { ...trying, state: "went-back", reason: givenUp, endedAtMs: 9 };
    expect(found.stored).toEqual(starts === 3 ? ended : trying);
  });
  test("puts the database in place that was asked for, once", async () => {
    const found = await start({ ...trying, restore: "/older" });
    expect(found.did).toEqual(["start 1", "restore /older for 2.0.0"]);
    expect(found.stored).toEqual({ ...trying, restore: null, replaced: "/older.aside" });
  });
  test("during the swap is a trial only where the new version is in force", async () => {
    const swapping: UpdateRecord = { ...begun, state: "swapping" };
    expect((await start(swapping)).did).toEqual(["start 1"]);
    expect((await start(swapping, { current: "1.0.0" })).did).toEqual([]);
  });
  test.each([
    ["what was taken away", { replaced: "/before" }, { refuses: true, copy: "/schema" }, "/before"],
    [
      "the copy from before the schema changed",
      { backup: "/backup" },
      { refuses: true, copy: "/schema" },
      "/schema",
    ],
    ["the backup", { backup: "/backup" }, { refuses: true }, "/backup"],
    ["what is there, when that does", { backup: "/backup" }, { copy: "/schema" }, null],
  ])("that gives up brings back %s", async (_, changes, options, file) => {
    const found = await start({ ...trying, ...changes }, { ...options, starts: 3 });
    const restored =
      file === null
        ? []
        : [
            `restore ${file} for 1.0.0, nobody worked on it`,
            `says: The database of version 2 is kept as ${file}.aside.`,
          ];
    expect(found.did).toEqual(["start 4", ...goes, ...restored, "trial ends"]);
    expect(found.stored).toMatchObject({ state: "went-back", restore: null, kept: file && `${file}.aside` });
  });
});

test("one that was started while the update ran, and ended by it, is started again by who goes on after a kill", async () => {
  const ran = { args: ["--role", "edge"], service: null };
  const s = stage({ afterwards: () => null, before: null });
  const told: unknown[] = [];
  const gateway: UpdateWorld["gateway"] = {
    ...s.world.gateway,
    ranAs: async () => null,
    start: async (how) => {
      told.push(how);
      await s.world.gateway.start();
    },
  };
  const killed: UpdateRecord = { ...begun, state: "going-back", reason: "sick", ran };
  expect((await resumeUpdate(killed, { ...s.world, gateway })).state).toBe("went-back");
  expect(told).toEqual([ran]);
});

test.each([
  ["ended", { state: "going-back", reason: "sick" }],
  ["restarted", { state: "trying" }],
] as const)(
  "how a gateway was started is written before it is %s, though none ran when the update began",
  async (_how, left) => {
    const ran = { args: ["--port", "0"], service: null };
    const s = stage({ afterwards: () => null, before: ok({ bootId: "other", version: "1.0.0" }) });
    const written: unknown[] = [];
    const write = async () => void written.push(s.world.read()?.ran);
    const gateway = { ...s.world.gateway, ranAs: async () => ran, stop: write, restart: write };
    await resumeUpdate({ ...begun, ...left }, { ...s.world, gateway });
    expect(written[0]).toEqual(ran);
  },
);

test("a service manager that does not answer when the gateway is ended is still the one that starts it", async () => {
  const service = { manager: "systemd", scope: "user", name: "parley" } as const;
  const s = stage({ afterwards: () => null, before: ok() });
  const starts: unknown[] = [];
  const gateway: UpdateWorld["gateway"] = {
    ...s.world.gateway,
    ranAs: async () => ({ args: ["--port", "0"], service: null }),
    start: async (how) => {
      starts.push(how);
      await s.world.gateway.start();
    },
  };
  const left: UpdateRecord = { ...begun, state: "going-back", reason: "sick", ran: { args: [], service } };
  await resumeUpdate(left, { ...s.world, gateway });
  expect(starts).toEqual([{ args: ["--port", "0"], service }]);
});
