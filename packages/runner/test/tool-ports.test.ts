// What tools of the session and the daemon answer, word for word, and what they leave in the store: jobs,
// settings and restarts, background commands, the status, tools that were looked up, and the list of all
// tools.
import { estimateTokens } from "@parley/agent";
import {
  Fault,
  formatRowPayload,
  parseRowPayload,
  silentLog,
  type Address,
  type Json,
  type JsonObject,
  type LogFields,
  type SessionKey,
} from "@parley/protocol";
import { jobStore } from "@parley/schedules";
import type { SqliteStore } from "@parley/store";
import { answerTable, directMessage, seededIds, virtualClock } from "@parley/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { createSchedules } from "../src/schedules/schedules.ts";
import { cronPort } from "../src/tools/cron-port.ts";
import { deviceRow } from "../src/tools/device-row.ts";
import { agentSettings } from "../src/tools/gateway-settings.ts";
import { isSearched, loadedNow, loadedTools } from "../src/tools/loaded-tools.ts";
import { allCommandRecords, commandRecords } from "../src/tools/process-store.ts";
import { plansPort, statusPort } from "../src/tools/session-tools.ts";
import { listedTools } from "../src/tools/tool-listing.ts";
import { toolPorts } from "../src/tools/tool-ports.ts";
import { jobOf, madeAtMs, olga } from "./scheduled-runs.ts";
import { memoryStore } from "./store.ts";

let store: SqliteStore | undefined;
afterEach(async () => {
  await store?.close();
  store = undefined;
});

const session = "agent:main:telegram:dm:7" as SessionKey;
const began = (internal?: object): object => ({
  id: "telegram:default:u1",
  pool: "main",
  lane: session,
  conversation: "telegram:default:dm:7",
  authority: "owner",
  payload: formatRowPayload({
    v: 1,
    inbound: directMessage({ sender: { id: "7" } }),
    owner: true,
    ...(internal === undefined ? {} : { internal }),
  } as never),
});

/** An inbox that knows one turn, and what it accepts. */
function inboxWith(rows: readonly object[] = [began()]) {
  const accepted: (readonly [id: string, conversation: string, text: string, internal: unknown])[] = [];
  return {
    accepted,
    find: async ({ turn }: { readonly turn?: string }) => (turn === "t#1" ? rows : []),
    accept: async (all: readonly { id: string; conversation: string; payload: string }[]) => {
      for (const { id, conversation, payload } of all) {
        const { inbound, internal } = parseRowPayload(payload);
        accepted.push([id, conversation, inbound.text, internal]);
      }
    },
  };
}

