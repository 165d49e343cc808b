// Remembers each call that this device began, one file a call, so that none runs twice: not after a kill, not
// when the gateway asks again. A result stays until the gateway has it.
import { mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { replaceFile } from "@parley/config";
import { deviceResult, type DeviceResult } from "@parley/protocol";
import { isAlive, startOf } from "../is-alive.ts";

/** `running`: another process of this device works on it. */
type Remembered =
  | { readonly state: "new" | "running" | "over" | "unknown" }
  | { readonly state: "done"; readonly result: DeviceResult };

export interface CallJournal {
  /** Returns "new" once for a call, whoever asks: then it is this process that runs it. */
  begin(id: string): Promise<Remembered>;
  end(id: string, result: DeviceResult): Promise<void>;
  /** The gateway has the result. */
  over(id: string): Promise<void>;
}

/** Longer than a gateway asks again for one. */
const keptMs = 10 * 86_400_000;
/** A gateway names no other file by an id. */
const idForm = /^[0-9a-f]{16,64}$/;

export async function callJournal(folder: string, nowMs: number): Promise<CallJournal> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found !== null && nowMs - found.mtimeMs > keptMs) await rm(path, { force: true });
  }
  const own = new Set<string>();
  const pathOf = (id: string): string => {
    if (!idForm.test(id)) throw new Error("the gateway sent a call whose id is none");
    return join(folder, `${id}.json`);
  };

  return {
    async begin(id) {
      if (own.has(id)) return { state: "running" };
      const path = pathOf(id);
      try {
        const file = await open(path, "wx", 0o600);
        own.add(id);
        await file.writeFile(
          JSON.stringify({ state: "began", pid: process.pid, started: startOf(process.pid) }),
        );
        await file.sync();
        await file.close();
        await syncFolder(folder);
        return { state: "new" };
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
      return remembered(await readFile(path, "utf8"));
    },
    async end(id, result) {
      await replaceFile(pathOf(id), JSON.stringify({ state: "done", result }));
      own.delete(id);
    },
    over: (id) => replaceFile(pathOf(id), JSON.stringify({ state: "over" })),
  };
}

function remembered(text: string): Remembered {
  const read = parsed(text) as { state?: unknown; pid?: unknown; started?: unknown; result?: unknown } | null;
  if (read?.state === "over") return { state: "over" };
  const result = deviceResult.safeParse(read?.result);
  if (read?.state === "done" && result.success) return { state: "done", result: result.data };
  const pid = Number(read?.pid);
  // The system gives the number of a process that is gone to another program.
  const isSame = typeof read?.started !== "string" || startOf(pid) === read.started;
  return pid !== process.pid && isAlive(pid) && isSame ? { state: "running" } : { state: "unknown" };
}

/** Null for a file whose writer was killed in the middle. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It was begun, which is all that the caller needs to know.
    return null;
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  await folder.sync().finally(() => folder.close());
}
