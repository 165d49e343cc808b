// The chain of rules that decides which tools a turn has.
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  allows,
  applyPolicy,
  catalogue,
  groupsOf,
  isRemote,
  policySteps,
  unknownPatterns,
  type PolicyInput,
  type ToolRules,
} from "../src/index.ts";

const all = catalogue.map(({ id }) => id);
const none: PolicyInput = { global: {}, agent: {}, model: "openai/gpt-5", places: [] };
const left = (input: Partial<PolicyInput>): readonly string[] =>
  applyPolicy(all, policySteps({ ...none, ...input })).tools;

describe("profiles", () => {
  test("are the seeds' tables, and what later tools say of themselves", () => {
    const seeds = {
      minimal: "session_status",
      messaging: "sessions_list sessions_history sessions_send session_status message",
      coding:
        "read write edit apply_patch exec process memory_search memory_get sessions_list sessions_history sessions_send sessions_spawn subagents session_status cron update_plan image",
    };
    const known =
      "read write edit apply_patch exec process web_search web_fetch memory_search memory_get sessions_list sessions_history sessions_send sessions_spawn subagents session_status browser canvas message cron gateway nodes agents_list update_plan image tts".split(
        " ",
      );
    for (const profile of ["minimal", "messaging", "coding"] as const) {
      const has = left({ global: { profile } });
      expect(has.filter((id) => known.includes(id))).toEqual(seeds[profile].split(" "));
      expect(has).toEqual(catalogue.filter(({ profiles }) => profiles.includes(profile)).map(({ id }) => id));
    }
    expect(left({ global: { profile: "full" } })).toEqual(all);
    expect(left({})).toEqual(all);
  });

  test("of the agent stand in for the global one, and alsoAllow adds to them", () => {
    expect(left({ global: { profile: "coding" }, agent: { profile: "minimal" } })).toEqual([
      "session_status",
    ]);
    expect(left({ global: { profile: "minimal", alsoAllow: ["group:web"] } })).toEqual([
      "web_search",
      "web_fetch",
      "session_status",
    ]);
    expect(left({ global: { profile: "minimal", alsoAllow: ["exec"], deny: ["exec"] } })).toEqual([
      "session_status",
    ]);
  });

  test("of a provider narrow further, the more exact name first", () => {
    const byProvider = { openai: { profile: "minimal" as const }, "openai/gpt-5": { deny: ["exec"] } };
    expect(left({ global: { byProvider } })).toEqual(all.filter((id) => id !== "exec"));
    expect(left({ global: { byProvider }, model: "openai/other" })).toEqual(["session_status"]);
    expect(left({ global: { byProvider }, model: "anthropic/x" })).toEqual(all);
    const written = { OpenAI: { profile: "minimal" as const }, "openai/GPT-5": { deny: ["exec"] } };
    expect(left({ global: { byProvider: written } })).toEqual(all.filter((id) => id !== "exec"));
    expect(left({ global: { byProvider: written }, model: "openai/other" })).toEqual(["session_status"]);
  });
});

