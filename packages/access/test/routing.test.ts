import fc from "fast-check";
import type { SessionKey } from "@parley/protocol";
import type { BindingConfig } from "@parley/config";
import { describe, expect, test } from "vitest";
import { migratedChats } from "../src/migrated-chats.ts";
import { router, type Routable, type RouteOptions } from "../src/routing.ts";
import { loaded } from "./loaded.ts";
import { directMessage, groupMessage } from "@parley/testkit";

const nothingMoved = migratedChats({ list: async () => [], put: async () => null });

function agentFor(
  message: Routable,
  bindings: readonly BindingConfig[],
  more: Partial<RouteOptions> = {},
): string {
  const agents = ["main", ...bindings.map((binding) => binding.agentId)];
  const route = router({
    agents,
    bindings,
    dmScope: "per-channel-peer",
    identityLinks: {},
    rules: () => null,
    moved: nothingMoved,
    handedOver: () => null,
    ...more,
  });
  return route(message).agent;
}

test("a webhook's call belongs to its session, also where its answer goes to a chat", () => {
  const call = directMessage({ sender: { id: "main/ci" } });
  const route = router({
    agents: ["main"],
    bindings: [],
    dmScope: "main",
    identityLinks: {},
    rules: () => null,
    moved: nothingMoved,
    handedOver: () => null,
  });
  expect(route({ ...call, channel: "hook" })).toEqual({ agent: "main", session: "agent:main:hook:ci" });
  expect(route(call).session).toBe("agent:main:main");
});

/** A message in thread 70 under channel 7 of server 1, by somebody with role 9. */
const inThread = groupMessage({
  address: { channel: "discord", account: "work", kind: "channel", peer: "70" },
  parent: "7",
  guild: "1",
  sender: { roles: ["8", "9"] },
});

const at = { channel: "discord", accountId: "work" } as const;
/** The most specific first: DESIGN 5. */
const tiers: readonly (readonly [tier: string, match: BindingConfig["match"]])[] = [
  ["peer", { ...at, peer: { kind: "channel", id: "70" } }],
  ["parent peer", { ...at, peer: { kind: "channel", id: "7" } }],
  ["any peer", { ...at, peer: { kind: "channel", id: "*" } }],
  ["server and roles", { ...at, guildId: "1", roles: ["9"] }],
  ["server", { ...at, guildId: "1" }],
  ["account", at],
  ["channel", { channel: "discord", accountId: "*" }],
];
const pairs = tiers.flatMap(([upper, upperMatch], index) =>
  tiers.slice(index + 1).map(([lower, lowerMatch]) => [upper, lower, upperMatch, lowerMatch] as const),
);

describe("of two bindings that match", () => {
  test.for(pairs)("%s comes before %s, whichever stands first", ([, , upper, lower]) => {
    const bindings = [
      { agentId: "upper", match: upper },
      { agentId: "lower", match: lower },
    ];
    expect(agentFor(inThread, bindings)).toBe("upper");
    expect(agentFor(inThread, bindings.toReversed())).toBe("upper");
  });

  test.for(tiers)("the first of two that say the same wins: %s", ([, match]) => {
    expect(
      agentFor(inThread, [
        { agentId: "first", match },
        { agentId: "second", match },
      ]),
    ).toBe("first");
  });
});

describe("a binding matches only where all that it says holds", () => {
  const peer = { kind: "channel", id: "70" } as const;
  const others: readonly (readonly [string, BindingConfig["match"]])[] = [
    ["another channel", { channel: "telegram", accountId: "*", peer }],
    ["another account", { channel: "discord", accountId: "default", peer }],
    ["another kind of peer", { ...at, peer: { kind: "group", id: "70" } }],
    ["another peer", { ...at, peer: { kind: "channel", id: "700" } }],
    ["the peer on another server", { ...at, peer, guildId: "2" }],
    ["the peer with a role that the sender has not", { ...at, peer, guildId: "1", roles: ["90"] }],
    ["the server with a role that the sender has not", { ...at, guildId: "1", roles: ["90"] }],
  ];
  test.for(others)("%s: the default agent answers", ([, match]) => {
    expect(agentFor(inThread, [{ agentId: "other", match }])).toBe("main");
  });

  test("without its roles the sender matches no role", () => {
    expect(
      agentFor({ ...inThread, sender: undefined } as never, [
        { agentId: "other", match: { ...at, guildId: "1", roles: ["9"] } },
      ]),
    ).toBe("main");
  });
});

