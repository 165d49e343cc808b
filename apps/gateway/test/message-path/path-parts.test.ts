// The parts of a message path, each by itself over a real config and store: where owners are, who is routed
// where, where the agent may write, what schedules know of agents, and what /stop ends.
import { conversationBindings, migratedChats } from "@parley/access";
import type { Channel } from "@parley/channels";
import { Fault, silentLog, type Address, type Inbound, type SessionKey } from "@parley/protocol";
import { directMessage, seededIds, virtualClock } from "@parley/testkit";
import { expect, onTestFinished, test } from "vitest";
import { pathAccess } from "../../src/message-path/path-access.ts";
import { pathDelivery } from "../../src/message-path/path-delivery.ts";
import { pathReach } from "../../src/message-path/path-reach.ts";
import { pathSchedules, runLimitsOf } from "../../src/message-path/path-schedules.ts";
import { pathStop } from "../../src/message-path/path-stop.ts";
import { processMemory } from "../../src/message-path/process-memory.ts";
import { loaded } from "../receive/loaded.ts";
import { memoryStore } from "../receive/store.ts";

async function parts(config: object = {}, accounts: readonly string[] = ["telegram:default"]) {
  const clock = virtualClock();
  const store = await memoryStore(clock);
  onTestFinished(() => store.close());
  const handOvers = conversationBindings(store.cells);
  await handOvers.load();
  const moved = migratedChats(store.cells);
  const channels = new Map(
    accounts.map((each): [string, Channel] => {
      const [name = "", account = ""] = each.split(":");
      return [each, { name, account } as Channel];
    }),
  );
  return {
    config: await loaded(JSON.stringify(config)),
    store,
    handOvers,
    moved,
    channels,
    clock,
    ids: seededIds(1),
    log: silentLog,
    kept: processMemory(clock),
  };
}
const dm = (channel: string, peer: string, account = "default"): Address => ({
  channel,
  account,
  kind: "dm",
  peer,
});

test("owners are in their private chats with the first account of their channel that this process has", async () => {
  const all = await parts({ commands: { ownerAllowFrom: ["telegram:5", "discord:8", "telegram:6"] } }, [
    "web:default",
    "telegram:work",
    "telegram:default",
  ]);
  expect(await pathAccess(all).ownersAt()).toEqual([
    dm("telegram", "5", "work"),
    dm("telegram", "6", "work"),
  ]);
});

test("a private chat that a person handed over has that session while the two are one person; a thread has its sub-agent's", async () => {
  const linked = { session: { identityLinks: { olga: ["telegram:5", "discord:8"] } } };
  for (const [config, isLinked] of [
    [linked, true],
    [{}, false],
  ] as const) {
    const all = await parts(config);
    const { handOvers } = all;
    const session = "agent:main:telegram:dm:5" as SessionKey;
    await handOvers.handOver(session, dm("telegram", "5"), dm("discord", "8"));
    const worker = "agent:main:subagent:0123456789abt-1" as SessionKey;
    const thread: Address = {
      channel: "discord",
      account: "default",
      kind: "channel",
      peer: "55",
      thread: "9",
    };
    await handOvers.bind(worker, thread);
    const { route, placeOf } = pathAccess(all);
    const own = route({ address: dm("discord", "9") }).session;
    expect([
      route({ address: dm("discord", "8") }).session === session,
      own === session,
      route({ address: thread }).session,
      placeOf(session, dm("telegram", "5")),
    ]).toEqual([isLinked, false, worker, isLinked ? dm("discord", "8") : null]);
  }
});

test("whether somebody may ask is found out as for a message, and leaves nothing behind", async () => {
  const all = await parts({
    channels: { telegram: { dmPolicy: "pairing", botToken: "1:x" } },
    commands: { ownerAllowFrom: ["telegram:5"] },
  });
  const { mayAsk, reach, pairingStore } = pathAccess(all);
  const by = (id: string): Inbound =>
    directMessage({ sender: { id, name: "A", isBot: false }, address: dm("telegram", id) });
  const before = (await all.store.cells.list("", 100)).length;
  await all.store.cells.put("paired:telegram:default:9", "{}", {});
  const verdicts: string[] = [];
  const call = { isSlashCommand: false, activation: async () => null };
  for (const id of ["5", "6", "6", "9"]) verdicts.push((await mayAsk(by(id), call)).kind);
  expect(verdicts).toEqual(["turn", "refused", "refused", "turn"]);
  expect((await all.store.cells.list("", 100)).length - before).toBe(1);
  expect([
    await reach({ address: dm("telegram", "5") }),
    await reach({ address: dm("telegram", "6") }),
  ]).toEqual([null, "this person may not write to the agent"]);
  expect(await pairingStore.isPaired(by("6"))).toBe(false);
});