describe("rules", () => {
  const only = (rules: ToolRules): readonly string[] => left({ agent: rules });

  test("name tools in any case, by alias, by group and by pattern", () => {
    expect(only({ allow: ["READ", "bash"] })).toEqual(["read", "exec"]);
    expect(only({ allow: [" Read ", "BASH", " Group:Web\t", "MEMORY_*"] })).toEqual(
      only({ allow: ["read", "exec", "group:web", "memory_search", "memory_get", "memory_upkeep"] }),
    );
    expect(only({ allow: ["group:runtime", "web_*"] })).toEqual([
      "exec",
      "process",
      "web_search",
      "web_fetch",
    ]);
    expect(only({ deny: ["*"] })).toEqual([]);
    expect(only({ allow: ["group:parley"] })).toEqual(only({ deny: ["group:fs", "group:runtime"] }));
    expect(only({ allow: ["group:openclaw"] })).toEqual(only({ allow: ["group:parley"] }));
    expect(only({ deny: ["apply-patch"] })).not.toContain("apply_patch");
    expect(only({ allow: ["re.d", "rea", "r.a*", "ead*", "*rea"] })).toEqual([]);
    const theirs = applyPolicy(
      ["MyTool", "Other"],
      [{ step: "any", key: "any", rules: { deny: ["mytool"] } }],
    );
    expect(theirs.tools).toEqual(["Other"]);
  });

  test("deny wins; an empty allow list allows nothing", () => {
    expect(only({ allow: ["read", "exec"], deny: ["exec"] })).toEqual(["read"]);
    expect(only({ allow: [] })).toEqual([]);
  });

  test("to allow write allows patches; to deny it does not deny them", () => {
    expect(only({ allow: ["write"] })).toEqual(["write", "apply_patch"]);
    expect(only({ deny: ["write"] })).toContain("apply_patch");
  });

  test("that name nothing are found", () => {
    expect(
      unknownPatterns({ allow: ["raed", "group:fs", "my_tool"], deny: ["grop:web"] }, ["my_tool"]),
    ).toEqual(["raed", "grop:web"]);
  });
});

