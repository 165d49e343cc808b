// What is done about an agent's notes beside its turns: the silent turn before a compaction, the job of the
// nightly upkeep as the config says, and forgetting for good, with what is recorded and told of each.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Forgetting } from "@parley/memory";
import type { ModelEvent, ModelRequest } from "@parley/models";
import { Fault, formatRowPayload, noUsage, silentLog, type Entry } from "@parley/protocol";
import { directMessage, seededIds, virtualClock } from "@parley/testkit";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryForgetting } from "../src/memory/forget.ts";
import { memoryFlush } from "../src/memory/memory-flush.ts";
import { noteHistory } from "../src/memory/note-history.ts";
import { notesPlace } from "../src/memory/notes-place.ts";
import { stampOf } from "../src/memory/provenance.ts";
import { keepUpkeepJobs, upkeepSession } from "../src/memory/upkeep-job.ts";
import { createSchedules } from "../src/schedules/schedules.ts";
import { injectCommand, injectName } from "../src/transcript/inject.ts";
import { madeAtMs } from "./scheduled-runs.ts";
import { memoryStore } from "./store.ts";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "parley-memory-work-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

async function openStore(startMs = madeAtMs) {
  const clock = virtualClock({ startMs });
  const store = await memoryStore(clock);
  onTestFinished(() => store.close());
  return { clock, store };
}

const user = (text: string): Entry => ({
  type: "user",
  content: [{ type: "text", text }],
  rows: [],
  atMs: madeAtMs,
});

