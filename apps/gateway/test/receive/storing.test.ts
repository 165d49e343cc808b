// What becomes of a batch of events on its way into the store: in which order rows and answers are written,
// what is told to whom, what comes again, what is taken back, and what holds up what. The store is a list of
// calls.
import {
  Fault,
  type FaultCode,
  formatRowPayload,
  parseRowPayload,
  type ChannelEvent,
  type Inbound,
  type Log,
} from "@parley/protocol";
import { directMessage, groupMessage } from "@parley/testkit";
import { expect, test } from "vitest";
import { endsWaiting } from "../../src/receive/end-waiting.ts";
import { receiver } from "../../src/receive/receive.ts";

interface Around {
  /** What the store says of each accepted row. */
  readonly verdict?: (id: string) => string;
  readonly rows?: { readonly [id: string]: object };
  readonly acts?: (name: string) => Promise<string | null>;
  readonly admit?: (inbound: Inbound) => Promise<object>;
  readonly read?: (event: Inbound) => object;
  readonly mode?: string;
  readonly stopped?: (ids: readonly string[]) => readonly string[];
}

function receiving(around: Around = {}) {
  const did: unknown[] = [];
  const stored = new Map(Object.entries(around.rows ?? {}));
  const say = (level: string) => (fields: object, words: string) => did.push([level, words, fields]);
  const log = {
    debug: say("debug"),
    info: say("info"),
    warn: say("warn"),
    error: say("error"),
  } as never as Log;
  const receive = receiver({
    sessions: { open: async () => ({ fields: {} }) },
    inbox: {
      find: async ({ id, state }: { readonly id?: string; readonly state?: string }) => {
        const row = stored.get(id ?? "") as { readonly state?: string } | undefined;
        return row === undefined || (state !== undefined && row.state !== state) ? [] : [row];
      },
      accept: async (rows: readonly { id: string; as: { kind: string; outcome?: string } }[]) => {
        did.push(["accepts", ...rows.map(({ id, as }) => `${id} ${as.outcome ?? as.kind}`)]);
        for (const row of rows) stored.set(row.id, { id: row.id, state: "closed", lane: "l" });
        return rows.map(({ id }, nth) => ({
          id,
          verdict: around.verdict?.(id) ?? "queued",
          waiting: nth,
          seq: nth,
        }));
      },
      stop: async (lane: string, what: { rows: { ids: readonly string[] } }) => {
        did.push(["stops", lane, what]);
        return { rows: around.stopped?.(what.rows.ids) ?? what.rows.ids };
      },
    },
    outbox: {
      post: async (posted: readonly object[]) =>
        void did.push([
          "posts",
          ...posted.map((each) => {
            const { id, cause, passes = false } = each as { id: string; cause: string; passes?: boolean };
            return `${id} of ${cause}${passes ? ", passing" : ""}`;
          }),
        ]),
    },
    admit: around.admit ?? (async () => ({ kind: "turn", owner: true, authority: "owner" })),
    route: () => ({ agent: "main", session: "agent:main:telegram:dm:5" }),
    skillCalled: async () => null,
    questionHere: async () => null,
    modelNamed: () => null,
    buttonPresses: {
      read: async (event: Inbound) => around.read?.(event) ?? { inbound: event, commands: true },
      claim: async () => true,
      acknowledge: async (events: readonly ChannelEvent[]) => did.push(["acknowledges", events.length]),
    },
    readReaction: async (event: Inbound) => event,
    spokenIn: async () => ({ fields: {} }),
    refusals: { note: (code: string) => did.push(["refusal", code]) },
    messageLimits: { over: async () => null },
    limits: { owners: false },
    bootAtMs: 0,
    queue: { mode: around.mode ?? "steer", debounceMs: 0, cap: 20, drop: "old" },
    contextRows: 5,
    log,
    runPastLane: async ({ name, args }: { name: string; args: string }) => {
      did.push(`acts /${name} ${args}`.trimEnd());
      return around.acts === undefined ? `did ${name}` : around.acts(name);
    },
    queueOverflow: async (
      row: { id: string },
      { waiting }: { waiting: number },
      { mode }: { mode: string },
    ) => void did.push(`overflow ${row.id} ${waiting} ${mode}`),
    heard: (session: string, { text }: Inbound) => did.push(`heard ${text} in ${session}`),
    commanded: (name: string, session: string, { id }: Inbound) =>
      did.push(`commanded ${name} ${id} in ${session}`),
  } as never);
  return { did, receive };
}