describe("threads and topics", () => {
  test("a forum topic goes where its group goes, and its id is no peer", () => {
    const topic = groupMessage({ address: { thread: "7" } });
    const bound = (id: string): string =>
      agentFor(topic, [
        {
          agentId: "bound",
          match: { channel: "telegram", accountId: "default", peer: { kind: "group", id } },
        },
      ]);
    expect([bound("-100"), bound("7")]).toEqual(["bound", "main"]);
  });

  test("a thread that is named by its channel and its own id is found by either, by its own first", () => {
    const thread = groupMessage({
      address: { ...at, account: "work", kind: "channel", peer: "7", thread: "70" },
    });
    const own: BindingConfig = { agentId: "own", match: { ...at, peer: { kind: "channel", id: "70" } } };
    const parent: BindingConfig = { agentId: "parent", match: { ...at, peer: { kind: "channel", id: "7" } } };
    expect(agentFor(thread, [parent])).toBe("parent");
    expect(agentFor(thread, [parent, own])).toBe("own");
  });

  test("the agent of a topic's own entry comes before every binding, and not in private", () => {
    const bindings: readonly BindingConfig[] = [
      {
        agentId: "bound",
        match: { channel: "telegram", accountId: "default", peer: { kind: "group", id: "-100" } },
      },
    ];
    const rules = () => ({ agent: "topical" });
    expect(agentFor(groupMessage(), bindings, { rules, agents: ["main", "bound", "topical"] })).toBe(
      "topical",
    );
    expect(agentFor(directMessage(), bindings, { rules })).toBe("main");
  });
});

describe("a conversation that was handed over", () => {
  const handedOver = () => "agent:main:telegram:dm:1" as SessionKey;
  const base = {
    agents: ["main"],
    bindings: [],
    dmScope: "per-peer",
    identityLinks: {},
    rules: () => null,
    moved: nothingMoved,
  } as const;
  test("goes to the session that it was handed over from, when that agent is still there", () => {
    expect(router({ ...base, handedOver })(directMessage()).session).toBe("agent:main:telegram:dm:1");
    expect(router({ ...base, agents: ["solo"], handedOver })(directMessage()).agent).toBe("solo");
  });
  test("may be a thread that a sub-agent works in, of this agent or another one that there is", () => {
    const worker = "agent:main:subagent:0123456789ab-1" as SessionKey;
    const route = router({ ...base, handedOver: ({ kind }) => (kind === "group" ? worker : null) });
    expect(route(groupMessage())).toEqual({ agent: "main", session: worker });
  });
});

describe("where nothing matches", () => {
  const bare = {
    bindings: [],
    dmScope: "main",
    identityLinks: {},
    rules: () => null,
    moved: nothingMoved,
    handedOver: () => null,
  } as const;
  test("one agent alone answers, whatever its name", () => {
    expect(router({ ...bare, agents: ["solo"] })(directMessage()).agent).toBe("solo");
  });
  test("of several agents main answers, not the first", () => {
    expect(router({ ...bare, agents: ["a", "main"] })(directMessage()).agent).toBe("main");
  });
  test("several agents without main are an error that says what to do", () => {
    expect(() => router({ ...bare, agents: ["a", "b"] })(directMessage())).toThrow(
      /no agent is bound to telegram:default.*add a binding/,
    );
  });
});

