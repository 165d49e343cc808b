import fc from "fast-check";
import type { DmPolicy, GroupPolicy } from "@parley/config";
import type { Inbound } from "@parley/protocol";
import { describe, expect, test } from "vitest";
import { type Activation, admission, type Admission, type AccessPolicy } from "../src/admit.ts";
import { openRules, type PlaceRules } from "../src/place-rules.ts";
import { directMessage, groupMessage } from "@parley/testkit";

interface World {
  readonly policy: Partial<AccessPolicy> | null;
  readonly rules?: Partial<PlaceRules>;
  readonly owners?: readonly string[];
  readonly paired?: readonly string[];
  readonly activation?: Activation;
  readonly isSlashCommand?: boolean;
}

function decide(inbound: Inbound, world: World): Promise<Admission> {
  const rules: PlaceRules = {
    policy: "allowlist",
    served: true,
    enabled: true,
    senders: { users: ["5"], roles: [] },
    requireMention: true,
    ...world.rules,
  };
  const admit = admission({
    policy: () =>
      world.policy === null
        ? null
        : { dmPolicy: "pairing", allowFrom: [], allowBots: false, rules: () => rules, ...world.policy },
    isOwner: async ({ sender }) => world.owners?.includes(sender.id) ?? false,
    pairing: {
      isPaired: async ({ sender }) => world.paired?.includes(sender.id) ?? false,
      ask: async () => ({ kind: "asked", code: "ABCDEFGH" }),
    },
    botLoops: { passes: () => true },
  });
  return admit(inbound, {
    isSlashCommand: world.isSlashCommand ?? false,
    activation: async () => world.activation ?? null,
  });
}

const kindOf = async (inbound: Inbound, world: World): Promise<Admission["kind"]> =>
  (await decide(inbound, world)).kind;

describe("in private", () => {
  const dm = directMessage();
  type Row = readonly [
    policy: DmPolicy,
    allowFrom: readonly string[],
    who: Pick<World, "owners" | "paired">,
    expected: "turn" | "refused",
  ];
  const rows: readonly Row[] = [
    ["pairing", [], {}, "refused"],
    ["pairing", [], { paired: ["5"] }, "turn"],
    ["pairing", [], { owners: ["5"] }, "turn"],
    ["pairing", ["5"], {}, "turn"],
    ["pairing", ["6"], { paired: ["6"] }, "refused"],
    ["pairing", ["*"], {}, "refused"],
    ["allowlist", [], {}, "refused"],
    ["allowlist", ["5"], {}, "turn"],
    ["allowlist", ["6"], { paired: ["5"], owners: ["5"] }, "refused"],
    ["allowlist", ["*"], {}, "refused"],
    ["open", [], {}, "refused"],
    ["open", ["5"], {}, "turn"],
    ["open", ["6"], { paired: ["5"] }, "refused"],
    ["open", ["*"], {}, "turn"],
    ["disabled", ["5", "*"], { paired: ["5"], owners: ["5"] }, "refused"],
  ];
  test.for(rows)("%s with allowFrom %j, known as %j: %s", async ([dmPolicy, allowFrom, who, expected]) => {
    expect(await kindOf(dm, { policy: { dmPolicy, allowFrom }, ...who })).toBe(expected);
  });

  test("a stranger is told the code, once for each request", async () => {
    expect(await decide(dm, { policy: {} })).toMatchObject({
      kind: "refused",
      say: expect.stringContaining("ABCDEFGH"),
    });
  });
});

