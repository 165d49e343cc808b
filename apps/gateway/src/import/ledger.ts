// Remembers what imports carried, in imported.json of the state folder. What somebody removed since does not
// come back with the next import: a person who was shown out, a job that is done, a conversation forgotten.
// Of a forgotten person it keeps a salted mark instead of the name, by which only an import finds out.
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "@parley/config";
import { Fault, type Ids } from "@parley/protocol";
import { z } from "zod";

export interface Ledger {
  has(kind: Kind, name: string): boolean;
  /** Durable once resolved. */
  add(kind: Kind, names: readonly string[]): Promise<void>;
}

const kinds = ["file", "person", "job", "session"] as const;
type Kind = (typeof kinds)[number];

const form = z.object({
  v: z.literal(1),
  carried: z.array(z.string()),
  /** Absent where nobody was forgotten. */
  forgotten: z.object({ salt: z.string(), marks: z.array(z.string()) }).optional(),
});
type Form = z.infer<typeof form>;

const ledgerPath = (home: string): string => join(home, "imported.json");

export function importLedger(home: string): Ledger {
  const path = ledgerPath(home);
  const { carried: lines, forgotten } = read(path);
  const carried = new Set(lines);
  const marks = new Set(forgotten?.marks ?? []);
  const isKnown = (line: string): boolean =>
    carried.has(line) || (forgotten !== undefined && marks.has(markOf(forgotten.salt, line)));
  return {
    has: (kind, name) => isKnown(`${kind} ${name}`),
    async add(kind, names) {
      const fresh = names.map((name) => `${kind} ${name}`).filter((line) => !isKnown(line));
      if (fresh.length === 0) return;
      for (const line of fresh) carried.add(line);
      await write(path, { v: 1, carried: [...carried], forgotten });
    },
  };
}

/** How many lines say something of whom `isTheirs` tells. Nothing is changed. */
export function importedOf(home: string, isTheirs: (kind: Kind, name: string) => boolean): number {
  return read(ledgerPath(home)).carried.filter((line) => isTheirsIn(line, isTheirs)).length;
}

/** Durable once resolved; what is carried no more stays so. */
export async function forgetImported(
  home: string,
  isTheirs: (kind: Kind, name: string) => boolean,
  ids: Pick<Ids, "uuid">,
): Promise<void> {
  const path = ledgerPath(home);
  const { carried, forgotten } = read(path);
  const gone = carried.filter((line) => isTheirsIn(line, isTheirs));
  if (gone.length === 0) return;
  const { salt, marks } = forgotten ?? { salt: ids.uuid(), marks: [] };
  await write(path, {
    v: 1,
    carried: carried.filter((line) => !gone.includes(line)),
    forgotten: { salt, marks: [...marks, ...gone.map((line) => markOf(salt, line))] },
  });
}

function isTheirsIn(line: string, isTheirs: (kind: Kind, name: string) => boolean): boolean {
  const kind = kinds.find((each) => line.startsWith(`${each} `));
  return kind !== undefined && isTheirs(kind, line.slice(kind.length + 1));
}

function markOf(salt: string, line: string): string {
  return createHash("sha256").update(`${salt} ${line}`).digest("hex");
}

async function write(path: string, what: Form): Promise<void> {
  await replaceFile(path, `${JSON.stringify(what, null, 1)}\n`, { isPrivate: true });
}

function read(path: string): Form {
  if (!existsSync(path)) return { v: 1, carried: [] };
  try {
    return form.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch (cause) {
    throw new Fault(
      "invalid",
      `${path} cannot be read: it says what earlier imports carried. Restore it, or move it away to import anew`,
      { cause },
    );
  }
}
