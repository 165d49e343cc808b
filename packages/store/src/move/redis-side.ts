// Reads and writes the keys of a Redis store as plain records, for a move.
import type { Connection } from "../redis/connection.ts";
import { hasThingsScript, readThingsScript, writeThingsScript } from "../redis/verbs/move.ts";
import { getCellScript, putCellScript, removeCellScript } from "../redis/verbs/state.ts";
import {
  isOwnCell,
  moveCell,
  nameOf,
  thing,
  type Kind,
  type MoveSide,
  type Thing,
  type Value,
} from "./records.ts";

const pageThings = 200;
type Raw = string | number | null | readonly Raw[];
type Fields = { readonly [field: string]: Value | undefined };

export function redisSide(connection: Connection, nowMs: () => number): MoveSide {
  const { call, place } = connection;
  return {
    name: place,
    async read(kind, from) {
      const start = Number(from ?? 0);
      const [found, counted] = await call<readonly [readonly Raw[], number]>(readThingsScript, {
        kind,
        from: start,
        limit: pageThings,
      });
      const things =
        kind === "counters" ? counters(found) : found.map((raw) => readOne[kind](raw as readonly Raw[]));
      const step = kind === "entries" ? 1 : pageThings;
      return {
        things: kind === "cells" ? things.filter((each) => isKept(each, nowMs())) : things,
        next: counted < step ? null : String(start + step),
      };
    },
    async write(kind, things) {
      for (let n = 0; n < things.length; n += pageThings)
        await call(writeThingsScript, {
          kind,
          things: things.slice(n, n + pageThings).map((each) => writeOne[kind](each)),
        });
    },
    progress: async () =>
      (await call<readonly [string, string] | null>(getCellScript, { key: moveCell }))?.[1] ?? null,
    async setProgress(text) {
      await (text === null
        ? call(removeCellScript, { key: moveCell })
        : call(putCellScript, { key: moveCell, value: text }));
    },
    isEmpty: async () => (await call<number>(hasThingsScript, {})) === 0,
    close: () => connection.close(),
  };
}

function isKept(cell: Thing, nowMs: number): boolean {
  return !isOwnCell(nameOf(cell["key"])) && Number(cell["expires"] ?? Infinity) > nowMs;
}

const number = (raw: Raw | undefined): number | undefined =>
  raw === null || raw === undefined ? undefined : Number(raw);
const parsed = (raw: Raw | undefined): Fields => JSON.parse(nameOf(raw)) as Fields;

const readOne: { readonly [kind in Exclude<Kind, "counters">]: (raw: readonly Raw[]) => Thing } = {
  sessions([key, numbers, flat]) {
    const [epoch, last, created, updated] = numbers as readonly Raw[];
    const list = flat as readonly string[];
    const fields: { [field: string]: Value } = {};
    for (let n = 0; n < list.length; n += 2)
      fields[list[n] ?? ""] = JSON.parse(list[n + 1] ?? "null") as Value;
    return thing({
      key: nameOf(key),
      epoch: number(epoch),
      last: number(last),
      created: number(created),
      updated: number(updated),
      fields,
    });
  },
  entries: ([lane, text]) => thing({ lane: nameOf(lane), ...parsed(text) }),
  rows: ([text, payload]) => thing({ ...parsed(text), payload: nameOf(payload) }),
  turns([text, steps]) {
    const { rows, added, ...turn } = parsed(text);
    const open = turn["state"] !== "done";
    return thing({
      ...turn,
      added: open ? undefined : Math.min(Number(added ?? 0), 1_000),
      rows: open ? rows : undefined,
      steps: open ? (steps as readonly string[]).map((step) => thing(parsed(step))) : undefined,
    });
  },
  deliveries([text, parts, troubled]) {
    const shown = (parts as readonly (readonly string[])[]).map(([state, content]) =>
      thing({ ...parsed(state ?? "{}"), content: content ?? "" }),
    );
    return thing({ ...parsed(text), parts: shown, troubled: troubled === 1 });
  },
  lanes: ([kind, lane, pool, token, at, turn]) =>
    thing({
      kind: nameOf(kind),
      lane: nameOf(lane),
      pool: nameOf(pool),
      token: number(token),
      at: number(at),
      turn: turn === null || turn === undefined ? undefined : nameOf(turn),
    }),
  cells([key, fields]) {
    const [value, version, expires] = fields as readonly Raw[];
    return thing({
      key: nameOf(key),
      value: nameOf(value),
      version: number(version),
      expires: number(expires),
    });
  },
  events([at, text]) {
    const { stream, id } = parsed(at);
    return thing({ ...parsed(text), stream, id });
  },
};

function counters(flat: readonly Raw[]): Thing[] {
  const found: Thing[] = [];
  for (let n = 0; n < flat.length; n += 2)
    if (flat[n] !== "probe") found.push(thing({ name: String(flat[n]), n: number(flat[n + 1]) }));
  return found;
}

const writeOne: { readonly [kind in Kind]: (each: Thing) => object } = {
  sessions: (each) => ({
    ...each,
    fields: Object.entries((each["fields"] ?? {}) as object).map(([field, value]) => [
      field,
      JSON.stringify(value),
    ]),
  }),
  entries: ({ lane, epoch, seq, turn, body }) => ({
    lane,
    epoch,
    seq,
    text: JSON.stringify({ seq, epoch, turn, body }),
  }),
  rows({ payload, ...row }) {
    return { ...row, text: JSON.stringify(row), payload };
  },
  turns({ steps, ...turn }) {
    const text = JSON.stringify({ added: 0, ...turn, rows: turn["rows"] ?? [] });
    return {
      id: turn["id"],
      ended: turn["ended"],
      text,
      steps: ((steps ?? []) as readonly Thing[]).map((step) => JSON.stringify(step)),
    };
  },
  deliveries({ parts, troubled, ...delivery }) {
    const list = (parts ?? []) as readonly Thing[];
    const states = list.map(({ content, ...part }) => [JSON.stringify({ flagged: false, ...part }), content]);
    return {
      ...delivery,
      troubled,
      text: JSON.stringify({ ...delivery, parts: list.length }),
      parts: states,
    };
  },
  lanes: (each) => each,
  cells: (each) => each,
  events: ({ seq, at, body, stream, id }) => ({ seq, stream, id, text: JSON.stringify({ seq, at, body }) }),
  counters: (each) => each,
};
