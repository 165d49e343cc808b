// Makes the spans of one row: that it was received, and that it waited for its turn.
import { wordsOf } from "@parley/protocol";
import type { Row, Turn } from "@parley/store";
import { inboundOf, internalOf } from "../trace/record-views.ts";
import type { Span } from "./span-exporter.ts";
import { root, spanId } from "./span-ids.ts";
import type { Attributes, Said } from "./turn-spans.ts";

export function receivedSpan(
  row: Pick<Row, "id" | "payload" | "acceptedAtMs" | "conversation">,
  lane: string,
  more: Attributes,
  said: Said,
): Span {
  const inbound = inboundOf(row);
  const internal = internalOf(row);
  const sentAtMs = inbound?.atMs ?? row.acceptedAtMs;
  return {
    ...root(row.id),
    name: "received",
    kind: "consumer",
    // A platform's clock may be ahead, and a message may have waited there for days.
    startMs: Math.min(sentAtMs, row.acceptedAtMs),
    endMs: row.acceptedAtMs,
    attributes: {
      "parley.row.id": row.id,
      "parley.session": lane,
      "messaging.system": inbound?.channel,
      "messaging.operation.type": "receive",
      "messaging.destination.name": row.conversation,
      "messaging.message.id": inbound?.messageId,
      "gen_ai.conversation.id": lane,
      "parley.kind": internal?.kind,
      "parley.caused_by.turn": internal === null || internal.turn === "" ? undefined : internal.turn,
      ...more,
      ...said("parley.content", inbound === null ? undefined : wordsOf(inbound)),
    },
  };
}

export function waitedSpan(row: Row, turn: Pick<Turn, "id" | "pool" | "openedAtMs">): Span {
  const own = root(row.id);
  return {
    traceId: own.traceId,
    spanId: spanId("waited", row.id),
    parentSpanId: own.spanId,
    name: "waited",
    kind: "internal",
    startMs: row.acceptedAtMs,
    endMs: Math.max(row.acceptedAtMs, turn.openedAtMs),
    attributes: { "parley.row.id": row.id, "parley.turn.id": turn.id, "parley.pool": turn.pool },
  };
}
