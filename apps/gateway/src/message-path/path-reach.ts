// Says where the agent may write by itself: where the config serves people, and the platform takes messages.
import type { MayReach, MigratedChats } from "@parley/access";
import { unreachableChats, type UnreachableChats } from "@parley/delivery";
import type { Address } from "@parley/protocol";
import type { Cells } from "@parley/store";

interface PathReach {
  readonly closed: UnreachableChats;
  readonly reach: MayReach;
  /** The chat that the platform closed to us, by the address that it has now; null: it is open. */
  readonly closedAt: (to: Address) => Promise<Address | null>;
}

export function pathReach(
  cells: Cells,
  moved: Pick<MigratedChats, "current">,
  served: MayReach,
  opening: (chats: readonly Address[]) => Promise<void>,
): PathReach {
  const closed = unreachableChats(cells, opening);
  return {
    closed,
    reach: async (place) => (await served(place)) ?? closed.reasonNow(moved.current(place.address)),
    async closedAt(to) {
      const now = moved.current(to);
      return (await closed.reasonNow(now)) === null ? null : now;
    },
  };
}
