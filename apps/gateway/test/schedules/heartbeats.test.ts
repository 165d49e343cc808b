// What each heartbeat asks, of whom, and what becomes of the events that were kept for it; and when it comes.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { conversationKey, Fault, type Address } from "@parley/protocol";
import { scheduleRow } from "@parley/runner";
import { jobStore, newJob, type Job } from "@parley/schedules";
import type { NewRow } from "@parley/store";
import { virtualClock } from "@parley/testkit";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  heartbeatWork,
  keepingForHeartbeat,
  sendHeartbeats,
  type HeartbeatWork,
  type Home,
} from "../../src/schedules/heartbeats.ts";
import { memoryStore } from "../receive/store.ts";
import { keptLog } from "./log-lines.ts";

let home: string;
beforeEach(async () => void (home = await mkdtemp(join(tmpdir(), "parley-beats-"))));
afterEach(() => rm(home, { recursive: true, force: true }));

const dm = (peer: string): Address => ({ channel: "telegram", account: "default", kind: "dm", peer });
const homeOf = (peer: string): Home => ({
  session: `agent:main:telegram:dm:${peer}` as never,
  place: dm(peer),
});
const main: Home = { session: "agent:main:main" as never, place: null };

const operator = {
  kind: "operator",
  sender: null,
  isOwner: true,
  conversation: null,
  session: null,
  turn: null,
  authority: "owner",
  tools: null,
} as const;

function jobNamed(id: string, nowMs: number): Job {
  const made = newJob(
    {
      name: id,
      schedule: { kind: "every", every: "10m" },
      payload: { kind: "systemEvent", text: id },
      target: { kind: "main" },
      delivery: { kind: "none" },
      wake: "next-heartbeat",
    },
    { nowMs, zone: "UTC", id, agent: "main", owner: operator },
  );
  if (!made.ok) throw new Error(JSON.stringify(made.problems));
  return made.job;
}

interface Set {
  readonly heartbeat?: object;
  readonly homes?: readonly [Home, ...Home[]];
  readonly refuses?: (to: Address) => string | null;
  readonly others?: readonly string[];
  readonly timeoutSeconds?: number;
}

async function world({
  heartbeat = {},
  homes = [homeOf("olga")],
  refuses,
  others = [],
  timeoutSeconds = 3_600,
}: Set) {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  const accepted: NewRow[] = [];
  const usual = { every: "30m", target: "owner", prompt: "Anything?", lightContext: false, ...heartbeat };
  const workspace = (id: string): string => join(home, id);
  await Promise.all(["main", ...others].map((id) => mkdir(workspace(id), { recursive: true })));
  const config = {
    agents: {
      defaults: { userTimezone: "UTC", timeoutSeconds },
      list: ["main", ...others].map((id) => ({ id, workspace: workspace(id), heartbeat: usual })),
    },
  } as never;
  const jobs = jobStore(store.cells);
  const work = heartbeatWork({
    config,
    jobs,
    homesOf: async () => homes,
    inbox: {
      find: (filter) => store.inbox.find(filter),
      accept(rows) {
        accepted.push(...rows);
        return store.inbox.accept(rows);
      },
    },
    cells: store.cells,
    reach: async ({ address }) => refuses?.(address) ?? null,
    counts: new Map(),
    clock,
  });
  /** An event that waits for the agent's next heartbeat. */
  async function keep(id: string, agent = "main", more: Partial<Parameters<typeof scheduleRow>[0]> = {}) {
    const row = scheduleRow({
      id,
      lane: homeOf("olga").session,
      place: dm("olga"),
      job: id,
      sender: "web:operator",
      owner: true,
      authority: "owner",
      text: `event ${id}`,
      turn: "",
      nowMs: clock.now(),
      ...more,
    });
    const write = keepingForHeartbeat(config)(row, agent);
    if (write === null) throw new Error("no heartbeat comes");
    await store.cells.put(write.key, write.value ?? "", {});
  }
  /** A row in a lane as a message of a person, or of something else, left it. */
  const said = (id: string, to: Home, pool: string, more: Partial<NewRow> = {}) => {
    const place = to.place ?? dm("nobody");
    const row = scheduleRow({
      id,
      lane: to.session,
      place,
      job: "x",
      sender: "telegram:x",
      owner: true,
      authority: "owner",
      text: id,
      turn: "",
      nowMs: clock.now(),
    });
    const as = { kind: "closed", outcome: "answered", reason: "" } as const;
    return store.inbox.accept([{ ...row, pool, as, ...more }]);
  };
  const kept = async () => (await store.cells.list("heartbeat-event:", 100)).map(({ key }) => key);
  return { clock, store, jobs, work, accepted, keep, said, kept, workspace };
}

