// Remembers what imports carried, in imported.json of the state folder. What somebody removed since does not
// come back with the next import: a person who was shown out, a job that is done, a conversation forgotten.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "@parley/config";
import { Fault } from "@parley/protocol";
import { z } from "zod";

export interface Ledger {
  has(kind: Kind, name: string): boolean;
  /** Durable once resolved. */
  add(kind: Kind, names: readonly string[]): Promise<void>;
}

type Kind = "file" | "person" | "job" | "session";

const form = z.object({ v: z.literal(1), carried: z.array(z.string()) });

export function importLedger(home: string): Ledger {
  const path = join(home, "imported.json");
  const carried = new Set(read(path));
  return {
    has: (kind, name) => carried.has(`${kind} ${name}`),
    async add(kind, names) {
      const fresh = names.map((name) => `${kind} ${name}`).filter((name) => !carried.has(name));
      if (fresh.length === 0) return;
      for (const name of fresh) carried.add(name);
      await replaceFile(path, `${JSON.stringify({ v: 1, carried: [...carried] }, null, 1)}\n`, {
        isPrivate: true,
      });
    },
  };
}

function read(path: string): readonly string[] {
  if (!existsSync(path)) return [];
  try {
    return form.parse(JSON.parse(readFileSync(path, "utf8"))).carried;
  } catch (cause) {
    throw new Fault(
      "invalid",
      `${path} cannot be read: it says what earlier imports carried. Restore it, or move it away to import anew`,
      { cause },
    );
  }
}
