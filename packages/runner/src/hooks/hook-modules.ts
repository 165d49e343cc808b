// Loads the modules that the config names as hooks, and ends the wait for one that hangs.
import { stat } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { sleep, type Clock } from "@parley/protocol";

type HookHandler = (event: object) => unknown;

/** A turn must not wait for a hook that never ends. */
const hookMs = 5_000;

/** The path's time of change is part of the address, so that an edit is seen without a restart. */
export async function handlerOf(path: string, name: string): Promise<HookHandler> {
  const { mtimeMs } = await stat(path);
  const loaded = (await import(`${pathToFileURL(path).href}?changed=${mtimeMs}`)) as {
    readonly [name: string]: unknown;
  };
  const handler = loaded[name];
  if (typeof handler !== "function") throw new Error(`it exports no function "${name}"`);
  return handler as HookHandler;
}

export async function withinTime<T>(clock: Clock, work: () => Promise<T>, ms = hookMs): Promise<T> {
  const late = new AbortController();
  const timeout = sleep(clock, ms, late.signal).then(() => {
    throw new Error(`it took longer than ${ms} ms`);
  });
  try {
    return await Promise.race([work(), timeout]);
  } finally {
    late.abort();
    timeout.catch(() => {});
  }
}