describe("the session", () => {
  const identityLinks = { alice: ["telegram:5", "discord:6"] };
  const key = (message: Routable, more: Partial<RouteOptions> = {}): string =>
    router({
      agents: ["main"],
      bindings: [],
      dmScope: "per-channel-peer",
      identityLinks: {},
      rules: () => null,
      moved: nothingMoved,
      handedOver: () => null,
      ...more,
    })(message).session;

  test.for([
    ["main", "agent:main:main", "agent:main:main"],
    ["per-peer", "agent:main:dm:5", "agent:main:dm:alice"],
    ["per-channel-peer", "agent:main:telegram:dm:5", "agent:main:telegram:dm:alice"],
    ["per-account-channel-peer", "agent:main:telegram:work:dm:5", "agent:main:telegram:work:dm:alice"],
  ] as const)("in scope %s is %s, and %s for a linked person", ([dmScope, plain, linked]) => {
    const message = directMessage({ address: { account: "work" } });
    expect([key(message, { dmScope }), key(message, { dmScope, identityLinks })]).toEqual([plain, linked]);
  });

  test("takes its scope from the binding before the config's", () => {
    const bindings: readonly BindingConfig[] = [
      {
        agentId: "main",
        match: { channel: "telegram", accountId: "default" },
        session: { dmScope: "per-peer" },
      },
    ];
    expect(key(directMessage(), { bindings })).toBe("agent:main:dm:5");
  });

  test("of a group that moved is the one that it had", async () => {
    const moved = migratedChats({ list: async () => [], put: async () => null });
    await moved.learn({ channel: "telegram", account: "default" }, "-100", "-200");
    const bindings: readonly BindingConfig[] = [
      {
        agentId: "bound",
        match: { channel: "telegram", accountId: "default", peer: { kind: "group", id: "-100" } },
      },
    ];
    const now = groupMessage({ address: { peer: "-200" } });
    expect(key(now, { moved, bindings, agents: ["main", "bound"] })).toBe("agent:bound:telegram:group:-100");
    expect(key(now)).toBe("agent:main:telegram:group:-200");
  });

  test("is one for two messages only where kind, chat and thread are the same", () => {
    const place = fc.record({
      kind: fc.constantFrom("dm" as const, "group" as const, "channel" as const),
      peer: fc.constantFrom("1", "2", "1:topic:2", "topic"),
      account: fc.constantFrom("default", "work"),
      thread: fc.option(fc.constantFrom("1", "2"), { nil: undefined }),
    });
    fc.assert(
      fc.property(place, place, ({ thread: a, ...first }, { thread: b, ...second }) => {
        const keyOf = (address: typeof first, thread: string | undefined): string =>
          key(groupMessage({ address: { ...address, ...(thread === undefined ? {} : { thread }) } }), {
            dmScope: "per-account-channel-peer",
          });
        const same = JSON.stringify([first, a ?? null]) === JSON.stringify([second, b ?? null]);
        expect(keyOf(first, a) === keyOf(second, b)).toBe(same);
      }),
    );
  });
});

test("bindings come from the config as they are written there", async () => {
  const config = await loaded(
    '{ agents: { list: [{ id: "main" }, { id: "private" }, { id: "club" }] }, bindings: [{ agentId: "private", match: { channel: "telegram", peer: { kind: "direct", id: "5" } } }, { agentId: "club", match: { channel: "telegram", accountId: "*", peer: { kind: "group", id: "*" } } }] }',
  );
  expect(agentFor(directMessage(), config.bindings)).toBe("private");
  expect(agentFor(directMessage({ sender: { id: "6" } }), config.bindings)).toBe("main");
  expect(agentFor(groupMessage(), config.bindings)).toBe("club");
});

test("a program's agent must be there; a binding for a server takes no private chat, and only a page's guest leaves the main session", () => {
  const base = {
    bindings: [],
    identityLinks: {},
    rules: () => null,
    moved: nothingMoved,
    handedOver: () => null,
  } as const;
  const gone = directMessage({ address: { channel: "api", peer: "gone/web-1/eve" } });
  expect(() => router({ ...base, agents: ["main"], dmScope: "main" })({ ...gone, channel: "api" })).toThrow(
    'there is no agent "gone" in agents.list',
  );
  const bindings: readonly BindingConfig[] = [
    { agentId: "club", match: { channel: "discord", accountId: "*", guildId: "1" } },
    { agentId: "first", match: { channel: "discord", accountId: "*" } },
    { agentId: "second", match: { channel: "discord", accountId: "*" } },
  ];
  const on = (message: Routable): string => agentFor(message, bindings);
  const discord = { channel: "discord", account: "default" } as const;
  expect([
    on(directMessage({ address: discord })),
    on(groupMessage({ address: discord, guild: "1" })),
    on(groupMessage({ address: discord, guild: "2" })),
  ]).toEqual(["first", "club", "first"]);
  const session = (message: Routable): string =>
    router({ ...base, agents: ["main"], dmScope: "main" })(message).session;
  const guest = { roles: ["guest"] };
  expect([
    session(directMessage({ sender: guest })),
    session(directMessage({ address: { channel: "web" }, sender: guest })),
    session(directMessage({ address: { channel: "web" } })),
  ]).toEqual(["agent:main:main", "agent:main:web:dm:5", "agent:main:main"]);
});
