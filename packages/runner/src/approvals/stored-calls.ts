// Runs a call whose approval came after its turn ended. The decision's row opens a turn whose first model
// reply is replaced by the stored call, under the turn's own gate, journal and limits; the model then
// continues with the result.
import type { Model, ModelEvent, ModelMessage, ModelRequest } from "@parley/models";
import { noUsage, parseRowPayload } from "@parley/protocol";
import type { Row } from "@parley/store";
import { isGiven, type Approval } from "./approval.ts";
import type { ApprovalStore } from "./approval-store.ts";

const mark = "approved_";

/** Returns null for a call that a model made. */
export function storedIn(callId: string): string | null {
  return callId.startsWith(mark) ? callId.slice(mark.length) : null;
}

/** `rows`: those of the turn so far. */
export function withStoredCalls(
  model: Model,
  turn: string,
  rows: () => readonly Row[],
  book: Pick<ApprovalStore, "get">,
): Model {
  async function next(messages: readonly ModelMessage[]): Promise<Approval | null> {
    const decided = rows().flatMap(({ payload }) => {
      const { internal } = parseRowPayload(payload);
      return internal?.kind === "approval" && internal.turn !== turn ? [internal.id] : [];
    });
    const made = new Set(
      messages.flatMap((message) => (message.role === "assistant" ? callsIn(message) : [])),
    );
    for (const id of decided) {
      if (made.has(mark + id)) continue;
      const kept = await book.get(id);
      if (kept !== null && isGiven(kept.approval)) return kept.approval;
    }
    return null;
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const approval = request.toolChoice === "none" ? null : await next(request.messages);
    if (approval === null) return yield* model.stream(request, signal);
    const call = { id: mark + approval.id, name: approval.tool, args: approval.args };
    yield { type: "toolCall", ...call };
    yield { type: "end", stop: "toolUse", usage: noUsage, content: [{ type: "toolCall", ...call }] };
  }

  return { ...model, stream };
}

function callsIn({ content }: ModelMessage & { role: "assistant" }): readonly string[] {
  return content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []));
}
