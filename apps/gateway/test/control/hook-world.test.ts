// What calls of webhooks reach at the moment: which places count as known, and by which words models are.
import { conversationKey, type Address } from "@parley/protocol";
import { virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { hookWorld } from "../../src/api/hook-world.ts";
import { live, perConfig } from "../../src/message-path/live.ts";
import { lane, operateFixture } from "../operator/operate-fixture.ts";

const place = (more: Partial<Address>): Address => ({
  channel: "telegram",
  account: "home",
  kind: "dm",
  peer: "1",
  ...more,
});

test("a place is known where somebody wrote from it, where the config names it, and where the agent is at home", async () => {
  const at = await operateFixture();
  await at.store.sessions.open(lane);
  await at.accept("wrote", { conversation: conversationKey(place({ peer: "5" })) });
  const refused: unknown[] = [];
  const world = hookWorld({
    configNow: () =>
      ({
        agents: { list: [{ id: "main" }, { id: "tea" }] },
        channels: {
          telegram: {
            home: { allowFrom: ["1", "*"], groups: { "-1": {} } },
            work: { allowFrom: ["2"] },
          },
        },
      }) as never,
    path: {
      schedules: {
        homeOf: async (agent: string) => ({ place: agent === "main" ? place({ peer: "9" }) : null }),
      },
      models: {
        find: async ({ id }: { id: string }, word: string) =>
          word === "opus" ? { ref: `${id}/opus` } : { none: word },
      },
      reach: async (where: { address: Address }) => (
        refused.push(where),
        where.address.peer === "shut" ? "the chat is shut" : null
      ),
    } as never,
    store: at.store,
  });
  const unknown = "the agent knows no such place";
  const reach = (more: Partial<Address>, agent = "main", fixed = false) =>
    world.unreachable(agent, place(more), fixed);
  expect({
    named: await reach({}),
    "named in another account": await reach({ account: "work" }),
    "named there": await reach({ account: "work", peer: "2" }),
    "in an account that is none": await reach({ account: "constructor" }),
    "everybody is nobody": await reach({ peer: "3" }),
    "a group that is named": await reach({ kind: "group", peer: "-1" }),
    "a group that is not": await reach({ kind: "group", peer: "-2" }),
    "a group by a word of the language": await reach({ kind: "group", peer: "constructor" }),
    "a group of an account without": await reach({ account: "work", kind: "group", peer: "-1" }),
    "a person's id as a group": await reach({ kind: "group", peer: "1" }),
    "on another platform": await reach({ channel: "discord" }),
    "its home": await reach({ peer: "9" }),
    "another agent's home": await reach({ peer: "9" }, "tea"),
    "somebody wrote": await reach({ peer: "5" }),
    "to another agent": await reach({ peer: "5" }, "tea"),
    "written down by the operator": await reach({ peer: "3" }, "tea", true),
    "shut, whoever named it": await reach({ peer: "shut" }, "main", true),
  }).toEqual({
    named: null,
    "named in another account": unknown,
    "named there": null,
    "in an account that is none": unknown,
    "everybody is nobody": unknown,
    "a group that is named": null,
    "a group that is not": unknown,
    "a group by a word of the language": unknown,
    "a group of an account without": unknown,
    "a person's id as a group": unknown,
    "on another platform": unknown,
    "its home": null,
    "another agent's home": unknown,
    "somebody wrote": null,
    "to another agent": unknown,
    "written down by the operator": null,
    "shut, whoever named it": "the chat is shut",
  });
  expect(refused[0]).toEqual({ address: place({}) });
  expect([
    await world.model("tea", "opus"),
    await world.model("tea", "none"),
    await world.model("gone", "opus"),
  ]).toEqual(["tea/opus", null, null]);
});

test("what stands for a part of the config reaches the one in force at each call", async () => {
  const clock = virtualClock();
  let now = { name: "first", say: () => `says first at ${clock.now()}` };
  const part = live(() => now);
  expect([part.name, part.say(), "say" in part, "other" in part]).toEqual([
    "first",
    `says first at ${clock.now()}`,
    true,
    false,
  ]);
  now = { name: "second", say: () => "says second" };
  expect([part.name, part.say()]).toEqual(["second", "says second"]);
  let settings = { n: 1 };
  const built: number[] = [];
  const made = perConfig(
    () => settings,
    ({ n }) => {
      built.push(n);
      return { add: (a: number, b: number) => a + b + n };
    },
  );
  expect([made.add(1, 2), made.add(2, 2)]).toEqual([4, 5]);
  settings = { n: 10 };
  expect([made.add(1, 2), made.add(1, 2)]).toEqual([13, 13]);
  expect(built).toEqual([1, 10]);
});
