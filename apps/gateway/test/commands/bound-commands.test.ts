// Commands bound to one config: where each acts, what the menu of an account shows and in which order, what
// is offered while somebody types, and which skill a message calls.
import { Fault, type Inbound } from "@parley/protocol";
import { directMessage } from "@parley/testkit";
import { describe, expect, test } from "vitest";
import { boundCommands } from "../../src/commands/bound-commands.ts";
import { chatSkills } from "../../src/commands/skill-commands.ts";
import { listedCommands } from "../../src/commands/table.ts";

const inbound: Inbound = directMessage({ sender: { id: "7", name: "Olga" } });
const entry = (name: string) => ({ name, description: `does ${name}` });

function stage({
  skills = [entry("plants")] as readonly object[],
  custom = {} as object,
  owner = false,
  kind = "turn",
  routed = () => ({ agent: "main", session: "agent:main:main" }),
} = {}) {
  const did: unknown[] = [];
  const bound = boundCommands(
    {
      config: { channels: { telegram: custom, discord: {} } },
      skills: {
        menu: async (agent: string) => (did.push(["menu", agent]), skills),
        names: async () => ["plants", "trees"],
      },
      heard: { command: (...what: readonly unknown[]) => void did.push(["heard", ...what]) },
    } as never,
    {
      route: routed as never,
      mayAsk: (async (...what: readonly unknown[]) => (did.push(["may", what[1]]), { kind, owner })) as never,
    },
  );
  return { did, bound };
}

describe("the menu of an account", () => {
  const names = async (made: ReturnType<typeof stage>, channel = "telegram", account = "work") =>
    (await made.bound.menu({ channel, account })).map(({ name }) => name);
  const everybodys = listedCommands(false).map(({ name }) => name);

  test("has everybody's commands, then the account's own of the config, then the skills of the agent that answers there", async () => {
    const custom = {
      default: { customCommands: [{ command: "elsewhere", description: "d" }] },
      work: {
        customCommands: [
          { command: "coffee", description: "d" },
          { command: "status", description: "a name of ours" },
          { command: "models", description: "another name of ours" },
          { command: "t", description: "a directive's" },
          { command: "plants", description: "a skill's" },
        ],
      },
    };
    const s = stage({ custom });
    expect(await names(s)).toEqual([...everybodys, "coffee", "plants"]);
    expect(await names(s, "telegram", "other")).toEqual([...everybodys, "plants"]);
    expect(await names(s, "discord", "work")).toEqual([...everybodys, "plants"]);
    expect(s.did[0]).toEqual(["menu", "main"]);
    expect(everybodys).not.toContain("restart");
    const menu = await s.bound.menu({ channel: "telegram", account: "work" });
    expect(menu.find(({ name }) => name === "model")).toMatchObject({ suggests: true });
    expect(menu.find(({ name }) => name === "status")).not.toHaveProperty("suggests");
  });

  test("ends at a hundred, and has no skills where no agent answers", async () => {
    const many = stage({ skills: Array.from({ length: 120 }, (_, n) => entry(`s${n}`)) });
    const shown = await names(many);
    expect([shown.length, shown.at(-1)]).toEqual([100, `s${99 - everybodys.length}`]);
    const nobody = stage({
      routed: () => {
        throw new Fault("invalid", "no agent answers there");
      },
    });
    expect(await names(nobody)).toEqual(everybodys);
    const broken = stage({
      routed: () => {
        throw new Fault("unavailable", "the store is away");
      },
    });
    await expect(names(broken)).rejects.toThrow("the store is away");
  });
});

test("what is offered stands in the value or the label, an owner's command offers others nothing, and asking is no message", async () => {
  const offered = async (text: string, how: Parameters<typeof stage>[0] = {}) => {
    const s = stage(how);
    const found = await s.bound.suggest({ ...inbound, text });
    const [may] = s.did as [string, { isSlashCommand: boolean; activation: () => Promise<unknown> }][];
    return { values: found.map(({ value }) => value), may: may?.[1] };
  };
  expect((await offered("/skill TREE")).values).toEqual(["trees"]);
  expect((await offered("/memory", { owner: true })).values).toEqual(["accept", "refuse"]);
  expect((await offered("/memory")).values).toEqual([]);
  expect((await offered("/skill", { kind: "refused" })).values).toEqual([]);
  const { may } = await offered("/verbose f");
  expect([may?.isSlashCommand, await may?.activation()]).toEqual([true, null]);
  for (const text of ["words", "/nothing", "/status"])
    expect(await offered(text)).toEqual({ values: [], may: undefined });
});

test("a command acts where its place is, and hooks hear of each but of those that end a conversation themselves", async () => {
  const s = stage();
  const by = { inbound, route: { agent: "main", session: "s" }, owner: false, authority: "none" } as never;
  expect(await s.bound.runPastLane({ name: "start", args: "" }, by)).toMatch(/^Hello!/);
  expect(await s.bound.runPastLane({ name: "new", args: "" }, by)).toBeNull();
  expect(await s.bound.runPastLane({ name: "nothing", args: "" }, by)).toBeNull();
  expect(s.bound.inLane.map(({ name }) => name).toSorted()).toEqual(
    ["steer", "new", "reset", "activation", "think", "reasoning", "model", "compact"].toSorted(),
  );
  const steer = s.bound.inLane.find(({ name }) => name === "steer");
  expect(await steer?.run({ key: "k", inbound } as never)).toBe("Usage: /steer your words.");
  expect(s.did).toEqual([["heard", "steer", "k", inbound]]);
});

