// Copies everything from one store into another, empty one. A copy may be interrupted and called again: it
// goes on where it was. The new store refuses to be used until both stores were read again and compared
// equal.
import { createHash } from "node:crypto";
import { Fault } from "@parley/protocol";
import { kinds, type Kind, type MoveSide } from "./records.ts";

export interface MovedKind {
  readonly kind: Kind;
  readonly count: number;
}

/**
 * Throws Fault("conflict") when the target already holds something, Fault("invalid") when the copy differs.
 */
export async function moveStore(
  from: MoveSide,
  to: MoveSide,
  tell: (kind: Kind, count: number) => void = () => {},
): Promise<readonly MovedKind[]> {
  const before = await to.progress();
  if (before === null && !(await isEmpty(to)))
    throw new Fault(
      "conflict",
      `${to.name} is not empty: nothing is copied over what is there. ${anotherPlace}`,
    );
  let [begun, at] = before === null ? [0, null] : (JSON.parse(before) as [number, string | null]);
  if (before === null) await to.setProgress(JSON.stringify([0, null]));
  for (let n = begun; n < kinds.length; n += 1) {
    const kind = kinds[n] as Kind;
    let count = 0;
    for (;;) {
      const { things, next } = await from.read(kind, at);
      await to.write(kind, things);
      count += things.length;
      tell(kind, count);
      at = next;
      if (next === null) break;
      await to.setProgress(JSON.stringify([n, next]));
    }
    await to.setProgress(JSON.stringify([n + 1, null]));
  }
  const moved: MovedKind[] = [];
  for (const kind of kinds) {
    const [left, right] = [await digest(from, kind), await digest(to, kind)];
    if (kind !== "counters" && left.sum !== right.sum)
      throw new Fault(
        "invalid",
        `the copy is not the same: ${left.count} ${kind} in ${from.name}, ${right.count} in ${to.name}. Was a gateway running? Stop every gateway and begin again. ${anotherPlace}`,
      );
    moved.push({ kind, count: left.count });
  }
  await to.setProgress(null);
  return moved;
}

const anotherPlace =
  "For Redis choose another store.redis.keyPrefix, or remove its keys; for SQLite move state.db away";

/**
 * Checked besides, because a gateway that was only tried out leaves settings that a copy would mix with its
 * own.
 */
async function isEmpty(side: MoveSide): Promise<boolean> {
  if (!(await side.isEmpty())) return false;
  for (let at: string | null = null; ;) {
    const { things, next } = await side.read("cells", at);
    if (things.length > 0) return false;
    if (next === null) return true;
    at = next;
  }
}

/** A digest that does not depend on the order of the records. */
async function digest(side: MoveSide, kind: Kind): Promise<{ readonly count: number; readonly sum: bigint }> {
  let [count, sum, at] = [0, 0n, null as string | null];
  for (;;) {
    const { things, next } = await side.read(kind, at);
    for (const each of things) {
      sum += BigInt(`0x${createHash("sha256").update(canonical(each)).digest("hex")}`);
      count += 1;
    }
    if (next === null) return { count, sum };
    at = next;
  }
}

/** JSON with sorted keys at every level. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