const session = "agent:main:telegram:dm:5";
const said = (id: string, text: string, more: object = {}): Inbound => directMessage({ id, text, ...more });
const received = (id: string, waiting: number, level = "info", verdict = "queued") => [
  level,
  "received",
  { rows: [id], lane: session, verdict, waiting },
];

test("a batch is written at once, and each new message is told of behind it, a repeat is not", async () => {
  const verdicts: { readonly [id: string]: string } = {
    b: "duplicate",
    c: "context",
    d: "closed",
    e: "replaced",
    f: "late",
  };
  const { did, receive } = receiving({ verdict: (id) => verdicts[id] ?? "queued" });
  const all = ["one", "two", "three", "four", "five", "six"].map((text, at) =>
    said("abcdef"[at] ?? "", text),
  );
  expect(await receive(all)).toEqual({ refused: [] });
  expect(did).toEqual([
    ["accepts", ..."abcdef".split("").map((id) => `${id} work`)],
    received("a", 0),
    `heard one in ${session}`,
    "overflow a 0 steer",
    received("b", 1, "info", "duplicate"),
    received("c", 2, "info", "context"),
    `heard three in ${session}`,
    // Where no history of a group is kept, it was heard all the same.
    received("d", 3, "info", "closed"),
    `heard four in ${session}`,
    received("e", 4, "info", "replaced"),
    received("f", 5, "info", "late"),
    ["acknowledges", 6],
  ]);
});

test("nothing is written of nothing", async () => {
  const { did, receive } = receiving();
  expect(await receive([])).toEqual({ refused: [] });
  expect(did).toEqual([["acknowledges", 0]]);
});

test("a command past the lane acts behind what came before it and before what comes after, and its answer is written first", async () => {
  const { did, receive } = receiving();
  await receive([said("a", "one"), said("b", "/stop it"), said("c", "three")]);
  expect(did).toEqual([
    ["accepts", "a work"],
    received("a", 0),
    `heard one in ${session}`,
    "overflow a 0 steer",
    "acts /stop it",
    ["posts", "notice:b of b, passing"],
    ["accepts", "b commanded"],
    received("b", 0),
    `commanded stop b in ${session}`,
    ["accepts", "c work"],
    received("c", 0),
    `heard three in ${session}`,
    "overflow c 0 steer",
    ["acknowledges", 3],
  ]);
  did.length = 0;
  await receive([said("b", "/stop it")]);
  expect(did).toEqual([["acknowledges", 1]]);
});

test("a command without an answer posts none; one that fails is answered and logged; a store that is away holds it back", async () => {
  const silent = receiving({ acts: async () => null });
  await silent.receive([said("a", "/stop")]);
  expect(silent.did.filter((each) => Array.isArray(each) && each[0] === "posts")).toEqual([]);
  const flaw = new TypeError("flaw");
  const failing = receiving({ acts: () => Promise.reject(flaw) });
  await failing.receive([said("a", "/stop")]);
  expect(failing.did.slice(1, 4)).toEqual([
    ["error", "a command failed", { rows: ["a"], command: "stop", error: flaw }],
    ["posts", "notice:a of a, passing"],
    ["accepts", "a commanded"],
  ]);
  const refused = receiving({ acts: () => Promise.reject(new Fault("denied", "no")) });
  await refused.receive([said("a", "/stop")]);
  expect(refused.did).toContainEqual(["accepts", "a commanded"]);
  for (const code of ["unavailable", "ambiguous"] as const) {
    const away = receiving({ acts: () => Promise.reject(new Fault(code, "away")) });
    await expect(away.receive([said("a", "/stop"), said("b", "two")])).rejects.toThrow("away");
    expect(away.did).toEqual(["acts /stop"]);
  }
});

