// Which model answers, how much it thinks, what somebody reads whose model failed, and what a skill's
// command does: each rule of precedence and every word.
import type { Skill, SkillCommand } from "@parley/agent";
import type { AgentConfig, Config } from "@parley/config";
import type { Model, ModelEvent, ModelMessage } from "@parley/models";
import { Fault, noUsage, type SkillCall } from "@parley/protocol";
import type { Session } from "@parley/store";
import type { Tool } from "@parley/tools";
import { describe, expect, test } from "vitest";
import { isClearing } from "../src/models/directives.ts";
import { modelCatalog, modelNamed } from "../src/models/model-catalog.ts";
import { modelFailureText, modelTrouble } from "../src/models/model-failure.ts";
import {
  asWanted,
  ownReasoning,
  ownThinking,
  reasoningOf,
  saysInstead,
  thinkingOf,
  thinkingWords,
  unsupportedThinking,
} from "../src/models/thinking.ts";
import { skillCall, skillTurn, skillWords } from "../src/skills/skill-call.ts";
import { canRead } from "../src/skills/skill-registry.ts";

const session = (fields: Session["fields"] = {}): Session => ({ fields }) as Session;

describe("how much a model thinks", () => {
  const model = { id: "a/b", reasoning: true, thinking: undefined };
  const sources = (levels: {
    readonly own?: string;
    readonly agent?: "low";
    readonly card?: "high";
    readonly all?: "off";
    readonly id?: string;
  }) => ({
    model: { ...model, id: levels.id ?? "a/b" },
    session: session(levels.own === undefined ? {} : { thinking: levels.own }),
    agent: { thinkingDefault: levels.agent } as unknown as AgentConfig,
    config: {
      agents: {
        defaults: {
          models: levels.card === undefined ? {} : { "a/b": { params: { thinking: levels.card } } },
          thinkingDefault: levels.all,
        },
      },
    } as unknown as Config,
  });
  test("is what the message says, else the session, the agent, the model's card, all agents, the model", () => {
    const every = { own: "minimal", agent: "low", card: "high", all: "off" } as const;
    expect(thinkingOf(sources(every), { thinking: "medium" })).toBe("medium");
    expect(thinkingOf(sources(every))).toBe("minimal");
    expect(thinkingOf(sources({ agent: "low", card: "high", all: "off" }))).toBe("low");
    expect(thinkingOf(sources({ card: "high", all: "off" }))).toBe("high");
    expect(thinkingOf(sources({ all: "off" }))).toBe("off");
    expect(thinkingOf(sources({}))).toBe("medium");
    // A card of another model, and a name that every object has.
    expect(thinkingOf(sources({ card: "high", all: "off", id: "a/c" }))).toBe("off");
    expect(thinkingOf(sources({ all: "off", id: "constructor" }))).toBe("off");
    // What an older version stored and nobody knows any more counts as nothing.
    expect(thinkingOf(sources({ own: "galactic", agent: "low" }))).toBe("low");
  });

  test("is shown as the message says, else the session, the agent, nobody", () => {
    const agent = { reasoningDefault: "stream" } as unknown as AgentConfig;
    const none = {} as unknown as AgentConfig;
    const own = session({ reasoning: "on" });
    expect(reasoningOf({ agent, session: own }, { reasoning: "off" })).toBe("off");
    expect(reasoningOf({ agent, session: own })).toBe("on");
    expect(reasoningOf({ agent, session: session() })).toBe("stream");
    expect(reasoningOf({ agent: none, session: session() })).toBe("off");
    expect([ownReasoning(session({ reasoning: 1 })), ownThinking(session({ thinking: true }))]).toEqual([
      null,
      null,
    ]);
  });

  test("is refused where the model has no such level, but off is always taken", () => {
    const few = { id: "a/b", thinking: ["low", "high"] as const };
    expect(unsupportedThinking(few, "medium")).toBe(
      '`a/b` does not take the thinking level "medium". Valid levels: low, high.',
    );
    expect(
      [undefined, "off", "low", "high"].map((level) => unsupportedThinking(few, level as never)),
    ).toEqual([null, null, null, null]);
    expect(thinkingWords(few, "high")).toBe("Thinking: high.");
    expect(thinkingWords(few, "off")).toBe(
      "Thinking: off. `a/b` cannot stop thinking: it thinks as little as it can (low).",
    );
  });

  test("holds for each call as it is by then, and what a model cannot do is said in its place, for free", async () => {
    const asked: unknown[] = [];
    const usual = {
      id: "a/b",
      contextWindow: 9,
      maxTokens: 8,
      vision: true,
      reasoning: true,
      async *stream(request: unknown): AsyncGenerator<ModelEvent> {
        asked.push(request);
        yield { type: "text", delta: "usual" };
      },
    } as Model;
    const all = async (of: Model, request: object): Promise<ModelEvent[]> => {
      const events: ModelEvent[] = [];
      for await (const event of of.stream(request as never, new AbortController().signal)) events.push(event);
      return events;
    };
    const levels = [
      { thinking: "low", showThoughts: true },
      { thinking: "off", showThoughts: false },
    ] as const;
    let at = 0;
    const wanting = asWanted(usual, () => levels[at++] ?? levels[0]);
    expect({ ...wanting, stream: usual.stream }).toEqual(usual);
    for (const thinking of ["high", "medium"]) await all(wanting, { thinking, cacheKey: thinking });
    expect(asked).toEqual([
      { cacheKey: "high", thinking: "low", showThoughts: true },
      { cacheKey: "medium", thinking: "off", showThoughts: false },
    ]);
    const instead = saysInstead(usual, "I cannot.");
    expect({ ...instead, stream: usual.stream }).toEqual(usual);
    expect([await all(instead, {}), asked.length]).toEqual([
      [
        { type: "text", delta: "I cannot." },
        { type: "end", stop: "stop", usage: noUsage, content: [{ type: "text", text: "I cannot." }] },
      ],
      2,
    ]);
  });

  test("goes back to the config's value by five words", () => {
    const words = ["default", "inherit", "clear", "RESET", "unpin", "off", "none", ""];
    expect(words.filter(isClearing)).toEqual(["default", "inherit", "clear", "RESET", "unpin"]);
  });
});

