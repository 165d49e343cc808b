// A turn's models: each fallback has a request of its own, made once and only when it is asked.
import { cooldowns, type Model, type ModelEvent, type ModelRequest } from "@parley/models";
import { noUsage, silentLog } from "@parley/protocol";
import { seededIds, virtualClock } from "@parley/testkit";
import { expect, test } from "vitest";
import { askedModels, type OwnRequest } from "../src/models/asked-models.ts";

test("a fallback's prompt is made once, however often it is asked, and the turn knows whom it asked last", async () => {
  const clock = virtualClock();
  const asked: string[] = [];
  const made: string[] = [];
  const model = (id: string, fails: () => boolean): Model => ({
    id,
    contextWindow: 10_000,
    maxTokens: 100,
    vision: false,
    reasoning: false,
    async *stream({ system, thinking, tools }): AsyncGenerator<ModelEvent> {
      asked.push(`${id}: ${system.stable}, ${thinking}, ${tools.map(({ name }) => name).join("+")}`);
      if (fails())
        yield {
          type: "end",
          stop: "error",
          usage: noUsage,
          content: [],
          error: { kind: "auth", message: "wrong key" },
        };
      else yield { type: "end", stop: "stop", usage: noUsage, content: [{ type: "text", text: id }] };
    },
  });
  const own = (of: Model): OwnRequest => ({
    model: of,
    system: { stable: `prompt of ${of.id}`, volatile: "" },
    tools: of.id === "b" ? [{ name: "read" }] : [{ name: "read" }, { name: "write" }],
    thinking: () => (of.id === "b" ? "low" : "high"),
  });
  const primary = own(model("a", () => true));
  let isDown = true;
  const models = askedModels(
    primary,
    [model("b", () => false), model("c", () => isDown)],
    async (of) => (made.push(of.id), own(of)),
    { clock, ids: seededIds(1), log: silentLog, cooldowns: cooldowns(clock) },
  );
  expect(models.last()).toBe(primary);
  const tool = (name: string) => ({ name, description: "", parameters: {} });
  const request: ModelRequest = {
    system: primary.system,
    messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
    tools: [tool("read"), tool("write")],
    thinking: "high",
    cacheKey: "k",
  } as never;
  const answer = async (): Promise<string> => {
    let text = "";
    for await (const event of models.model.stream(request, new AbortController().signal))
      if (event.type === "end")
        text = event.content.map((part) => (part.type === "text" ? part.text : "")).join("");
    return text;
  };
  for (let round = 0; round < 3; round += 1) expect(await answer()).toBe("b");
  isDown = false;
  expect(made).toEqual(["b"]);
  expect(models.last().model.id).toBe("b");
  expect(new Set(asked.filter((line) => line.startsWith("b")))).toEqual(
    new Set(["b: prompt of b, low, read"]),
  );
});

const textOf = (messages: ModelRequest["messages"]): string =>
  messages.flatMap(({ content }) => content.map((part) => (part.type === "text" ? part.text : ""))).join("|");

