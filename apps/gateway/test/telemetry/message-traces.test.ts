// Traces of messages on the stage: one trace a message, from its arrival to its answer, whatever happens
// between.
import { expect, onTestFinished, test } from "vitest";
import { silentLog } from "@parley/protocol";
import { messageTraces } from "../../src/telemetry/message-traces.ts";
import type { Span } from "../../src/telemetry/span-exporter.ts";
import { stage, type Stage } from "../message-path/stage.ts";
import { textTool } from "../message-path/text-tool.ts";
import { waitTool } from "../message-path/wait-tool.ts";

type How = { readonly sampleRatio?: number; readonly includeContent?: boolean };

async function tracedStage(how: How, more: (at: () => Stage) => object = () => ({})) {
  const spans: Span[] = [];
  const at: Stage = await stage({
    views: (clock) =>
      messageTraces({
        sampleRatio: 1,
        includeContent: false,
        secrets: ["hunter2"],
        ...how,
        add: (span) => void spans.push(span),
        clock,
        log: silentLog,
      }),
    ...more(() => at),
  });
  onTestFinished(() => at.close());
  const named = (name: string): readonly Span[] => spans.filter((span) => span.name === name);
  return { at, spans, named };
}

const weather = textTool("weather", () => "sunny in Kazan");

test("one trace has the message from its arrival to its answer, and none of its words", async () => {
  const { at, spans, named } = await tracedStage({}, () => ({ tools: [weather] }));
  at.model.answers(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? { afterMs: 2_000, says: ["bring a hat"] }
      : { afterMs: 1_000, calls: { name: "weather", args: { town: "Kazan" } }, promptTokens: 7 },
  );
  await at.person("ann").says("what is it like outside?").gets("bring a hat");
  await at.pass(1_000);
  expect(spans.map(({ name }) => name).toSorted()).toEqual(
    ["received", "waited", "turn", "chat one", "chat one", "execute_tool weather", "deliver"].toSorted(),
  );
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  const [received] = named("received");
  const [turn] = named("turn");
  expect(received?.parentSpanId).toBeUndefined();
  expect(named("waited")[0]?.parentSpanId).toBe(received?.spanId);
  expect(turn?.parentSpanId).toBe(received?.spanId);
  for (const name of ["chat one", "execute_tool weather", "deliver"])
    for (const span of named(name)) expect(span.parentSpanId).toBe(turn?.spanId);
  expect(named("chat one").map(({ startMs, endMs }) => endMs - startMs)).toEqual([1_000, 2_000]);
  expect(named("chat one")[0]?.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "scripted",
    "gen_ai.request.model": "one",
    "gen_ai.usage.input_tokens": 7,
    "gen_ai.usage.output_tokens": 1,
    "gen_ai.response.finish_reasons": ["toolUse"],
  });
  expect(named("execute_tool weather")[0]?.attributes).toMatchObject({ "gen_ai.tool.call.id": "call-1" });
  expect(named("deliver")[0]?.attributes).toMatchObject({ "parley.delivery.state": "sent" });
  expect(JSON.stringify(spans)).not.toMatch(/outside|a hat|Kazan/);
});