describe("the silent turn before a compaction", () => {
  async function stage(answers: readonly (() => ModelEvent)[], fields: object = {}, epoch = 2) {
    const workspace = await folder();
    const { clock, store } = await openStore(Date.parse("2026-11-21T23:30:00Z"));
    const asked: ModelRequest[] = [];
    const did: string[] = [];
    const warned: unknown[] = [];
    const left = [...answers];
    const session = "agent:main:telegram:dm:42";
    const flush = memoryFlush(
      {
        sessions: {
          patch: async (key: string, patch: object) => void did.push(`${key} ${JSON.stringify(patch)}`),
        },
        cells: store.cells,
        redaction: { secrets: ["hunter2-secret"], stateDirs: [], workspaces: [] },
        clock,
      } as never,
      {
        turn: {
          id: "t#1",
          lane: session,
          epoch,
          conversation: "telegram:default:dm:42",
          authority: "owner",
          rows: [
            {
              id: "r",
              payload: formatRowPayload({
                v: 1,
                inbound: directMessage({ sender: { id: "42" } }),
                owner: true,
              } as never),
            },
          ],
        },
        lease: { renew: async () => void did.push("the lease is renewed") },
        session: { key: session, fields },
        prepared: {
          workspace,
          notesPlace: notesPlace(
            workspace,
            session as never,
            { owner: true, senders: ["telegram:42"] },
            undefined,
          ),
          context: { timeZone: "Europe/Berlin" },
        },
        log: { ...silentLog, warn: (facts: unknown, words: string) => void warned.push([facts, words]) },
      } as never,
      {
        id: "a/b",
        contextWindow: 100_000,
        maxTokens: 1_000,
        vision: false,
        reasoning: false,
        async *stream(request: ModelRequest) {
          asked.push(request);
          yield left.shift()?.() ?? say("NO_REPLY")();
        },
      } as never,
    );
    const notes = () => readFile(join(workspace, "memory/2026-11-22.md"), "utf8").catch(() => "none");
    return { flush, asked, did, warned, notes, store, clock, workspace };
  }
  const usage = { ...noUsage, inputTokens: 10, outputTokens: 5 };
  const say = (text: string) => (): ModelEvent =>
    ({ type: "end", stop: "stop", usage, content: [{ type: "text", text }] }) as never;
  const note =
    (text: string, id = "c1") =>
    (): ModelEvent =>
      ({
        type: "end",
        stop: "toolUse",
        usage,
        content: [{ type: "toolCall", id, name: "append_note", args: { text } }],
      }) as never;
  const signal = new AbortController().signal;

  test("appends to the day's notes of the people, with the mark before the first; the history and the stamp say whose it is", async () => {
    const { flush, asked, did, notes, store, clock } = await stage([note("- one"), note("- two", "c2")]);
    const used = await flush([user("the talk")], 7, signal);
    expect(await notes()).toBe("- one\n\n- two\n");
    expect(did).toEqual(["the lease is renewed", 'agent:main:telegram:dm:42 {"memoryFlush":"2:7"}']);
    expect(used).toMatchObject({ inputTokens: 30, outputTokens: 15 });
    expect(
      asked.map(({ cacheKey, thinking, tools, messages, system }) => [
        cacheKey,
        thinking,
        tools.map(({ name }) => name),
        messages.length,
        system.volatile,
        system.stable.split("\n")[0],
      ]),
    ).toEqual(
      [1, 3, 5].map((count) => [
        "agent:main:telegram:dm:42#flush",
        "off",
        ["append_note"],
        count,
        "",
        "You keep an assistant's own notes. This is a silent turn before the conversation is compacted: nobody reads what you answer.",
      ]),
    );
    expect(JSON.stringify(asked[0]?.messages)).toContain("memory/2026-11-22.md with append_note");
    const history = noteHistory({ cells: store.cells, clock });
    expect(
      (await history.list("main", 9)).map(({ path, session, turn, by, tool, added }) => [
        path,
        session,
        turn,
        by,
        tool,
        added,
      ]),
    ).toEqual([
      [
        "memory/2026-11-22.md",
        "agent:main:telegram:dm:42",
        "t#1",
        ["telegram:42"],
        "memory flush",
        "\n- two\n",
      ],
      [
        "memory/2026-11-22.md",
        "agent:main:telegram:dm:42",
        "t#1",
        ["telegram:42"],
        "memory flush",
        "- one\n",
      ],
    ]);
    expect(await stampOf(store.cells, "main", "- two")).toEqual({
      session: "agent:main:telegram:dm:42",
      turn: "t#1",
      by: ["telegram:42"],
      atMs: clock.now(),
      tool: "memory flush",
    });
  });

  test("comes once between two compactions, also where it noted nothing or the model failed; the next time it comes again", async () => {
    const { flush, asked, did, notes, warned } = await stage([
      say("NO_REPLY"),
      () =>
        ({
          type: "end",
          stop: "error",
          usage,
          content: [],
          error: { kind: "auth", message: "wrong key" },
        }) as never,
    ]);
    await flush([user("the talk")], 7, signal);
    expect(await flush([user("the talk")], 7, signal)).toEqual(noUsage);
    expect([asked.length, await notes(), did.length]).toEqual([1, "none", 2]);
    await flush([user("the talk")], 9, signal);
    expect([asked.length, did.at(-1)]).toEqual([2, 'agent:main:telegram:dm:42 {"memoryFlush":"2:9"}']);
    expect(warned).toEqual([
      [{ kind: "auth" }, "the memory flush failed; the compaction goes on without it"],
    ]);
    expect(await flush([], 10, signal)).toEqual(noUsage);
    const known = await stage([], { memoryFlush: "2:7" });
    await known.flush([user("the talk")], 7, signal);
    expect(known.asked).toEqual([]);
    const other = await stage([], { memoryFlush: "1:7" });
    await other.flush([user("the talk")], 7, signal);
    expect(other.asked).toHaveLength(1);
    const gone = await stage([]);
    await rm(gone.workspace, { recursive: true });
    expect(await gone.flush([user("the talk")], 7, signal)).toEqual(noUsage);
    expect([gone.asked, gone.did]).toEqual([[], []]);
  });

  test("notes no secret, ends after four answers of the model, and one that is stopped before it wrote comes again", async () => {
    const secret = await stage([
      note("the key is hunter2-secret"),
      ...[2, 3, 4, 5, 6].map((at) => note(`- ${at}`, `c${at}`)),
    ]);
    await secret.flush([user("the talk")], 1, signal);
    expect([await secret.notes(), secret.asked.length]).toEqual(["- 2\n\n- 3\n", 4]);
    const stop = new AbortController();
    const stopped = await stage([() => (stop.abort(), say("NO_REPLY")())]);
    await stopped.flush([user("the talk")], 1, stop.signal);
    expect(stopped.did).toEqual([]);
    await stopped.flush([user("the talk")], 1, signal);
    expect(stopped.asked).toHaveLength(2);
  });
});