describe("in a group", () => {
  type Row = readonly [
    policy: GroupPolicy,
    listed: "listed" | "not listed",
    heard: "heard" | "not heard",
    called: "called" | "not called",
    expected: Admission["kind"],
    reason?: RegExp,
  ];
  const rows: readonly Row[] = (["allowlist", "open", "disabled"] as const).flatMap((policy) =>
    (["listed", "not listed"] as const).flatMap((listed) =>
      (["heard", "not heard"] as const).flatMap((heard) =>
        (["called", "not called"] as const).map((called): Row => {
          if (policy === "disabled") return [policy, listed, heard, called, "refused", /disabled/];
          if (listed === "not listed") return [policy, listed, heard, called, "refused", /not listed/];
          if (heard === "not heard") return [policy, listed, heard, called, "refused", /sender/];
          return [policy, listed, heard, called, called === "called" ? "turn" : "context"];
        }),
      ),
    ),
  );
  test.for(rows)(
    "policy %s, group %s, sender %s, %s: %s",
    async ([policy, listed, heard, called, expected, reason]) => {
      const decided = await decide(groupMessage({ addressed: called === "called" }), {
        policy: {},
        rules: {
          policy,
          served: listed === "listed",
          senders: { users: heard === "heard" ? ["5"] : ["6"], roles: [] },
        },
      });
      expect(decided.kind).toBe(expected);
      if (reason !== undefined) expect(decided).toMatchObject({ reason: expect.stringMatching(reason) });
    },
  );

  type Gate = readonly [
    requireMention: boolean,
    activation: Activation | undefined,
    isSlashCommand: boolean,
    expected: "turn" | "context",
  ];
  const gates: readonly Gate[] = [
    [true, undefined, false, "context"],
    [true, undefined, true, "turn"],
    [true, "always", false, "turn"],
    [true, "mention", false, "context"],
    [false, undefined, false, "turn"],
    [false, "always", false, "turn"],
    [false, "mention", false, "context"],
    [false, "mention", true, "turn"],
  ];
  test.for(gates)(
    "uncalled, requireMention %s, activation %s, command %s: %s",
    async ([requireMention, activation, isSlashCommand, expected]) => {
      const world: World = {
        policy: {},
        rules: { requireMention },
        isSlashCommand,
        ...(activation === undefined ? {} : { activation }),
      };
      expect(await kindOf(groupMessage(), world)).toBe(expected);
    },
  );

  test.for([
    ["nobody", { users: [], roles: [] }, "refused"],
    ["another id", { users: ["55"], roles: [] }, "refused"],
    ["the end of the id", { users: ["15"], roles: [] }, "refused"],
    ["everybody", { users: ["*"], roles: [] }, "turn"],
    ["a role of the sender", { users: [], roles: ["9"] }, "turn"],
    ["a wildcard among roles", { users: [], roles: ["*"] }, "refused"],
    ["a role that looks like the sender's id", { users: ["9"], roles: ["5"] }, "refused"],
  ] as const)("where %s is listed: %s", async ([, senders, expected]) => {
    expect(
      await kindOf(groupMessage({ addressed: true, sender: { roles: ["9"] } }), {
        policy: {},
        rules: { senders },
      }),
    ).toBe(expected);
  });

  test("neither pairing nor ownership is a way in", async () => {
    const world: World = {
      policy: {},
      rules: { senders: { users: [], roles: [] } },
      paired: ["5"],
      owners: ["5"],
    };
    expect(await kindOf(groupMessage({ addressed: true }), world)).toBe("refused");
  });

  test("a switched off place is silent for everybody", async () => {
    expect(
      await kindOf(groupMessage({ addressed: true }), {
        policy: {},
        rules: { enabled: false, senders: null },
      }),
    ).toBe("refused");
  });

  test("the group itself, writing as an anonymous admin, is no person of the same number", async () => {
    const anonymous = groupMessage({ addressed: true, sender: { id: "chat:5" } });
    expect(await kindOf(anonymous, { policy: {} })).toBe("refused");
  });
});

test("what mentions others is left to them where the config says so, even where nobody has to call", async () => {
  const rules = { requireMention: false, ignoresOthersMentions: true };
  expect(await kindOf(groupMessage({ mentions: ["6"] }), { policy: {}, rules })).toBe("context");
  expect(await kindOf(groupMessage({ mentions: ["6", "99"], addressed: true }), { policy: {}, rules })).toBe(
    "turn",
  );
  expect(await kindOf(groupMessage(), { policy: {}, rules })).toBe("turn");
  expect(
    await kindOf(groupMessage({ mentions: ["6"] }), { policy: {}, rules: { requireMention: false } }),
  ).toBe("turn");
});

describe("whoever it is", () => {
  test("an account without a policy answers nobody", async () => {
    for (const inbound of [directMessage(), groupMessage({ addressed: true })]) {
      expect(await kindOf(inbound, { policy: null, owners: ["5"], paired: ["5"] })).toBe("refused");
    }
  });

  test("bots are heard only where they are allowed", async () => {
    const bot = groupMessage({ addressed: true, sender: { isBot: true } });
    expect(await kindOf(bot, { policy: {} })).toBe("refused");
    expect(await kindOf(bot, { policy: { allowBots: true } })).toBe("turn");
    expect(await kindOf(bot, { policy: { allowBots: "mentions" } })).toBe("turn");
    const passing = groupMessage({ sender: { isBot: true } });
    expect(
      await kindOf(passing, { policy: { allowBots: "mentions" }, rules: { requireMention: false } }),
    ).toBe("refused");
    const answering = groupMessage({
      addressed: true,
      sender: { isBot: true },
      replyTo: { messageId: "1", toBot: true },
    });
    expect(await kindOf(answering, { policy: { allowBots: "mentions" } })).toBe("refused");
  });
});