test("with includeContent the spans have what was said", async () => {
  const { at, named } = await tracedStage({ includeContent: true }, () => ({ tools: [weather] }));
  at.model.answers(({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? "bring a hat"
      : { calls: { name: "weather", args: { town: "Kazan" } } },
  );
  await at.person("ann").says("what is it like outside, hunter2?").gets("bring a hat");
  await at.pass(1_000);
  // What the config knows as a secret is in no span.
  expect(named("received")[0]?.attributes["parley.content"]).toBe("what is it like outside, [secret]?");
  expect(named("execute_tool weather")[0]?.attributes).toMatchObject({
    "gen_ai.tool.call.arguments": '{"town":"Kazan"}',
    "gen_ai.tool.call.result": expect.stringContaining("sunny in Kazan") as string,
  });
  expect(named("chat one")[1]?.attributes["gen_ai.output.messages"]).toContain("bring a hat");
  expect(named("deliver")[0]?.attributes["parley.content"]).toBe("bring a hat");
});

test("after kill -9 the next process goes on with the same trace, and tells what came before", async () => {
  const { at, spans, named } = await tracedStage({}, (now) => ({
    tools: [weather, waitTool(() => now().clock, 5_000).tool],
  }));
  at.model.answers(({ messages }) => {
    const results = messages.filter(({ role }) => role === "tool").length;
    if (results === 0) return { calls: { name: "weather", args: {} } };
    return results === 1 ? { calls: { name: "wait", args: {} } } : "done";
  });
  const ann = at.person("ann");
  ann.says("go");
  await at.until(() => at.model.asked.length === 2, "the second call");
  await at.pass(1_000);
  await at.kill();
  expect(spans).toEqual([]);
  await at.start();
  await ann.gets("done");
  await at.pass(1_000);
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  expect(named("turn")).toHaveLength(1);
  expect(named("chat one")).toHaveLength(3);
  expect(named("execute_tool weather")).toHaveLength(1);
  expect(named("deliver")).toHaveLength(1);
});

test("a kill between the turn's end and the answer leaves the answer in the turn's trace", async () => {
  const { at, named } = await tracedStage({});
  at.model.answers(() => "hello");
  const ann = at.person("ann");
  at.telegram.channel();
  const died = at.dieAtWrite(4);
  ann.says("hi");
  await at.until(died, "the death");
  await at.kill();
  await at.start();
  await ann.gets("hello");
  await at.pass(1_000);
  expect(named("deliver")[0]?.traceId).toBe(named("turn").at(-1)?.traceId);
  expect(named("deliver")[0]?.parentSpanId).toBe(named("turn").at(-1)?.spanId);
});

test("messages of one turn have a trace each, linked to the turn's", async () => {
  const { at, named } = await tracedStage({}, () => ({
    config: { messages: { queue: { mode: "collect", debounceMs: 1_000 } } },
  }));
  at.model.answers(({ text }) => ({ afterMs: 3_000, says: [`re: ${text.replaceAll("\n", " ")}`] }));
  const ann = at.person("ann");
  ann.says("one");
  await at.pass(100);
  ann.says("two");
  ann.says("three");
  await at.pass(60_000);
  expect(named("received")).toHaveLength(3);
  expect(new Set(named("received").map(({ traceId }) => traceId)).size).toBe(3);
  const turns = named("turn");
  const linked = named("waited").flatMap(({ links }) => links ?? []);
  expect(linked.length).toBeGreaterThan(0);
  expect(turns.map(({ spanId }) => spanId)).toEqual(
    expect.arrayContaining(linked.map(({ spanId }) => spanId)),
  );
});

test("a message is traced whole or not at all, by every process the same", async () => {
  const { at, spans, named } = await tracedStage({ sampleRatio: 0.5 });
  for (let n = 0; n < 16; n += 1)
    await at
      .person(`p${n}`)
      .says("hi")
      .gets(/^re: hi/);
  await at.pass(1_000);
  const traces = new Set(spans.map(({ traceId }) => traceId));
  expect(traces.size).toBeGreaterThan(0);
  expect(traces.size).toBeLessThan(16);
  for (const name of ["received", "turn", "chat one", "deliver"])
    expect(new Set(named(name).map(({ traceId }) => traceId))).toEqual(traces);
});

test("a model that fails leaves a span with its kind of failure", async () => {
  const { at, named } = await tracedStage({});
  at.model.answers(() => ({ fails: "invalid" }));
  at.person("ann").says("hi");
  await at.pass(60_000);
  expect(named("chat one")[0]).toMatchObject({ error: "invalid", attributes: { "error.type": "invalid" } });
});
