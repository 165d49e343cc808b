// Makes one model call of the loop: passes its deltas on and turns its end into a transcript entry. By
// contract a call ends by itself; one that does not is abandoned after an abort.
import type { Model, ModelError, ModelRequest } from "@parley/models";
import { type AssistantContent, type AssistantEntry, type Clock, noUsage } from "@parley/protocol";
import { patience } from "./abandon.ts";
import type { LoopEvent } from "./event.ts";
import type { BadCall } from "./journal.ts";
import { freshCallId } from "./view.ts";

export interface Answer {
  readonly entry: AssistantEntry;
  readonly bad: readonly BadCall[];
  readonly error?: ModelError;
}

/** `taken`: the conversation's call ids; the answer's ids are made different from them and added. */
export async function* ask(
  model: Model,
  request: ModelRequest,
  taken: Set<string>,
  signal: AbortSignal,
  clock: Clock,
): AsyncGenerator<LoopEvent, Answer> {
  const patient = patience(signal, clock);
  const stream = model.stream(request, signal)[Symbol.asyncIterator]();
  const bad: { readonly call: AssistantContent; readonly bad: BadCall }[] = [];
  let text = "";
  try {
    for (;;) {
      const waited = await patient.wait(stream.next());
      if (!waited.done || waited.value.done === true) {
        const error: ModelError = waited.done
          ? { kind: "torn", message: `${model.id} ended its stream without an end event` }
          : { kind: "aborted", message: `${model.id} did not stop and was left behind` };
        const content: AssistantContent[] = text === "" ? [] : [{ type: "text", text }];
        const stop = waited.done ? "error" : "aborted";
        return {
          entry: { type: "assistant", content, model: model.id, stop, usage: noUsage, atMs: clock.now() },
          bad: [],
          error,
        };
      }
      const event = waited.value.value;
      if (event.type === "end") {
        const content = event.error === undefined ? event.content : unfinished(event.content, text);
        const calls = event.error === undefined ? bad : [];
        const named = content.map((part) =>
          part.type === "toolCall" ? { ...part, id: freshCallId(part.id, taken) } : part,
        );
        const { stop, usage, error } = event;
        return {
          entry: {
            type: "assistant",
            content: [...named, ...calls.map((each) => each.call)],
            model: event.model ?? model.id,
            stop,
            usage,
            atMs: clock.now(),
          },
          bad: calls.map((each) => each.bad),
          ...(error === undefined ? {} : { error }),
        };
      }
      if (event.type === "discard") {
        text = "";
        bad.length = 0;
        yield event;
      } else if (event.type === "badToolCall") {
        const id = freshCallId(event.id, taken);
        bad.push({
          call: { type: "toolCall", id, name: event.name, args: {} },
          bad: { callId: id, reason: event.reason },
        });
      } else if (event.type !== "toolCall") {
        // Calls are read from the end event, which only a whole answer has.
        if (event.type === "text") text += event.delta;
        yield event;
      }
    }
  } finally {
    patient.end();
    // Not awaited: a hanging stream would hang its return too.
    void Promise.resolve(stream.return?.()).catch(() => {});
  }
}

/** The words of a failed answer: its calls were never complete, and its text may be only in the deltas. */
function unfinished(content: readonly AssistantContent[], text: string): AssistantContent[] {
  const kept = content.filter((part) => part.type !== "toolCall");
  return text === "" || kept.some((part) => part.type === "text") ? kept : [...kept, { type: "text", text }];
}