describe("the chain", () => {
  const minimal = catalogue.filter(({ profiles }) => profiles.includes("minimal")).map(({ id }) => id);
  const messaging = catalogue.filter(({ profiles }) => profiles.includes("messaging")).map(({ id }) => id);

  test("has each step in its order, with the key that its rules come from", () => {
    const rules = (name: string) => ({ deny: [name] });
    const steps = policySteps({
      global: {
        ...rules("global"),
        profile: "full",
        alsoAllow: ["also global"],
        byProvider: {
          OpenAI: { ...rules("no"), profile: "full" },
          "openai/GPT-5": { ...rules("global provider"), profile: "full", alsoAllow: ["provided global"] },
        },
      },
      agent: {
        ...rules("agent"),
        profile: "messaging",
        alsoAllow: ["also agent"],
        byProvider: {
          OPENAI: { ...rules("agent provider"), profile: "minimal", alsoAllow: ["provided agent"] },
        },
      },
      model: "openai/gpt-5",
      places: [
        { name: "channel", rules: rules("channel") },
        { name: "thread", rules: rules("thread") },
      ],
      senders: [rules("first"), {}, rules("second")],
      sandbox: rules("sandbox"),
      subagent: rules("subagent"),
    });
    const told = steps.map(({ step, key, rules: { allow, deny } }) => [
      step,
      key,
      allow ?? null,
      deny ?? null,
    ]);
    expect(told).toEqual([
      [
        "profile",
        "the agent's tools.profile",
        [...messaging, "group:mcp", "also global", "also agent"],
        null,
      ],
      ["provider profile", "tools.byProvider", [...minimal, "provided global", "provided agent"], null],
      ["global", "tools", null, ["global"]],
      ["global provider", "tools.byProvider.openai/GPT-5", null, ["global provider"]],
      ["agent", "the agent's tools", null, ["agent"]],
      ["agent provider", "the agent's tools.byProvider.OPENAI", null, ["agent provider"]],
      ["place", "channel", null, ["channel"]],
      ["place", "thread", null, ["thread"]],
      ["sender", "tools.toolsBySender", null, ["first"]],
      ["sender", "tools.toolsBySender", null, ["second"]],
      ["sandbox", "tools.sandbox.tools", null, ["sandbox"]],
      ["subagent", "tools.subagents.tools", null, ["subagent"]],
    ]);
  });

  test("of nothing has no step; a profile of all names no tool, and the global one has its own key", () => {
    expect(policySteps(none)).toEqual([]);
    expect(policySteps({ ...none, global: { profile: "minimal" }, agent: { profile: "full" } })).toEqual([]);
    expect(policySteps({ ...none, global: { profile: "minimal", alsoAllow: ["x"] } })).toEqual([
      { step: "profile", key: "tools.profile", rules: { allow: [...minimal, "x"] } },
    ]);
    const byProvider = { openai: { profile: "minimal" as const } };
    expect(policySteps({ ...none, global: { byProvider } })).toEqual([
      { step: "provider profile", key: "tools.byProvider", rules: { allow: minimal } },
    ]);
    expect(policySteps({ ...none, agent: { byProvider } }).map(({ step }) => step)).toEqual([
      "provider profile",
    ]);
    const empty = { ...none, senders: [{ allow: [] }], subagent: { deny: [] } };
    expect(policySteps(empty).map(({ step }) => step)).toEqual(["sender", "subagent"]);
  });

  test("knows tools of other programs by their name: all profiles but the least have them", () => {
    const remote = ["notes__find", "exec", "Notes__add"];
    const profiled = (profile: "minimal" | "coding" | "messaging" | "full"): readonly string[] =>
      applyPolicy(remote, policySteps({ ...none, global: { profile } })).tools;
    expect(profiled("minimal")).toEqual([]);
    expect(profiled("messaging")).toEqual(["notes__find", "Notes__add"]);
    expect([profiled("coding"), profiled("full")]).toEqual([remote, remote]);
    for (const group of ["group:mcp", "Group:Plugins", "*__*", "notes__*"])
      expect(applyPolicy(remote, [{ step: "s", key: "k", rules: { deny: [group] } }]).tools).toEqual([
        "exec",
      ]);
    expect(remote.map(isRemote)).toEqual([true, false, true]);
    expect(applyPolicy(remote, [{ step: "s", key: "k", rules: { allow: ["group:parley"] } }]).tools).toEqual(
      [],
    );
    const exec = catalogue.find(({ id }) => id === "exec") ?? expect.unreachable("exec is there");
    const message = catalogue.find(({ id }) => id === "message") ?? expect.unreachable("message is there");
    expect([groupsOf(exec), groupsOf(message)]).toEqual([["runtime"], ["messaging", "parley"]]);
  });

  test("says of one name whether patterns mean it", () => {
    expect(allows(["group:web"], "web_fetch")).toBe(true);
    expect(allows(["read"], "web_fetch")).toBe(false);
    expect(allows([], "read")).toBe(false);
    expect(allows(["write"], "apply_patch")).toBe(true);
    expect(allows(["apply_patch"], "write")).toBe(false);
  });

  test("takes a pattern for misspelt that means no tool, no group and no server's tool", () => {
    const patterns = [
      "notes__find",
      "notes__*",
      "NOTES",
      "other__find",
      "group:mcp",
      "group:plugins",
      "exec",
      "x*",
    ];
    expect(unknownPatterns({ deny: patterns }, [], ["notes"])).toEqual(["other__find", "x*"]);
    expect(unknownPatterns({ allow: patterns.slice(0, 5) })).toEqual([
      "notes__find",
      "notes__*",
      "NOTES",
      "other__find",
    ]);
    expect(unknownPatterns({})).toEqual([]);
    expect(unknownPatterns({ allow: ["a__b", "b__c"] }, ["A__B"], ["first", "b"])).toEqual([]);
  });

  test("tells each tool that went by the first rule that took it, and the last of them where none is left", () => {
    const steps = policySteps({
      ...none,
      global: { deny: ["r*", "read", "exec"] },
      subagent: { allow: ["exec"], deny: ["group:web", "web_*"] },
    });
    expect(applyPolicy(["web_fetch", "exec", "read", "cron"], steps)).toEqual({
      tools: [],
      removed: [
        { tool: "exec", step: "global", rule: 'tools denies "exec"' },
        { tool: "read", step: "global", rule: 'tools denies "r*"' },
        { tool: "web_fetch", step: "subagent", rule: 'tools.subagents.tools denies "group:web"' },
        { tool: "cron", step: "subagent", rule: "tools.subagents.tools does not allow it" },
      ],
      reason: "no tool is left: the last, cron, was taken away by tools.subagents.tools does not allow it",
    });
  });
});

