// What chat commands take, refuse and say, word for word, and what they leave behind: the ports are what a
// test says.
import { Fault, formatContent, type Inbound } from "@parley/protocol";
import { jobLine } from "@parley/runner";
import { directMessage } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { answer } from "../../src/commands/decide/answer.ts";
import { approve, deny } from "../../src/commands/decide/approve.ts";
import { carriedMessage, commandIn, type PastLaneCommand } from "../../src/commands/chat-command.ts";
import { cron } from "../../src/commands/decide/cron.ts";
import { handoff } from "../../src/commands/conversation/handoff.ts";
import { pair } from "../../src/commands/decide/pair.ts";
import {
  knownCommands,
  messageAfter,
  parseCommand,
  tellingCommands,
  withModel,
} from "../../src/commands/parse-command.ts";
import { queue } from "../../src/commands/answers/queue.ts";
import { usage } from "../../src/commands/look/usage.ts";

const lane = "agent:main:telegram:dm:7";
const inbound: Inbound = directMessage({ sender: { id: "7", name: "Olga" } });
const call = (args: string, more: { readonly inbound?: object; readonly owner?: boolean } = {}) =>
  ({
    args,
    owner: more.owner ?? false,
    authority: "telegram:7",
    route: { session: lane, agent: "main" },
    inbound: { ...inbound, ...more.inbound },
  }) as never;
const run = (command: PastLaneCommand, args: string, ports: object, more = {}): Promise<string | null> =>
  command.run(call(args, more), ports as never);
const group = { address: { ...inbound.address, kind: "group" as const, peer: "-5" } };

describe("/queue", () => {
  const usageLine =
    "Usage: /queue steer|followup|collect|interrupt [debounce:0.5s] [cap:20] [drop:summarize|old|new], or /queue default.";
  const stage = (kept: object | null = null) => {
    const session = { fields: kept === null ? {} : { queue: kept } };
    const patches: unknown[] = [];
    const ports = {
      config: {
        messages: { queue: { mode: "steer", debounceMs: 500, cap: 20, drop: "summarize", byChannel: {} } },
      },
      store: {
        sessions: {
          open: async (key: string) =>
            key === lane ? session : { fields: { queue: { mode: "interrupt" } } },
          patch: async (key: string, patch: { readonly queue: object | null }) => {
            patches.push(key === lane ? patch.queue : key);
            return { fields: { queue: patch.queue } };
          },
        },
      },
    };
    return { patches, set: (args: string) => run(queue, args, ports) };
  };

  test.each<[string, string, unknown]>([
    ["collect", "Queue: collect (debounce 0.5 s, cap 20, drop summarize).", { mode: "collect" }],
    [
      "FOLLOWUP cap:1 drop:OLD",
      "Queue: followup (debounce 0.5 s, cap 1, drop old).",
      { mode: "followup", cap: 1, drop: "old" },
    ],
    ["debounce:2.5", "Queue: steer (debounce 2.5 s, cap 20, drop summarize).", { debounceMs: 2_500 }],
    ["debounce:250ms", "Queue: steer (debounce 0.25 s, cap 20, drop summarize).", { debounceMs: 250 }],
    ["debounce:0", "Queue: steer (debounce 0 s, cap 20, drop summarize).", { debounceMs: 0 }],
    [
      "debounce:60s cap:1000",
      "Queue: steer (debounce 60 s, cap 1000, drop summarize).",
      { debounceMs: 60_000, cap: 1_000 },
    ],
    ["default", "Queue: steer (debounce 0.5 s, cap 20, drop summarize).", null],
    ["reset", "Queue: steer (debounce 0.5 s, cap 20, drop summarize).", null],
  ])("%s is set and told", async (args, words, patch) => {
    const s = stage();
    expect([await s.set(args), s.patches]).toEqual([words, [patch]]);
  });

  test.each([
    ["", `Queue: steer (debounce 0.5 s, cap 20, drop summarize).\n${usageLine}`],
    ["fast", `"fast" is not a queue mode. ${usageLine}`],
    ["debounce:60.1s", `debounce is 0 to 60 s, not "60.1s". ${usageLine}`],
    ["debounce:-1", `debounce is 0 to 60 s, not "-1". ${usageLine}`],
    ["debounce:1m", `debounce is 0 to 60 s, not "1m". ${usageLine}`],
    ["cap:0", `cap is 1 to 1000, not "0". ${usageLine}`],
    ["cap:1001", `cap is 1 to 1000, not "1001". ${usageLine}`],
    ["cap:1.5", `cap is 1 to 1000, not "1.5". ${usageLine}`],
    ["drop:all", `I do not understand "drop:all". ${usageLine}`],
    ["Size:2", `I do not understand "Size:2". ${usageLine}`],
    ["collect cap:5 nonsense", `"nonsense" is not a queue mode. ${usageLine}`],
  ])("%s sets nothing and is told", async (args, words) => {
    const s = stage();
    expect([await s.set(args), s.patches]).toEqual([words, []]);
  });

  test("keeps what was set before", async () => {
    const s = stage({ mode: "collect", cap: 5 });
    expect(await s.set("drop:new")).toBe("Queue: collect (debounce 0.5 s, cap 5, drop new).");
    expect(s.patches).toEqual([{ mode: "collect", cap: 5, drop: "new" }]);
  });
});

