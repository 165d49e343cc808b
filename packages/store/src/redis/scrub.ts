// Shows every stored record to a judge, some at a time, so that the gateways work on meanwhile; a judge that
// may write removes or rewrites what belongs to somebody who is forgotten. What changes under its hands is
// looked at again. Rows and turns go last, because they say whose the rest is, so that after a kill it can be
// done again.
import type { RecordKind, Scrubbed, StoredRecord, Verdict } from "../ports/records.ts";
import type { Connection } from "./connection.ts";
import { fieldChanges, fieldsOf } from "./redact.ts";
import { readTextsScript, writeTextsScript } from "./verbs/redact.ts";
import { readRecordsScript, removeRecordsScript } from "./verbs/scrub.ts";

type Judge = (record: StoredRecord) => Verdict;
type Raw = string | number | null | readonly Raw[];
type Slice = readonly [records: readonly (readonly Raw[])[], next: string | null];
type Change = { readonly [name: string]: string | number | undefined };
type Kept = { readonly [field: string]: unknown };

const sliceRecords = 100;
/** Passes over what somebody else changes all the time. */
const mostPasses = 5;

export function scrubWith({ call, rewriteFiles }: Pick<Connection, "call" | "rewriteFiles">) {
  return async (judge: Judge, write: boolean): Promise<Scrubbed> => {
    let removed = 0;
    let rewritten = 0;
    for (let pass = 1; pass <= mostPasses; pass += 1) {
      const done = await onePass(call, judge, write);
      removed += done.removed;
      rewritten += done.rewritten;
      if (!write || done.missed === 0) break;
    }
    if (write) await rewriteFiles();
    return { removed, rewritten };
  };
}