const instantMs = Date.UTC(2026, 0, 1, 9, 30);
const shown = ({ payload, ...row }: NewRow) => ({ ...row, payload: JSON.parse(payload) as unknown });

describe("the row of a heartbeat", () => {
  test("is of the owner's chat, says who it is for, and how long it may take", async () => {
    const { work, accepted, clock } = await world({});
    expect(await work.beat("main", instantMs)).toBeNull();
    const id = "heartbeat:main:2026-01-01T09:30:00.000Z";
    expect(accepted.map(shown)).toEqual([
      {
        id,
        pool: "heartbeat",
        lane: "agent:main:telegram:dm:olga",
        conversation: conversationKey(dm("olga")),
        authority: "owner",
        as: { kind: "work", ticket: id, barrier: true },
        payload: {
          v: 1,
          inbound: {
            id,
            channel: "telegram",
            account: "default",
            address: dm("olga"),
            sender: { id: "olga", name: "Parley", isBot: false },
            messageId: id,
            kind: "message",
            text: "Anything?",
            attachments: [],
            mentions: [],
            addressed: true,
            atMs: clock.now(),
          },
          owner: true,
          internal: {
            kind: "heartbeat",
            id: "heartbeat-main",
            turn: "",
            slot: { version: 0, instantMs, own: false },
            run: { label: "heartbeat", timeoutSeconds: 600 },
          },
        },
      },
    ]);
  });

  test.for([
    ["30m", 3_600, 600],
    ["5m", 3_600, 300],
    ["30m", 120, 120],
    ["500ms", 120, 1],
  ] as const)(
    "every %s, where a turn may take %i seconds, it may take %i",
    async ([every, timeoutSeconds, most]) => {
      const { work, accepted } = await world({ heartbeat: { every }, timeoutSeconds });
      await work.beat("main", instantMs);
      expect(accepted.map(shown)).toMatchObject([
        { payload: { internal: { run: { timeoutSeconds: most } } } },
      ]);
    },
  );

  test("names the model and the light context that the config names", async () => {
    const { work, accepted } = await world({ heartbeat: { model: "a/b", lightContext: true } });
    await work.beat("main", instantMs);
    expect(accepted.map(shown)).toMatchObject([
      { payload: { internal: { slot: { light: true }, run: { model: "a/b" } } } },
    ]);
  });

  test("with target none is nobody's to see, in the first owner's session", async () => {
    const homes = [homeOf("olga"), homeOf("bob")] as const;
    const { work, accepted } = await world({ heartbeat: { target: "none" }, homes, refuses: () => "closed" });
    expect(await work.beat("main", instantMs)).toBeNull();
    expect(accepted.map(shown)).toMatchObject([
      {
        lane: homes[0].session,
        payload: { inbound: { channel: "web", sender: { id: "operator" } }, internal: { unseen: true } },
      },
    ]);
  });
});