describe("/approve and /deny", () => {
  const stage = (fault?: Error) => {
    const decided: unknown[] = [];
    const approvals = {
      decide: async (...what: unknown[]) => {
        decided.push(what);
        if (fault !== undefined) throw fault;
        return { say: "Allowed." };
      },
    };
    return { decided, ports: { approvals } };
  };
  const usageLine = "Usage: /approve ID once, /approve ID always, /approve ID deny; /deny ID.";

  test.each<[string, string]>([
    ["x1 once", "once"],
    ["x1 allow-once", "once"],
    ["x1  ALWAYS", "always"],
    ["x1 allow-always", "always"],
    ["x1 deny", "deny"],
  ])("%s decides so", async (args, verdict) => {
    const s = stage();
    expect(await run(approve, args, s.ports)).toBe("Allowed.");
    expect(s.decided).toEqual([["x1", verdict, { person: "telegram:7" }]]);
  });

  test("without an id or a known word decide nothing", async () => {
    const s = stage();
    for (const args of ["", "x1", "x1 yes", "x1 constructor", "once"])
      expect(await run(approve, args, s.ports)).toBe(usageLine);
    expect(await run(deny, " ", s.ports)).toBe(usageLine);
    expect(s.decided).toEqual([]);
    expect(await run(deny, "x1 because", s.ports)).toBe("Allowed.");
    expect(s.decided).toEqual([["x1", "deny", { person: "telegram:7" }]]);
  });

  test("are an operator's word only on the page, by an owner or a token that may approve", async () => {
    const who = async (channel: string, owner: boolean, roles?: readonly string[]): Promise<unknown> => {
      const s = stage();
      const sender = { id: "c1", name: "", isBot: false, ...(roles === undefined ? {} : { roles }) };
      await run(approve, "x1 once", s.ports, { owner, inbound: { channel, sender } });
      return (s.decided[0] as unknown[])[2];
    };
    expect(await who("web", true)).toEqual({ operator: "web:c1" });
    expect(await who("web", false, ["approver"])).toEqual({ operator: "web:c1" });
    expect(await who("web", false, ["reader"])).toEqual({ person: "web:c1" });
    expect(await who("web", false)).toEqual({ person: "web:c1" });
    expect(await who("telegram", true, ["approver"])).toEqual({ person: "telegram:c1" });
  });

  test("say nothing to a press, whose card shows it, tell four faults, and hide no other", async () => {
    const s = stage();
    expect(await run(approve, "x1 once", s.ports, { inbound: { kind: "callback" } })).toBeNull();
    for (const code of ["missing", "denied", "conflict", "invalid"] as const)
      expect(await run(deny, "x1", stage(new Fault(code, "it is over.")).ports)).toBe("⚠️ It is over.");
    await expect(run(deny, "x1", stage(new Fault("unavailable", "no store")).ports)).rejects.toThrow(
      "no store",
    );
  });
});