test("what is refused in silence is named to the channel, what is told or let in is not, and its line is quiet", async () => {
  const { did, receive } = receiving({
    admit: async ({ text }) =>
      text === "in"
        ? { kind: "turn", owner: false, authority: "member" }
        : {
            kind: "refused",
            code: "pairing_asked",
            reason: "asked",
            ...(text === "told" ? { say: "code" } : {}),
          },
  });
  expect(
    await receive([said("a", "silent"), said("b", "told"), said("c", "in"), said("d", "silent")]),
  ).toEqual({
    refused: ["a", "d"],
  });
  expect(did.slice(3)).toEqual([
    ["accepts", "a refused", "b refused", "c work", "d refused"],
    ["posts", "notice:b of b"],
    received("a", 0, "debug"),
    received("b", 1, "debug"),
    received("c", 2),
    `heard in in ${session}`,
    "overflow c 2 steer",
    received("d", 3, "debug"),
    ["acknowledges", 4],
  ]);
});

test("an event that meets a flaw is put aside whole and holds up nothing; a store that is away holds up all", async () => {
  const broken = said("b", "two");
  const mutter = groupMessage({ id: "c", text: "three", addressed: false });
  const { did, receive } = receiving({
    read: (event) => {
      if (event.id !== "a") throw new TypeError("flaw");
      return { inbound: event, commands: true };
    },
  });
  expect(await receive([broken, mutter, said("a", "one")])).toEqual({ refused: [] });
  expect(did.slice(0, 4)).toEqual([
    ["error", "an event met a bug and is put aside", { rows: ["b"], error: new TypeError("flaw") }],
    ["error", "an event met a bug and is put aside", { rows: ["c"], error: new TypeError("flaw") }],
    ["accepts", "b dead", "c dead", "a work"],
    // Whoever called is told, whoever only talked is not.
    ["posts", "notice:b of b"],
  ]);
  const failing = (code: FaultCode) =>
    receiving({
      read: () => {
        throw new Fault(code, "away");
      },
    });
  for (const code of ["unavailable", "ambiguous", "conflict"] as const) {
    const away = failing(code);
    await expect(away.receive([said("a", "one")])).rejects.toThrow("away");
    expect(away.did).toEqual([]);
  }
  // What no repeat heals would come again for ever, and nothing behind it.
  for (const code of ["invalid", "unsupported", "denied", "missing"] as const) {
    const hopeless = failing(code);
    await hopeless.receive([said("a", "one")]);
    expect(hopeless.did).toContainEqual(["accepts", "a dead"]);
  }
});

test("what the store refuses before a command is not acknowledged because the command is put aside", async () => {
  const refusing = (times: number) => {
    let left = times;
    return receiving({
      verdict: () => {
        left -= 1;
        if (left >= 0) throw new Fault("invalid", "no");
        return "queued";
      },
    });
  };
  const once = refusing(1);
  await once.receive([said("a", "one"), said("b", "/stop")]);
  expect(once.did).toContainEqual(["accepts", "a work", "b dead"]);
  await expect(refusing(2).receive([said("a", "one"), said("b", "/stop")])).rejects.toThrow("no");
});

test("what cannot be read keeps its place among the others, and is no silent refusal", async () => {
  const { did, receive } = receiving();
  const torn = {
    kind: "unreadable",
    id: "u",
    channel: "telegram",
    account: "default",
    raw: "{",
    reason: "torn",
  } as const;
  const { address, sender } = said("x", "");
  expect(
    await receive([
      said("a", "one"),
      torn,
      { ...torn, id: "v", from: { address, sender } },
      said("b", "two"),
    ]),
  ).toEqual({ refused: [] });
  expect(did.slice(0, 2)).toEqual([
    ["accepts", "a work", "u dead", "v dead", "b work"],
    ["posts", "notice:v of v"],
  ]);
  expect(did.filter((each) => Array.isArray(each) && each[0] === "info")).toMatchObject([
    ["info", "received", { rows: ["a"], lane: session }],
    ["info", "received", { rows: ["u"], lane: "agent:main:hook:unreadable" }],
    ["info", "received", { rows: ["v"], lane: "agent:main:hook:unreadable" }],
    ["info", "received", { rows: ["b"], lane: session }],
  ]);
});