describe("where a heartbeat goes", () => {
  const homes = [homeOf("olga"), main, homeOf("bob"), homeOf("carl")] as const;

  test("last is the owner's chat that a person wrote in last, by the person's own messages there", async () => {
    const { work, accepted, said, clock } = await world({ heartbeat: { target: "last" }, homes });
    await said("1", homes[0], "main");
    await clock.advance(1_000);
    await said("2", homes[2], "main");
    await clock.advance(1_000);
    // No message of a person there: a job's run, what came from a group into the session, the main session's.
    await said("3", homes[0], "cron");
    await said("4", homes[3], "main", { conversation: conversationKey({ ...dm("-5"), kind: "group" }) });
    await said("5", main, "main");
    expect(await work.beat("main", instantMs)).toBeNull();
    expect(accepted.map(({ lane, conversation }) => [lane, conversation])).toEqual([
      [homes[2].session, conversationKey(dm("bob"))],
    ]);
  });

  test("last is the first owner while none has written, and owner is always the first", async () => {
    for (const target of ["last", "owner"]) {
      const { work, accepted, said } = await world({ heartbeat: { target }, homes });
      if (target === "owner") await said("1", homes[2], "main");
      await work.beat("main", instantMs);
      expect(accepted.map(({ lane }) => lane)).toEqual([homes[0].session]);
    }
  });

  test.for([
    [{}, [main], "no-route: no owner is known whom it could tell"],
    [{ target: "nowhere" }, [homeOf("olga")], /^no-route: .*nowhere/],
    [{}, [homeOf("olga")], "no-route: olga is blocked"],
    [{ target: "telegram:default:dm:bob" }, [homeOf("olga")], "no-route: bob is blocked"],
  ] as const)(
    "%j: nobody is asked where nobody could be told, and what was kept is told all the same",
    async ([heartbeat, homes, why]) => {
      const refuses = ({ peer }: Address): string => `${peer} is blocked`;
      const { work, accepted, keep, kept } = await world({ heartbeat, homes: homes as never, refuses });
      await keep("a");
      expect(await work.beat("main", instantMs)).toEqual(
        typeof why === "string" ? why : expect.stringMatching(why),
      );
      expect([accepted.map(({ id, pool }) => [id, pool]), await kept()]).toEqual([[["a", "cron"]], []]);
    },
  );

  test("a place that is named is told in the session of the first owner, whoever wrote last", async () => {
    const at = conversationKey(dm("bob"));
    const { work, accepted, said } = await world({ heartbeat: { target: at }, homes });
    await said("1", homes[3], "main");
    expect(await work.beat("main", instantMs)).toBeNull();
    expect(accepted.map(shown)).toMatchObject([
      {
        lane: homes[0].session,
        conversation: at,
        payload: { inbound: { address: dm("bob"), sender: { id: "bob" } } },
      },
    ]);
  });

  test("an agent that there is not is told from one that nobody hears", async () => {
    const { work } = await world({});
    expect(await work.beat("gone", instantMs)).toBe("no-route: there is no such agent");
  });
});

describe("events that were kept", () => {
  test("are read in the heartbeat's turn, in their order, and no other agent's are", async () => {
    const { work, accepted, keep, kept } = await world({ others: ["second"] });
    for (const id of ["b", "a"]) await keep(id);
    await keep("c", "second");
    expect(await work.beat("main", instantMs)).toBeNull();
    const beat = "heartbeat:main:2026-01-01T09:30:00.000Z";
    expect(accepted.map(({ id, pool, as }) => [id, pool, as])).toEqual([
      [beat, "heartbeat", { kind: "work", ticket: beat }],
      ["a", "heartbeat", { kind: "work", ticket: "a" }],
      ["b", "heartbeat", { kind: "work", ticket: "b" }],
    ]);
    expect(await kept()).toEqual(["heartbeat-event:second:c"]);
    await work.release("second");
    expect([accepted.at(-1)?.id, await kept()]).toEqual(["c", []]);
  });

  test("of a job that was edited, paused or removed since go untold, and leave no heartbeat behind", async () => {
    const { work, accepted, keep, kept, jobs, clock, workspace } = await world({});
    await writeFile(join(workspace("main"), "HEARTBEAT.md"), "# Heartbeat\n");
    const slot = (version: number) => ({ internal: { slot: { version, instantMs, own: false } } });
    for (const id of ["same", "edited", "paused"]) await jobs.add(jobNamed(id, clock.now()));
    await jobs.pause("paused", "by hand", clock.now());
    for (const [id, version] of [
      ["edited", 2],
      ["paused", 1],
      ["removed", 1],
    ] as const)
      await keep(id, "main", slot(version));
    expect(await work.beat("main", instantMs)).toBe("empty-heartbeat-file");
    expect([accepted, await kept()]).toEqual([[], []]);
    await keep("removed", "main", slot(1));
    await keep("same", "main", slot(1));
    expect(await work.beat("main", instantMs)).toBeNull();
    expect(accepted.map(({ id }) => id)).toEqual(["heartbeat:main:2026-01-01T09:30:00.000Z", "same"]);
    expect(await kept()).toEqual([]);
  });

  test("wait while the session has work, claimed or waiting, and a closed row is no work", async () => {
    const { work, accepted, keep, kept, said, store } = await world({});
    await keep("a");
    await said("closed", homeOf("olga"), "main");
    await said("waits", homeOf("olga"), "main", { as: { kind: "work" } });
    expect(await work.beat("main", instantMs)).toBe("requests-in-flight");
    await store.turns.take({ pool: "main", holder: "other", leaseMs: 60_000, maxRows: 1 });
    expect(await store.inbox.find({ state: "waiting", limit: 1 })).toEqual([]);
    expect(await work.beat("main", instantMs)).toBe("requests-in-flight");
    expect([accepted, await kept()]).toEqual([[], ["heartbeat-event:main:a"]]);
  });
});