describe("a skill", () => {
  const skill = (name: string) => ({ manifest: { name, description: `Does ${name}.` }, file: `/s/${name}` });
  const command = (name: string) => ({
    command: name.toLowerCase().replaceAll(" ", "_"),
    skill: skill(name),
  });
  const asked: unknown[] = [];
  const made = (skills: readonly string[], nativeSkills: boolean | "auto" = "auto") =>
    chatSkills({
      config: { commands: { nativeSkills }, agents: { list: [{ id: "other" }, { id: "main" }] } },
      book: {
        at: async (agent: { readonly id: string }, allowed: unknown) => {
          asked.push([agent.id, allowed]);
          return { commands: skills.map(command), location: ({ file }: { readonly file: string }) => file };
        },
      },
      rules: () => ({ skills: ["plants"] }),
    } as never);
  const route = { agent: "main", session: "agent:main:main" } as never;
  const called = async (text: string, skills: readonly string[], more: object = {}, native?: boolean) => {
    const call = await made(skills, native).called({ ...inbound, text, ...more } as never, route);
    return call === null ? null : [call.name, call.input];
  };

  test("is called by its name in any case, the longest of those that begin alike, or by its command", async () => {
    const skills = ["Water", "Water Plants", "Water Plants Daily"];
    for (const [text, wanted] of [
      ["/skill water plants", ["Water Plants", ""]],
      ["/skill Water Plants now", ["Water Plants", "now"]],
      ["/skill water plantsman", ["Water", "plantsman"]],
      ["/skill water plants daily  all of them", ["Water Plants Daily", "all of them"]],
      ["/skill water_plants", ["Water Plants", ""]],
      ["/skill fire", null],
      ["/skill", null],
      ["/water_plants the roses", ["Water Plants", "the roses"]],
      ["/fire", null],
      ["water plants", null],
    ] as const)
      expect([text, await called(text, skills)]).toEqual([text, wanted]);
  });

  test("is called by a message alone, and by its own command only where these are on", async () => {
    for (const kind of ["callback", "reaction"])
      expect(await called("/skill water", ["Water"], { kind })).toBeNull();
    expect(await called("/water x", ["Water"], { kind: "command" })).toEqual(["Water", "x"]);
    expect(await called("/water x", ["Water"], {}, false)).toBeNull();
    expect(await called("/skill water x", ["Water"], {}, false)).toEqual(["Water", "x"]);
    expect(await made(["Water"], false).menu("main")).toEqual([]);
    expect(await made(["Water"]).menu("gone")).toEqual([]);
    expect(await made(["Water"]).menu("main")).toMatchObject([{ name: "water" }]);
  });

  test("is one of the place: in a shared one those that its rules let, in private all of the agent", async () => {
    asked.length = 0;
    await called("/water", ["Water"]);
    await called("/water", ["Water"], { address: { ...inbound.address, kind: "group" } });
    expect(asked).toEqual([
      ["main", undefined],
      ["main", ["plants"]],
    ]);
  });

  test("is offered by its command in the place that asks; an agent that is gone has none and is called by nothing", async () => {
    const skills = made(["Water Plants", "Fire"]);
    const by = (agent: string, where: object = {}) =>
      ({ args: "", inbound: { ...inbound, text: "/skill fire", ...where }, route: { agent } }) as never;
    asked.length = 0;
    expect(await skills.names(by("main"))).toEqual(["water_plants", "fire"]);
    expect(await skills.names(by("other", { address: { ...inbound.address, kind: "channel" } }))).toEqual([
      "water_plants",
      "fire",
    ]);
    expect(asked).toEqual([
      ["main", undefined],
      ["other", ["plants"]],
    ]);
    expect(await skills.names(by("gone"))).toEqual([]);
    expect(await skills.list(by("gone"))).toBe("There are no skills here.");
    expect(await skills.called({ ...inbound, text: "/skill fire" }, { agent: "gone" } as never)).toBeNull();
    expect(asked).toHaveLength(2);
    expect(await skills.menu("main")).toEqual([
      { name: "water_plants", description: "Does Water Plants." },
      { name: "fire", description: "Does Fire." },
    ]);
    expect(asked.at(-1)).toEqual(["main", undefined]);
  });

  test("that is named wrongly is told with the list, which ends where a message would be too long", async () => {
    const list = async (args: string, skills: readonly string[], native?: boolean) =>
      made(skills, native).list({ args, inbound, route } as never);
    expect(await list("", [])).toBe("There are no skills here.");
    expect(await list("", ["Water"])).toBe(
      "Use one with /skill NAME and what you want:\n/water - Does Water.",
    );
    expect(await list("fi`re now", ["Water"], false)).toBe(
      "There is no skill `fi re` here.\nUse one with /skill NAME and what you want:\n`Water` - Does Water.",
    );
    expect(await list("n".repeat(65), ["Water"])).toMatch(
      new RegExp(`^There is no skill \`${"n".repeat(64)}\` here`),
    );
    const many = Array.from({ length: 70 }, (_, n) => `skill${100 + n}`);
    const lines = (await list("", many)).split("\n");
    const each = (lines[1]?.length ?? 0) + 1;
    const fit = Math.floor(1_800 / each);
    expect([lines.length, lines.at(-1)]).toEqual([fit + 2, `... and ${70 - fit} more`]);
  });
});