describe("/answer", () => {
  const stage = (fault?: Error) => {
    const given: unknown[] = [];
    const questions = {
      answer: async (...what: unknown[]) => {
        given.push(what);
        if (fault !== undefined) throw fault;
        return "Thank you, noted.";
      },
    };
    return { given, ports: { questions } };
  };
  const typed = (args: string) => ({ inbound: { text: `/answer ${args}` } });

  test("hands on the id, all the words and who said them, and thanks whoever typed it", async () => {
    const s = stage();
    expect(await run(answer, "ab two\nlines", s.ports, { ...typed("ab two\nlines"), owner: true })).toBe(
      "Thank you, noted.",
    );
    expect(s.given).toEqual([["ab", "two\nlines", { person: "telegram:7", name: "Olga", owner: true }]]);
    expect(await run(answer, "ab 2", s.ports, { inbound: { text: "2" } })).toBeNull();
    expect(
      await run(answer, "ab #2", s.ports, { inbound: { text: "/answer ab #2", kind: "callback" } }),
    ).toBeNull();
    expect(await run(answer, "", s.ports)).toBe("Usage: /answer ID your words, or the number of an option.");
  });

  test("tells four faults as sentences, and hides no other", async () => {
    for (const code of ["missing", "denied", "conflict", "invalid"] as const)
      expect(await run(answer, "ab 1", stage(new Fault(code, "it is over")).ports)).toBe("⚠️ It is over.");
    await expect(run(answer, "ab 1", stage(new Fault("unavailable", "no store")).ports)).rejects.toThrow(
      "no store",
    );
  });
});

describe("/pair", () => {
  const person = { channel: "telegram", account: "default", senderId: "9", senderName: "Eve `x`\nEve" };
  const stage = (
    lists: object = {
      pending: [{ ...person, code: "ABCD" }],
      paired: [{ ...person, senderId: "8", senderName: "Bob" }],
    },
  ) => {
    const did: string[] = [];
    const act = (verb: string) => async (what: string) => {
      did.push(`${verb} ${what}`);
      if (what === "gone") throw new Fault("missing", "there is no such code");
      return person;
    };
    return {
      did,
      ports: { pairing: { approve: act("approve"), revoke: act("revoke"), list: async () => lists } },
    };
  };
  test("lists who waits before who is in, and lets in or puts out one", async () => {
    const s = stage();
    const list = "waits `ABCD`: `telegram:default:9` Eve x Eve\npaired: `telegram:default:8` Bob";
    expect([await run(pair, "", s.ports), await run(pair, "LIST", s.ports)]).toEqual([list, list]);
    expect(await run(pair, "approve ABCD", s.ports)).toBe("Let in: `telegram:default:9` Eve x Eve.");
    expect(await run(pair, "Revoke 9", s.ports)).toBe("No longer paired: `telegram:default:9` Eve x Eve.");
    expect(await run(pair, "approve gone", s.ports)).toBe("there is no such code");
    expect(s.did).toEqual(["approve ABCD", "revoke 9", "approve gone"]);
    expect(await run(pair, "", stage({ pending: [], paired: [] }).ports)).toBe(
      "Nobody waits, and nobody is paired.",
    );
  });
  test("does nothing in a group, or for words that it does not know", async () => {
    const s = stage();
    expect(await run(pair, "approve ABCD", s.ports, { inbound: group })).toBe("Please do that in private.");
    for (const args of ["approve", "revoke", "kick 9"])
      expect(await run(pair, args, s.ports)).toBe("Usage: /pair list, /pair approve CODE, /pair revoke ID.");
    expect(s.did).toEqual([]);
  });
});