const id = fc.constantFrom("1", "2", "12", "*", "chat:1", "");
const ids = fc.uniqueArray(id, { maxLength: 4 });
const worlds = fc.record({
  dmPolicy: fc.constantFrom<DmPolicy>("pairing", "allowlist", "open", "disabled"),
  allowFrom: ids,
  policy: fc.constantFrom<GroupPolicy>("allowlist", "open", "disabled"),
  served: fc.boolean(),
  enabled: fc.boolean(),
  users: ids,
  roles: ids,
  requireMention: fc.boolean(),
  allowBots: fc.constantFrom(false, true, "mentions" as const),
  paired: ids,
  owners: ids,
});
const events = fc.record({
  sender: fc.record({ id, name: fc.string(), isBot: fc.boolean(), roles: ids }),
  addressed: fc.boolean(),
  direct: fc.boolean(),
  mentions: ids,
});
const rank = { refused: 0, context: 1, turn: 2 } as const;

type DrawnWorld = typeof worlds extends fc.Arbitrary<infer W> ? W : never;
type DrawnEvent = typeof events extends fc.Arbitrary<infer E> ? E : never;

async function grantOf(world: DrawnWorld, { direct, ...event }: DrawnEvent): Promise<number> {
  const inbound = direct ? directMessage(event) : groupMessage(event);
  const { dmPolicy, allowFrom, allowBots, users, roles, paired, owners, ...rules } = world;
  const decided = await decide(inbound, {
    policy: { dmPolicy, allowFrom, allowBots },
    rules: { ...rules, senders: { users, roles } },
    paired,
    owners,
  });
  return rank[decided.kind];
}