test("every removal says the step and the rule", () => {
  const { removed, tools } = applyPolicy(
    ["read", "exec", "message", "gateway", "cron"],
    policySteps({
      ...none,
      global: { deny: ["gateway"] },
      places: [{ name: "channels.telegram.groups.-1.tools", rules: { allow: ["read", "cron", "message"] } }],
      senders: [{ deny: ["message"] }],
      subagent: { deny: ["cron"] },
    }),
  );
  expect(tools).toEqual(["read"]);
  expect(removed).toEqual([
    { tool: "gateway", step: "global", rule: 'tools denies "gateway"' },
    { tool: "exec", step: "place", rule: "channels.telegram.groups.-1.tools does not allow it" },
    { tool: "message", step: "sender", rule: 'tools.toolsBySender denies "message"' },
    { tool: "cron", step: "subagent", rule: 'tools.subagents.tools denies "cron"' },
  ]);
});

test("an empty result is a decision with its reason; having had no tools is not", () => {
  expect(applyPolicy(["read"], policySteps({ ...none, sandbox: { deny: ["group:fs"] } }))).toMatchObject({
    tools: [],
    reason: 'no tool is left: the last, read, was taken away by tools.sandbox.tools denies "group:fs"',
  });
  expect(applyPolicy([], policySteps(none))).toEqual({ tools: [], removed: [] });
});

describe("whatever the rules", () => {
  const pattern = fc.oneof(
    fc.constantFrom(...all, "bash", "*", "group:fs", "group:web", "group:parley", "s*", "*_*", "nothing"),
    fc.string({ maxLength: 6 }),
  );
  const rules = fc.record({
    allow: fc.option(fc.array(pattern, { maxLength: 6 }), { nil: undefined }),
    deny: fc.array(pattern, { maxLength: 3 }),
  });
  const profile = fc.constantFrom(
    "minimal" as const,
    "coding" as const,
    "messaging" as const,
    "full" as const,
    undefined,
  );
  const policy = fc.record({
    profile,
    allow: fc.option(fc.array(pattern), { nil: undefined }),
    deny: fc.array(pattern, { maxLength: 3 }),
  });
  const input: fc.Arbitrary<PolicyInput> = fc.record({
    global: policy,
    agent: policy,
    model: fc.constantFrom("openai/gpt-5", "x/y"),
    places: fc.array(fc.record({ name: fc.constant("place"), rules }), { maxLength: 2 }),
    senders: fc.array(rules, { maxLength: 2 }),
    sandbox: fc.option(rules, { nil: undefined }),
    subagent: fc.option(rules, { nil: undefined }),
  });

  test("each step only takes away, and every tool is left or explained, never both", () => {
    fc.assert(
      fc.property(input, (given) => {
        const steps = policySteps(given);
        let before: readonly string[] = all;
        for (let count = 0; count <= steps.length; count += 1) {
          const { tools, removed } = applyPolicy(all, steps.slice(0, count));
          expect(before).toEqual(expect.arrayContaining([...tools]));
          expect([...tools, ...removed.map(({ tool }) => tool)].toSorted()).toEqual(all.toSorted());
          before = tools;
        }
      }),
    );
  });

  test("a tool that any step denies by name is gone", () => {
    fc.assert(
      fc.property(input, fc.constantFrom(...all), fc.nat(), (given, tool, at) => {
        const steps = policySteps(given);
        const denying = { step: "any", key: "any", rules: { deny: [tool] } };
        expect(applyPolicy(all, steps.toSpliced(at % (steps.length + 1), 0, denying)).tools).not.toContain(
          tool,
        );
      }),
    );
  });

  test("the same tools are left whatever the order of the steps", () => {
    fc.assert(
      fc.property(input, (given) => {
        const steps = policySteps(given);
        expect(applyPolicy(all, steps.toReversed()).tools).toEqual(applyPolicy(all, steps).tools);
      }),
    );
  });
});