describe("which model answers", () => {
  const agent = { model: { primary: "a/one", fallbacks: ["b/two"] } } as unknown as AgentConfig;
  const catalogOf = (
    book: { readonly [ref: string]: { readonly alias?: string } },
    providers: { readonly [name: string]: readonly string[] } = {},
    cards: readonly string[] = [],
    callable: (ref: string) => boolean = () => true,
  ) =>
    modelCatalog(
      {
        agents: { defaults: { models: book } },
        models: {
          providers: Object.fromEntries(
            Object.entries(providers).map(([name, models]) => [name, { models }]),
          ),
        },
      } as unknown as Config,
      {
        list: () => cards.map((id) => ({ id })),
        get: async (ref) => {
          if (!callable(ref)) throw new Fault("invalid", "no key");
          return {};
        },
      },
    );
  const book = { "c/three": { alias: "Quick" }, "a/one": { alias: "main" }, "d/one": {}, "e/2": {} };
  const catalog = catalogOf(book);

  test("people may choose: the agent's own first, then the config's book, or every model there is without one", () => {
    expect(catalog.choices(agent)).toEqual([
      { ref: "a/one", alias: "main" },
      { ref: "b/two" },
      { ref: "c/three", alias: "Quick" },
      { ref: "d/one" },
      { ref: "e/2" },
    ]);
    expect(catalogOf({}, {}, ["x/9", "b/two"]).choices(agent)).toEqual([
      { ref: "a/one" },
      { ref: "b/two" },
      { ref: "x/9" },
    ]);
    expect(
      catalogOf(book, {}, ["x/9"])
        .choices(agent)
        .map(({ ref }) => ref),
    ).not.toContain("x/9");
  });

  test.each([
    ["quick", "c/three"],
    ["C/THREE", "c/three"],
    ["three", "c/three"],
    ["5", "e/2"],
    ["2", "e/2"],
    ["1", "a/one"],
    ["3", "c/three"],
    ["two", "b/two"],
  ])("the word %s finds %s: alias, whole name, bare name, number of the list", async (word, ref) => {
    expect(await catalog.find(agent, word)).toEqual({ ref });
  });

  test.each([
    // Two models have it, so it names neither.
    ["one", ["main", "d/one"]],
    ["quikc", ["Quick"]],
    ["thr", ["Quick"]],
    ["th", []],
    ["6", ["2"]],
    ["0", ["2"]],
    ["01", []],
    ["zz", []],
  ])("the word %s finds none, near it is %j", async (word, nearest) => {
    expect(await catalog.find(agent, word)).toEqual({ nearest });
  });

  test("a provider without a list takes any id, unless the config has a book; one with a list takes none", async () => {
    const open = catalogOf({}, { p: [], q: ["listed"] });
    expect(await open.find(agent, "p/Any-Thing")).toEqual({ ref: "p/Any-Thing" });
    expect(open.named(agent, "p/x")).toBe("p/x");
    for (const word of ["q/x", "p/", "/x", "constructor/x", "x"]) expect(open.named(agent, word)).toBeNull();
    expect(catalogOf(book, { p: [] }).named(agent, "p/x")).toBeNull();
    expect(open.named(agent, "A/ONE")).toBe("a/one");
    // A bare name or a number is found, but names nothing where a message might begin with it.
    expect([catalog.named(agent, "three"), catalog.named(agent, "1"), catalog.named(agent, "QUICK")]).toEqual(
      [null, null, "c/three"],
    );
  });

  test("what cannot be called is not found; another failure is none of the finder's", async () => {
    expect(await catalogOf(book, {}, [], (ref) => ref !== "c/three").find(agent, "quick")).toHaveProperty(
      "nearest",
    );
    const torn = modelCatalog(
      { agents: { defaults: { models: book } }, models: { providers: {} } } as never,
      {
        list: () => [],
        get: async () => {
          throw new Error("no disk");
        },
      },
    );
    await expect(torn.find(agent, "quick")).rejects.toThrow("no disk");
  });

  test("a session's choice has no fallbacks, and one that the config no longer has is left for the agent's", () => {
    expect(catalog.of(agent, session({ model: "d/one" }))).toEqual({
      primary: "d/one",
      fallbacks: [],
      own: true,
    });
    const usual = { primary: "a/one", fallbacks: ["b/two"], own: false };
    expect(catalog.of(agent, session({ model: "gone/x" }))).toEqual(usual);
    expect(catalog.of(agent, session({ model: 5 }))).toEqual(usual);
    expect(catalog.of(agent, session())).toEqual(usual);
    expect(catalogOf({}, { p: [] }).of(agent, session({ model: "p/new" })).primary).toBe("p/new");
  });

  test("a wrong name is told with what is near, and with the first twelve there are", async () => {
    await expect(modelNamed(catalog, agent, "quick")).resolves.toBe("c/three");
    await expect(modelNamed(catalog, agent, "quikc")).rejects.toMatchObject({
      code: "invalid",
      message:
        'there is no model "quikc"; near it: Quick. Fix: take one of main (a/one), b/two, Quick (c/three), d/one, e/2',
    });
    const many = catalogOf(
      {},
      {},
      Array.from({ length: 11 }, (_, n) => `m/${n}x`),
    );
    await expect(modelNamed(many, agent, "?".repeat(81))).rejects.toThrow(
      `there is no model "${"?".repeat(80)}". Fix: take one of a/one, b/two, m/0x, m/1x, m/2x, m/3x, m/4x, m/5x, m/6x, m/7x, m/8x, m/9x and 1 more`,
    );
  });
});

