import fc from "fast-check";
import type { GroupPolicy, TelegramAccountConfig, TelegramGroupConfig } from "@parley/config";
import { describe, expect, test } from "vitest";
import { accessPolicy } from "../src/access-policy.ts";
import { migratedChats } from "../src/migrated-chats.ts";
import { telegramRules, type Place, type PlaceRules } from "../src/place-rules.ts";
import { loaded } from "./loaded.ts";
import { groupMessage } from "@parley/testkit";

async function rulesOf(block: string, place: Place): Promise<PlaceRules | undefined> {
  const { channels } = await loaded(
    `{ channels: { ${place.address.channel}: { ${block} } }, agents: { list: [{ id: "main" }, { id: "helper" }] } }`,
  );
  const moved = migratedChats({ list: async () => [], put: async () => null });
  await moved.learn({ channel: "telegram", account: "default" }, "-50", "-500");
  return accessPolicy(channels, moved)(place.address)?.rules(place);
}

const group = (thread?: string, peer = "-100"): Place =>
  groupMessage({ address: { peer, ...(thread === undefined ? {} : { thread }) } });

describe("on Telegram", () => {
  const everybody = null;
  const users = (...ids: string[]): PlaceRules["senders"] => ({ users: ids, roles: [] });
  test.for([
    ["nothing", "", false, users()],
    ["policy open, no map", 'groupPolicy: "open"', true, everybody],
    ["policy open, an empty map", 'groupPolicy: "open", groups: {}', false, everybody],
    ["policy open, another group in the map", 'groupPolicy: "open", groups: { "-9": {} }', false, everybody],
    ["policy open, the group in the map", 'groupPolicy: "open", groups: { "-100": {} }', true, everybody],
    [
      "policy open, the group has a list of its own",
      'groupPolicy: "open", groups: { "-100": { allowFrom: ["7"] } }',
      true,
      users("7"),
    ],
    ["no map but senders", 'groupAllowFrom: ["7"]', false, users("7")],
    ["the group, and nobody in it", 'groups: { "-100": {} }', true, users()],
    [
      "the group, people who may write in private",
      'allowFrom: ["6"], groups: { "-100": {} }',
      true,
      users("6"),
    ],
    [
      "the group, people for groups",
      'allowFrom: ["6"], groupAllowFrom: ["7"], groups: { "-100": {} }',
      true,
      users("7"),
    ],
    [
      "the group, nobody for groups",
      'allowFrom: ["6"], groupAllowFrom: [], groups: { "-100": {} }',
      true,
      users(),
    ],
    ["all groups", 'groups: { "*": { allowFrom: ["*"] } }', true, users("*")],
    [
      "the group beside all groups",
      'groups: { "*": { allowFrom: ["*"] }, "-100": { allowFrom: ["8"] } }',
      true,
      users("8"),
    ],
  ] as const)("with %s: served and heard", async ([, block, served, senders]) => {
    expect(await rulesOf(block, group())).toMatchObject({ served, senders });
  });

  test("a topic inherits what it does not say, narrows tools and skills, and adds its text", async () => {
    const block = `allowFrom: ["6"], groups: { "-100": {
      requireMention: false, allowFrom: ["7"], tools: { allow: ["read", "write"] }, skills: ["a", "b"], systemPrompt: "The group.",
      topics: { "2": { allowFrom: ["8"], requireMention: true, tools: { allow: ["write", "exec"] }, skills: ["b"], systemPrompt: "The topic.", agentId: "helper" },
                "*": { enabled: false } } } }`;
    const whole = {
      served: true,
      enabled: true,
      requireMention: false,
      tools: [{ allow: ["read", "write"] }],
      skills: ["a", "b"],
      systemPrompt: "The group.",
    };
    expect(await rulesOf(block, group())).toEqual({ policy: "allowlist", senders: users("7"), ...whole });
    expect(await rulesOf(block, group("2"))).toEqual({
      policy: "allowlist",
      served: true,
      enabled: true,
      senders: users("8"),
      requireMention: true,
      tools: [{ allow: ["read", "write"] }, { allow: ["write", "exec"] }],
      skills: ["b"],
      systemPrompt: "The group.\n\nThe topic.",
      agent: "helper",
    });
    expect(await rulesOf(block, group("3"))).toEqual({
      policy: "allowlist",
      senders: users("7"),
      ...whole,
      enabled: false,
    });
  });

  test("a topic cannot switch on what its group switched off", async () => {
    expect(
      await rulesOf('groups: { "-100": { enabled: false, topics: { "2": { enabled: true } } } }', group("2")),
    ).toMatchObject({
      enabled: false,
    });
  });

  test("a group that moved keeps its entry, until its new id has one", async () => {
    const old = 'groups: { "-50": { systemPrompt: "old" }';
    expect(await rulesOf(`${old} }`, group(undefined, "-500"))).toMatchObject({
      served: true,
      systemPrompt: "old",
    });
    expect(
      await rulesOf(`${old}, "-500": { systemPrompt: "new" } }`, group(undefined, "-500")),
    ).toMatchObject({ systemPrompt: "new" });
  });

  test("ids that are words of the language find no entry", async () => {
    expect(await rulesOf('groups: { "-9": {} }', group(undefined, "constructor"))).toMatchObject({
      served: false,
    });
  });
});

