// Operators' searches walk an index from its newest end, in slices, so that none of them holds up the server for long.
import type { Connection } from "./connection.ts";
import type { Script } from "./script.ts";

/** Records looked at in one call: a few milliseconds. */
const scan = 500;

/** At most `limit` replies, the newest first; the script answers those of its slice and where the next one begins. */
export async function searchBy<T>(
  { call }: Pick<Connection, "call">,
  script: Script,
  filter: object,
  limit: number,
): Promise<readonly T[]> {
  const found: T[] = [];
  let before: number | string | null = "+inf";
  while (before !== null && found.length < limit) {
    const answer: readonly [readonly T[], number | null] = await call(script, {
      ...filter,
      before,
      scan,
      limit: limit - found.length,
    });
    found.push(...answer[0]);
    before = answer[1];
  }
  return found;
}