describe("the agent's schedules", () => {
  async function port() {
    const clock = virtualClock({ startMs: madeAtMs });
    const { cells, inbox } = (store = await memoryStore(clock));
    const kept: string[] = [];
    const schedules = createSchedules({
      cells,
      inbox,
      agents: ["main"],
      zone: "Europe/Berlin",
      runs: { retentionMs: 1e9, keepLines: 10 },
      owners: async () => ["telegram:7"],
      reach: async () => null,
      modelNamed: async (_agent, word) => word,
      filesOf: async () => "cannot be watched",
      unknownTools: () => [],
      homeOf: async () => ({ session: "agent:main:main" as SessionKey, place: null }),
      keeping: (row) => (kept.push(row.id), { key: `kept:${row.id}`, value: "x" }),
      clock,
      ids: seededIds(1),
    });
    const { kind: _kind, isOwner, sender, ...maker } = olga;
    const scope = {
      ...maker,
      conversation: "telegram:default:dm:7",
      callId: "c1",
      by: { owner: isOwner, senders: [sender] },
      tools: undefined,
    };
    const act = async (request: object, more: object = {}) =>
      cronPort({ schedules, clock }).act(
        { ...scope, ...more } as never,
        { limit: 20, mode: "now", ...request } as never,
      );
    const text = async (request: object, more: object = {}): Promise<string> =>
      (await act(request, more)).text;
    return { act, text, cells, jobs: jobStore(cells), schedules, clock, kept };
  }
  const daily = {
    name: "Brief",
    schedule: { kind: "cron", expression: "0 9 * * *" },
    payload: { kind: "agentTurn", message: "Look." },
  };
  const line = "every day at 09:00 Europe/Berlin, agentTurn, next 2026-11-24 09:00 Europe/Berlin";

  test("are made as data under an id of the call, told with what comes of them, and listed in the order in which they come", async () => {
    const { act, text, cells, jobs } = await port();
    expect(await text({ action: "list" })).toBe("There are no jobs.");
    expect(await text({ action: "status" })).toBe(
      "0 jobs, 0 failing. Nothing is due. Now: 2026-11-23T08:00:00.000Z; time zone Europe/Berlin.",
    );
    const added = await act({ action: "add", job: daily });
    const [cell] = added.effects?.cells ?? [];
    const id = cell?.key.slice("job:".length) ?? "";
    expect(id).toMatch(/^[0-9a-f]{12}$/);
    expect(added.text.split("\n")).toEqual([
      `Added. ${id} "Brief": ${line}`,
      "Runs in: isolated; its answer: announced in the conversation.",
      "Next: 2026-11-24 09:00 Europe/Berlin; 2026-11-25 09:00 Europe/Berlin; 2026-11-26 09:00 Europe/Berlin.",
    ]);
    expect([cell?.expect, (await jobs.list()).jobs]).toEqual([0, []]);
    expect((await act({ action: "add", job: daily })).effects?.cells?.[0]?.key).toBe(`job:${id}`);
    expect((await act({ action: "add", job: daily }, { callId: "c2" })).effects?.cells?.[0]?.key).not.toBe(
      `job:${id}`,
    );
    await cells.put(cell?.key ?? "", cell?.value ?? "", {});
    await jobs.add({ ...jobOf({ schedule: { kind: "at", at: "2026-11-23T10:00" } }), id: "sooner" });
    await jobs.add({ ...jobOf({ enabled: false }), id: "off" });
    const failed = { consecutiveErrors: 2 };
    await jobs.add({ ...jobOf({ schedule: { kind: "every", every: "3d" }, state: failed }), id: "later" });
    const listed = (await text({ action: "list" })).split("\n").map((each) => each.split(" ")[0]);
    expect(listed).toEqual(["sooner", id, "later", "off"]);
    expect(await text({ action: "status" })).toBe(
      '4 jobs, 1 failing. Next: sooner "Brief": once at 2026-11-23 10:00 Europe/Berlin, agentTurn, next 2026-11-23 10:00 Europe/Berlin. Now: 2026-11-23T08:00:00.000Z; time zone Europe/Berlin.',
    );
    expect((await text({ action: "get", jobId: id })).split("\n")).toEqual([
      `${id} "Brief": ${line}`,
      "Runs in: isolated; its answer: announced in the conversation.",
      "Next: 2026-11-24 09:00 Europe/Berlin; 2026-11-25 09:00 Europe/Berlin; 2026-11-26 09:00 Europe/Berlin.",
      "Does: Look.",
    ]);
    const there = { kind: "session", session: "agent:main:hook:x" };
    const event = {
      name: "e",
      schedule: { kind: "at", at: "2026-11-24T09:00" },
      payload: { kind: "systemEvent", text: "Up." },
    };
    expect(await text({ action: "add", job: { ...event, target: there } })).toContain(
      "Runs in: agent:main:hook:x; its answer: none.\nNext: 2026-11-24 09:00 Europe/Berlin.",
    );
  });

  test("have the maker's rights and no more tools, speak where it was made, and carry what strangers told it", async () => {
    const { act } = await port();
    const ownerOf = async (more: object) => {
      const { effects } = await act({ action: "add", job: daily }, more);
      const made = JSON.parse(effects?.cells?.[0]?.value ?? "{}") as {
        readonly owner: object;
        readonly agent: string;
      };
      return { agent: made.agent, ...made.owner };
    };
    const usual = {
      agent: "main",
      kind: "turn",
      sender: "telegram:7",
      isOwner: true,
      conversation: { channel: "telegram", account: "default", kind: "dm", peer: "7" },
      session,
      turn: "agent:main:telegram:dm:7#1",
      authority: "owner",
      tools: null,
    };
    expect(await ownerOf({})).toEqual(usual);
    expect(await ownerOf({ tools: ["read", "cron"] })).toEqual({ ...usual, tools: ["read", "cron"] });
    expect(await ownerOf({ untrusted: "a.example" })).toEqual({ ...usual, untrusted: "a.example" });
    expect(
      await ownerOf({ by: { owner: false, senders: ["telegram:8", "telegram:9"] }, authority: "member:x" }),
    ).toEqual({ ...usual, sender: "telegram:8", isOwner: false, authority: "member:x" });
    expect(await ownerOf({ conversation: "api:default:dm:u" })).toMatchObject({ conversation: null });
  });

  test("are changed, run and removed as data too, by name or id; an action without what it needs says what", async () => {
    const { act, jobs, clock } = await port();
    await jobs.add(jobOf());
    const changed = await act({ action: "update", jobId: "brief", patch: { name: "Digest" } });
    expect(changed.text.split("\n")[0]).toMatch(/^Changed\. brief "Digest": every weekday at 09:00/);
    expect(changed.effects?.cells).toMatchObject([{ key: "job:brief", expect: 1 }]);
    expect((await jobs.get("brief"))?.job.name).toBe("Brief");
    expect((await act({ action: "update", jobId: "brief", job: { name: "By job" } })).text).toContain(
      '"By job"',
    );
    expect(await act({ action: "remove", jobId: " BRIEF " })).toEqual({
      text: "Removed brief (Brief).",
      effects: { cells: [{ key: "job:brief", value: null, expect: 1 }] },
    });
    await clock.advance(60_000);
    const run = await act({ action: "run", jobId: "brief" });
    const [row] = run.effects?.rows ?? [];
    expect(run.text).toBe(`brief runs now, as ${row?.id}.`);
    expect(row?.id).toMatch(/^cron:brief:run:[0-9a-f]{12}$/);
    expect(parseRowPayload(row?.payload ?? "").inbound.text).toContain("due 2026-11-23 09:01 Europe/Berlin");
    for (const [request, needs] of [
      [{ action: "add" }, "job"],
      [{ action: "update", jobId: "brief" }, "patch"],
      [{ action: "update" }, "jobId"],
      [{ action: "get" }, "jobId"],
      [{ action: "remove" }, "jobId"],
      [{ action: "run" }, "jobId"],
      [{ action: "runs" }, "jobId"],
      [{ action: "wake" }, "text"],
    ] as const)
      await expect(act(request)).rejects.toMatchObject({
        code: "invalid",
        message: `this action needs ${needs}`,
      });
    await expect(act({ action: "list" }, { by: { owner: true, senders: [] } })).rejects.toThrow(
      "nobody asked for this turn, so nobody could own the job",
    );
  });

  test("tell their runs, those under way first, and wake the session now or with its next heartbeat", async () => {
    const { act, text, jobs, schedules, kept } = await port();
    await jobs.add(jobOf());
    expect(await text({ action: "runs", jobId: "brief" })).toBe("It has not run yet.");
    const run = {
      v: 1,
      job: "brief",
      turn: null,
      session: null,
      count: 1,
      startedAtMs: null,
      endedAtMs: 0,
      tokens: 0,
      said: "",
    } as const;
    await schedules.log.note([
      { ...run, slot: "a", instantMs: madeAtMs, outcome: "ok", reason: null },
      { ...run, slot: "b", instantMs: madeAtMs + 1_000, outcome: "failed", reason: "no money" },
    ]);
    await schedules.run("brief", olga, "k");
    expect((await text({ action: "runs", jobId: "brief" })).split("\n")).toEqual([
      "2026-11-23T08:00:00.000Z waiting",
      "2026-11-23T08:00:01.000Z failed: no money",
      "2026-11-23T08:00:00.000Z ok",
    ]);
    expect((await text({ action: "runs", jobId: "brief", limit: 1 })).split("\n")).toHaveLength(2);
    const now = await act({ action: "wake", text: "news" });
    expect([now.text, now.effects?.rows?.[0]?.lane, now.effects?.cells]).toEqual([
      "The session is told now.",
      session,
      undefined,
    ]);
    expect(parseRowPayload(now.effects?.rows?.[0]?.payload ?? "").inbound.text).toBe(
      "Event for this session:\nnews",
    );
    const later = await act({ action: "wake", text: "news", mode: "next-heartbeat" });
    expect(later).toEqual({
      text: "The session is told with its next heartbeat.",
      effects: { cells: [{ key: `kept:${kept[0]}`, value: "x" }] },
    });
  });

  test("are named by whoever may, and refused with the names that there are", async () => {
    const { schedules, jobs } = await port();
    const missing = (id: string, by = olga) =>
      schedules.get(id, by).then(String, (error: Error) => error.message);
    expect(await missing("x")).toBe('there is no job "x" here; there is none');
    await jobs.add({ ...jobOf({ name: "One" }), id: "a" });
    await jobs.add({ ...jobOf({ name: "one" }), id: "b" });
    await jobs.add({ ...jobOf({ name: "Two" }), id: "c" });
    expect((await schedules.get("TWO ", olga)).job.id).toBe("c");
    expect(await missing("One")).toBe('several jobs are called "One": name one by its id, a or b');
    expect(await missing("y".repeat(90))).toBe(
      `there is no job "${"y".repeat(80)}" here; there are a ("One"), b ("one"), c ("Two")`,
    );
    const elsewhere = { ...olga, isOwner: false, session: "agent:main:x", conversation: null };
    expect(await missing("a", elsewhere)).toBe('there is no job "a" here; there is none');
  });

  test("are twenty-five at most of others in one conversation, and rights are never more than when they were made", async () => {
    const { schedules, jobs } = await port();
    const guest = { ...olga, isOwner: false, authority: "member:x" };
    for (let nth = 0; nth < 24; nth += 1) await jobs.add({ ...jobOf({}, guest), id: `j${nth}` });
    await expect(schedules.adding({ ...jobOf({}, guest), id: "new" })).resolves.toMatchObject({
      key: "job:new",
      expect: 0,
    });
    await jobs.add({ ...jobOf({}, guest), id: "j24" });
    await expect(schedules.adding({ ...jobOf({}, guest), id: "new" })).rejects.toThrow(
      "25 jobs were made in this conversation already: remove some first",
    );
    await expect(
      schedules.adding({ ...jobOf({}, { ...guest, session: "agent:main:x" }), id: "new" }),
    ).resolves.toBeDefined();
    await expect(schedules.adding({ ...jobOf(), id: "new" })).resolves.toBeDefined();
    const rights = (more: object) => schedules.rightsNow(jobOf({}, { ...olga, ...more }));
    expect(await rights({})).toEqual({ owner: true, authority: "owner" });
    expect(await rights({ sender: "telegram:8", authority: "owner:x" })).toEqual({
      owner: false,
      authority: "member",
    });
    expect(await rights({ sender: "web:web-1", authority: "a" })).toEqual({ owner: true, authority: "a" });
    expect(await rights({ sender: "api:x" })).toMatchObject({ owner: true });
    expect(await rights({ sender: null })).toMatchObject({ owner: true });
    expect(await rights({ isOwner: false, authority: "member:x" })).toEqual({
      owner: false,
      authority: "member:x",
    });
  });
});