async function onePass(
  call: Connection["call"],
  judge: Judge,
  write: boolean,
): Promise<Scrubbed & { readonly missed: number }> {
  let removed = 0;
  let rewritten = 0;
  let missed = 0;
  const removals: Change[] = [];
  const changes: Change[] = [];

  /** What is decided of one record; what its texts become stands in the record's own form. */
  const decide = (
    record: Partial<StoredRecord> & { readonly kind: RecordKind },
    remove: Change | null,
    put: (name: string, text: string) => readonly Change[],
  ): Verdict => {
    const verdict = judge({
      id: "",
      lane: "",
      conversation: "",
      turn: "",
      open: false,
      texts: {},
      ...record,
    });
    if (verdict === "keep") return verdict;
    if (verdict === "remove") {
      removed += 1;
      if (remove !== null) removals.push(remove);
      return verdict;
    }
    rewritten += 1;
    for (const [name, text] of Object.entries(verdict))
      if (text !== undefined && text !== record.texts?.[name]) changes.push(...put(name, text));
    return verdict;
  };

  async function settle(kind: string, texts = kind): Promise<void> {
    const things = removals.splice(0);
    const written = changes.splice(0);
    if (!write) return;
    if (written.length > 0)
      missed += written.length - (await call<number>(writeTextsScript, { kind: texts, changes: written }));
    if (things.length > 0)
      missed += things.length - (await call<number>(removeRecordsScript, { kind, things }));
  }

  async function through(
    script: typeof readRecordsScript,
    kind: string,
    from: string | number,
    see: (record: readonly Raw[]) => void,
    { where = {}, texts = kind }: { readonly where?: object; readonly texts?: string } = {},
  ): Promise<void> {
    for (let at: string | number | null = from; at !== null;) {
      const [records, next]: Slice = await call<Slice>(script, {
        kind,
        ...where,
        from: at,
        limit: sliceRecords,
      });
      for (const record of records) see(record);
      await settle(kind, texts);
      at = next === null ? null : kind === "turns" ? Number(next) : next;
    }
  }

  await through(readRecordsScript, "events", 0, ([place, seq, record]) => {
    const { stream, id } = kept(place);
    const old = words(record);
    decide(
      { kind: "event", id: words(id), lane: words(stream), texts: textsOf({ body: kept(record)["body"] }) },
      { old: words(place), seq: Number(seq) },
      (_, body) => [{ id: words(stream), seq: Number(seq), old, text: within(old, { body }) }],
    );
  });

  await through(
    readRecordsScript,
    "deliveries",
    0,
    ([record, parts]) => {
      const { id, lane, cause, done } = kept(record);
      const of = { id: words(id), lane: words(lane), turn: words(cause), open: done === undefined };
      const before = changes.length;
      (parts as readonly (readonly Raw[])[]).forEach(([state, content], n) => {
        const { receipt, reason } = kept(state);
        const texts = textsOf({ content, receipt, reason });
        decide({ kind: "part", ...of, texts }, null, (name, text) => [
          { id: of.id, n, ...(name === "content" ? {} : { field: name }), old: texts[name], text },
        ]);
      });
      const verdict = decide({ kind: "delivery", ...of }, { id: of.id }, () => []);
      // Its parts go with it.
      if (verdict === "remove") changes.length = before;
    },
    { texts: "parts" },
  );

  const open: (readonly Raw[])[] = [];
  const [working] = await call<Slice>(readRecordsScript, { kind: "open" });
  for (const [record, steps] of working) {
    open.push([record as string]);
    const { id, lane } = kept(record);
    (steps as readonly string[]).forEach((step, n) => {
      decide(
        {
          kind: "step",
          id: words(id),
          turn: words(id),
          lane: words(lane),
          texts: textsOf({ body: kept(step)["body"] }),
        },
        { id: words(id), old: step },
        (_, body) => [{ id: words(id), n, old: step, text: within(step, { body }) }],
      );
    });
    await settle("steps");
  }

  const [sessions] = await call<readonly [readonly string[]]>(readTextsScript, { kind: "sessions" });
  for (const name of sessions) {
    const [, epochs] = await session(call, name);
    for (let epoch = 1; epoch <= epochs; epoch += 1)
      await through(
        readTextsScript,
        "entries",
        0,
        ([seq, record]) => {
          const { turn, body } = kept(record);
          const where = { id: name, epoch, seq: Number(seq), old: words(record) };
          decide(
            { kind: "entry", id: words(turn), turn: words(turn), lane: name, texts: textsOf({ body }) },
            where,
            (_, text) => [{ ...where, text: within(words(record), { body: text }) }],
          );
        },
        { where: { name, epoch } },
      );
    const [flat] = await session(call, name);
    const fields = fieldsOf(flat);
    decide({ kind: "session", id: name, lane: name, texts: { fields } }, { id: name }, (_, text) =>
      fieldChanges(name, flat, text),
    );
    await settle("session");
  }

  await through(readRecordsScript, "lanes", 0, ([kind, name, holder]) => {
    const lane = words(name);
    decide(
      { kind: "lane", id: lane, lane, open: holder !== null },
      { kind: words(kind), id: lane },
      () => [],
    );
  });

  await through(readTextsScript, "cells", "", ([name, value]) => {
    const where = { id: words(name), old: words(value) };
    decide({ kind: "cell", id: where.id, texts: { value: where.old } }, where, (_, text) => [
      { ...where, text },
    ]);
  });

  const turn = ([record]: readonly Raw[]): void => {
    const { id, lane, conversation, ended } = kept(record);
    decide(
      {
        kind: "turn",
        id: words(id),
        lane: words(lane),
        conversation: words(conversation),
        open: ended === undefined,
      },
      { id: words(id) },
      () => [],
    );
  };
  for (const each of open) turn(each);
  await settle("turns");
  await through(readRecordsScript, "turns", 0, turn);

  await through(readRecordsScript, "rows", 0, ([record, payload]) => {
    const { id, lane, conversation, turn: of, state, reason } = kept(record);
    const texts = textsOf({ payload, reason });
    decide(
      {
        kind: "row",
        id: words(id),
        lane: words(lane),
        conversation: words(conversation),
        turn: words(of),
        open: state === "waiting" || state === "claimed",
        texts,
      },
      { id: words(id) },
      (name, text) => [
        { id: words(id), ...(name === "payload" ? {} : { field: name }), old: texts[name], text },
      ],
    );
  });
  return { removed, rewritten, missed };
}

function session(
  call: Connection["call"],
  name: string,
): Promise<readonly [fields: readonly string[], epochs: number]> {
  return call(readTextsScript, { kind: "session", name });
}

const kept = (record: Raw | undefined): Kept => JSON.parse(words(record)) as Kept;

/** The record with another text in it. */
function within(record: string, change: Kept): string {
  return JSON.stringify({ ...kept(record), ...change });
}

function words(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

/** Those that are there. */
function textsOf(texts: Kept): { readonly [name: string]: string } {
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) => (typeof text === "string" ? [[name, text]] : [])),
  );
}