describe("a heartbeat's file", () => {
  const beats = async (write: (path: string) => Promise<unknown>) => {
    const { work, workspace } = await world({});
    const path = join(workspace("main"), "HEARTBEAT.md");
    await rm(path, { recursive: true, force: true });
    await write(path);
    return work.beat("main", instantMs);
  };

  test("that says nothing asks nothing, as long as it is a plain file of at most 256 KB", async () => {
    const blank = "\n".repeat(262_144);
    expect({
      headline: await beats((path) => writeFile(path, "# Heartbeat\n")),
      "256 KB of nothing": await beats((path) => writeFile(path, blank)),
      "one byte more": await beats((path) => writeFile(path, `${blank}\n`)),
      folder: await beats((path) => mkdir(path)),
      missing: await beats(async () => {}),
      words: await beats((path) => writeFile(path, "- the oven\n")),
    }).toEqual({
      headline: "empty-heartbeat-file",
      "256 KB of nothing": "empty-heartbeat-file",
      "one byte more": null,
      folder: null,
      missing: null,
      words: null,
    });
  });
});

describe("active hours", () => {
  test("are judged by the time that it is now, in the user's zone, and a quiet heartbeat keeps its events", async () => {
    const hours = { start: "00:30", end: "01:30", timezone: "UTC" };
    const { work, keep, kept, clock, accepted } = await world({ heartbeat: { activeHours: hours } });
    await keep("a");
    expect(await work.beat("main", instantMs)).toBe("quiet-hours");
    expect([accepted, await kept()]).toEqual([[], ["heartbeat-event:main:a"]]);
    await clock.advance(30 * 60_000);
    expect(await work.beat("main", instantMs)).toBeNull();
  });

  test("that are none, and a heartbeat that is off, keep nothing", async () => {
    const everyMs = async (heartbeat: object) => (await world({ heartbeat })).work.everyMs("main");
    const none = { start: "08:00", end: "08:00", timezone: "UTC" };
    expect(await everyMs({})).toBe(1_800_000);
    expect(await everyMs({ activeHours: { ...none, end: "08:01" } })).toBe(1_800_000);
    expect(await everyMs({ activeHours: none })).toBe(0);
    expect(await everyMs({ every: "0m" })).toBe(0);
    expect((await world({})).work.everyMs("gone")).toBe(0);
  });
});