describe("whose model failed reads", () => {
  const minute = "Please try again in a minute.";
  test.each([
    ["rate_limited", `The language model asks us to slow down. ${minute}`],
    ["overloaded", `The language model is overloaded. ${minute}`],
    ["unavailable", `I cannot reach the language model right now. ${minute}`],
    ["timeout", "The language model did not answer in time. Please try again."],
    ["auth", "The language model refuses our key. The operator has to look at it."],
    [
      "billing",
      "The account at the language model's provider is out of credit. The operator has to look at it.",
    ],
    ["context_overflow", "This conversation has become too long for the model. /new begins a fresh one."],
    ["refused", "The language model declined to answer that."],
    [
      "not_found",
      "The configured language model does not exist at its provider. The operator has to look at it.",
    ],
    ["invalid", "The language model did not accept the request. The operator can see why in the log."],
    ["aborted", "Stopped."],
    ["torn", "The language model's answer broke off. Please try again."],
  ] as const)("of %s: what it is and what to do, never the provider's own words", (kind, words) => {
    expect(modelFailureText({ kind, message: "sk-secret at 10.0.0.1" })).toBe(`⚠️ ${words}`);
  });

  test.each([
    [0, "in a minute"],
    [60_000, "in a minute"],
    [60_001, "in about 2 minutes"],
    [49 * 60_000, "in about 49 minutes"],
    [49 * 60_000 + 1, "in about an hour"],
    [89 * 60_000, "in about an hour"],
    [90 * 60_000, "in about 2 hours"],
    [47 * 3_600_000, "in about 47 hours"],
    [48 * 3_600_000, "in about 2 days"],
    [7 * 86_400_000, "in about 7 days"],
  ])("after a wait of %i ms to try again %s", (retryAfterMs, words) => {
    expect(modelFailureText({ kind: "rate_limited", message: "", retryAfterMs })).toBe(
      `⚠️ The language model asks us to slow down. Please try again ${words}.`,
    );
  });

  test("operators read what to set", () => {
    const told = (["auth", "billing", "not_found"] as const).map((kind) =>
      modelTrouble({ model: "p/m/x", kind }),
    );
    expect(told).toEqual([
      "the model p/m/x cannot be asked: its provider refuses the key. Set models.providers.p.apiKey; `parley models test p/m/x` tries it",
      "the model p/m/x cannot be asked: the account at its provider is out of credit. Top it up; `parley models test p/m/x` tries it",
      "the model p/m/x cannot be asked: its provider does not know it. Mend its id, or models.providers.p.baseUrl; `parley models test p/m/x` tries it",
    ]);
  });
});

