// Counts a command's processes now and then, for cases where the kernel does not limit them, as for root.
import type { Clock } from "@parley/protocol";
import { markedPids } from "../process-group.ts";

/** A fork bomb makes some thousand in this time, which a machine bears. */
const lookEveryMs = 500;

/**
 * `id`: the mark of the command. Calls `tooMany` once, with the number, when there are more than `most`.
 * Returns how to stop looking.
 */
export function watchNumber(
  id: string,
  most: number,
  clock: Clock,
  tooMany: (count: number) => void,
): () => void {
  let stopped = false;
  let timer = clock.after(lookEveryMs, look);
  function look(): void {
    void markedPids(id).then(({ length }) => {
      if (stopped) return;
      if (length > most) return tooMany(length);
      timer = clock.after(lookEveryMs, look);
    });
  }
  return () => {
    stopped = true;
    timer.cancel();
  };
}
