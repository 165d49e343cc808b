// Decides who is an owner: the config's list or, while that is empty, the first person the operator paired.
// It compares ids, never names.
import { guestRole } from "@parley/channels";
import type { Inbound } from "@parley/protocol";
import type { Cells } from "@parley/store";

export interface Owners {
  isOwner(who: Pick<Inbound, "channel" | "sender">): Promise<boolean>;
  /** All owners as `<channel>:<sender>`; none of the web, whose clients are the operator. */
  all(): Promise<readonly string[]>;
  /** Makes `<channel>:<sender>` the owner if there is none at all. */
  claimFirst(id: string): Promise<void>;
  /** Takes from `<channel>:<sender>` what `claimFirst` gave; owners in the config stay. */
  release(id: string): Promise<void>;
}

const firstOwnerCell = "owner:first";

/**
 * `configured` holds `<channel>:<sender>` ids. Web and chat API clients with admin scope are the operator; a
 * device that may only write cannot run owners' commands by typing them.
 */
export function owners(configured: readonly string[], cells: Cells): Owners {
  return {
    async isOwner({ channel, sender }) {
      if (channel === "web" || channel === "api") return sender.roles?.includes(guestRole) !== true;
      const id = `${channel}:${sender.id}`;
      if (configured.length > 0) return configured.includes(id);
      return (await cells.get(firstOwnerCell))?.value === id;
    },
    async all() {
      if (configured.length > 0) return configured;
      const first = await cells.get(firstOwnerCell);
      return first === null ? [] : [first.value];
    },
    async claimFirst(id) {
      if (configured.length === 0) await cells.put(firstOwnerCell, id, { expect: 0 });
    },
    async release(id) {
      const cell = await cells.get(firstOwnerCell);
      if (cell?.value === id) await cells.remove(firstOwnerCell, cell.version);
    },
  };
}
