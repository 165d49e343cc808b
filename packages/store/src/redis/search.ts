// Runs operators' searches over an index from its newest end, in slices, so that none blocks the server for
// long.
import type { Connection } from "./connection.ts";
import type { Script } from "./script.ts";

/** Records per call; they take a few milliseconds. */
const scan = 500;

/**
 * Returns at most `limit` replies, newest first. The script answers the matches of one slice and where the
 * next slice begins.
 */
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