describe("on Discord", () => {
  const channel = (fields: Partial<Place> = {}, address: Partial<Place["address"]> = {}): Place =>
    groupMessage({
      guild: "1",
      address: { channel: "discord", kind: "channel", peer: "20", ...address },
      ...fields,
    });

  test.for([
    ["no server", "", channel(), false],
    ["another server", 'guilds: { "2": {} }', channel(), false],
    ["the server", 'guilds: { "1": {} }', channel(), true],
    ["all servers", 'guilds: { "*": {} }', channel(), true],
    ["the server with another channel", 'guilds: { "1": { channels: { "21": {} } } }', channel(), false],
    ["the server with the channel", 'guilds: { "1": { channels: { "20": {} } } }', channel(), true],
    ["the server with all channels", 'guilds: { "1": { channels: { "*": {} } } }', channel(), true],
    [
      "the channel above the thread",
      'guilds: { "1": { channels: { "20": {} } } }',
      channel({ parent: "20" }, { peer: "30" }),
      true,
    ],
    [
      "the channel that the thread is in",
      'guilds: { "1": { channels: { "20": {} } } }',
      channel({}, { thread: "30" }),
      true,
    ],
    ["policy open, no server", 'groupPolicy: "open"', channel(), true],
    ["policy open, an empty map", 'groupPolicy: "open", guilds: {}', channel(), false],
  ] as const)("with %s", async ([, block, place, served]) => {
    expect(await rulesOf(block, place)).toMatchObject({ served });
  });

  test("a message without its server is not served, whatever the policy", async () => {
    const nowhere = groupMessage({ address: { channel: "discord", kind: "channel", peer: "20" } });
    for (const block of ['guilds: { "*": {} }', 'groupPolicy: "open"'])
      expect(await rulesOf(block, nowhere)).toMatchObject({ served: false });
  });

  test.for([
    [
      "nobody named: those of the account",
      'allowFrom: ["3"], guilds: { "1": { channels: { "20": {} } } }',
      ["3"],
      [],
    ],
    [
      "the server's people",
      'allowFrom: ["3"], guilds: { "1": { users: ["4"], channels: { "20": {} } } }',
      ["4"],
      [],
    ],
    ["the server's role", 'allowFrom: ["3"], guilds: { "1": { roles: ["9"] } }', [], ["9"]],
    [
      "the channel's before the server's",
      'guilds: { "1": { users: ["4"], roles: ["9"], channels: { "20": { users: ["5"] } } } }',
      ["5"],
      [],
    ],
  ] as const)("%s are heard", async ([, block, users, roles]) => {
    expect(await rulesOf(block, channel())).toMatchObject({ senders: { users, roles } });
  });
});

test("a channel says more exactly than its server when it is heard and who answers, adds its text and narrows", async () => {
  const block = `guilds: { "1": {
      requireMention: false, agentId: "main", systemPrompt: "The server.", skills: ["a", "b"], tools: { allow: ["read", "write"] },
      channels: {
        "20": { requireMention: true, agentId: "helper", systemPrompt: "The channel.", skills: ["b", "c"], tools: { deny: ["write"] } },
        "21": { enabled: false },
        "*": {} } } }`;
  const rules = (peer: string) =>
    rulesOf(block, groupMessage({ guild: "1", address: { channel: "discord", kind: "channel", peer } }));
  const server = {
    enabled: true,
    requireMention: false,
    tools: [{ allow: ["read", "write"] }],
    skills: ["a", "b"],
    systemPrompt: "The server.",
    agent: "main",
  };
  expect(await rules("20")).toMatchObject({
    enabled: true,
    requireMention: true,
    tools: [{ allow: ["read", "write"] }, { deny: ["write"] }],
    skills: ["b"],
    systemPrompt: "The server.\n\nThe channel.",
    agent: "helper",
  });
  expect(await rules("21")).toMatchObject({ ...server, enabled: false });
  expect(await rules("22")).toMatchObject(server);
});

test("a channel says more exactly than its server whether mentions of others are ignored", async () => {
  const block =
    'guilds: { "1": { ignoreOtherMentions: true, channels: { "20": { ignoreOtherMentions: false }, "*": {} } } }';
  for (const [peer, ignores] of [
    ["20", false],
    ["21", true],
  ] as const)
    expect(
      await rulesOf(
        block,
        groupMessage({ guild: "1", address: { channel: "discord", kind: "channel", peer } }),
      ),
    ).toMatchObject({
      ignoresOthersMentions: ignores,
    });
});

