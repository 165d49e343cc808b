// Stores the exec tool's background commands, one cell each under the node that runs it, so that a later
// process knows what a dead one left. The end of a command wakes its session by a row, with the address and
// authority of the message that began it. The row is stored before the end is recorded, so that a crash in
// between cannot lose it, and its id tells a repeat.
import type { PlaceOf } from "@parley/access";
import { isFault, type Clock, type Log } from "@parley/protocol";
import type { Cells, Inbox } from "@parley/store";
import type { CommandRecord, CommandRecords } from "@parley/tools";
import { followingRow } from "../internal-row.ts";

export interface CommandRecordsOptions {
  readonly cells: Pick<Cells, "put" | "remove" | "list">;
  readonly inbox: Pick<Inbox, "find" | "accept">;
  /** Names this process among those that share a store. */
  readonly node: string;
  /** True while the daemon shuts down: nobody asked it to kill the commands that it kills then. */
  readonly isEnding: () => boolean;
  readonly placeOf: PlaceOf;
  readonly clock: Clock;
  readonly log: Log;
}

/** Longer than a command may run and be looked at. */
const lifeMs = 7 * 86_400_000;
/** More than can run or be stored. */
const most = 10_000;
const commandChars = 200;
const anyNode = "command:";

/** Lists the commands of every process that shares the store. */
export async function allCommandRecords(cells: Pick<Cells, "list">): Promise<readonly CommandRecord[]> {
  return (await cells.list(anyNode, most)).map(({ value }) => JSON.parse(value) as CommandRecord);
}

export function commandRecords({
  cells,
  inbox,
  node,
  isEnding,
  placeOf,
  clock,
  log,
}: CommandRecordsOptions): CommandRecords {
  const prefix = `${anyNode}${node}:`;

  /** A caller that killed a command knows it ended, so it needs no row. */
  function isNews({ background, state }: CommandRecord): boolean {
    return background && state !== "running" && (state !== "killed" || isEnding());
  }

  async function tell(record: CommandRecord): Promise<void> {
    const [began] = await inbox.find({ turn: record.turn, limit: 1 });
    if (began === undefined) {
      log.warn(
        { command: record.id, turn: record.turn },
        "a background command ended, and nobody is known any more to be told",
      );
      return;
    }
    const { id, turn } = record;
    await inbox.accept([
      followingRow(
        began,
        `command:${id}`,
        news(record),
        { kind: "command", id, turn },
        {
          placeOf,
          nowMs: clock.now(),
        },
      ),
    ]);
  }

  return {
    load: async () => (await cells.list(prefix, most)).map(({ value }) => JSON.parse(value) as CommandRecord),
    async save(record) {
      if (isNews(record)) {
        await tell(record).catch((error: unknown) => {
          // The command stays listed, so the agent finds it when it looks.
          if (!isFault(error)) throw error;
          log.error({ command: record.id, error }, "a session could not be told that its command ended");
        });
      }
      await cells.put(prefix + record.id, JSON.stringify(record), { ttlMs: lifeMs });
    },
    remove: async (id) => void (await cells.remove(prefix + id)),
  };
}

function news({ id, command, state, code, startedAtMs, endedAtMs, log }: CommandRecord): string {
  const how: { readonly [state in CommandRecord["state"]]: string } = {
    running: "runs",
    exited: code === null ? "was ended by a signal" : `exited with code ${code}`,
    killed: "was ended because Parley stopped",
    "timed out": "took longer than it may and was ended",
    lost: "was lost: Parley died while it ran, and it was ended",
  };
  const seconds = Math.max(0, Math.round(((endedAtMs ?? startedAtMs) - startedAtMs) / 1_000));
  return `Background command ${id} ${how[state]} after ${seconds} s: ${JSON.stringify(command.slice(0, commandChars))}. Its output: process log, or ${log}.`;
}