describe("the times of heartbeats", () => {
  const minuteMs = 60_000;

  function sender(everyMs: { readonly [agent: string]: number }, beat?: HeartbeatWork["beat"]) {
    const clock = virtualClock();
    const { log, lines } = keptLog();
    const beats: [agent: string, instantMs: number, atMs: number][] = [];
    const released: string[] = [];
    const counts = new Map<string, number>();
    const works = (spans: typeof everyMs): HeartbeatWork => ({
      agents: Object.keys(spans),
      everyMs: (agent) => spans[agent] ?? 0,
      async beat(agent, at) {
        beats.push([agent, at, clock.now()]);
        return (await beat?.(agent, at)) ?? null;
      },
      release: async (agent) => void released.push(agent),
      count: (result) => void counts.set(result, (counts.get(result) ?? 0) + 1),
      counts,
    });
    let work = works(everyMs);
    const stop = sendHeartbeats(() => work, clock, log);
    const reload = (spans: typeof everyMs): void => void (work = works(spans));
    return { clock, lines, beats, released, counts, stop, reload };
  }

  test("each agent has its own part of the time, and keeps it; what was missed is not made up for", async () => {
    const { clock, beats, stop } = sender({
      main: 10 * minuteMs,
      second: 10 * minuteMs,
      third: 25 * minuteMs,
    });
    await clock.advance(60 * minuteMs);
    const of = (agent: string) => beats.filter(([each]) => each === agent);
    expect(["main", "second", "third"].map((agent) => of(agent).length)).toEqual([
      6,
      6,
      expect.toSatisfy((n: number) => n === 2 || n === 3),
    ]);
    for (const [agent, everyMs] of [
      ["main", 10 * minuteMs],
      ["third", 25 * minuteMs],
    ] as const) {
      const instants = of(agent).map(([, instant]) => instant);
      expect(instants.map((at, nth) => at - (instants[0] ?? 0) - nth * everyMs)).toEqual(
        instants.map(() => 0),
      );
    }
    expect(of("main")[0]?.[1]).not.toBe(of("second")[0]?.[1]);
    // At its instant, and not half a minute later.
    expect(beats.every(([, instant, atMs]) => atMs - instant <= 1)).toBe(true);
    beats.splice(0);
    clock.jumpWall(60 * minuteMs);
    await clock.advance(minuteMs);
    expect(of("main").length).toBeLessThanOrEqual(2);
    expect(of("main").length).toBeGreaterThan(0);
    beats.splice(0);
    stop();
    await clock.advance(60 * minuteMs);
    expect([beats, clock.armed()]).toEqual([[], 0]);
  });

  test("each is counted and logged by what became of it, and one that fails holds up no other", async () => {
    const answers: { readonly [agent: string]: () => string | null } = {
      main: () => null,
      quiet: () => "quiet-hours",
      lost: () => "no-route: olga is blocked: for ever",
      broken: () => {
        throw new Fault("unavailable", "the store is away");
      },
    };
    const spans = Object.fromEntries(
      ["broken", "main", "quiet", "lost"].map((agent) => [agent, 10 * minuteMs]),
    );
    const { clock, lines, counts, stop } = sender(spans, async (agent) => answers[agent]?.() ?? null);
    await clock.advance(10 * minuteMs);
    stop();
    expect(Object.fromEntries(counts)).toEqual({ sent: 1, "quiet-hours": 1, "no-route": 1, failed: 1 });
    expect(lines).toHaveLength(4);
    expect(lines).toEqual(
      expect.arrayContaining([
        ["info", "heartbeat", { agent: "main" }],
        ["info", "heartbeat", { agent: "quiet", skipped: "quiet-hours" }],
        ["info", "heartbeat", { agent: "lost", skipped: "no-route: olga is blocked: for ever" }],
        [
          "warn",
          "a heartbeat could not be sent",
          { agent: "broken", error: "unavailable: the store is away" },
        ],
      ]),
    );
  });

  test("what was kept for an agent without heartbeats is told once, and once more after each reload", async () => {
    const { clock, released, reload, stop } = sender({ main: 0, second: 10 * minuteMs });
    await clock.advance(5 * minuteMs);
    expect(released).toEqual(["main"]);
    reload({ main: 0, second: 0 });
    await clock.advance(5 * minuteMs);
    expect(released).toEqual(["main", "main", "second"]);
    stop();
  });

  test("a look that goes on when heartbeats end arms nothing any more", async () => {
    let answer = (): void => {};
    const { clock, stop } = sender(
      { main: minuteMs },
      () => new Promise((resolve) => (answer = () => resolve(null))),
    );
    await clock.advance(minuteMs);
    stop();
    answer();
    await clock.advance(minuteMs);
    expect(clock.armed()).toBe(0);
  });
});