describe("the schedules, as operators and people ask them", () => {
  const place = { channel: "telegram", account: "default", kind: "dm", peer: "1" } as const;
  async function desk(keeps = true) {
    const clock = virtualClock({ startMs: madeAtMs });
    const { cells, inbox } = (store = await memoryStore(clock));
    const schedules = createSchedules({
      cells,
      inbox,
      agents: ["main"],
      zone: "Europe/Berlin",
      runs: { retentionMs: 1e9, keepLines: 10 },
      owners: async () => ["telegram:7"],
      reach: async () => null,
      modelNamed: async (_agent, word) => word,
      filesOf: async () => "cannot be watched",
      unknownTools: () => [],
      homeOf: async (agent) => ({ session: `agent:${agent}:main` as SessionKey, place }),
      keeping: (row, agent) => (keeps ? { key: `kept:${agent}:${row.id}`, value: row.id } : null),
      clock,
      ids: seededIds(1),
    });
    const rows = async (lane: string) =>
      (await inbox.find({ lane: lane as SessionKey, limit: 9 })).map((row) => [
        row.id,
        row.conversation,
        row.authority,
      ]);
    return { schedules, jobs: jobStore(cells), cells, inbox, rows, clock };
  }
  const operator = {
    ...olga,
    kind: "operator",
    sender: null,
    conversation: null,
    session: null,
    turn: null,
  } as const;
  const guest = { ...olga, isOwner: false, sender: "telegram:8", authority: "member" };
  const refused = (work: Promise<unknown>) =>
    work.then(
      () => "done",
      ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
    );

  test("a job is added under a new id, edited over the version that was seen, and removed with its history", async () => {
    const { schedules, jobs, clock } = await desk();
    const asked = {
      name: "Brief",
      schedule: { kind: "cron", expression: "0 9 * * *" },
      payload: { kind: "agentTurn", message: "Look." },
    };
    const first = await schedules.add(asked, olga);
    const second = await schedules.add({ ...asked, name: "Other" }, olga);
    expect([first.id.length, first.id === second.id, first.version]).toEqual([8, false, 1]);
    await clock.advance(1_000);
    expect((await schedules.edit(first.id, { name: "Digest" }, olga)).version).toBe(2);
    expect((await schedules.edit(first.id, { name: "News" }, olga, 2)).name).toBe("News");
    expect([
      await refused(schedules.edit(first.id, { name: "Late" }, olga, 2)),
      await refused(schedules.edit(first.id, { name: "Mine" }, guest)),
      await refused(schedules.edit("none", { name: "x" }, olga)),
      await refused(schedules.removable(first.id, guest)),
      await refused(schedules.remove(first.id, guest)),
      await refused(schedules.run(first.id, guest, "k")),
    ]).toEqual([
      expect.stringMatching(/^conflict: /),
      `denied: only an owner may change the job ${first.id}: it works with the rights of another`,
      expect.stringMatching(/^missing: there is no job "none" here/),
      `denied: only an owner may change the job ${first.id}: it works with the rights of another`,
      `denied: only an owner may change the job ${first.id}: it works with the rights of another`,
      `denied: only an owner may change the job ${first.id}: it works with the rights of another`,
    ]);
    const run = {
      v: 1,
      job: first.id,
      turn: null,
      session: null,
      count: 1,
      startedAtMs: null,
      endedAtMs: 0,
      tokens: 0,
      said: "",
      slot: "a",
      instantMs: madeAtMs,
      outcome: "ok",
      reason: null,
    } as const;
    await schedules.log.note([run, { ...run, job: second.id }]);
    expect((await schedules.remove("news", olga)).id).toBe(first.id);
    expect([
      (await jobs.list()).jobs.map(({ job }) => job.name),
      (await schedules.runs(first.id, 9)).ended,
      (await schedules.runs(second.id, 9)).ended.length,
    ]).toEqual([["Other"], [], 1]);
    expect((await schedules.list(operator)).map(({ name }) => name)).toEqual(["Other"]);
  });

  test("a run that is asked for is one row for each key, with the rights of now, and is told as under way", async () => {
    const { schedules, jobs, rows, inbox } = await desk();
    await jobs.add(jobOf());
    await jobs.add({ ...jobOf({}, { ...olga, sender: "telegram:9" }), id: "theirs" });
    for (const key of ["k1", "k1", "k2"]) await schedules.run("brief", olga, key);
    await schedules.run("theirs", olga, "k1");
    expect([await rows("agent:main:cron:brief"), await rows("agent:main:cron:theirs")]).toEqual([
      ["k2", "k1"].map((key) => [`cron:brief:run:${key}`, "telegram:default:dm:7", "owner"]),
      [["cron:theirs:run:k1", "telegram:default:dm:7", "member"]],
    ]);
    await inbox.accept([{ ...wakeRow("agent:main:cron:brief"), id: "other" }]);
    const turn = await (store as SqliteStore).turns.take({
      pool: "cron",
      holder: "boot",
      leaseMs: 1_000,
      maxRows: 1,
    });
    expect((await schedules.runs("brief", 9)).now).toEqual([
      {
        slot: "cron:brief:run:k1",
        instantMs: madeAtMs,
        state: "running",
        turn: "id" in turn ? turn.id : "",
        session: "agent:main:cron:brief",
      },
      {
        slot: "cron:brief:run:k2",
        instantMs: madeAtMs,
        state: "waiting",
        turn: null,
        session: "agent:main:cron:brief",
      },
    ]);
    expect(await schedules.runs("gone", 9)).toEqual({ now: [], ended: [] });
  });

  const wakeRow = (lane: string) => ({
    id: "w",
    pool: "cron",
    lane: lane as SessionKey,
    conversation: "telegram:default:dm:7" as never,
    authority: "owner",
    as: { kind: "work" as const },
    payload: formatRowPayload({ v: 1, inbound: directMessage(), owner: true } as never),
  });

  test("an event goes to the session of whoever wakes, to its agent's home, or for owners to any other", async () => {
    const { schedules } = await desk();
    const wake = async (by: typeof olga, session?: string, more: object = {}) => {
      const row = await schedules.wake(
        { text: "news", mode: "now", session },
        { ...by, ...more } as never,
        "k",
      );
      const { inbound, internal, owner } = parseRowPayload(row.payload);
      return [
        row.id,
        row.lane,
        row.conversation,
        row.authority,
        inbound.channel,
        inbound.sender.id,
        owner,
        internal,
      ];
    };
    const event = { kind: "schedule", id: "wake" };
    const mine = { ...event, turn: `${session}#1` };
    const base = ["owner", "telegram", "7", true];
    expect([
      await wake(olga),
      await wake(olga, session),
      await wake(olga, "agent:main:main"),
      await wake(operator as never),
      await wake(olga, undefined, { untrusted: "a.example" }),
    ]).toEqual([
      ["wake:k", session, "telegram:default:dm:7", ...base, mine],
      ["wake:k", session, "telegram:default:dm:7", ...base, mine],
      ["wake:k", "agent:main:main", "telegram:default:dm:1", ...base, mine],
      [
        "wake:k",
        "agent:main:main",
        "telegram:default:dm:1",
        "owner",
        "web",
        "operator",
        true,
        { ...event, turn: "" },
      ],
      ["wake:k", session, "telegram:default:dm:7", ...base, { ...mine, untrusted: "a.example" }],
    ]);
    const group = "agent:main:telegram:group:-5";
    const row = await schedules.wake({ text: "news", mode: "now", session: group }, olga, "k");
    expect([row.lane, row.conversation, parseRowPayload(row.payload).internal?.unseen, row.as]).toEqual([
      group,
      "hook:default:dm:main%2Fcron-wake",
      true,
      { kind: "work", ticket: "wake:k" },
    ]);
    expect([
      await refused(schedules.wake({ text: "x", mode: "now", session: group }, guest, "k")),
      await refused(schedules.wake({ text: "x", mode: "now", session }, guest, "k")),
      await refused(schedules.wake({ text: "x", mode: "now", session: "no key" }, olga, "k")),
    ]).toEqual([
      "denied: only an owner may wake another session",
      "done",
      expect.stringMatching(/^invalid: /),
    ]);
  });

  test("an event is accepted now, or kept for the agent's next heartbeat where one comes", async () => {
    const { schedules, rows, cells } = await desk();
    const row = await schedules.wake({ text: "news", mode: "now" }, olga, "k1");
    const later = await schedules.wake({ text: "news", mode: "next-heartbeat" }, olga, "k2");
    await schedules.tell(row, "main", "now");
    await schedules.tell(later, "main", "next-heartbeat");
    const ids = async () => (await rows(session)).map(([id]) => id);
    expect([await ids(), (await cells.list("kept:", 9)).map(({ key, value }) => [key, value])]).toEqual([
      ["wake:k1"],
      [["kept:main:wake:k2", "wake:k2"]],
    ]);
    await store?.close();
    const without = await desk(false);
    await without.schedules.tell(later, "main", "next-heartbeat");
    expect((await without.rows(session)).map(([id]) => id)).toEqual(["wake:k2"]);
  });

  test("jobs that waited for something to come from a chat go on with what comes from any thread of it", async () => {
    const { schedules, jobs, clock } = await desk();
    const until = {
      channel: "telegram",
      account: "default",
      kind: "group",
      peer: "-5",
      thread: "3",
    } as const;
    const paused = { reason: "the chat is closed", atMs: 0 };
    await jobs.add({ ...jobOf({ state: { paused: { ...paused, until } } }), id: "here" });
    await jobs.add({
      ...jobOf({ state: { paused: { ...paused, until: { ...until, peer: "-6" } } } }),
      id: "there",
    });
    await jobs.add({ ...jobOf({ state: { paused } }), id: "byhand" });
    await clock.advance(5_000);
    await schedules.reopened([{ ...until, thread: "9" }]);
    const left = async () =>
      (await jobs.list()).jobs.filter(({ job }) => job.state.paused !== null).map(({ job }) => job.id);
    expect((await left()).toSorted()).toEqual(["byhand", "there"]);
    await schedules.reopened([{ ...until, account: "work", peer: "-6" }]);
    expect(await left()).toHaveLength(2);
  });
});