test("the agent may write where the config serves people, unless the platform closed the chat, also by its new address", async () => {
  const { store, moved } = await parts();
  const opened: unknown[] = [];
  const current = (address: Address): Address =>
    address.peer === "-5" ? { ...address, peer: "-100" } : address;
  const { closed, reach, closedAt } = pathReach(
    store.cells,
    { ...moved, current },
    async ({ address }) => (address.peer === "no" ? "not served" : null),
    async (chats) => void opened.push(chats),
  );
  const group = (peer: string): Address => ({ channel: "telegram", account: "default", kind: "group", peer });
  const old = group("-5");
  expect([await reach({ address: old }), await closedAt(old)]).toEqual([null, null]);
  await closed.close(group("-100"), "the bot was removed");
  await closed.close(group("no"), "closed too");
  expect([
    await reach({ address: old }),
    await reach({ address: group("-100") }),
    await reach({ address: group("no") }),
    await reach({ address: group("-7") }),
  ]).toEqual(["the bot was removed", "the bot was removed", "not served", null]);
  expect([await closedAt(old), await closedAt(group("-7"))]).toEqual([group("-100"), null]);
  await closed.open([group("-100")]);
  expect([opened, await reach({ address: old })]).toEqual([[[group("-100")]], null]);
});

test("schedules know each agent's home, its models, its files and the tools there are, and the zone of the config", async () => {
  const provider = { api: "openai-completions", baseUrl: "http://127.0.0.1:1/v1", models: [] };
  const file = {
    models: { providers: { p: provider } },
    agents: {
      defaults: { userTimezone: "Europe/Berlin", model: "p/usual" },
      list: [{ id: "main" }, { id: "tea", model: "p/tea" }],
    },
    cron: { runLog: { retention: "3d", keepLines: 17 } },
  };
  const all = await parts(file);
  let owners: readonly Address[] = [];
  const of = (more: object = {}) =>
    pathSchedules(
      {
        ...all,
        ...more,
        models: {
          list: () => [],
          get: async (id: string) => (id === "p/down" ? Promise.reject(new Fault("invalid", "x")) : {}),
        },
        tools: [{ name: "echo" }],
      } as never,
      all.store,
      {
        owners: async () => [],
        ownersAt: async () => owners,
        reach: async () => null,
        closedAt: async () => null,
      },
    ).schedules;
  const schedules = of();
  expect(await schedules.homeOf("tea")).toEqual({ session: "agent:tea:main", place: null });
  owners = [dm("telegram", "5", "work"), dm("telegram", "6", "work")];
  expect(await schedules.homeOf("tea")).toEqual({ session: "agent:tea:telegram:dm:5", place: owners[0] });
  expect(schedules.zone).toBe("Europe/Berlin");
  const zoned = { ...file, cron: { ...file.cron, timezone: "Asia/Tokyo" } };
  expect(of({ config: await loaded(JSON.stringify(zoned)) }).zone).toBe("Asia/Tokyo");
  expect(runLimitsOf(all.config)).toEqual({ retentionMs: 3 * 86_400_000, keepLines: 17 });
  expect(await schedules.filesOf("gone", "a.md")).toBe("belongs to an agent that is gone");
  const by = {
    agent: "tea",
    kind: "turn",
    sender: "telegram:5",
    isOwner: true,
    conversation: owners[0] ?? null,
    session: "agent:tea:telegram:dm:5",
    turn: "t",
    authority: "owner",
    tools: null,
  } as const;
  const asked = (payload: object, more: object = {}) =>
    schedules
      .made(
        {
          name: "n",
          schedule: { kind: "every", every: "1h" },
          payload: { kind: "agentTurn", message: "x", ...payload },
          ...more,
        },
        by,
        "id",
      )
      .then(
        ({ payload: made }) => made,
        (error: Error) => error.message.replace(/\(read, .*?\)/, "(...)"),
      );
  expect([
    await asked({ model: "p/other" }),
    await asked({ model: "nonsense" }),
    await asked({ model: "p/down" }),
    await asked({ tools: ["echo", "read"] }),
    await asked({ tools: ["wrte"] }),
  ]).toMatchInlineSnapshot(`
    [
      {
        "kind": "agentTurn",
        "message": "x",
        "model": "p/other",
      },
      "there is no model "nonsense". Fix: take one of p/tea",
      "there is no model "p/down". Fix: take one of p/tea",
      {
        "kind": "agentTurn",
        "message": "x",
        "tools": [
          "echo",
          "read",
        ],
      },
      "payload.tools "wrte" is no tool. Fix: name tools (...), groups such as group:fs, or patterns such as web_*; without it the run has all that its maker may use",
    ]
  `);
});