describe("/cron", () => {
  const job = (n: number, more: object = {}) => ({
    id: `id-${n}`,
    name: `job ${n}`,
    enabled: true,
    schedule: { kind: "at", atMs: 3_600_000 },
    payload: { kind: "message", text: "x" },
    state: { paused: null, last: null, nextRunAtMs: 3_600_000, runs: 0 },
    ...more,
  });
  const stage = (jobs: readonly object[]) => {
    const did: string[] = [];
    const schedules = {
      list: async () => jobs,
      get: async (id: string) => {
        const found = (jobs as { readonly id: string }[]).find((each) => each.id === id);
        if (found === undefined) throw new Fault("missing", `there is no job ${id}`);
        return { job: found };
      },
      run: async (id: string) => did.push(`run ${id}`),
      remove: async (id: string) => did.push(`remove ${id}`),
      edit: async (id: string, change: { readonly enabled: boolean }) => {
        did.push(`${change.enabled ? "enable" : "disable"} ${id}`);
        return { ...jobs.find((each) => (each as { readonly id: string }).id === id), ...change };
      },
    };
    return { did, ports: { schedules, clock: { now: () => 0 } } };
  };
  const usageLine =
    "Usage: /cron [list | pause N | resume N | run N | rm N]; N is a number of the list, or an id.";

  test("acts for owners alone, by a number of the list or an id", async () => {
    const s = stage([job(1), job(2), job(3, { enabled: false })]);
    const boss = { owner: true };
    expect(await run(cron, "rm 2", s.ports)).toBe("Only an owner may do that.");
    expect(s.did).toEqual([]);
    expect(await run(cron, "rm 2", s.ports, boss)).toBe('Removed "job 2" (id-2).');
    expect(await run(cron, "run  id-1", s.ports, boss)).toBe('"job 1" (id-1) runs now.');
    expect(await run(cron, "run 4", s.ports, boss)).toBe("there is no job 4");
    expect(await run(cron, "run 0", s.ports, boss)).toBe("there is no job 0");
    for (const args of ["pause", "rm", "stop 1", "constructor 1"])
      expect(await run(cron, args, s.ports, boss)).toBe(usageLine);
    expect(s.did).toEqual(["remove id-2", "run id-1"]);
  });

  test("changes nothing of a job that is so already; one that paused itself is resumed", async () => {
    const s = stage([
      job(1),
      job(2, { enabled: false }),
      job(3, { state: { paused: "failed", last: null, nextRunAtMs: null, runs: 3 } }),
    ]);
    const told = [];
    for (const args of ["resume 1", "pause 2", "pause 1", "resume  2", "resume 3"])
      told.push(await run(cron, args, s.ports, { owner: true }));
    expect(told).toEqual(
      [
        job(1),
        job(2, { enabled: false }),
        job(1, { enabled: false }),
        job(2),
        job(3, { state: { paused: "failed", last: null, nextRunAtMs: null, runs: 3 } }),
      ].map((each) => jobLine(each as never, 0)),
    );
    expect(s.did).toEqual(["disable id-1", "enable id-2", "enable id-3"]);
  });

  test("a name of several words is one name, whatever stands between them; a number beyond four digits is an id", async () => {
    const s = stage([job(1, { id: "water the plants" }), job(2, { id: "12345" })]);
    expect(await run(cron, "run   water  the\nplants", s.ports, { owner: true })).toBe(
      '"job 1" (water the plants) runs now.',
    );
    expect(await run(cron, "run 12345", s.ports, { owner: true })).toBe('"job 2" (12345) runs now.');
    // Actions are small letters, as everywhere in the list of usage.
    expect(await run(cron, "RUN 1", s.ports, { owner: true })).toBe(usageLine);
    expect(await run(cron, "  list ", s.ports)).toBe(
      [job(1, { id: "water the plants" }), job(2, { id: "12345" })]
        .map((each, at) => `${at + 1}. ${jobLine(each as never, 0)}`)
        .join("\n"),
    );
  });

  test("lists twenty, and says how many more there are", async () => {
    const lines = async (count: number) =>
      ((await run(cron, "", stage(Array.from({ length: count }, (_, n) => job(n))).ports)) ?? "").split("\n");
    expect(await lines(0)).toEqual(["There are no scheduled jobs here. Ask me for a reminder to make one."]);
    expect(await lines(20)).toHaveLength(20);
    const more = await lines(22);
    expect([more.length, more.at(-1), more[19]?.startsWith("20. ")]).toEqual([21, "… and 2 more.", true]);
  });
});