describe("the agent's settings", () => {
  async function settings({
    file = { gateway: { port: 1, token: "${TOKEN}" } } as Json,
    changed = [] as string[],
    needed = [] as string[],
    trouble = null as string | null,
    rows = undefined as readonly object[] | undefined,
    canRestart = true,
    place = null as Address | null,
  } = {}) {
    const clock = virtualClock({ startMs: 0 });
    const { cells } = (store ??= await memoryStore(clock));
    const inbox = inboxWith(rows);
    const lines: string[] = [];
    const facts: LogFields[] = [];
    const note = (fields: LogFields, words: string) => {
      facts.push(fields);
      lines.push(words);
    };
    const did: unknown[] = [];
    const port = agentSettings({
      editor: {
        read: async () => ({ file, hash: "h" }),
        apply: async (value: unknown, basedOn: string) => (did.push([value, basedOn]), { changed }),
      },
      restartNeeded: () => needed,
      restarting: canRestart
        ? { trouble: async () => trouble, begin: () => void did.push("restarts") }
        : undefined,
      update: async (...asked: unknown[]) => void did.push(asked),
      cells,
      inbox,
      placeOf: () => place,
      node: "n1",
      clock,
      log: { ...silentLog, info: note, warn: note, error: note },
    } as never);
    const scope = { turn: "t#1", callId: "c" } as never;
    return { port, scope, did, lines, facts, inbox, cells, clock };
  }

  test("are written whole; only the operator brings in variables of the environment, wherever they stand", async () => {
    const { port, did } = await settings({ changed: [] });
    const value: JsonObject = { gateway: { port: 2, token: "${TOKEN}" } };
    expect(await port.write(value, "h")).toEqual({ restart: false });
    expect(did).toEqual([[value, "h"]]);
    for (const fresh of [
      { a: "x ${OTHER} ${TOKEN} ${A1}" },
      { "${OTHER}": "${A1}" },
      { a: [{ b: "${OTHER}" }, "${A1}"] },
    ])
      await expect(port.write(fresh, "h")).rejects.toMatchObject({
        code: "denied",
        message: "only the operator may use variables of the environment (OTHER, A1)",
      });
    expect(await port.write({ a: "${}", b: "$OTHER", c: "${1}" }, "h")).toEqual({ restart: false });
    const broken = await settings({ file: [1] });
    await expect(broken.port.read()).rejects.toThrow(
      "the config file cannot be read as it is; the operator has to mend it first",
    );
  });

  test("say whether a restart is needed: for what changed now, or before", async () => {
    const of = async (changed: string[], needed: string[]) => {
      const { port, lines } = await settings({ changed, needed });
      return [(await port.write({}, "h")).restart, lines];
    };
    expect(await of(["gateway.port"], [])).toEqual([true, ["an agent changed the config"]]);
    expect(await of(["messages.ackReaction"], [])).toEqual([false, ["an agent changed the config"]]);
    expect(await of(["messages.ackReaction"], ["store"])).toEqual([true, ["an agent changed the config"]]);
    expect(await of([], ["store"])).toEqual([false, []]);
  });

  test("restart a moment after the call, once a turn's word, and tell the session when it is over", async () => {
    const { port, scope, did, cells, clock, inbox, lines, facts } = await settings();
    await port.restart(scope, 'new "port"');
    expect([lines, facts]).toEqual([
      ["an agent asked for a restart"],
      [{ turn: "t#1", reason: 'new "port"' }],
    ]);
    await clock.advance(199);
    expect(did).toEqual([]);
    await clock.advance(1);
    expect(did).toEqual(["restarts"]);
    const kept = await cells.list("restart:", 10);
    expect(kept.map(({ key, value, expiresAtMs }) => [key, value, expiresAtMs])).toEqual([
      ["restart:n1:t#1:c", '{"turn":"t#1","reason":"new \\"port\\""}', 86_400_000],
    ]);
    await cells.put("restart:n2:t#1:d", '{"turn":"t#1","reason":"other"}', {});
    await cells.put("restart:n1:gone:c", '{"turn":"gone","reason":"x"}', {});
    await port.restarted();
    expect(inbox.accepted).toEqual([
      [
        "restart:t#1:c",
        "telegram:default:dm:7",
        expect.stringMatching(
          /^Parley restarted as you asked \("new \\"port\\""\) and runs again, version \S+\. Tell the user in one line\.$/,
        ),
        { kind: "restart", id: "t#1:c", turn: "t#1" },
      ],
    ]);
    expect(lines.at(-1)).toBe(
      "the gateway was restarted for a session, and nobody is known any more to be told",
    );
    expect(facts.at(-1)).toEqual({ turn: "gone" });
    expect((await cells.list("restart:", 10)).map(({ key }) => key)).toEqual(["restart:n2:t#1:d"]);
  });

  test("tell each session of the restart, also after one that could not be told; a flaw of ours is none of that", async () => {
    const { port, cells, inbox, lines, facts } = await settings();
    for (const call of ["a", "b"])
      await cells.put(`restart:n1:t#1:${call}`, JSON.stringify({ turn: "t#1", reason: call }), {});
    const { accept } = inbox;
    inbox.accept = async (rows) => {
      if (rows[0]?.id === "restart:t#1:a") throw new Fault("unavailable", "no store");
      await accept(rows);
    };
    await port.restarted();
    expect([inbox.accepted.map(([id]) => id), await cells.list("restart:", 9)]).toEqual([
      ["restart:t#1:b"],
      [],
    ]);
    expect([lines, facts]).toEqual([
      ["a session could not be told of the restart that it asked for"],
      [{ key: "restart:n1:t#1:a", error: new Fault("unavailable", "no store") }],
    ]);
    await cells.put("restart:n1:t#1:c", "{", {});
    await expect(port.restarted()).rejects.toBeInstanceOf(SyntaxError);
  });

  test("do not restart what would not come up, what just did, or what can only be stopped", async () => {
    const again = [began(), began({ kind: "restart", id: "x", turn: "t#0" })];
    for (const [options, message] of [
      [{ canRestart: false }, "this gateway can only be stopped, and started again by hand"],
      [{ trouble: "no key" }, "not restarted, because Parley would not come up again: no key"],
      [{ rows: again }, "it was restarted just now; another restart needs a word of the user"],
      [{ rows: again.toReversed() }, "it was restarted just now; another restart needs a word of the user"],
    ] as const) {
      const { port, scope, cells, clock, did } = await settings(options);
      await expect(port.restart(scope, "x")).rejects.toThrow(message);
      await clock.advance(1_000);
      expect([await cells.list("restart:", 10), did]).toEqual([[], []]);
    }
    // What else Parley wrote to the turn is no restart.
    const scheduled = await settings({ rows: [began({ kind: "schedule", id: "x", turn: "" })] });
    await scheduled.port.restart(scheduled.scope, "x");
    await scheduled.clock.advance(1_000);
    expect(scheduled.did).toEqual(["restarts"]);
    const { port, scope } = await settings({ rows: again });
    await expect(port.update(scope, undefined)).rejects.toThrow(
      "it was restarted just now; an update needs a word of the user",
    );
  });

  test("update, and tell the session how that ended, where it goes on now", async () => {
    const place: Address = { channel: "discord", account: "default", kind: "dm", peer: "9" };
    const { port, scope, did, inbox, lines, facts } = await settings({ place });
    await port.update(scope, "2.0.0");
    expect([lines, facts]).toEqual([["an agent asked for an update"], [{ turn: "t#1", to: "2.0.0" }]]);
    expect(did).toEqual([['turn:["t#1","c"]', "2.0.0"]]);
    const ended = { askedBy: 'turn:["t#1","c"]', from: "1.0.0", to: "2.0.0", reason: "it died" };
    for (const state of ["done", "went-back", "failed"])
      await port.updated({ ...ended, state, reason: state === "done" ? null : "it died" });
    await port.updated({ ...ended, state: "done", askedBy: "operator" });
    await port.updated({ ...ended, state: "done", askedBy: null });
    await port.updated({ ...ended, state: "failed", reason: null });
    expect(inbox.accepted.map(([id, conversation, text]) => [id, conversation, text])).toEqual([
      [
        "updated:t#1:c",
        "discord:default:dm:9",
        "Parley is updated from 1.0.0 to 2.0.0 as you asked, and runs. Tell the user in one line.",
      ],
      [
        "updated:t#1:c",
        "discord:default:dm:9",
        "The update of Parley to 2.0.0 did not do (it died), and 1.0.0 runs again. Tell the user in one line.",
      ],
      [
        "updated:t#1:c",
        "discord:default:dm:9",
        "Parley was not updated: it died. Tell the user in one line.",
      ],
      ["updated:t#1:c", "discord:default:dm:9", "Parley was not updated. Tell the user in one line."],
    ]);
    expect(inbox.accepted[0]?.[3]).toEqual({ kind: "restart", id: "t#1:c", turn: "t#1" });
  });
});

