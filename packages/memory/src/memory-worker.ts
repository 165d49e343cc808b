// The process that keeps the indexes: SQLite, vectors and models are its, so that the daemon's event loop
// never waits for them and their memory comes back when it ends. It may be killed at any moment.
import { isFault, systemClock, type FaultCode } from "@parley/protocol";
import type { MemoryEngine } from "./contract.ts";
import { memoryEngine } from "./engine.ts";

type Calls = Omit<MemoryEngine, "close">;

export type WorkerTask = {
  readonly [Op in keyof Calls]: {
    readonly id: number;
    readonly op: Op;
    readonly args: Parameters<Calls[Op]>;
  };
}[keyof Calls];

export type WorkerReply =
  | { readonly id: number; readonly ok: true; readonly value: unknown }
  | {
      readonly id: number;
      readonly ok: false;
      readonly code: FaultCode | "internal";
      readonly message: string;
    };

const engine = memoryEngine({ clock: systemClock() });

process.on("disconnect", () => {
  engine.close();
  process.exit();
});
process.on("message", async ({ id, op, args }: WorkerTask) => {
  const reply = (message: WorkerReply): void => void process.send?.(message);
  try {
    const run = engine[op] as (...given: unknown[]) => Promise<unknown>;
    reply({ id, ok: true, value: await run(...args) });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    reply({ id, ok: false, code: isFault(error) ? error.code : "internal", message });
  }
});
