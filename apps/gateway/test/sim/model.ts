// The simulated language model: does what the script of the newest message says, and names in its answer
// every message that it answers. Its tool calls carry what it was shown, so that a transcript can be compared
// with what the model really read.
import type { Model, ModelErrorKind, ModelEvent, ModelMessage, ModelRequest } from "@parley/models";
import { noUsage, sleep, type AssistantContent, type StopReason } from "@parley/protocol";
import type { Life } from "./life.ts";
import type { Script } from "./plan.ts";
import { slowMs, type World } from "./world.ts";

export interface ModelCatalog {
  readonly scripts: ReadonlyMap<number, Script>;
  /** Calls for a message so far: what `fails.times` counts. */
  readonly calls: Map<number, number>;
}

const marker = /#\d+\b/g;
const answerStart = "ans[";
export const secretThought = "secret-thought";

export function simulatedModel(world: World, life: Life, book: ModelCatalog): Model {
  return {
    id: "simulated/model",
    contextWindow: 1_000_000,
    maxTokens: 10_000,
    vision: false,
    reasoning: false,
    async *stream(request, signal): AsyncGenerator<ModelEvent> {
      const { nth, harm } = world.harmOf("model.call");
      if (harm === "crash before") life.die(`model.call#${nth}`);
      if (harm === "slow") await sleep(life.clock, slowMs(world, "model.call", nth), signal);
      const trail = trailOf(request.messages);
      world.note(`model.call#${nth} ${trail.join(" ")}`);
      const fresh = trail.flatMap((step) => (step.startsWith("#") ? [Number(step.slice(1))] : []));
      if (fresh.some((n) => book.scripts.get(n)?.kills === true)) {
        world.harm();
        life.die("a message that kills");
      }
      const script = book.scripts.get(fresh.at(-1) ?? -1) ?? plain;
      const failure = failureOf(book, script, fresh.at(-1) ?? -1);
      if (failure !== null) return yield* fail(life, failure, signal);

      const done = trail.length - 1 - trail.findLastIndex((step) => step.startsWith("#"));
      const tool = request.toolChoice === "none" ? undefined : script.tools[done];
      const text = tool === undefined ? answerText(fresh, script) : "";
      for (const delta of pieces(text, script.pieces)) {
        await sleep(life.clock, script.pauseMs, signal);
        if (signal.aborted) return yield end("aborted", [], "aborted");
        yield { type: "text", delta };
      }
      if (tool === undefined) return yield end("stop", [{ type: "text", text }]);
      await sleep(life.clock, script.pauseMs, signal);
      if (signal.aborted) return yield end("aborted", [], "aborted");
      const call = {
        type: "toolCall",
        id: `call-${fresh.at(-1)}-${done}`,
        name: tool,
        args: { trail: [...trail] },
      } as const;
      yield call;
      yield end("toolUse", [call]);
    },
  };
}

const plain: Script = { tools: [], answer: "plain", pieces: 1, pauseMs: 10 };

function failureOf(
  { calls }: ModelCatalog,
  { fails }: Script,
  n: number,
): NonNullable<Script["fails"]>["how"] | null {
  if (fails === undefined) return null;
  const count = (calls.get(n) ?? 0) + 1;
  calls.set(n, count);
  return count <= fails.times ? fails.how : null;
}

async function* fail(
  life: Life,
  how: NonNullable<Script["fails"]>["how"],
  signal: AbortSignal,
): AsyncGenerator<ModelEvent> {
  if (how === "hang") {
    await sleep(life.clock, 86_400_000, signal);
    return yield end("aborted", [], "aborted");
  }
  await sleep(life.clock, 20, signal);
  if (how === "torn") yield { type: "text", delta: "this was torn" };
  yield end("error", [], how);
}

function end(stop: StopReason, content: readonly AssistantContent[], error?: ModelErrorKind): ModelEvent {
  return {
    type: "end",
    stop,
    content,
    usage: noUsage,
    ...(error === undefined ? {} : { error: { kind: error, message: "simulated" } }),
  };
}

/** What came since the last answer in words. */
function trailOf(messages: ModelRequest["messages"]): readonly string[] {
  const from = messages.findLastIndex(
    (message) => message.role === "assistant" && textOf(message).includes(answerStart),
  );
  return messages.slice(from + 1).flatMap((message) => {
    if (message.role === "user") return markers(textOf(message));
    return message.role === "tool" ? [message.callId] : [];
  });
}

/** `#12` and the like, in their order. */
export function markers(text: string): readonly string[] {
  return text.match(marker) ?? [];
}

function textOf(message: ModelMessage): string {
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

function answerText(fresh: readonly number[], { answer }: Script): string {
  const named = [...new Set(fresh)].map((n) => `${answerStart}${n}]`).join(" ");
  switch (answer) {
    case "plain":
      return `${named} Here you are.`;
    case "long":
      return [
        named,
        ...Array.from({ length: 8 }, (_, line) => `Line ${line} of a long answer, with words to fill it up.`),
      ].join("\n\n");
    case "silent":
      return "NO_REPLY";
    case "thinking":
      return `<think>${secretThought} about ${named}</think>${named} I thought about it.`;
    case "tagged":
      return `[[reply_to_current]] ${named} Quoted.`;
  }
}

function pieces(text: string, count: number): readonly string[] {
  const size = Math.max(1, Math.ceil(text.length / count));
  return Array.from({ length: Math.ceil(text.length / size) }, (_, i) =>
    text.slice(i * size, (i + 1) * size),
  );
}
