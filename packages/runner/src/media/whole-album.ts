// Waits for the rest of an album of which a process that died had stored a part: the platform offers it again
// as soon as this one listens, and the part alone is due by then.
import { parseRowPayload, sleep } from "@parley/protocol";
import type { LeaseHandle } from "@parley/queue";
import type { Turn } from "@parley/store";
import type { Services } from "../turn-scope.ts";

/** Until a platform that was asked again has answered. */
const offeredMs = 2_000;
const mostParts = 50;

/** The turn with the parts that came, told behind those that it began with. */
export async function wholeAlbum(
  { turns, clock, bootAtMs }: Pick<Services, "turns" | "clock" | "bootAtMs">,
  turn: Turn,
  lease: LeaseHandle,
): Promise<Turn> {
  const last = turn.rows.at(-1);
  const leftMs = bootAtMs + offeredMs - clock.now();
  if (leftMs <= 0 || turn.log.length > 0 || last === undefined || last.acceptedAtMs >= bootAtMs) return turn;
  if (parseRowPayload(last.payload).inbound.groupId === undefined) return turn;
  await sleep(clock, leftMs, lease.signal);
  const parts = await turns.absorb(turn, 0, mostParts);
  if (parts.length === 0) return turn;
  const told = { kind: "absorbed" as const, body: JSON.stringify(parts.map(({ id }) => id)) };
  return { ...turn, rows: [...turn.rows, ...parts], log: [told] };
}
