// Takes work through scripts, and names earlier takes whose answers were lost.
import { isFault } from "@parley/protocol";
import type { Want } from "../store.ts";
import type { Connection } from "./connection.ts";
import type { LostTakes } from "./lost-takes.ts";
import type { Script } from "./script.ts";

/**
 * The script answers what it leased, or when a lane may become due. `foundIn` reads the name of the lost take
 * that had leased it.
 */
export async function takeBy<T extends readonly unknown[]>(
  { call }: Pick<Connection, "call">,
  script: Script,
  lostOnes: LostTakes,
  want: Want,
  foundIn: (answer: T) => string | null,
): Promise<T | number | null> {
  const { pool, holder } = want;
  const { ask, lost } = lostOnes.ask(pool, holder);
  try {
    const answer = await call<T | number | null>(script, { ...want, ask, lost });
    lostOnes.settle(pool, holder, lost, Array.isArray(answer) ? foundIn(answer as T) : null);
    return answer;
  } catch (error) {
    if (isFault(error, "unavailable")) lostOnes.lose(pool, holder, ask);
    throw error;
  }
}