test("an account's deliveries go over its own channel; trouble is told to hooks, owners and the person, an edit waits for who else edits", async () => {
  const all = await parts({ commands: { ownerAllowFrom: ["telegram:1"] } });
  const { store, clock } = all;
  const did: unknown[] = [];
  const refuses = new Set<string>();
  const channelOf = (account: string): Channel =>
    ({
      name: "telegram",
      account: account.split(":")[1],
      capabilities: { dialect: "markdown", textChars: 100, idempotentSends: false },
      send: async ({ account: by, peer }: Address) => {
        did.push(`sends as ${by} to ${peer}`);
        if (refuses.has(peer)) throw new Fault("invalid", "it cannot be read");
        return { messageId: `m of ${peer}` };
      },
      act: async (_to: Address, { kind }: { readonly kind: string }) => (did.push(kind), null),
    }) as never;
  const deliver = pathDelivery(
    {
      ...all,
      settleEdits: async (...what: readonly unknown[]) => void did.push(["settles", ...what]),
    } as never,
    store,
    {
      channel: (account) => (did.push(`asks for ${account}`), channelOf(account)),
      closed: { reason: async () => null, close: async () => {} } as never,
      owners: async () => ["telegram:1"],
      heard: {
        sent: ({ id }, part, { messageId }) => did.push(["sent", id, part, messageId]),
        failed: ({ id }, reason) => did.push(["failed", id, reason]),
      },
    },
  );
  const post = (id: string, peer: string, more: object = {}) =>
    store.outbox.post([
      {
        id,
        pool: "telegram:work",
        lane: `telegram:work:dm:${peer}` as never,
        cause: `cause of ${id}`,
        parts: [
          {
            content: JSON.stringify({ v: 1, kind: "reply", parts: [{ kind: "text", markdown: "hi" }] }),
            ...more,
          },
        ],
      },
    ]);
  const work = async () => {
    const batch = await store.outbox.take({
      pool: "telegram:work",
      holder: "boot",
      leaseMs: 60_000,
      maxRows: 9,
    });
    if ("idle" in batch) throw new Error("there is something");
    const end = await deliver("telegram:work")(batch, {
      signal: new AbortController().signal,
      cover: async () => {},
      renew: async () => 0,
      waiting: () => 0,
    } as never);
    if (!("settled" in end)) await store.outbox.release(batch, end);
    await clock.advance(0);
    return did.splice(0);
  };
  await post("d1", "5");
  expect(await work()).toEqual(["asks for telegram:work", "sends as work to 5", ["sent", "d1", 0, "m of 5"]]);
  await post("d2", "5", { into: "d1/0" });
  expect(await work()).toEqual([
    "asks for telegram:work",
    ["settles", "telegram:work", "m of 5"],
    "edit",
    ["sent", "d2", 0, "m of 5"],
  ]);
  refuses.add("6");
  await post("d3", "6");
  expect(await work()).toEqual([
    "asks for telegram:work",
    "sends as work to 6",
    ["failed", "d3", "it cannot be read"],
  ]);
  const notices = await store.outbox.find({ state: "queued", limit: 9 });
  const told = notices.map(({ id, lane, cause }) => `${id.replace(/:\d+:1$/, ":PERIOD:1")} ${lane} ${cause}`);
  expect(told.toSorted()).toEqual([
    "failed:d3 telegram:work:dm:6 cause of d3",
    "trouble:telegram:work:dm:6:PERIOD:1 telegram:work:dm:1 cause of d3",
  ]);
});

test("an account's pace is kept over a reload; one without pacing has none", async () => {
  const all = await parts({
    channels: {
      telegram: {
        accounts: { work: { botToken: "1:x", pacing: "on" }, home: { botToken: "2:x", pacing: "off" } },
      },
    },
  });
  const path = () =>
    pathDelivery(all as never, all.store, {
      channel: () => null,
      closed: {} as never,
      owners: async () => [],
      heard: {} as never,
    });
  path()("telegram:work");
  const kept = all.kept.rateLimits.get("telegram:work");
  path()("telegram:work");
  path()("telegram:home");
  expect([[...all.kept.rateLimits.keys()], all.kept.rateLimits.get("telegram:work") === kept]).toEqual([
    ["telegram:work"],
    true,
  ]);
});

test("/stop ends the session's commands, sub-agents and questions, and says how many of them ran", async () => {
  const { store } = await parts();
  const did: unknown[] = [];
  const running = { stop: (turn: string) => void did.push(`stops ${turn}`) };
  const record = (id: string, state: string) => ({ id, state }) as never;
  const ending = {
    ...store,
    children: { below: async () => [], all: async () => [], of: async () => [] },
    threads: { threadsOf: () => [] },
    running,
    placeOf: () => null,
  } as never;
  const session = "agent:main:main" as SessionKey;
  const answers = (async () => 3) as never;
  const commands = {
    list: async (of: SessionKey) => (
      did.push(`lists ${of}`),
      [record("a", "running"), record("b", "exited"), record("c", "running")]
    ),
    end: async (of: SessionKey) => void did.push(`ends ${of}`),
  };
  const asks = async (of: SessionKey) => (did.push(`asks of ${of}`), 5);
  const { stop, begunBy } = pathStop(ending, commands as never, asks, answers);
  expect(await stop.beside(session)).toBe(7);
  expect(did.splice(0)).toEqual([`lists ${session}`, `ends ${session}`, `asks of ${session}`]);
  expect((await begunBy(session)).map(({ id }) => id)).toEqual(["a", "b", "c"]);
  stop.turn("t1");
  expect([did.at(-1), stop.answers === answers]).toEqual(["stops t1", true]);
  const none = pathStop(ending, undefined, asks, answers);
  expect([await none.stop.beside(session), await none.begunBy(session)]).toEqual([5, []]);
});