describe("taking something out of a list of the config", () => {
  const ids = fc.uniqueArray(fc.constantFrom("5", "6", "*"), { maxLength: 3 });
  const policy = fc.constantFrom<GroupPolicy>("allowlist", "open", "disabled");
  const maybe = { requiredKeys: [] as [] };
  const topic = fc.record({ allowFrom: ids, enabled: fc.boolean() }, maybe);
  const entry = fc.record(
    {
      allowFrom: ids,
      enabled: fc.boolean(),
      groupPolicy: policy,
      topics: fc.dictionary(fc.constantFrom("7", "*"), topic),
    },
    maybe,
  );
  const accounts = fc.record(
    {
      groupPolicy: policy,
      groupAllowFrom: ids,
      groups: fc.dictionary(fc.constantFrom("-100", "-200", "*"), entry),
    },
    { requiredKeys: ["groupPolicy", "groupAllowFrom"] },
  );
  type Account = Pick<TelegramAccountConfig, "groupPolicy" | "groupAllowFrom" | "groups">;

  /** Whether person 5 is heard in topic 7 of group -100. */
  function heard(account: Account): boolean {
    const {
      policy: effective,
      served,
      enabled,
      senders,
    } = telegramRules(account as TelegramAccountConfig, group("7"), ["-100"]);
    const among = senders === null || senders.users.includes("5") || senders.users.includes("*");
    return effective !== "disabled" && served && enabled && among;
  }

  const shorter = (list: readonly string[]): string[][] =>
    list.map((_, index) => list.filter((__, other) => other !== index));
  const without = <E>(map: { readonly [id: string]: E }, id: string): { readonly [id: string]: E } =>
    Object.fromEntries(Object.entries(map).filter(([key]) => key !== id));

  function poorerGroups(groups: {
    readonly [id: string]: TelegramGroupConfig;
  }): { readonly [id: string]: TelegramGroupConfig }[] {
    // An exact entry beside "*" is an exception from it, so taking that out is no narrowing.
    const removable = Object.keys(groups).filter((id) => id === "*" || !("*" in groups));
    return [
      ...removable.map((id) => without(groups, id)),
      ...Object.entries(groups).flatMap(([id, { allowFrom, ...rest }]) =>
        allowFrom === undefined
          ? []
          : shorter(allowFrom).map((list) => ({ ...groups, [id]: { ...rest, allowFrom: list } })),
      ),
    ];
  }

  test("lets nobody in who was not", () => {
    fc.assert(
      fc.property(accounts, (account: Account) => {
        fc.pre(!heard(account));
        const poorer: Account[] = [
          ...shorter(account.groupAllowFrom).map((groupAllowFrom) => ({ ...account, groupAllowFrom })),
          ...(account.groups === undefined
            ? []
            : poorerGroups(account.groups).map((groups) => ({ ...account, groups }))),
        ];
        for (const each of poorer) expect(heard(each)).toBe(false);
      }),
      { numRuns: 2_000 },
    );
  });
});

test.each(["web", "api", "hook", "loopback"])(
  "in a group of %s everybody is heard, but has to call the agent",
  async (name) => {
    const { channels } = await loaded("{}");
    const policy = accessPolicy(channels, migratedChats({ list: async () => [], put: async () => null }));
    const place = groupMessage({ address: { channel: name, account: "default" } });
    const found = policy(place.address);
    expect(found).toMatchObject({ dmPolicy: "open", allowFrom: ["*"], allowBots: false });
    expect(found?.rules(place)).toEqual({
      policy: "open",
      served: true,
      enabled: true,
      senders: null,
      requireMention: true,
    });
  },
);

test("an account that the config does not have has no rules at all", async () => {
  const { channels } = await loaded("{}");
  const policy = accessPolicy(channels, migratedChats({ list: async () => [], put: async () => null }));
  for (const account of ["gone", "constructor"]) expect(policy({ channel: "telegram", account })).toBeNull();
  expect(policy({ channel: "signal", account: "default" })).toBeNull();
});

test("a page is served while it is enabled, programs and the loopback always, and an account that is not there never", async () => {
  const moved = migratedChats({ list: async () => [], put: async () => null });
  const policies = async (web: boolean) => {
    const { channels } = await loaded(
      `{ channels: { web: { enabled: ${web} }, telegram: { } }, agents: { list: [{ id: "main" }] } }`,
    );
    const of = accessPolicy(channels, moved);
    return ["web", "api", "hook", "loopback", "telegram", "discord", "email"].map(
      (channel) => of({ channel, account: "toString" }) !== null,
    );
  };
  expect([await policies(true), await policies(false)]).toEqual([
    [true, true, true, true, false, false, false],
    [false, true, true, true, false, false, false],
  ]);
});

test("a thread's own entry counts before its channel's; a server with a map of channels serves no other, whatever the policy", async () => {
  const place = (peer: string, thread?: string): Place => ({
    ...groupMessage({
      address: { channel: "discord", kind: "channel", peer, ...(thread === undefined ? {} : { thread }) },
    }),
    guild: "1",
  });
  const block =
    'groupPolicy: "open", guilds: { "1": { channels: { "7": { systemPrompt: "Channel." }, "70": { systemPrompt: "Thread." } } } }';
  expect([
    (await rulesOf(block, place("7", "70")))?.systemPrompt,
    (await rulesOf(block, place("7", "71")))?.systemPrompt,
    (await rulesOf(block, place("8")))?.served,
    (await rulesOf(block, place("7")))?.served,
  ]).toEqual(["Thread.", "Channel.", false, true]);
});