describe("/handoff", () => {
  const identityLinks = {
    eve: ["telegram:77", "discord:7", "slack:E"],
    olga: ["telegram:7", "discord:70", "slack:S"],
  };
  const discord = { channel: "discord", account: "default", kind: "dm", peer: "70" };
  const stage = (
    now: object | null = null,
    accounts: readonly string[] = ["telegram", "discord", "slack"],
  ) => {
    const did: unknown[] = [];
    const posted: unknown[] = [];
    const whole: unknown[] = [];
    const ports = {
      config: { session: { identityLinks } },
      store: {
        outbox: {
          post: async ([one]: {
            readonly id: string;
            readonly lane: string;
            readonly parts: unknown[];
          }[]) => {
            posted.push([one?.id, one?.lane]);
            whole.push(one);
          },
        },
      },
      approvals: {
        follow: async (...what: readonly unknown[]) => did.push(["approvals follow", ...what]),
      },
      questions: {
        follow: async (...what: readonly unknown[]) => did.push(["questions follow", ...what]),
      },
      handOvers: {
        of: (session: string) => (session === lane ? now : null),
        handOver: async (session: string, from: object, to: object) => did.push({ session, from, to }),
        takeBack: async (session: string) => (did.push(`taken back ${session}`), now !== null),
      },
      accounts: () => accounts.map((channel) => ({ channel, account: "default" })),
    };
    return { did, posted, whole, ports };
  };
  const delivery = (channel: string, peer: string, markdown: string) => ({
    id: `handoff:${inbound.id}`,
    pool: `${channel}:default`,
    lane: `${channel}:default:dm:${peer}`,
    cause: inbound.id,
    parts: [{ content: formatContent({ v: 1, kind: "reply", parts: [{ kind: "text", markdown }] }) }],
  });

  test("goes where the config knows the person, tells it there, and takes open requests along", async () => {
    const s = stage();
    expect(await run(handoff, "Discord", s.ports)).toBe(
      "What comes next is on discord. What I am doing now I still answer here; /handoff off brings it back.",
    );
    expect(s.did).toEqual([
      { session: lane, from: inbound.address, to: discord },
      ["approvals follow", lane, inbound.address],
      ["questions follow", lane, inbound.address],
    ]);
    expect(s.posted).toEqual([[`handoff:${inbound.id}`, "discord:default:dm:70"]]);
    expect(s.whole).toEqual([
      delivery("discord", "70", "We go on here with what we talked about on telegram."),
    ]);
    const second = stage();
    await run(handoff, "SLACK", second.ports);
    expect(second.did[0]).toEqual({
      session: lane,
      from: inbound.address,
      to: { ...discord, channel: "slack", peer: "S" },
    });
    const offered = await handoff.suggests?.({ inbound } as never, stage().ports as never);
    expect(offered?.map(({ value }) => value)).toEqual(["discord", "slack", "off"]);
  });

  test("changes nothing without a place, in a group, or for somebody without another channel", async () => {
    const s = stage();
    const hint = "Hand it over with /handoff discord or /handoff slack; /handoff off takes it back.";
    expect(await run(handoff, "", s.ports)).toBe(`This conversation goes on here. ${hint}`);
    expect(await run(handoff, "irc", stage({ from: inbound.address, to: discord }).ports)).toBe(
      `This conversation goes on on discord. ${hint}`,
    );
    expect(await run(handoff, "discord", s.ports, { inbound: group })).toBe(
      "Only a private conversation can be handed over.",
    );
    expect(await run(handoff, "discord", stage(null, ["telegram"]).ports)).toBe(
      "I know you on no other channel. The operator links your accounts in session.identityLinks.",
    );
    expect([s.did, s.posted]).toEqual([[], []]);
  });

  test("is taken back by its own person or an owner alone, who tell the first place", async () => {
    const from = { ...inbound.address, peer: "70", channel: "discord" };
    const others = { from: { ...discord, peer: "99" }, to: { ...discord, peer: "98" } };
    const foreign = stage(others);
    const refused = "Somebody else handed this conversation over: only they, or an owner, move it.";
    expect([await run(handoff, "off", foreign.ports), await run(handoff, "discord", foreign.ports)]).toEqual([
      refused,
      refused,
    ]);
    expect([foreign.did, foreign.posted]).toEqual([[], []]);
    expect(await run(handoff, "off", foreign.ports, { owner: true })).toBe("It goes on on discord again.");
    const own = stage({ from, to: inbound.address });
    expect(await run(handoff, "off", own.ports)).toBe("It goes on on discord again.");
    expect(own.did).toEqual([`taken back ${lane}`]);
    expect(own.whole).toEqual([delivery("discord", "70", "Back again: we go on here.")]);
    const here = stage({ from: inbound.address, to: discord });
    expect([await run(handoff, "off", here.ports), here.posted]).toEqual(["It goes on here again.", []]);
    expect(await run(handoff, "off", stage().ports)).toBe("This conversation was not handed over.");
  });
});