describe("whatever the config and the event", () => {
  const without = <T>(list: readonly T[]): T[][] =>
    list.map((_, index) => list.filter((__, other) => other !== index));

  test("taking an entry out of any list grants nothing more", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, events, async (world, event) => {
        const before = await grantOf(world, event);
        const poorer = (["allowFrom", "users", "roles", "paired", "owners"] as const).flatMap((key) =>
          without(world[key]).map((list) => ({ ...world, [key]: list })),
        );
        for (const each of poorer) expect(await grantOf(each, event)).toBeLessThanOrEqual(before);
      }),
      { numRuns: 300 },
    );
  });

  test("knowing less of the event grants nothing more", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, events, async (world, event) => {
        const before = await grantOf(world, event);
        const poorer: readonly DrawnEvent[] = [
          { ...event, addressed: false },
          { ...event, mentions: [] },
          { ...event, sender: { ...event.sender, id: "" } },
          ...without(event.sender.roles).map((roles) => ({ ...event, sender: { ...event.sender, roles } })),
        ];
        for (const each of poorer) {
          // In private everything is addressed, whatever the event says.
          if (!event.direct || each.addressed === event.addressed)
            expect(await grantOf(world, each)).toBeLessThanOrEqual(before);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("a name decides nothing, not even one that is an allowed id", async () => {
    await fc.assert(
      fc.asyncProperty(worlds, events, fc.oneof(id, fc.string()), async (world, event, name) => {
        const renamed = { ...event, sender: { ...event.sender, name } };
        expect(await grantOf(world, renamed)).toBe(await grantOf(world, event));
      }),
      { numRuns: 300 },
    );
  });
});

test("what mentions others is left to them also where the session said to answer everything; a call still counts", async () => {
  const world: World = { policy: {}, rules: { ignoresOthersMentions: true }, activation: "always" };
  expect([
    await kindOf(groupMessage({ mentions: ["6"] }), world),
    await kindOf(groupMessage(), world),
    await kindOf(groupMessage({ mentions: ["6"] }), { ...world, isSlashCommand: true }),
  ]).toEqual(["context", "turn", "turn"]);
});

test("whoever is let in has an owner's or a member's authority, or the one that the caller derives", async () => {
  const admit = (authority?: (inbound: Inbound, owner: boolean) => string) =>
    admission({
      policy: () => ({ dmPolicy: "open", allowFrom: ["*"], allowBots: true, rules: () => openRules }),
      isOwner: async ({ account, sender }) => `${account} ${sender.id}` === "work 1",
      pairing: { isPaired: async () => false, ask: async () => ({ kind: "full" }) },
      botLoops: { passes: ({ sender }) => sender.id !== "9" },
      ...(authority === undefined ? {} : { authority }),
    });
  const by = (id: string, account: string, isBot = false) => ({
    ...directMessage({ sender: { id, isBot }, address: { account } }),
    account,
  });
  const none = { isSlashCommand: false, activation: async () => null };
  const own = admit(({ sender }, owner) => `${sender.id} ${owner}`);
  expect([
    await admit()(by("1", "work"), none),
    await admit()(by("1", "home"), none),
    await own(by("1", "work"), none),
    await own(by("2", "work"), none),
    // The loop guard counts bots, and nobody else.
    await admit()(by("9", "work"), none),
    await admit()(by("9", "work", true), none),
    await admit()(by("8", "work", true), none),
  ]).toEqual([
    { kind: "turn", owner: true, authority: "owner" },
    { kind: "turn", owner: false, authority: "member" },
    { kind: "turn", owner: true, authority: "1 true" },
    { kind: "turn", owner: false, authority: "2 false" },
    { kind: "turn", owner: false, authority: "member" },
    { kind: "refused", code: "bot_loop", reason: "two bots answer each other" },
    { kind: "turn", owner: false, authority: "member" },
  ]);
});

test("each refusal has its code and its reason; only a stranger's first asking is answered, with id and code", async () => {
  const asking = (kind: "asked" | "pending" | "full", inbound: Inbound, passes = true) =>
    admission({
      policy: () => ({
        dmPolicy: "pairing",
        allowFrom: ["77"],
        allowBots: true,
        rules: () => ({ policy: "open", served: true, enabled: true, senders: null, requireMention: true }),
      }),
      isOwner: async () => false,
      pairing: {
        isPaired: async () => false,
        ask: async () => (kind === "asked" ? { kind, code: "ABCDEFGH" } : { kind }),
      },
      botLoops: { passes: () => passes },
    })(inbound, { isSlashCommand: false, activation: async () => null });
  const stranger = directMessage({ sender: { id: "5" }, address: { peer: "chat-of-5" } });
  expect(await asking("asked", stranger)).toEqual({
    kind: "refused",
    code: "pairing_asked",
    reason: "pairing asked",
    say: [
      "I do not know you yet, so I cannot answer.",
      "Your telegram id: `5`",
      "Pairing code: `ABCDEFGH`",
      "Ask the operator to run `parley pair approve ABCDEFGH` within an hour.",
    ].join("\n"),
  });
  const refused = (code: string, reason: string) => ({ kind: "refused", code, reason });
  const group = { policy: {}, rules: { senders: null } };
  const bot = groupMessage({ addressed: true, sender: { isBot: true } });
  expect([
    await asking("pending", stranger),
    await asking("full", stranger),
    await asking("asked", bot, false),
    await asking("asked", groupMessage({ sender: { isBot: true } }), false),
    await asking("asked", directMessage({ sender: { id: "77", isBot: true } }), false),
    await asking("asked", groupMessage({ addressed: true }), false),
    await decide(stranger, { policy: null }),
    await decide(directMessage({ sender: { id: "" } }), { policy: {} }),
    await decide(bot, { policy: {} }),
    await decide(stranger, { policy: { dmPolicy: "disabled" } }),
    await decide(stranger, { policy: { dmPolicy: "allowlist" } }),
    await decide(groupMessage(), { ...group, rules: { policy: "disabled" } }),
    await decide(groupMessage(), { ...group, rules: { served: false } }),
    await decide(groupMessage(), { ...group, rules: { enabled: false } }),
    await decide(groupMessage(), { ...group, rules: { senders: { users: [], roles: [] } } }),
  ]).toEqual([
    refused("pairing_pending", "pairing is pending"),
    refused("too_many_pairings", "too many pairing requests"),
    refused("bot_loop", "two bots answer each other"),
    { kind: "context" },
    refused("bot_loop", "two bots answer each other"),
    { kind: "turn", owner: false, authority: "member" },
    refused("no_policy", "no policy for this account"),
    refused("no_sender_id", "the sender has no id"),
    refused("sender_is_bot", "sender is a bot"),
    refused("dm_disabled", "direct messages are disabled"),
    refused("not_in_allow_from", "sender is not in allowFrom"),
    refused("group_disabled", "groups are disabled"),
    refused("group_not_listed", "this group is not listed"),
    refused("place_off", "this place is switched off"),
    refused("sender_not_in_group", "sender may not speak in this group"),
  ]);
});