describe("the job of the nightly upkeep", () => {
  const agent = (id: string, upkeep: object = {}, enabled = true) => ({
    id,
    memorySearch: { enabled, upkeep: { enabled: true, at: "03:30", mostTokensPerDay: 100_000, ...upkeep } },
  });
  async function stage() {
    const { clock, store } = await openStore();
    const logged: unknown[] = [];
    const schedules = createSchedules({
      cells: store.cells,
      inbox: store.inbox,
      agents: ["main", "Köchin", "two"],
      zone: "Europe/Berlin",
      runs: { retentionMs: 1e9, keepLines: 10 },
      owners: async () => [],
      reach: async () => null,
      modelNamed: async (_agent, word) => {
        if (word === "none/such") throw new Fault("invalid", "there is no such model");
        return `ref/${word}`;
      },
      filesOf: async () => "cannot be watched",
      unknownTools: () => [],
      homeOf: async () => ({ session: "agent:main:main" as never, place: null }),
      keeping: () => null,
      clock,
      ids: seededIds(1),
    });
    const log = {
      ...silentLog,
      info: (facts: object, words: string) => void logged.push([{ ...facts }, words]),
      warn: ({ error, ...facts }: { error: Error }, words: string) =>
        void logged.push([facts, words, error.message]),
    };
    const keep = (...agents: readonly object[]) =>
      keepUpkeepJobs({ config: { agents: { list: agents } } as never, schedules, log });
    const jobs = async () => (await schedules.jobs.list()).jobs.map(({ job }) => job);
    return { keep, jobs, logged, schedules, clock };
  }

  test("is the operator's, with the tool alone, told to nobody, once a night at the time of the config", async () => {
    const { keep, jobs, logged } = await stage();
    await keep(
      agent("main", { at: "00:05", model: "fast", mostTokensPerDay: 9 }),
      agent("two", { enabled: false }),
    );
    const [job] = await jobs();
    const { payload, state: _state, version: _version, ...rest } = job ?? ({} as never);
    expect([(await jobs()).length, rest]).toEqual([
      1,
      {
        v: 1,
        id: "memory-upkeep-main",
        name: "Memory upkeep",
        agent: "main",
        owner: {
          kind: "operator",
          sender: null,
          isOwner: true,
          conversation: null,
          session: null,
          turn: null,
          authority: "owner",
          tools: null,
        },
        schedule: { kind: "cron", expression: "5 0 * * *", zone: "Europe/Berlin" },
        staggerMs: expect.any(Number),
        target: { kind: "isolated" },
        wake: "now",
        delivery: { kind: "none" },
        misfire: "latest",
        overlap: "skip",
        catchUpMs: 8 * 3_600_000,
        maxRuns: null,
        deleteAfterRun: false,
        enabled: true,
        timeoutSeconds: 600,
        mostTokensPerDay: 9,
        createdAtMs: madeAtMs,
        editedAtMs: madeAtMs,
        effectiveFromMs: madeAtMs,
      },
    ]);
    expect(payload).toEqual({
      kind: "agentTurn",
      message: expect.stringMatching(/^Look after your notes\. .* nobody reads your answer\.$/),
      model: "ref/fast",
      tools: ["memory_upkeep"],
      lightContext: true,
    });
    expect(logged).toEqual([
      [{ job: "memory-upkeep-main", agent: "main" }, "the notes' nightly upkeep is scheduled"],
    ]);
    expect(upkeepSession("main")).toBe("agent:main:cron:memory-upkeep-main");
    expect(upkeepSession("my-2nd")).toBe("agent:my-2nd:cron:memory-upkeep-my-2nd");
  });

  test("stays as it is where the config did; a changed cap keeps its instants, a changed time begins anew; what is off is gone", async () => {
    const { keep, jobs, schedules, clock, logged } = await stage();
    await keep(agent("main"), agent("two"));
    await schedules.jobs.pause("memory-upkeep-main", "by hand", madeAtMs);
    await clock.advance(5_000);
    const first = await jobs();
    await keep(agent("main"), agent("two"));
    expect(await jobs()).toEqual(first);
    await keep(agent("main", { mostTokensPerDay: 50 }), agent("two"));
    const [capped, second] = await jobs();
    expect([capped, second]).toEqual([
      { ...first[0], mostTokensPerDay: 50, version: 2, editedAtMs: madeAtMs + 5_000 },
      first[1],
    ]);
    await keep(agent("main", { mostTokensPerDay: 50, at: "04:00" }), agent("two", {}, false));
    const [moved, ...none] = await jobs();
    expect(none).toEqual([]);
    expect([moved?.schedule, moved?.version, moved?.effectiveFromMs]).toEqual([
      { kind: "cron", expression: "0 4 * * *", zone: "Europe/Berlin" },
      3,
      madeAtMs + 5_000,
    ]);
    await keep(agent("main", { enabled: false }));
    await keep(agent("main", { enabled: false }));
    expect([await jobs(), logged.length]).toEqual([[], 2]);
  });

  test("of an agent whose id is no part of an id has a hash; one that cannot be scheduled costs no other agent's", async () => {
    const { keep, jobs, logged } = await stage();
    await keep(agent("main", { model: "none/such" }), agent("Köchin"), agent("two"));
    expect((await jobs()).map(({ id, agent: of }) => [id, of])).toEqual([
      ["memory-upkeep-5e990bc2aa6a926a", "Köchin"],
      ["memory-upkeep-two", "two"],
    ]);
    expect(logged[0]).toEqual([
      { job: "memory-upkeep-main", agent: "main" },
      "the notes' nightly upkeep cannot be scheduled",
      "there is no such model",
    ]);
    expect(upkeepSession("a".repeat(40))).toContain(`memory-upkeep-${"a".repeat(40)}`);
    expect(upkeepSession("a".repeat(41))).toMatch(/:memory-upkeep-[0-9a-f]{16}$/);
  });
});