describe("/usage", () => {
  const used = (more: object = {}) => ({
    inputTokens: 0,
    outputTokens: 0,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    unpricedTokens: 0,
    costUsd: 0,
    turns: 0,
    calls: 0,
    ...more,
  });
  const clock = { now: () => Date.UTC(2026, 0, 31) };
  const thirty = Array.from({ length: 30 }, (_, ago) => `2026-01-${String(31 - ago).padStart(2, "0")}`);
  const ports = (rows: readonly object[], states: readonly object[] = []) => ({
    usage: {
      timeZone: "UTC",
      ofSession: async (session: string, days: readonly string[]) =>
        session === lane && days.join() === thirty.join() ? rows : [],
    },
    ledger: { states: async () => states },
    clock,
  });
  test("sums what was read, from caches too, apart from what was written", async () => {
    const rows = [
      {
        day: "2026-01-31",
        ...used({
          inputTokens: 400,
          cacheReadTokens: 500,
          cacheWriteTokens: 99,
          outputTokens: 1_000,
          costUsd: 0.0999,
          turns: 1,
        }),
      },
      {
        day: "2026-01-30",
        ...used({ inputTokens: 9_001, outputTokens: 9_000, costUsd: 1, turns: 2, unpricedTokens: 1_500 }),
      },
    ];
    expect(await run(usage, "", ports(rows))).toBe(
      [
        "Today: 999 tokens in, 1.0k out, $0.0999, 1 turn",
        "30 days: 10k tokens in, 10k out, $1.10, 3 turns",
        "Of these 1.5k tokens have no known price and are in no dollars.",
      ].join("\n"),
    );
    expect(await run(usage, "COST", ports([]))).toBe(
      "Today: 0 tokens in, 0 out, $0.00, 0 turns\n30 days: 0 tokens in, 0 out, $0.00, 0 turns",
    );
    expect(await run(usage, "full", ports([]))).toBe(
      "There is no line under my answers to set. /usage alone says what this conversation used, today and in 30 days.",
    );
    const unpriced = [
      { day: "2026-01-31", ...used({ inputTokens: 5, outputTokens: 5, unpricedTokens: 10, turns: 1 }) },
    ];
    expect(((await run(usage, "", ports(unpriced))) ?? "").split("\n")[0]).toBe(
      "Today: 5 tokens in, 5 out, 1 turn",
    );
  });

  test("shows an agent's limits to its owners in private, and to nobody else", async () => {
    const state = {
      agent: "main",
      caps: { dayUsd: 2, dayTokens: 5_000, monthUsd: 30, monthTokens: 90_000 },
      day: used({ inputTokens: 1_000, outputTokens: 200, costUsd: 0.05 }),
      month: used({ inputTokens: 20_000, costUsd: 12 }),
    };
    const all = ports([], [{ ...state, agent: "other", caps: { dayUsd: 9 } }, state]);
    const lines = async (more: object) => ((await run(usage, "", all, more)) ?? "").split("\n").slice(2);
    expect(await lines({ owner: true })).toEqual([
      "Agent main today: $0.0500 of $2.00",
      "Agent main today: 1.2k of 5.0k tokens",
      "Agent main this month: $12.00 of $30.00",
      "Agent main this month: 20k of 90k tokens",
    ]);
    expect(
      await run(usage, "", ports([], [{ ...state, caps: { monthTokens: 90_000 } }]), { owner: true }),
    ).toMatch(/turns\nAgent main this month: 20k of 90k tokens$/);
    expect(await lines({ owner: false })).toEqual([]);
    expect(await lines({ owner: true, inbound: group })).toEqual([]);
  });
});