test("a fallback with a smaller window gets what of the conversation fits beside its prompt and answer; one as large gets all", async () => {
  const clock = virtualClock();
  const seen: (readonly [id: string, request: ModelRequest])[] = [];
  const model = (id: string, contextWindow: number, maxTokens: number): Model => ({
    id,
    contextWindow,
    maxTokens,
    vision: false,
    reasoning: false,
    async *stream(request): AsyncGenerator<ModelEvent> {
      seen.push([id, request]);
      const error = { kind: "auth", message: "wrong key" } as const;
      yield { type: "end", stop: "error", usage: noUsage, content: [], error };
    },
  });
  const own = (of: Model): OwnRequest => ({
    model: of,
    system: { stable: "s".repeat(of.id === "wordy" ? 4_000 : 400), volatile: "v" },
    tools: [{ name: "read" }],
    thinking: () => "off",
  });
  const primary = own(model("first", 20_000, 1_000));
  const others = [
    model("same", 20_000, 10),
    model("small", 4_000, 100),
    model("wordy", 4_000, 100),
    model("talker", 4_000, 100_000),
  ];
  const logged: unknown[] = [];
  const models = askedModels(
    primary,
    [...others, model("broken", 1, 1)],
    async (of) => {
      if (of.id === "broken") throw new Error("no rules");
      return own(of);
    },
    {
      clock,
      ids: seededIds(1),
      log: { ...silentLog, error: (fields: unknown, words: string) => void logged.push([words, fields]) },
      cooldowns: cooldowns(clock),
    },
  );
  const messages = Array.from({ length: 40 }, (_, nth) => ({
    role: nth % 2 === 0 ? ("user" as const) : ("assistant" as const),
    content: [{ type: "text" as const, text: `${nth} ${"word ".repeat(79)}` }],
  }));
  const tools = ["read", "write"].map((name) => ({ name, description: "d".repeat(40), parameters: {} }));
  const request = { system: primary.system, messages, tools, thinking: "high", cacheKey: "k", maxTokens: 7 };
  const events: ModelEvent[] = [];
  const asking = (async () => {
    for await (const event of models.model.stream(request as never, new AbortController().signal))
      events.push(event);
  })();
  // A prompt that could not be made counts as a model that is away, which is tried again.
  await clock.advance(600_000);
  await asking;
  const kept = Object.fromEntries(seen.map(([id, { messages: told }]) => [id, told.length]));
  expect(kept).toMatchInlineSnapshot(`
    {
      "first": 40,
      "same": 40,
      "small": 34,
      "talker": 26,
      "wordy": 26,
    }
  `);
  expect(
    seen.map(([, { tools: given, maxTokens, cacheKey }]) => [given.length, maxTokens, cacheKey]),
  ).toEqual([[2, 7, "k"], ...others.map(() => [1, 7, "k"])]);
  expect(seen[0]?.[1]).toBe(request);
  expect(seen[1]?.[1].messages).toBe(messages);
  // The newest stay.
  for (const [, { messages: told }] of seen) expect(textOf(told)).toContain("39 word");
  expect([models.last().model.id, events.at(-1)]).toMatchObject(["talker", { type: "end", stop: "error" }]);
  expect(logged.slice(0, 1)).toEqual([
    ["no prompt could be made for a fallback", { err: new Error("no rules"), model: "broken" }],
  ]);
});

test("a prompt that could not be made is made anew when its model is tried again", async () => {
  const clock = virtualClock();
  const model = (id: string, fails: boolean): Model => ({
    id,
    contextWindow: 10_000,
    maxTokens: 100,
    vision: false,
    reasoning: false,
    async *stream(): AsyncGenerator<ModelEvent> {
      const error = { kind: "auth", message: "wrong key" } as const;
      if (fails) yield { type: "end", stop: "error", usage: noUsage, content: [], error };
      else yield { type: "end", stop: "stop", usage: noUsage, content: [{ type: "text", text: id }] };
    },
  });
  const own = (of: Model): OwnRequest => ({
    model: of,
    system: { stable: of.id, volatile: "" },
    tools: [],
    thinking: () => "off",
  });
  let made = 0;
  const primary = own(model("a", true));
  const models = askedModels(
    primary,
    [model("b", false)],
    async (of) => {
      made += 1;
      if (made === 1) throw new Error("the disk is away");
      return own(of);
    },
    { clock, ids: seededIds(1), log: silentLog, cooldowns: cooldowns(clock) },
  );
  const events: ModelEvent[] = [];
  const asking = (async () => {
    const request = {
      system: primary.system,
      messages: [],
      tools: [],
      thinking: "off",
      cacheKey: "k",
    } as const;
    for await (const event of models.model.stream(request, new AbortController().signal)) events.push(event);
  })();
  await clock.advance(600_000);
  await asking;
  expect(events.at(-1)).toMatchObject({ stop: "stop", content: [{ text: "b" }] });
  expect([made, models.last().model.id]).toEqual([2, "b"]);
});

test("a side call has a prompt of its own, which reaches whichever model answers as it is, and changes nothing", async () => {
  const clock = virtualClock();
  const seen: unknown[] = [];
  const model = (id: string): Model => ({
    id,
    contextWindow: 100,
    maxTokens: 100,
    vision: false,
    reasoning: false,
    async *stream(request): AsyncGenerator<ModelEvent> {
      seen.push([id, request]);
      const end = { type: "end", usage: noUsage, content: [] } as const;
      if (id === "a") yield { ...end, stop: "error", error: { kind: "auth", message: "wrong key" } };
      else yield { ...end, stop: "stop" };
    },
  });
  const own = (of: Model): OwnRequest => ({
    model: of,
    system: { stable: of.id, volatile: "" },
    tools: [],
    thinking: () => "low",
  });
  const primary = own(model("a"));
  const models = askedModels(primary, [model("b")], async (of) => own(of), {
    clock,
    ids: seededIds(1),
    log: silentLog,
    cooldowns: cooldowns(clock),
  });
  const request = { system: { stable: "sum up", volatile: "" }, messages: [], tools: [], thinking: "off" };
  for await (const _event of models.model.stream(request as never, new AbortController().signal));
  expect(seen).toEqual([
    ["a", request],
    ["b", request],
  ]);
  expect(models.last()).toBe(primary);
});
