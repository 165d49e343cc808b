// The consumer's side of the inbox on Redis: one holder at a time makes one durable turn of a lane's waiting
// rows (I3).
import { Fault } from "@parley/protocol";
import type { ConversationKey, SessionKey } from "@parley/protocol";
import { mostEntriesShown } from "../limits.ts";
import type { Turn, Turns, TurnView } from "../store.ts";
import { cellWrites, fieldPatch, leaseOf } from "./arguments.ts";
import type { Connection } from "./connection.ts";
import { laneViews } from "./lane-views.ts";
import type { LostTakes } from "./lost-takes.ts";
import { checkParts } from "./outbox.ts";
import { entryOf, rowOf, type RowReply, stepOf, type TurnRecord } from "./records.ts";
import { takeBy } from "./take.ts";
import {
  absorbScript,
  checkpointScript,
  commitScript,
  extendTurnScript,
  findTurnScript,
  livedScript,
  parkScript,
  releaseTurnScript,
  splitScript,
  takeScript,
} from "./verbs/turns.ts";

type TurnReply = readonly [
  lane: string,
  token: number,
  holder: string,
  found: string | null,
  record: string,
  rows: readonly RowReply[],
  context: readonly RowReply[],
  log: readonly string[],
];

export function redisTurns(connection: Connection, lost: LostTakes): Turns {
  const { call } = connection;
  return {
    async take(want) {
      const answer = await takeBy<TurnReply>(connection, takeScript, lost, want, ([, , , found]) => found);
      return typeof answer === "number" || answer === null
        ? { idle: true, nextAtMs: answer }
        : turnOf(answer);
    },
    async find(turn) {
      const answer = await call<readonly [string, readonly string[], readonly string[]] | null>(
        findTurnScript,
        {
          turn,
          entries: mostEntriesShown,
        },
      );
      return answer === null ? null : turnViewOf(...answer);
    },
    extend: (lease, leaseMs) => call(extendTurnScript, { lease: leaseOf(lease), leaseMs }),
    async release(lease, { afterMs, refund }) {
      await call(releaseTurnScript, { lease: leaseOf(lease), afterMs, refund });
    },
    list: laneViews(connection, "i"),
    async absorb(lease, at, maxRows, { evenAlone = false } = {}) {
      return (
        await call<readonly RowReply[]>(absorbScript, { lease: leaseOf(lease), at, maxRows, evenAlone })
      ).map(rowOf);
    },
    async checkpoint(lease, at, { steps, deliveries = [], rows = [], cells = [] }) {
      if (steps.length === 0 && (cells.length > 0 || rows.length > 0)) {
        throw new Fault(
          "invalid",
          "a checkpoint that writes cells or rows needs a step, or its repeat could not be told apart",
        );
      }
      if (steps.some((step) => step.kind === "absorbed"))
        throw new Fault("invalid", "absorbed steps are written by absorb alone");
      checkParts(deliveries);
      return call(checkpointScript, {
        lease: leaseOf(lease),
        at,
        steps,
        deliveries,
        rows,
        cells: cellWrites(cells),
      });
    },
    async lived(lease) {
      await call(livedScript, { lease: leaseOf(lease) });
    },
    async split(lease) {
      return turnOf(await call<TurnReply>(splitScript, { lease: leaseOf(lease) }));
    },
    async park(lease, { tickets, wake, untilMs }) {
      await call(parkScript, { lease: leaseOf(lease), tickets, wake, untilMs });
    },
    async commit(lease, turn, { deliveries = [], rows = [], cells = [], patch, ...what }) {
      checkParts(deliveries);
      const writes = {
        deliveries,
        rows,
        cells: cellWrites(cells),
        patch: patch === undefined ? undefined : fieldPatch(patch),
      };
      return { seq: await call<number>(commitScript, { ...what, ...writes, lease: leaseOf(lease), turn }) };
    },
  };
}

function turnOf([lane, token, holder, , text, rows, context, log]: TurnReply): Turn {
  const record = JSON.parse(text) as TurnRecord;
  return {
    lane,
    token,
    holder,
    id: record.id,
    attempt: record.attempt,
    epoch: record.epoch,
    pool: record.pool,
    conversation: record.conversation as ConversationKey,
    authority: record.authority,
    openedAtMs: record.opened,
    rows: rows.map(rowOf),
    context: context.map(rowOf),
    log: log.map(stepOf),
    tickets: JSON.parse(record.tickets) as readonly string[],
    stop: record.stop ?? null,
  };
}

function turnViewOf(text: string, log: readonly string[], entries: readonly string[]): TurnView {
  const record = JSON.parse(text) as TurnRecord;
  return {
    id: record.id,
    lane: record.lane as SessionKey,
    state: record.state,
    attempt: record.attempt,
    openedAtMs: record.opened,
    endedAtMs: record.ended ?? null,
    tickets: JSON.parse(record.tickets) as readonly string[],
    stop: record.stop ?? null,
    log: log.map(stepOf),
    entries: entries.map(entryOf),
  };
}