describe("background commands", () => {
  const record = (more: object = {}) => ({
    id: "c1",
    session,
    agent: "main",
    turn: "t#1",
    command: "make",
    root: "/w",
    log: ".parley/c1.log",
    pid: 1,
    began: null,
    startedAtMs: 1_000,
    endedAtMs: 3_499,
    state: "exited",
    code: 0,
    background: true,
    owner: true,
    ...more,
  });
  async function records({ isEnding = false, rows = undefined as readonly object[] | undefined } = {}) {
    const clock = virtualClock({ startMs: 0 });
    const { cells } = (store ??= await memoryStore(clock));
    const inbox = inboxWith(rows);
    const lines: string[] = [];
    const note = (_fields: LogFields, words: string) => void lines.push(words);
    const of = (node: string) =>
      commandRecords({
        cells,
        inbox,
        node,
        isEnding: () => isEnding,
        placeOf: () => null,
        clock,
        log: { ...silentLog, warn: note, error: note },
      } as never);
    return { of, cells, inbox, lines };
  }

  test.each([
    [{}, "exited with code 0 after 2 s"],
    [{ code: 2, endedAtMs: 3_500 }, "exited with code 2 after 3 s"],
    [{ code: null }, "was ended by a signal after 2 s"],
    [{ state: "timed out" }, "took longer than it may and was ended after 2 s"],
    [{ state: "lost", endedAtMs: null }, "was lost: Parley died while it ran, and it was ended after 0 s"],
    [{ endedAtMs: 0 }, "exited with code 0 after 0 s"],
  ])("that ended as %j are told to the session", async (more, words) => {
    const { of, inbox, cells } = await records();
    const ended = record(more);
    await of("n1").save(ended as never);
    expect(inbox.accepted).toEqual([
      [
        "command:c1",
        "telegram:default:dm:7",
        `Background command c1 ${words}: "make". Its output: process log, or .parley/c1.log.`,
        { kind: "command", id: "c1", turn: "t#1" },
      ],
    ]);
    expect((await cells.get("command:n1:c1"))?.expiresAtMs).toBe(7 * 86_400_000);
    expect(await of("n1").load()).toEqual([ended]);
  });

  test("that run, were waited for or were killed by whoever knows are no news; killed by an end of Parley they are", async () => {
    const { of, inbox } = await records();
    for (const more of [{ state: "running" }, { background: false }, { state: "killed" }])
      await of("n1").save(record(more) as never);
    expect(inbox.accepted).toEqual([]);
    const ending = await records({ isEnding: true });
    await ending.of("n1").save(record({ state: "killed", command: "x".repeat(300) }) as never);
    expect(ending.inbox.accepted[0]?.[2]).toBe(
      `Background command c1 was ended because Parley stopped after 2 s: "${"x".repeat(200)}". Its output: process log, or .parley/c1.log.`,
    );
  });

  test("are kept where their session cannot be told, which the log says; a flaw of ours is none of that", async () => {
    const { of, cells, inbox, lines } = await records();
    inbox.accept = async () => Promise.reject(new Fault("unavailable", "no store"));
    await of("n1").save(record() as never);
    expect([lines, (await cells.list("command:", 9)).length]).toEqual([
      ["a session could not be told that its command ended"],
      1,
    ]);
    inbox.accept = async () => Promise.reject(new TypeError("flaw"));
    await expect(of("n1").save(record({ id: "c2" }) as never)).rejects.toThrow("flaw");
    expect(await cells.list("command:", 9)).toHaveLength(1);
  });

  test("are kept by their node, listed of all, and kept also where nobody can be told", async () => {
    const { of, cells, lines } = await records({ rows: [] });
    await of("n1").save(record() as never);
    await of("n2").save(record({ id: "c2" }) as never);
    expect(lines).toEqual(
      Array.from({ length: 2 }, () => "a background command ended, and nobody is known any more to be told"),
    );
    expect([
      (await of("n1").load()).map(({ id }) => id),
      (await allCommandRecords(cells)).map(({ id }) => id),
    ]).toEqual([["c1"], ["c1", "c2"]]);
    await of("n1").remove("c1");
    await of("n1").remove("c2");
    expect((await allCommandRecords(cells)).map(({ id }) => id)).toEqual(["c2"]);
  });

  test("of a device are told as its words, and wake the turn that waits", () => {
    const { payload, ...row } = deviceRow(
      began() as never,
      { id: "x", turn: "t#1", name: "laptop" },
      "done",
      5,
    );
    expect(row).toMatchObject({ id: "device:x", subject: "ticket:x", as: { kind: "work", ticket: "x" } });
    expect(parseRowPayload(payload).internal).toEqual({
      kind: "device",
      id: "x",
      turn: "t#1",
      untrusted: "device laptop",
    });
  });
});