describe("forgetting", () => {
  const without: Forgetting = {
    line: (text) => text.includes("ferry"),
    text: (text) => (text.includes("ferry") ? "[forgotten]\n" : null),
    json: (text) => (text.includes("ferry") ? "{}" : null),
  };
  async function stage({ rewrites = true, problems = [] as readonly object[] } = {}) {
    const { clock, store } = await openStore();
    const asked: object[] = [];
    const logged: unknown[] = [];
    const order: string[] = [];
    const lines = [
      { path: "memory/a.md", line: 3, text: "- the ferry" },
      { path: "MEMORY.md", line: 1, text: "- a ferry" },
    ];
    const forgetting = memoryForgetting({
      machine: {
        home: "/home/of",
        memory: {
          engine: {
            forget: async (
              { workspace, indexPath }: { workspace: string; indexPath: string },
              how: object,
            ) => {
              asked.push({ workspace, indexPath, ...how });
              order.push("notes");
              return { lines, problems };
            },
          },
          forgetting: (query: string) => (query.length < 4 ? null : without),
        } as never,
      },
      config: {
        agents: {
          list: ["main", "two"].map((id) => ({
            id,
            workspace: `/ws/${id}`,
            memorySearch: { embedder: null, sources: [] },
          })),
        },
      } as never,
      store: {
        cells: store.cells,
        ...(rewrites
          ? {
              redact: async (change: (stored: string) => string | null) => {
                order.push("store");
                return ["a ferry", "a boat", "the ferry"].filter((text) => change(text) !== null).length;
              },
            }
          : {}),
      } as never,
      clock,
      log: { ...silentLog, info: (facts: object, words: string) => void logged.push([facts, words]) },
    });
    const cells = async (prefix: string) =>
      (await store.cells.list(prefix, 9)).map(({ key, value }) => [key, value]);
    return { forgetting, asked, logged, order, lines, store, clock, cells };
  }
  const outside =
    "copies outside stay: backups, a git history of the workspace, messages on the platforms, what was sent to models";
  const session = "agent:main:telegram:dm:42" as never;

  test("only shows until it is confirmed; then the store comes before the notes, and its extent is recorded without a word of it", async () => {
    const { forgetting, asked, logged, order, lines, store, clock, cells } = await stage({
      problems: [{ path: "memory/b.md", reason: "it is too large" }],
    });
    const history = noteHistory({ cells: store.cells, clock });
    const from = { path: "MEMORY.md", session: "s", turn: "t", by: [], tool: "write" };
    await history.record("main", from, null, "- a ferry\n");
    await history.record("main", from, "- a ferry\n", "- a boat\n");
    await history.record("main", from, "- a boat\n", "- a car\n");
    await history.record("two", from, null, "- a ferry\n");
    const notes = ["memory/b.md was not looked through: it is too large", outside];
    expect(await forgetting.forget("main", "ferry", false)).toEqual({ lines, history: null, notes });
    expect([
      order.splice(0),
      logged,
      await cells("memory-last"),
      (await history.list("main", 9)).length,
    ]).toEqual([["notes"], [], [], 3]);
    expect(await forgetting.forget("main", "ferry", true)).toEqual({ lines, history: 2, notes });
    expect(order).toEqual(["store", "notes"]);
    expect(asked).toEqual(
      [false, true].map((write) => ({
        workspace: "/ws/main",
        indexPath: "/home/of/memory/main.sqlite",
        query: "ferry",
        write,
        nowMs: madeAtMs,
      })),
    );
    expect((await history.list("main", 9)).map(({ added }) => added)).toEqual(["- a car\n"]);
    expect(await history.list("two", 9)).toHaveLength(1);
    const record = { agent: "main", atMs: madeAtMs, lines: 2, history: 2 };
    expect(logged).toEqual([[record, "something was forgotten for somebody who asked for it"]]);
    await forgetting.forget("two", "ferry", true);
    expect(await cells("memory-forgotten:")).toEqual([
      [`memory-forgotten:${madeAtMs}`, JSON.stringify(record)],
      [`memory-forgotten:${madeAtMs + 1}`, JSON.stringify({ ...record, agent: "two" })],
    ]);
    expect(await cells("memory-last-forgotten:")).toEqual([
      ["memory-last-forgotten:main", `${madeAtMs}`],
      ["memory-last-forgotten:two", `${madeAtMs}`],
    ]);
  });

  test("says what a store cannot rewrite, and takes nothing out for a question that says too little", async () => {
    const { forgetting, lines, logged, order, cells } = await stage({ rewrites: false });
    const cannot =
      "what is stored of conversations stays: this store cannot rewrite it (`parley sessions forget` can)";
    expect(await forgetting.forget("main", "ferry", true)).toEqual({
      lines,
      history: null,
      notes: [cannot, outside],
    });
    expect(logged).toHaveLength(1);
    const little = await stage();
    expect(await little.forgetting.forget("main", "it", true)).toEqual({
      lines,
      history: null,
      notes: [outside],
    });
    expect([little.logged, little.order, await little.cells("memory-forgotten:")]).toEqual([
      [],
      ["notes"],
      [],
    ]);
    expect([order, (await cells("memory-forgotten:")).length]).toEqual([["notes"], 1]);
  });

  test("is asked in a session and confirmed there within ten minutes, once", async () => {
    const { forgetting, asked, clock } = await stage();
    const other = "agent:main:telegram:dm:43" as never;
    expect(await forgetting.confirm(session, "main")).toBeNull();
    expect((await forgetting.ask(session, "main", "the ferry")).history).toBeNull();
    expect(await forgetting.confirm(other, "main")).toBeNull();
    await clock.advance(599_999);
    expect((await forgetting.confirm(session, "main"))?.history).toBe(2);
    expect(asked.map((each) => ({ ...each, nowMs: 0 }))).toMatchObject([
      { query: "the ferry", write: false },
      { query: "the ferry", write: true },
    ]);
    expect(await forgetting.confirm(session, "main")).toBeNull();
    await forgetting.ask(session, "main", "the ferry");
    await clock.advance(600_000);
    expect(await forgetting.confirm(session, "main")).toBeNull();
  });

  test("is not there without a memory", async () => {
    const { clock, store } = await openStore();
    for (const machine of [undefined, { home: "/h" }])
      await expect(
        memoryForgetting({ machine, config: {} as never, store, clock, log: silentLog }).forget(
          "main",
          "x",
          false,
        ),
      ).rejects.toMatchObject({ code: "unsupported", message: "there is no memory here" });
  });
});

test("words that an operator puts into the transcript are the agent's, of no model and for free", async () => {
  const clock = virtualClock({ startMs: 5_000 });
  const command = injectCommand(clock);
  expect([injectName, command.name, await command.run({ args: "Said by hand." } as never)]).toEqual([
    "inject",
    "inject",
    {
      answer: "Said by hand.",
      entries: [
        JSON.stringify({
          type: "assistant",
          content: [{ type: "text", text: "Said by hand." }],
          model: "operator",
          stop: "stop",
          usage: noUsage,
          atMs: 5_000,
        }),
      ],
    },
  ]);
});
