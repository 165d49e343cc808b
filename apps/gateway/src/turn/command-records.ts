// Background commands of the exec tool as the store keeps them, so that whoever starts next knows what the dead process left. One cell each,
// under the node that runs it: no other node may take it for its own.
import type { Cells } from "@parley/store";
import type { CommandRecord, CommandRecords } from "@parley/tools";

export interface CommandRecordsOptions {
  readonly cells: Pick<Cells, "put" | "remove" | "list">;
  /** Tells the processes apart that share a store. */
  readonly node: string;
}

/** Longer than a command may run and be looked at. */
const lifeMs = 7 * 86_400_000;
/** More than can run or be kept. */
const most = 10_000;

export function commandRecords({ cells, node }: CommandRecordsOptions): CommandRecords {
  const prefix = `command:${node}:`;
  return {
    load: async () => (await cells.list(prefix, most)).map(({ value }) => JSON.parse(value) as CommandRecord),
    save: async (record) => void (await cells.put(prefix + record.id, JSON.stringify(record), { ttlMs: lifeMs })),
    remove: async (id) => void (await cells.remove(prefix + id)),
  };
}