describe("tools that were looked up", () => {
  test("are the newest sixty-four of this conversation, each once, in the order in which they came", async () => {
    const { sessions } = (store = await memoryStore(virtualClock()));
    const port = loadedTools({ sessions });
    const load = (...names: string[]) => port.load({ session } as never, names);
    expect(await loadedNow({ sessions }, session)).toEqual([]);
    await Promise.all([load("a", "b"), load("c")]);
    expect(await loadedNow({ sessions }, session)).toEqual(["a", "b", "c"]);
    await load("a");
    expect(await loadedNow({ sessions }, session)).toEqual(["b", "c", "a"]);
    await load(...Array.from({ length: 62 }, (_, nth) => `t${nth}`));
    const all = await loadedNow({ sessions }, session);
    expect([all.length, all[0], all[1], all.at(-1)]).toEqual([64, "c", "a", "t61"]);
    // One that could not be written is told to its caller, and the next one goes on.
    const torn = {
      open: (key: SessionKey) => sessions.open(key),
      patch: async (...asked: Parameters<typeof sessions.patch>) =>
        JSON.stringify(asked).includes("bad")
          ? Promise.reject(new Error("no store"))
          : sessions.patch(...asked),
    };
    const shaky = loadedTools({ sessions: torn } as never);
    const [bad, good] = ["bad", "good"].map((name) => shaky.load({ session } as never, [name]));
    await expect(bad).rejects.toThrow("no store");
    await good;
    expect((await loadedNow({ sessions }, session)).slice(-2)).toEqual(["t61", "good"]);
    const { epoch } = await sessions.open(session);
    await sessions.patch(session, { loadedTools: { epoch: epoch + 1, names: ["x"] } });
    expect(await loadedNow({ sessions }, session)).toEqual([]);
  });

  test("are looked up where the config says so, or their schemas are larger than it lets in", () => {
    const remote = [{ name: "a", description: "x".repeat(400), parameters: {} }] as never;
    const of = (mode: "on" | "off" | "auto", maxPromptTokens: number, tools = remote) =>
      isSearched({ mode, maxPromptTokens } as never, tools);
    const tokens = estimateTokens(JSON.stringify(remote));
    expect([of("auto", tokens - 1), of("auto", tokens)]).toEqual([true, false]);
    expect([of("on", 1e9), of("off", 0), of("auto", 0), of("auto", 1e9), of("on", 0, [] as never)]).toEqual([
      true,
      false,
      true,
      false,
      false,
    ]);
  });
});

