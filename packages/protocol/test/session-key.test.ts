// The grammar of session keys: the seeds' examples by table, identity and injectivity by property (I14).
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  conversationKey,
  formatSessionKey,
  isAgentId,
  parseConversationKey,
  parseSessionKey,
  reservedWords,
  sessionKeyOf,
  type Address,
  type SessionKeyParts,
} from "../src/index.ts";

const forms: readonly (readonly [string, SessionKeyParts])[] = [
  ["agent:main:main", { kind: "main", agent: "main" }],
  ["agent:main:dm:alice", { kind: "dm", agent: "main", peer: "alice" }],
  ["agent:main:whatsapp:dm:alice", { kind: "dm", agent: "main", channel: "whatsapp", peer: "alice" }],
  [
    "agent:main:whatsapp:work:dm:alice",
    { kind: "dm", agent: "main", channel: "whatsapp", account: "work", peer: "alice" },
  ],
  [
    "agent:main:telegram:default:dm:42",
    { kind: "dm", agent: "main", channel: "telegram", account: "default", peer: "42" },
  ],
  [
    "agent:main:web:dm:web-1:thread:t2",
    { kind: "dm", agent: "main", channel: "web", peer: "web-1", thread: "t2" },
  ],
  [
    "agent:main:telegram:group:-100123",
    { kind: "group", agent: "main", channel: "telegram", account: "default", id: "-100123" },
  ],
  [
    "agent:main:telegram:work:group:-1:topic:7",
    { kind: "group", agent: "main", channel: "telegram", account: "work", id: "-1", topic: "7" },
  ],
  [
    "agent:ops:discord:channel:900719925474099312",
    { kind: "channel", agent: "ops", channel: "discord", account: "default", id: "900719925474099312" },
  ],
  [
    "agent:ops:discord:channel:1:thread:2",
    { kind: "channel", agent: "ops", channel: "discord", account: "default", id: "1", thread: "2" },
  ],
  ["agent:main:subagent:a1", { kind: "subagent", agent: "main", id: "a1" }],
  ["agent:main:cron:daily", { kind: "cron", agent: "main", job: "daily" }],
  ["agent:main:cron:daily:run:9", { kind: "cron", agent: "main", job: "daily", run: "9" }],
  ["agent:main:hook:ci", { kind: "hook", agent: "main", name: "ci" }],
  ["agent:main:api:curl:u1", { kind: "api", agent: "main", client: "curl", user: "u1" }],
];

describe("the forms of the grammar", () => {
  test.each(forms)("%s is read and written", (text, parts) => {
    expect(parseSessionKey(text)).toEqual(parts);
    expect(formatSessionKey(parts)).toBe(text);
  });

  test("direct reads as dm", () => {
    expect(parseSessionKey("agent:main:telegram:direct:42")).toEqual(
      parseSessionKey("agent:main:telegram:dm:42"),
    );
  });

  test.each([
    "",
    "main",
    "agent:",
    "agent:main",
    "agent::main",
    "agent:Main:main",
    "agent:main:main:more",
    "agent:main:dm",
    "agent:main:dm:",
    "agent:main:group:1",
    "agent:main:telegram:group:1:thread:2",
    "agent:main:telegram:channel:1:topic:2",
    "agent:main:telegram:dm:1:thread",
    "agent:main:telegram:work:extra:dm:1",
    "agent:main:thread:dm:1",
    "agent:main:telegram:topic:dm:1",
    "agent:main:cron:a:run",
    "agent:main:cron:a:at:1",
    "agent:main:dm:%41",
    "agent:main:dm:a%",
    "agent:main:dm:a/b",
  ])("%j is malformed and never falls back to a default agent", (text) => {
    expect(() => parseSessionKey(text)).toThrow(/malformed|key part/);
  });

  test("parts that carry separators are encoded", () => {
    const key = formatSessionKey({ kind: "dm", agent: "main", channel: "matrix", peer: "@a:b/c%d\u0000" });
    expect(key).toBe("agent:main:matrix:dm:@a%3Ab%2Fc%25d%00");
    expect(parseSessionKey(key)).toMatchObject({ peer: "@a:b/c%d\u0000" });
  });

  test("words of the grammar cannot name a channel or an account", () => {
    for (const word of reservedWords) {
      expect(() =>
        formatSessionKey({ kind: "group", agent: "main", channel: word, account: "default", id: "1" }),
      ).toThrow(/grammar/);
      expect(() =>
        formatSessionKey({ kind: "group", agent: "main", channel: "x", account: word, id: "1" }),
      ).toThrow(/grammar/);
    }
  });
});

const part = fc.string({ unit: "binary", minLength: 1, maxLength: 12 });
const place = part.filter((word) => !reservedWords.has(word));
const agent = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,10}$/);
const optional = <K extends string, T>(key: K, value: fc.Arbitrary<T>): fc.Arbitrary<{ [P in K]?: T }> =>
  fc
    .option(value, { nil: undefined })
    .map((found) => (found === undefined ? {} : { [key]: found })) as fc.Arbitrary<{ [P in K]?: T }>;

