// Rewrites what is stored of conversations, for somebody who wants something forgotten. It goes through every
// place that holds words, some records at a time, so that the gateways work on meanwhile; what they change
// under its hands is looked at again. Then Redis is asked to write its files anew, without the old words.
import type { Connection } from "./connection.ts";
import { readTextsScript, writeTextsScript } from "./verbs/redact.ts";

type Change = (stored: string) => string | null;
type Written = { readonly [name: string]: string | number | undefined };
type Slice = readonly [records: readonly (readonly (string | number | null)[])[], next: string | null];

const sliceRecords = 100;
/** Passes over texts that somebody else changes all the time. */
const mostPasses = 5;

export function redactWith({ call, rewriteFiles }: Pick<Connection, "call" | "rewriteFiles">) {
  return async (change: Change): Promise<number> => {
    let changed = 0;
    for (let pass = 1; pass <= mostPasses; pass += 1) {
      const { done, missed } = await onePass(call, change);
      changed += done;
      if (missed === 0) break;
    }
    await rewriteFiles();
    return changed;
  };
}

async function onePass(
  call: Connection["call"],
  change: Change,
): Promise<{ readonly done: number; readonly missed: number }> {
  let done = 0;
  let missed = 0;

  async function write(kind: string, changes: readonly Written[]): Promise<void> {
    if (changes.length === 0) return;
    const count = await call<number>(writeTextsScript, { kind, changes });
    done += count;
    missed += changes.length - count;
  }

  async function through(
    kind: string,
    from: string | number,
    changesOf: (record: Slice[0][number]) => readonly Written[],
    where: object = {},
    writing: string = kind,
  ): Promise<void> {
    for (let at: string | number | null = from; at !== null;) {
      const [records, next]: Slice = await call<Slice>(readTextsScript, {
        kind,
        ...where,
        from: at,
        limit: sliceRecords,
      });
      await write(writing, records.flatMap(changesOf));
      at = next;
    }
  }

  /** The change of one text; none where it stays. */
  const changing = (old: string | number | null | undefined, where: Written): readonly Written[] => {
    const next = typeof old === "string" ? change(old) : null;
    return next === null || typeof old !== "string" ? [] : [{ ...where, old, text: next }];
  };
  /** The same of the text in a record, which is written anew as a whole. */
  const within = (record: string, where: Written): readonly Written[] => {
    const read = JSON.parse(record) as { readonly body: string };
    const next = change(read.body);
    return next === null ? [] : [{ ...where, old: record, text: JSON.stringify({ ...read, body: next }) }];
  };

  await through("rows", 0, ([id, payload, reason]) => [
    ...changing(payload, { id: text(id) }),
    ...changing(reason, { id: text(id), field: "reason" }),
  ]);
  await through("parts", 0, ([id, n, content, receipt, reason]) => {
    const where = { id: text(id), n: Number(n) };
    return [
      ...changing(content, where),
      ...changing(receipt, { ...where, field: "receipt" }),
      ...changing(reason, { ...where, field: "reason" }),
    ];
  });
  await through("events", 0, ([stream, seq, record]) =>
    within(text(record), { id: text(stream), seq: Number(seq) }),
  );
  await through("cells", "", ([name, value]) => changing(value, { id: text(name) }));

  const [turns] = await call<readonly [readonly string[]]>(readTextsScript, { kind: "turns" });
  for (const turn of turns) {
    const [steps] = await call<readonly [readonly string[]]>(readTextsScript, { kind: "steps", name: turn });
    await write(
      "steps",
      steps.flatMap((step, n) => within(step, { id: turn, n })),
    );
  }
  const [sessions] = await call<readonly [readonly string[]]>(readTextsScript, { kind: "sessions" });
  for (const name of sessions) {
    const [flat, epochs] = await call<readonly [readonly string[], number]>(readTextsScript, {
      kind: "session",
      name,
    });
    const next = change(fieldsOf(flat));
    await write("session", next === null ? [] : fieldChanges(name, flat, next));
    for (let epoch = 1; epoch <= epochs; epoch += 1)
      await through(
        "entries",
        0,
        ([seq, record]) => within(text(record), { id: name, epoch, seq: Number(seq) }),
        { name, epoch },
      );
  }
  return { done, missed };
}

/** Judged together, because the name of a field says what it holds; a field that is left out goes. */
export function fieldChanges(id: string, flat: readonly string[], next: string): readonly Written[] {
  const after = JSON.parse(next) as { readonly [field: string]: unknown };
  return flat.flatMap((field, n): readonly Written[] => {
    const old = flat[n + 1] ?? "null";
    if (n % 2 === 1) return [];
    const json = JSON.stringify(after[field]);
    return json === JSON.stringify(JSON.parse(old)) ? [] : [{ id, field, old, text: json }];
  });
}

/** The fields of a session as one document. */
export function fieldsOf(flat: readonly string[]): string {
  return JSON.stringify(
    Object.fromEntries(
      flat.flatMap((field, n) =>
        n % 2 === 0 ? [[field, JSON.parse(flat[n + 1] ?? "null") as unknown]] : [],
      ),
    ),
  );
}

const text = (value: string | number | null | undefined): string => String(value ?? "");