test("the tools' ports are those of the session, and what a tool uses beside its turn is paid by the turn's payers", async () => {
  const { cells } = (store = await memoryStore(virtualClock()));
  const noted: unknown[] = [];
  const questions = {};
  const services = {
    config: {
      agents: { list: [], defaults: { models: {} } },
      models: { providers: {} },
      canvas: { enabled: false },
    },
    models: { list: () => [] },
    questions,
    cells,
    inbox: { find: async () => [began()] },
    ledger: {
      forTurn: (turn: { readonly id: string }, how: unknown) => ({
        mayCall: async () => ({ ok: true }),
        sideModel: (model: unknown) => model,
        note: async (end: { readonly usage: unknown }, model: unknown) => {
          noted.push([turn.id, how, end.usage, model]);
          return [];
        },
        committed: () => void noted.push("committed"),
        close: () => void noted.push("closed"),
      }),
    },
  } as never;
  const ports = toolPorts(services);
  expect(Object.keys(ports).toSorted()).toEqual([
    "canvases",
    "children",
    "loadedTools",
    "messages",
    "plans",
    "questions",
    "schedules",
    "seenPictures",
    "sessions",
    "spending",
    "status",
  ]);
  const upkeep = {};
  const all = toolPorts({ ...(services as object), upkeep } as never);
  expect([ports.questions === (questions as never), all.upkeep === (upkeep as never)]).toEqual([true, true]);
  const usage = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4 };
  const scope = { turn: "t#1", callId: "c9", session, conversation: "telegram:default:dm:7" } as never;
  const made = await ports.spending.around(scope, async (used) => {
    await used(usage, "x/free");
    await used({ ...usage, costUsd: 0 }, "x/priced");
    return "made";
  });
  expect([made, noted]).toEqual([
    "made",
    [
      ["t#1 c9", { beside: true }, usage, { id: "x/free", priced: false }],
      "committed",
      ["t#1 c9", { beside: true }, { ...usage, costUsd: 0 }, { id: "x/priced", priced: true }],
      "committed",
      "closed",
    ],
  ]);
});

