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
