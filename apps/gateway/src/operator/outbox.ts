// Serves deliveries to the operator: lists those that wait or fail, sends them again, or gives them up.
import { Fault, parseConversationKey, type MethodParams, type MethodResult } from "@parley/protocol";
import type { DeliveryView, NewDelivery, Outbox } from "@parley/store";
import { unsentParts, type UnreachableChats } from "@parley/delivery";
import { shownDelivery } from "../trace/record-views.ts";

export function outboxMethods(
  outbox: Pick<Outbox, "find" | "post" | "drop">,
  closed: Pick<UnreachableChats, "open">,
) {
  async function named(id: string): Promise<DeliveryView> {
    const [found] = await outbox.find({ id, limit: 1 });
    if (found === undefined)
      throw new Fault("missing", `there is no delivery "${id}" (any more); "parley outbox list" shows them`);
    return found;
  }

  return {
    async list(params: MethodParams<"outbox.list">): Promise<MethodResult<"outbox.list">> {
      const limit = params.limit ?? 100;
      const of = params.lane === undefined ? { limit } : { lane: params.lane as DeliveryView["lane"], limit };
      const found = await Promise.all([
        outbox.find({ ...of, troubled: true }),
        ...(params.troubled === true
          ? []
          : [outbox.find({ ...of, state: "queued" }), outbox.find({ ...of, state: "sending" })]),
      ]);
      const byId = new Map(found.flat().map((delivery) => [delivery.id, delivery]));
      const newest = [...byId.values()].toSorted((a, b) => b.createdAtMs - a.createdAtMs);
      return { deliveries: newest.slice(0, limit).map(shownDelivery) };
    },

    async show({ id }: MethodParams<"outbox.show">): Promise<MethodResult<"outbox.show">> {
      return shownDelivery(await named(id));
    },

    /** Idempotent, because the copy's id derives from the first one's. */
    async retry({ id }: MethodParams<"outbox.retry">): Promise<MethodResult<"outbox.retry">> {
      const found = await named(id);
      if (!found.done) throw new Fault("conflict", `"${id}" is still being delivered; it needs no retry`);
      const unsent = unsentParts(found);
      if (unsent.length === 0)
        throw new Fault("conflict", `"${id}" was sent whole; there is nothing to send again`);
      const copy: NewDelivery = {
        id: nextTry(id),
        pool: found.pool,
        lane: found.lane,
        cause: found.cause,
        parts: unsent,
      };
      // An operator who retries expects the chat to be reachable again.
      await closed.open([parseConversationKey(found.lane)]);
      await outbox.post([copy]);
      await outbox.drop([id], "sent again by an operator");
      return { id: copy.id };
    },

    async drop({ id }: MethodParams<"outbox.drop">): Promise<MethodResult<"outbox.drop">> {
      await named(id);
      if ((await outbox.drop([id], "dropped by an operator")) === 0)
        throw new Fault("conflict", `"${id}" was sent or dropped before`);
      return { id };
    },
  };
}

/** `x` -> `x~2` -> `x~3`: each attempt has exactly one successor, whoever asks for it and however often. */
export function nextTry(id: string): string {
  const match = /^(.*)~(\d+)$/s.exec(id);
  return match === null ? `${id}~2` : `${match[1]}~${Number(match[2]) + 1}`;
}