test("a deleted message that waits is taken back, and what stood behind its command; one that was read is not", async () => {
  const rows = {
    m1: { id: "m1", state: "waiting", lane: "agent:main:telegram:dm:1" },
    "m1/message": { id: "m1/message", state: "waiting", lane: "agent:main:telegram:dm:1" },
    m2: { id: "m2", state: "claimed", lane: "agent:main:telegram:dm:2" },
    m3: { id: "m3", state: "waiting", lane: "agent:main:telegram:dm:3" },
  };
  const { did, receive } = receiving({ rows, stopped: (ids) => ids.filter((id) => id !== "m3") });
  await receive([
    said("a", "one"),
    { kind: "deletion", id: "d", channel: "discord", account: "x", messages: ["m1", "m2", "m3", "m4"] },
  ]);
  const stops = (id: string, lane: string) => [
    "stops",
    lane,
    { rows: { ids: [id] }, outcome: "superseded", reason: "the message was deleted" },
  ];
  expect(did.slice(4)).toEqual([
    stops("m1", rows.m1.lane),
    ["info", "taken back", { rows: ["m1"], lane: rows.m1.lane }],
    stops("m1/message", rows.m1.lane),
    ["info", "taken back", { rows: ["m1/message"], lane: rows.m1.lane }],
    stops("m3", rows.m3.lane),
    ["acknowledges", 2],
  ]);
});

function ending(rows: { readonly [id: string]: string | null }, more: { readonly fails?: boolean } = {}) {
  const did: unknown[] = [];
  const inbox = endsWaiting({
    inbox: {
      other: "kept",
      find: async ({ id, dismissed }: { id: string; dismissed: boolean }) => {
        if (more.fails === true) throw new Fault("unavailable", "away");
        const payload = rows[id];
        return payload === null || payload === undefined || !dismissed
          ? []
          : [{ id, payload, conversation: `of ${id}` }];
      },
      stop: async (lane: string) => (did.push(`stops ${lane}`), { rows: Object.keys(rows), turn: "t" }),
    } as never,
    outbox: { post: async (posted) => void did.push(...posted) },
    shows: (account) => account === "discord:work",
    log: { info: (fields: object, words: string) => did.push([words, fields]) } as never,
  });
  return { did, inbox };
}

test("what leaves the queue without a turn ends the waiting that its platform shows, of its own command alone", async () => {
  const from = (kind: string, account = "work", channel = "discord") =>
    formatRowPayload({
      v: 1,
      owner: false,
      inbound: directMessage({
        kind: kind as Inbound["kind"],
        channel,
        account,
        address: { channel, account, kind: "dm", peer: "9" },
      }),
    });
  const { did, inbox } = ending({
    a: from("command"),
    b: from("message"),
    c: from("command", "home"),
    d: "",
    e: null,
    f: from("command"),
  });
  expect(parseRowPayload(from("command")).inbound.address.account).toBe("work");
  expect(await inbox.stop("lane" as never, { turn: "t", reason: "r" } as never)).toEqual({
    rows: ["a", "b", "c", "d", "e", "f"],
    turn: "t",
  });
  const end = (id: string) => ({
    id: `${id}/unanswered`,
    pool: "discord:work",
    lane: `of ${id}`,
    cause: id,
    parts: [{ content: JSON.stringify({ v: 1, kind: "remove" }) }],
  });
  expect(did).toEqual(["stops lane", end("a"), end("f")]);
  expect((inbox as never as { other: string }).other).toBe("kept");
  const many = ending(
    Object.fromEntries(Array.from({ length: 101 }, (_, nth) => [`r${nth}`, from("command")])),
  );
  await many.inbox.stop("lane" as never, {} as never);
  expect(many.did).toHaveLength(101);
  const none = ending({ b: from("message") });
  await none.inbox.stop("lane" as never, {} as never);
  expect(none.did).toEqual(["stops lane"]);
  const away = ending({ a: from("command") }, { fails: true });
  expect(await away.inbox.stop("lane" as never, {} as never)).toEqual({ rows: ["a"], turn: "t" });
  expect(away.did).toEqual([
    "stops lane",
    ["could not look up whose waiting to end", { lane: "lane", error: new Fault("unavailable", "away") }],
  ]);
});