test("the status of a session names its model, what it used and its plan", async () => {
  const { sessions } = (store = await memoryStore(virtualClock()));
  const config = {
    agents: {
      defaults: { models: {} },
      list: [{ id: "main", model: { primary: "a/b", fallbacks: ["c/d", "e/f"] } }],
    },
    models: { providers: {} },
  };
  const models = {
    list: () => [{ id: "a/b" }, { id: "x/y" }],
    get: async (id: string) => (id === "x/y" ? {} : Promise.reject(new Error(id))),
  };
  const port = statusPort({ config, models, sessions } as never);
  const scope = { session, agent: "main" } as never;
  expect(await port.lines(scope)).toEqual([
    { name: "Session", value: session },
    { name: "Model", value: "a/b (the default)" },
    { name: "When it fails", value: "c/d, e/f" },
    { name: "Tokens of this session", value: "0 in, 0 out, 0 from cache" },
    { name: "Entries", value: "0" },
  ]);
  expect(await port.setModel(scope, "x/y")).toBe("x/y, from the next turn on");
  await sessions.patch(session, {
    usage: { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4 },
  });
  await plansPort({ sessions }).save(
    { session } as never,
    {
      steps: [
        { step: "one\n  more", status: "in_progress" },
        { step: "two", status: "pending" },
      ],
    } as never,
  );
  expect((await port.lines(scope)).slice(1)).toEqual([
    { name: "Model", value: "x/y (chosen for this session)" },
    { name: "Tokens of this session", value: "1 in, 2 out, 3 from cache" },
    { name: "Entries", value: "0" },
    { name: "Plan, in progress", value: "one more" },
    { name: "Plan, pending", value: "two" },
  ]);
  expect(await port.setModel(scope, null)).toBe("a/b, from the next turn on");
  expect((await port.lines(scope))[1]?.value).toBe("a/b (the default)");
  await expect(port.setModel(scope, "q".repeat(90))).rejects.toThrow(`there is no model "${"q".repeat(80)}"`);
});

test("the list of tools says of each whether it is ready, removed or cannot be, its own before those of others", () => {
  const tool = (name: string) => ({ name, summary: `does ${name}`, effect: "reads" });
  const listed = listedTools({
    tools: [tool("read"), tool("write"), tool("mcp__notes__find"), tool("lab")] as never,
    refused: new Map([["write", "for owners"]]),
    decision: {
      removed: [
        { tool: "write", rule: "for owners" },
        { tool: "exec", rule: "tools.deny" },
        { tool: "mcp__x__y", rule: "tools.deny" },
      ],
    } as never,
    unavailable: [
      { tool: "exec", reason: "no shell" },
      { tool: "browser", reason: "no Chromium" },
      { tool: "mcp__down__z", reason: "it is down" },
      { tool: "mcp__notes__find", reason: "never" },
    ],
  });
  const of = (id: string) => {
    const found = listed.find((each) => each.id === id);
    return [found?.status, found?.reason, found?.section, found?.summary];
  };
  expect(
    answerTable(
      ["read", "write", "exec", "browser", "mcp__notes__find", "lab", "mcp__x__y", "mcp__down__z"],
      of,
    ),
  ).toMatchInlineSnapshot(`
    ""read"
      ["ready",null,"fs","Read file contents"]
    "write"
      ["removed","for owners","fs","Create or overwrite files"]
    "exec"
      ["removed","tools.deny","runtime","Run shell commands (pty for programs that need a terminal)"]
    "browser"
      ["unavailable","no Chromium","ui","Control a web browser"]
    "mcp__notes__find"
      ["ready",null,"mcp","does mcp__notes__find"]
    "lab"
      ["ready",null,"rehearsal","does lab"]
    "mcp__x__y"
      ["removed","tools.deny","mcp",""]
    "mcp__down__z"
      ["unavailable","it is down","mcp",""]
    "
  `);
  expect(listed.slice(-4).map(({ id, profiles, groups, effect }) => [id, profiles, groups, effect])).toEqual([
    ["mcp__notes__find", ["coding", "messaging", "full"], ["mcp"], "reads"],
    ["lab", ["full"], [], "reads"],
    ["mcp__x__y", ["coding", "messaging", "full"], ["mcp"], "sends"],
    ["mcp__down__z", ["coding", "messaging", "full"], ["mcp"], "sends"],
  ]);
  expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
});
