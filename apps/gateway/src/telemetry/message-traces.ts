// Traces messages from outside: a view over the store learns of turns and deliveries, one over the models of
// calls. Ids follow from the ids of rows, so that another process, after a crash or on another node, goes on
// with the same trace; what a turn did before a crash is told from the entries that it commits.
import { hideSecrets } from "@parley/agent";
import type { Model, ModelEvent, Models } from "@parley/models";
import { parseContent, type AssistantEntry, type Clock, type Entry, type Log } from "@parley/protocol";
import type { Change, Commit, DeliveryBatch, Lease, Row, Store, Turn } from "@parley/store";
import { textOf } from "../trace/record-views.ts";
import { boundedMap } from "./bounded-map.ts";
import { receivedSpan, waitedSpan } from "./row-spans.ts";
import type { Span } from "./span-exporter.ts";
import { isSampled, root, spanId } from "./span-ids.ts";
import { modelSpans, toolSpans, type Said, type SeenCall } from "./turn-spans.ts";

export interface MessageTracesOptions {
  readonly sampleRatio: number;
  readonly includeContent: boolean;
  /** Values that no span may have. */
  readonly secrets: readonly string[];
  readonly add: (span: Span) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export interface MessageTraces {
  /** Returns the same store, traced. */
  store<S extends Pick<Store, "inbox" | "turns" | "outbox">>(store: S): S;
  /** Returns the same models, traced. */
  models(models: Models): Models;
}

/** A send that this process began. */
interface Send {
  readonly atMs: number;
  readonly attempt: number;
}

const callsOfLane = 200;
const contentChars = 8_192;
const rowsOfTurn = 200;

export function messageTraces({
  sampleRatio,
  includeContent,
  secrets,
  add,
  clock,
  log,
}: MessageTracesOptions): MessageTraces {
  const calls = boundedMap<SeenCall[]>();
  const toolStarts = boundedMap<number>();
  const sends = boundedMap<Send>();
  /** Of parts that a first send made of their delivery, where spans may have them. */
  const contents = boundedMap<string>();
  const absorbed = boundedMap<readonly Row[]>();
  const rowOfTurn = boundedMap<string>();

  const lost = (error: unknown): void => log.debug({ error }, "a span could not be made");
  /** What was stored stays stored, whatever becomes of its span. */
  const quietly = (make: () => void): void => {
    try {
      make();
    } catch (error) {
      lost(error);
    }
  };
  const put = (span: Span): void => {
    if (isSampled(span.traceId, sampleRatio)) add(span);
  };
  const said: Said = (key, text) =>
    includeContent && text !== undefined && text !== ""
      ? { [key]: hideSecrets(text, secrets).slice(0, contentChars).toWellFormed() }
      : {};

  function committed(turn: Turn, what: Commit): void {
    const rows = [...turn.rows, ...(absorbed.take(turn.id) ?? [])].filter(
      (row, index, all) => all.findIndex(({ id }) => id === row.id) === index,
    );
    const [first] = rows;
    if (first === undefined) return;
    rowOfTurn.set(turn.id, first.id);
    const { traceId, spanId: rootId } = root(first.id);
    const turnSpan = spanId("turn", turn.id);
    for (const row of rows) {
      put(receivedSpan(row, turn.lane, {}, said));
      const links = row === first ? {} : { links: [{ traceId, spanId: turnSpan }] };
      put({ ...waitedSpan(row, turn), ...links });
    }
    const entries = what.entries.map((body) => JSON.parse(body) as Entry);
    const seen = (calls.take(turn.lane) ?? []).filter(({ endMs }) => endMs >= turn.openedAtMs);
    const answers = entries.filter((entry): entry is AssistantEntry => entry.type === "assistant");
    const answered = answers.at(-1);
    put({
      traceId,
      spanId: turnSpan,
      parentSpanId: rootId,
      name: "turn",
      kind: "internal",
      startMs: turn.openedAtMs,
      endMs: clock.now(),
      attributes: {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": turn.lane,
        "gen_ai.agent.name": /^agent:([^:]+):/.exec(turn.lane)?.[1],
        "gen_ai.response.model": answered?.model,
        "parley.turn.id": turn.id,
        "parley.turn.attempt": turn.attempt,
        "parley.turn.rows": rows.map(({ id }) => id),
        "parley.pool": turn.pool,
        "parley.outcome": what.outcome,
        "parley.reason": what.outcome === "dead" || includeContent ? what.reason : undefined,
      },
      ...(rows.length > 1
        ? { links: rows.slice(1).map(({ id }) => ({ traceId: root(id).traceId, spanId: root(id).spanId })) }
        : {}),
      ...(what.outcome === "dead" ? { error: what.reason ?? "dead" } : {}),
    });
    const within = { turn, traceId, parentSpanId: turnSpan, said };
    modelSpans(within, entries, seen).forEach(put);
    toolSpans(within, entries, (callId) => toolStarts.take(`${turn.id}/${callId}`)).forEach(put);
  }

  async function delivered(
    store: Pick<Store, "inbox">,
    batch: DeliveryBatch,
    change: Change,
    send: Send | undefined,
  ): Promise<void> {
    const delivery = batch.deliveries.find(({ id }) => id === change.delivery);
    if (delivery === undefined || change.to === "sending") return;
    const endMs = clock.now();
    const { cause } = delivery;
    // The id of a turn, else of a row.
    const rowOfIt = cause.includes("#") ? await rowOf(store, cause) : null;
    const ofTurn = rowOfIt !== null;
    const row = rowOfIt ?? cause;
    const { traceId, spanId: rootId } = root(row);
    const part = delivery.parts[change.part];
    const begunMs = send?.atMs ?? (part?.startedAtMs || endMs);
    const receipt = change.to === "sent" ? change.receipt : null;
    put({
      traceId,
      spanId: spanId("delivery", `${change.delivery}/${change.part}/${begunMs}`),
      parentSpanId: ofTurn ? spanId("turn", cause) : rootId,
      name: "deliver",
      kind: "producer",
      startMs: begunMs,
      endMs,
      attributes: {
        "parley.delivery.id": change.delivery,
        "parley.delivery.part": change.part,
        "parley.delivery.state": change.to,
        "parley.delivery.attempt": send?.attempt ?? part?.attempts,
        "parley.delivery.queued_ms": Math.max(0, begunMs - delivery.createdAtMs),
        "messaging.system": delivery.pool.split(":")[0],
        "messaging.operation.type": "send",
        "messaging.destination.name": delivery.lane,
        "messaging.message.id": receipt === null ? undefined : messageIdIn(receipt),
        ...said("parley.content", textIn(contents.get(`${change.delivery}/${change.part}`) ?? part?.content)),
      },
      ...(change.to === "sent" ? {} : { error: change.to === "queued" ? "tried again" : change.to }),
    });
  }

  /** The row whose trace a turn belongs to; null when its records are gone. */
  async function rowOf({ inbox }: Pick<Store, "inbox">, turn: string): Promise<string | null> {
    const known = rowOfTurn.get(turn);
    if (known !== undefined) return known;
    const rows = await inbox.find({ turn, dismissed: true, limit: rowsOfTurn });
    const first = rows.filter(({ outcome }) => outcome !== "context").at(-1);
    if (first === undefined) return null;
    rowOfTurn.set(turn, first.id);
    return first.id;
  }

  function traced(model: Model): Model {
    async function* stream(...args: Parameters<Model["stream"]>): AsyncGenerator<ModelEvent> {
      const startMs = clock.now();
      let firstMs: number | null = null;
      let end: SeenCall["end"] = null;
      try {
        for await (const event of model.stream(...args)) {
          if (event.type === "end") end = event;
          else if (event.type !== "discard") firstMs ??= clock.now();
          yield event;
        }
      } finally {
        const lane = args[0].cacheKey;
        const of = calls.get(lane) ?? [];
        if (of.length < callsOfLane) of.push({ model: model.id, startMs, endMs: clock.now(), firstMs, end });
        calls.set(lane, of);
      }
    }
    return { ...model, stream };
  }

  return {
    models: (models) => ({ ...models, get: async (id) => traced(await models.get(id)) }),
    store: (store) => ({
      ...store,
      inbox: {
        ...store.inbox,
        async accept(rows) {
          const accepted = await store.inbox.accept(rows);
          accepted.forEach(({ verdict }, index) => {
            const row = rows[index];
            // What waits for a turn is told with it, also when another process ends that.
            if (row === undefined || verdict !== "closed" || row.as.kind !== "closed") return;
            const { outcome, reason } = row.as;
            quietly(() =>
              put(
                receivedSpan(
                  { ...row, acceptedAtMs: clock.now() },
                  row.lane,
                  { "parley.outcome": outcome, "parley.reason": reason },
                  said,
                ),
              ),
            );
          });
          return accepted;
        },
      },
      turns: {
        ...store.turns,
        async absorb(lease, at, maxRows, how) {
          const rows = await store.turns.absorb(lease, at, maxRows, how);
          const id = turnIn(lease)?.id;
          if (id !== undefined && rows.length > 0) absorbed.set(id, [...(absorbed.get(id) ?? []), ...rows]);
          return rows;
        },
        async checkpoint(lease, at, what) {
          const length = await store.turns.checkpoint(lease, at, what);
          const id = turnIn(lease)?.id;
          if (id !== undefined)
            for (const { kind, body } of what.steps)
              if (kind === "intent") {
                quietly(() => {
                  const { callId } = JSON.parse(body) as { readonly callId: string };
                  toolStarts.set(`${id}/${callId}`, clock.now());
                });
              }
          return length;
        },
        async commit(lease, turn, what) {
          const done = await store.turns.commit(lease, turn, what);
          const held = turnIn(lease);
          if (held !== null && held.id === turn) quietly(() => committed(held, what));
          return done;
        },
      },
      outbox: {
        ...store.outbox,
        async record(lease, changes, release) {
          const released = await store.outbox.record(lease, changes, release);
          const batch = lease as Partial<DeliveryBatch> & Lease;
          for (const change of changes) {
            const key = `${change.delivery}/${change.part}`;
            if (change.to === "sending") {
              sends.set(key, { atMs: clock.now(), attempt: change.attempt });
              if (includeContent)
                change.split?.forEach(({ content }, part) =>
                  contents.set(`${change.delivery}/${part}`, content),
                );
              continue;
            }
            const send = sends.take(key);
            // Told beside the delivery, which does not wait for it.
            if (batch.deliveries !== undefined)
              delivered(store, batch as DeliveryBatch, change, send).catch(lost);
          }
          return released;
        },
      },
    }),
  };
}

/** A turn's lease is the turn itself where the runner holds it. */
function turnIn(lease: Lease): Turn | null {
  return "rows" in lease && "openedAtMs" in lease ? (lease as Turn) : null;
}

function messageIdIn(receipt: string): string | undefined {
  const { messageId } = JSON.parse(receipt) as { readonly messageId?: unknown };
  return typeof messageId === "string" ? messageId : undefined;
}

function textIn(content: string | undefined): string | undefined {
  return content === undefined ? undefined : textOf(parseContent(content));
}