const parts: fc.Arbitrary<SessionKeyParts> = fc.oneof(
  agent.map((name) => ({ kind: "main" as const, agent: name })),
  fc
    .tuple(
      agent,
      fc.oneof(
        fc.constant({}),
        place.map((channel) => ({ channel })),
        fc.tuple(place, place).map(([channel, account]) => ({ channel, account })),
      ),
      part,
      optional("thread", part),
    )
    .map(([name, where, peer, thread]) => ({ kind: "dm" as const, agent: name, ...where, peer, ...thread })),
  fc.tuple(agent, place, place, part, optional("topic", part)).map(([name, channel, account, id, topic]) => ({
    kind: "group" as const,
    agent: name,
    channel,
    account,
    id,
    ...topic,
  })),
  fc
    .tuple(agent, place, place, part, optional("thread", part))
    .map(([name, channel, account, id, thread]) => ({
      kind: "channel" as const,
      agent: name,
      channel,
      account,
      id,
      ...thread,
    })),
  fc.tuple(agent, part).map(([name, id]) => ({ kind: "subagent" as const, agent: name, id })),
  fc
    .tuple(agent, part, optional("run", part))
    .map(([name, job, run]) => ({ kind: "cron" as const, agent: name, job, ...run })),
  fc.tuple(agent, part).map(([name, hook]) => ({ kind: "hook" as const, agent: name, name: hook })),
  fc
    .tuple(agent, part, part)
    .map(([name, client, user]) => ({ kind: "api" as const, agent: name, client, user })),
);

describe("properties", () => {
  test("parse after format is the identity", () => {
    fc.assert(
      fc.property(parts, (key) => {
        expect(parseSessionKey(formatSessionKey(key))).toEqual(key);
      }),
      { numRuns: 2000 },
    );
  });

  test("two different keys are never written alike", () => {
    fc.assert(
      fc.property(parts, parts, (a, b) => {
        if (formatSessionKey(a) === formatSessionKey(b)) expect(a).toEqual(b);
      }),
      { numRuns: 2000 },
    );
  });

  test("any text either parses to a key that is written the same, or throws", () => {
    const word = fc.oneof(fc.constantFrom(...reservedWords, "default", "x", "%3A", ""), part);
    fc.assert(
      fc.property(fc.array(word, { maxLength: 8 }), (words) => {
        const text = ["agent", "main", ...words].join(":");
        let parsed: SessionKeyParts;
        try {
          parsed = parseSessionKey(text);
        } catch {
          return;
        }
        expect(parseSessionKey(formatSessionKey(parsed))).toEqual(parsed);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("the session of an address", () => {
  const dm: Address = { channel: "telegram", account: "work", kind: "dm", peer: "123" };
  const links = { alice: ["telegram:123", "discord:456"] };

  test.each([
    ["main", {}, "agent:main:main"],
    ["per-peer", {}, "agent:main:dm:123"],
    ["per-channel-peer", {}, "agent:main:telegram:dm:123"],
    ["per-account-channel-peer", {}, "agent:main:telegram:work:dm:123"],
    ["main", links, "agent:main:main"],
    ["per-peer", links, "agent:main:dm:alice"],
    ["per-channel-peer", links, "agent:main:telegram:dm:alice"],
    ["per-account-channel-peer", links, "agent:main:telegram:work:dm:alice"],
  ] as const)("scope %s with links %j is %s", (dmScope, identityLinks, key) => {
    expect(sessionKeyOf(dm, { agent: "main", dmScope, identityLinks })).toBe(key);
  });

  test("groups and channels are never shared by a dm scope", () => {
    const scope = { agent: "main", dmScope: "main", identityLinks: {} } as const;
    expect(sessionKeyOf({ ...dm, kind: "group", peer: "-1", thread: "7" }, scope)).toBe(
      "agent:main:telegram:work:group:-1:topic:7",
    );
    expect(
      sessionKeyOf(
        { ...dm, kind: "channel", channel: "discord", account: "default", peer: "9", thread: "8" },
        scope,
      ),
    ).toBe("agent:main:discord:channel:9:thread:8");
  });
});

describe("conversation keys", () => {
  const address = fc
    .tuple(
      part,
      part,
      fc.constantFrom("dm" as const, "group" as const, "channel" as const),
      part,
      optional("thread", part),
    )
    .map(([channel, account, kind, peer, thread]): Address => ({ channel, account, kind, peer, ...thread }));

  test("parse after format is the identity", () => {
    fc.assert(
      fc.property(address, (to) => {
        expect(parseConversationKey(conversationKey(to))).toEqual(to);
      }),
    );
  });

  test.each(["", "telegram:default:dm", "telegram:default:chat:1", "a:b:dm:c:d:e"])(
    "%j is refused",
    (text) => {
      expect(() => parseConversationKey(text)).toThrow();
    },
  );
});

test("a key that its grammar cannot tell from another is refused with the reason", () => {
  const dm = { kind: "dm", agent: "main", peer: "7" } as const;
  for (const [parts, why] of [
    [{ ...dm, account: "work" }, "a dm key with an account needs its channel"],
    [{ ...dm, agent: "Main" }, '"Main" is not an agent id: use a-z, 0-9, "_" and "-", at most 64'],
    [{ ...dm, channel: "dm" }, '"dm" is a word of the session key grammar and cannot name a channel'],
    [
      { ...dm, channel: "telegram", account: "thread" },
      '"thread" is a word of the session key grammar and cannot name an account',
    ],
  ] as const)
    expect(() => formatSessionKey(parts)).toThrow(
      expect.objectContaining({ code: "invalid", message: why }) as Error,
    );
});

test("an agent's id is up to 64 lowercase letters, digits, - and _, and begins with a letter or a digit", () => {
  const ids = [
    "a",
    "0",
    "a-_9",
    "a".repeat(64),
    "",
    "-a",
    "_a",
    "A",
    "a b",
    "a:b",
    "ä",
    "a".repeat(65),
    "a\n",
  ];
  expect(ids.map((id) => isAgentId(id))).toEqual(ids.map((_, index) => index < 4));
  const longest = `agent:${"a".repeat(64)}:main`;
  expect(formatSessionKey(parseSessionKey(longest))).toBe(longest);
  expect(() => parseSessionKey(`agent:${"a".repeat(65)}:main`)).toThrow();
});