describe("a skill's command", () => {
  const command = (name: string, tool?: string): SkillCommand => ({
    command: name.replaceAll("-", "_"),
    skill: { manifest: { name, ...(tool === undefined ? {} : { dispatch: { tool } }) } } as unknown as Skill,
  });
  const call: SkillCall = { name: "weather", input: "Berlin", location: "skills/weather/SKILL.md" };
  const tool = (name: string, parameters: object = {}): Tool => ({ name, parameters }) as unknown as Tool;
  const here = (commands: readonly SkillCommand[], body: string | null = "# Weather\n") => ({
    listing: { facts: [] },
    commands,
    env: (called: readonly string[]) => ({ CALLED: called.join("+") }),
    location: () => "",
    body: async () => body,
  });

  test("becomes words for the model: to read the skill, or the skill itself", () => {
    expect(skillCall(command("weather"), "Berlin", call.location)).toEqual(call);
    expect(skillCall(command("weather", "exec"), "", call.location)).toEqual({
      ...call,
      input: "",
      tool: "exec",
    });
    expect(skillWords(call, undefined)).toBe(
      'Use the "weather" skill for this request: read its SKILL.md at skills/weather/SKILL.md first, then follow it.\n\nUser input:\nBerlin',
    );
    expect(skillWords({ ...call, input: "" }, "\n# Weather\n")).toBe(
      'Use the "weather" skill for this request. Its SKILL.md says:\n\n# Weather',
    );
  });

  test("brings the skill's text only to an agent that cannot read, and its variables while it is allowed", async () => {
    expect([canRead([tool("exec")]), canRead([tool("exec"), tool("read")]), canRead([])]).toEqual([
      false,
      true,
      false,
    ]);
    const mine = here([command("weather"), command("news")]);
    const both = [call, { ...call, name: "gone" }, { ...call, name: "news" }];
    expect(await skillTurn(both, mine, [])).toEqual({
      model: null,
      env: { CALLED: "weather+news" },
      bodies: new Map([
        ["weather", "# Weather\n"],
        ["news", "# Weather\n"],
      ]),
    });
    expect((await skillTurn(both, mine, [tool("read")])).bodies).toEqual(new Map());
    expect((await skillTurn([call], here([command("weather")], null), [])).bodies).toEqual(new Map());
  });

  const ask = async (model: Model | null, messages: readonly ModelMessage[], toolChoice?: "none") => {
    const events: ModelEvent[] = [];
    for await (const event of model?.stream(
      { messages, toolChoice } as never,
      new AbortController().signal,
    ) ?? [])
      events.push(event);
    return events.at(-1)?.type === "end" ? events[0] : null;
  };
  const typed: ModelMessage = { role: "user", content: [{ type: "text", text: "/weather Berlin" }] };
  const dispatched = async (tools: readonly Tool[], input = "Berlin", wanted = "exec") =>
    (await skillTurn([{ ...call, input, tool: wanted }], here([command("weather", wanted)]), tools)).model;
  const string = { type: "string" };

  test.each([
    [
      "under `command`, with the names where the tool takes them",
      { properties: { command: string, skillName: string } },
      "Berlin",
      { command: "Berlin", skillName: "weather" },
    ],
    [
      "under the one text that it needs",
      { properties: { q: string, n: {} }, required: ["q"] },
      "Berlin",
      { q: "Berlin" },
    ],
    [
      "as arguments, where they are an object",
      { properties: { a: string, b: string }, required: ["a", "b"] },
      ' {"a":"1","b":"2"}',
      { a: "1", b: "2" },
    ],
    [
      "under all names, where nothing tells",
      { properties: { a: string, b: string }, required: ["a", "b"] },
      "{torn",
      { command: "{torn", commandName: "weather", skillName: "weather" },
    ],
    [
      "under all names beside a number",
      { properties: { a: string, b: {} }, required: ["a", "b"] },
      "[1]",
      { command: "[1]", commandName: "weather", skillName: "weather" },
    ],
  ])("gives its tool the words %s", async (_, parameters, input, args) => {
    const model = await dispatched([tool("EXEC", parameters)], input);
    expect(await ask(model, [typed])).toEqual({ type: "toolCall", id: "skill_command", name: "EXEC", args });
  });

  test("runs nothing where it may not, where two are called, or where no tool may run", async () => {
    const said = async (model: Model | null, toolChoice?: "none") =>
      ((await ask(model, [typed], toolChoice)) as { delta?: string } | null)?.delta;
    expect(await said(await dispatched([tool("exec")]), "none")).toBe("Nothing was run.");
    const gone = await skillTurn([{ ...call, tool: "exec" }], here([]), [tool("exec")]);
    expect([await said(gone.model), gone.env]).toEqual([
      "The skill `weather` may no longer be used here.",
      { CALLED: "" },
    ]);
    const two = [
      { ...call, tool: "exec" },
      { ...call, name: "news" },
    ];
    expect((await skillTurn(two, here([command("weather", "exec"), command("news")]), [])).model).toBeNull();
  });

  test.each([
    ["plain words\n\n", "plain words"],
    [" \n", "Done."],
    ["two\nlines", "```\ntwo\nlines\n```"],
    ["has ``` in it", "````\nhas ``` in it\n````"],
    ["a*b", "```\na*b\n```"],
    ["NO_REPLY", "It says:\n```\nNO_REPLY\n```"],
    ["heartbeat_ok", "It says:\n```\nheartbeat_ok\n```"],
    ["< think", "It says:\n```\n< think\n```"],
  ])("says its tool's result %j as it is", async (text, shown) => {
    const result: ModelMessage = {
      role: "tool",
      callId: "c",
      name: "exec",
      isError: false,
      content: [{ type: "text", text }],
    };
    expect(await ask(await dispatched([tool("exec")]), [typed, result])).toEqual({
      type: "text",
      delta: shown,
    });
  });
});