describe("a command", () => {
  test.each([
    ["/new", { name: "new", args: "" }],
    ["  /NEW  hello \n there ", { name: "new", args: "hello \n there" }],
    ["/new:hello", { name: "new", args: "hello" }],
    ["/new\nhello", { name: "new", args: "hello" }],
    ["/new@other_bot", null],
    ["/new-x", null],
    ["/ new", null],
    ["say /new", null],
    [`/${"a".repeat(32)}`, { name: "a".repeat(32), args: "" }],
    [`/${"a".repeat(33)}`, null],
  ])("%j is read as %j", (text, read) => {
    expect(commandIn(text)).toEqual(read);
  });

  test("carries its words along as a message, or behind the model that it names", () => {
    expect(carriedMessage(undefined, { args: "hello" })).toBeNull();
    expect(carriedMessage("message", { args: "" })).toBeNull();
    expect(carriedMessage("message", { args: "fast hello" })).toBe("fast hello");
    expect(carriedMessage("message", { args: "fast hello you", model: "a/fast" })).toBe("hello you");
    expect(carriedMessage("message", { args: "fast", model: "a/fast" })).toBeNull();
    expect(carriedMessage("model", { args: "fast hello" })).toBe("hello");
    const anew = parseCommand("/new fast hello");
    if (anew === null) throw new Error("/new is no command");
    const find = (word: string): string | null => (word === "fast" ? "a/fast" : null);
    expect(withModel(anew, find)).toEqual({
      name: "new",
      args: "fast hello",
      place: "in-lane",
      model: "a/fast",
    });
    expect(messageAfter(withModel(anew, find))).toBe("hello");
    expect(messageAfter(withModel(anew, () => null))).toBe("fast hello");
  });

  test("is none in words that only begin like one, and answers that are private are known", () => {
    expect(parseCommand("/think high please")).toBeNull();
    expect(parseCommand("/nothing")).toBeNull();
    expect(parseCommand("/models")).toMatchObject({ name: "model", args: "list" });
    expect(knownCommands()).toEqual([...new Set(knownCommands())]);
    expect(["usage", "why", "status"].filter((name) => tellingCommands.includes(name))).toEqual([
      "usage",
      "why",
      "status",
    ]);
  });
});
