// Nothing goes where a message from there would be refused: the two decisions are compared, rule by rule.
import type { DmPolicy, GroupPolicy } from "@parley/config";
import type { Inbound } from "@parley/protocol";
import { directMessage, groupMessage } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { admission, type AccessPolicy, type AdmitOptions } from "../src/admit.ts";
import type { PlaceRules } from "../src/place-rules.ts";
import { mayReach } from "../src/reach.ts";

interface World {
  readonly policy: Partial<AccessPolicy> | null;
  readonly rules?: Partial<PlaceRules>;
  readonly owners?: readonly string[];
  readonly paired?: readonly string[];
}

const optionsOf = (world: World): AdmitOptions => {
  const rules: PlaceRules = {
    policy: "allowlist",
    served: true,
    enabled: true,
    senders: null,
    requireMention: false,
    ...world.rules,
  };
  return {
    policy: () =>
      world.policy === null
        ? null
        : { dmPolicy: "pairing", allowFrom: [], allowBots: false, rules: () => rules, ...world.policy },
    isOwner: async ({ sender }) => world.owners?.includes(sender.id) ?? false,
    pairing: {
      isPaired: async ({ sender }) => world.paired?.includes(sender.id) ?? false,
      ask: async () => ({ kind: "pending" }),
    },
    botLoops: { passes: () => true },
  };
};

async function both(inbound: Inbound, world: World): Promise<readonly [heard: boolean, reached: boolean]> {
  const options = optionsOf(world);
  const admitted = await admission(options)(inbound, { isSlashCommand: false, activation: async () => null });
  return [admitted.kind === "turn", (await mayReach(options)(inbound)) === null];
}

const policies: readonly DmPolicy[] = ["pairing", "allowlist", "open", "disabled"];
const lists = [[], ["5"], ["6"], ["*"]];
const known = [{}, { paired: ["5"] }, { owners: ["5"] }, { paired: ["6"], owners: ["6"] }];

describe("a person is reached exactly where they are heard", () => {
  const worlds = policies.flatMap((dmPolicy) =>
    lists.flatMap((allowFrom) => known.map((who) => ({ dmPolicy, allowFrom, who }))),
  );
  test.each(worlds)(
    "$dmPolicy, allowFrom $allowFrom, known as $who",
    async ({ dmPolicy, allowFrom, who }) => {
      const [heard, reached] = await both(directMessage(), { policy: { dmPolicy, allowFrom }, ...who });
      expect(reached).toBe(heard);
    },
  );
});

describe("a group is reached exactly where it is served", () => {
  const groups: readonly GroupPolicy[] = ["open", "allowlist", "disabled"];
  const worlds = groups.flatMap((policy) =>
    [true, false].flatMap((served) => [true, false].map((enabled) => ({ policy, served, enabled }))),
  );
  test.each(worlds)("$policy, served $served, enabled $enabled", async (rules) => {
    const [heard, reached] = await both(groupMessage({ addressed: true }), { policy: {}, rules });
    expect(reached).toBe(heard);
  });
});

test("no account, no message; programs are never written to", async () => {
  const reach = mayReach(optionsOf({ policy: null, owners: ["5"] }));
  expect(await reach(directMessage())).toBe("there is no account default of telegram");
  const open = mayReach(optionsOf({ policy: { dmPolicy: "open", allowFrom: ["*"] } }));
  const program = directMessage({ address: { channel: "hook", peer: "main/x" } });
  expect(await open(program)).toBe("programs are answered, and never written to");
});

test("each place that may not be written to says why", async () => {
  const why = (world: World, inbound: Inbound = groupMessage()) => mayReach(optionsOf(world))(inbound);
  expect([
    await why({ policy: {}, rules: { policy: "disabled" } }),
    await why({ policy: {}, rules: { served: false } }),
    await why({ policy: {}, rules: { enabled: false } }),
    await why({ policy: { dmPolicy: "disabled", allowFrom: ["5"] } }, directMessage()),
    await why({ policy: {} }, directMessage()),
    await why({ policy: {} }),
  ]).toEqual([
    "groups are disabled on telegram",
    "the config does not serve this place",
    "the config does not serve this place",
    "direct messages are disabled on telegram",
    "this person may not write to the agent",
    null,
  ]);
});
