// The built-in model: deterministic, without key or network. The same request always gets the same events. It
// reads its script from the last user message and finds its place by counting the answers after that message,
// so it keeps no state and a resumed turn goes on where it stopped.
import {
  type AssistantContent,
  type Clock,
  type StopReason,
  type Usage,
  noUsage,
  sleep,
} from "@parley/protocol";
import type { Model, ModelError, ModelEvent, ModelMessage, ModelRequest } from "../model.ts";
import { helpText, smallTalk } from "./small-talk.ts";
import { inPieces, ownWords, parseScript, type RehearsalCommand } from "./script.ts";

export interface RehearsalOptions {
  readonly clock: Clock;
  /** Default `rehearsal/rehearsal`. */
  readonly id?: string;
}

/** Characters per token, which the rehearsal uses because it has no tokenizer. */
const charsPerToken = 4;

export function rehearsal(options: RehearsalOptions): Model {
  return {
    id: options.id ?? "rehearsal/rehearsal",
    contextWindow: 128_000,
    maxTokens: 128_000,
    vision: true,
    reasoning: true,
    stream: (request, signal) => perform(request, signal, options.clock),
  };
}

async function* perform(
  request: ModelRequest,
  signal: AbortSignal,
  clock: Clock,
): AsyncGenerator<ModelEvent> {
  const content: AssistantContent[] = [];
  let text = "";
  let thought = "";
  const end = (stop: StopReason, error?: ModelError): ModelEvent => ({
    type: "end",
    stop,
    usage: estimated(request, text.length + thought.length),
    content: [
      ...(thought === "" ? [] : [{ type: "thinking" as const, text: thought }]),
      ...(text === "" ? [] : [{ type: "text" as const, text }]),
      ...(error === undefined ? content : []),
    ],
    ...(error === undefined ? {} : { error }),
  });
  const aborted = (): ModelEvent => end("aborted", { kind: "aborted", message: "the rehearsal was stopped" });

  let called = 0;
  for (const command of commandsNow(request)) {
    if (signal.aborted) return yield aborted();
    if (command.do === "think") {
      thought += command.text;
      yield { type: "thinking", delta: command.text };
    } else if (command.do === "wait") {
      await sleep(clock, command.afterMs, signal);
    } else if (command.do === "hang") {
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    } else if (command.do === "fail") {
      const { kind, retryAfterMs } = command;
      const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
      return yield end(kind === "aborted" ? "aborted" : "error", {
        kind,
        message: `(rehearsal) the script asked for ${kind}`,
        ...wait,
      });
    } else if (command.do === "tool") {
      const call = {
        type: "toolCall" as const,
        id: callId(request, (called += 1)),
        name: command.name,
        args: command.args,
      };
      content.push(call);
      yield call;
    } else if (command.do === "badTool") {
      const { name, raw } = command;
      yield {
        type: "badToolCall",
        id: callId(request, (called += 1)),
        name,
        raw,
        reason: "the arguments are not a JSON object",
      };
    } else if (command.do === "length") {
      return yield end("length");
    } else if (command.do !== "empty") {
      const { pieces, everyMs } =
        command.do === "text" ? command : { pieces: inPieces(answerTo(command.do, request)), everyMs: 0 };
      // Texts of one answer stand on lines of their own.
      for (const [at, piece] of (text === "" ? pieces : ["\n", ...pieces]).entries()) {
        if (at > 0 && everyMs > 0) await sleep(clock, everyMs, signal);
        if (signal.aborted) return yield aborted();
        text += piece;
        yield { type: "text", delta: piece };
      }
    }
  }
  yield signal.aborted ? aborted() : end(called > 0 ? "toolUse" : "stop");
}

/**
 * The part of the script that this call plays: from where the last call stopped, through the next group of
 * tool calls.
 */
function commandsNow(request: ModelRequest): readonly RehearsalCommand[] {
  const lastUser = request.messages.findLastIndex((message) => message.role === "user");
  const message = request.messages[lastUser];
  const said = ownWords(textOf(message));
  const script = parseScript(said);
  const answered = request.messages.slice(lastUser + 1).filter((later) => later.role === "assistant").length;
  if (script.length === 0) {
    const turn = request.messages.filter((each) => each.role === "user").length;
    const images =
      message?.role === "user" ? message.content.filter((part) => part.type === "image").length : 0;
    return [{ do: "text", pieces: inPieces(smallTalk(said, turn, images)), everyMs: 0 }];
  }
  const groups: RehearsalCommand[][] = [[]];
  for (const command of script) {
    const current = groups.at(-1) ?? [];
    const calls = (one: RehearsalCommand | undefined): boolean => one?.do === "tool" || one?.do === "badTool";
    if (calls(current.at(-1)) && !calls(command)) groups.push([command]);
    else current.push(command);
  }
  // A script that ends with a tool call still owes an answer, which is the tool's result.
  const now = groups[answered] ?? [{ do: "result" }];
  return request.toolChoice === "none"
    ? now.filter((command) => command.do !== "tool" && command.do !== "badTool")
    : now;
}

function answerTo(command: "result" | "history" | "promptHash" | "help", request: ModelRequest): string {
  if (command === "help") return helpText;
  if (command === "promptHash") {
    const tools = request.tools.map((tool) => tool.name);
    const zones = `stable ${shortHash(request.system.stable)}, volatile ${shortHash(request.system.volatile)}`;
    return `(rehearsal) prompt: ${zones}, tools ${shortHash(JSON.stringify(request.tools))} (${tools.length === 0 ? "none" : tools.join(", ")})`;
  }
  if (command === "result") {
    const result = request.messages.findLast((message) => message.role === "tool");
    return result === undefined
      ? "(rehearsal) no tool has answered yet"
      : `(rehearsal) ${result.name} answered: ${textOf(result)}`;
  }
  const count = (role: ModelMessage["role"]): number =>
    request.messages.filter((message) => message.role === role).length;
  const first =
    ownWords(textOf(request.messages.find((message) => message.role === "user"))).split("\n")[0] ?? "";
  return `(rehearsal) I see ${count("user")} messages of yours, ${count("assistant")} of mine and ${count("tool")} tool results. The first began: “${first.slice(0, 100)}”`;
}

function textOf(message: ModelMessage | undefined): string {
  return (message?.content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/**
 * Unique in its conversation and the same on every replay: the position of the answer, then of the call in
 * it.
 */
function callId(request: ModelRequest, nth: number): string {
  return `rehearsal_${request.messages.length}_${nth}`;
}

function estimated(request: ModelRequest, answeredChars: number): Usage {
  const asked =
    request.system.stable.length +
    request.system.volatile.length +
    JSON.stringify([request.messages, request.tools]).length;
  const tokens = (chars: number): number => Math.ceil(chars / charsPerToken);
  return { ...noUsage, inputTokens: tokens(asked), outputTokens: tokens(answeredChars), costUsd: 0 };
}

/** FNV-1a, 32 bits: tells two prompts apart without showing either. */
function shortHash(text: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
