// Serves messages that failed for good to the operator. A terminal state is never left (I2): a retry is a
// copy under a new id, with the same lane, conversation and authority, so that it means what the first one
// meant.
import { Fault, type MethodParams, type MethodResult, parseRowPayload } from "@parley/protocol";
import type { Inbox, NewRow, RowView } from "@parley/store";
import { nextTry } from "./outbox.ts";
import { inboundOf, shownRow } from "../trace/record-views.ts";

export function deadMethods(inbox: Pick<Inbox, "find" | "accept" | "dismiss">) {
  async function named(id: string): Promise<RowView> {
    const [found] = await inbox.find({ id, dismissed: true, limit: 1 });
    if (found === undefined)
      throw new Fault("missing", `there is no message "${id}" (any more); "parley dead list" shows them`);
    if (found.outcome !== "dead")
      throw new Fault("conflict", `"${id}" is not dead: it is ${found.outcome ?? found.state}`);
    return found;
  }

  return {
    async list(params: MethodParams<"dead.list">): Promise<MethodResult<"dead.list">> {
      return { rows: (await inbox.find({ outcome: "dead", limit: params.limit ?? 100 })).map(shownRow) };
    },

    /** Idempotent, because the copy's id derives from the first one's. */
    async retry({ id }: MethodParams<"dead.retry">): Promise<MethodResult<"dead.retry">> {
      const found = await named(id);
      if (inboundOf(found) === null) {
        throw new Fault(
          "unsupported",
          `"${id}" cannot be retried: it is of a form that this version cannot read. "parley dead drop" takes it off the list`,
        );
      }
      const isCommand = parseRowPayload(found.payload).command !== undefined;
      const copy: NewRow = {
        id: nextTry(id),
        pool: found.pool,
        lane: found.lane,
        conversation: found.conversation,
        authority: found.authority,
        as: { kind: "work", ...(isCommand ? { barrier: true } : {}) },
        payload: found.payload,
      };
      await inbox.accept([copy]);
      await inbox.dismiss([id]);
      return { id: copy.id };
    },

    async drop({ id }: MethodParams<"dead.drop">): Promise<MethodResult<"dead.drop">> {
      await named(id);
      if ((await inbox.dismiss([id])) === 0)
        throw new Fault("conflict", `"${id}" was dropped or retried before`);
      return { id };
    },
  };
}
