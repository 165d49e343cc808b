// Tells the hooks what happens. Hooks of one event share what people wait: one that hangs costs them no more
// than that, and what it does wrong ends with it: it is counted, told in the log and by `parley hooks`. Told
// events of one hook come in order. What a crash may make happen again is claimed before its first handler
// begins, so that no handler runs twice for it: after a crash in between, the rest of them never runs.
import type { Cells } from "@parley/store";
import {
  Fault,
  isFault,
  type Clock,
  type HookAnswer,
  type HookEvent,
  type HookPort,
  type HookWords,
  type Log,
} from "@parley/protocol";
import { redact, type Config } from "@parley/config";
import type { HookCallResult, HookProcesses } from "./hook-process.ts";
import type { HookRegistry } from "./hook-registry.ts";
import type { Hook } from "./judged-hook.ts";

/** What became of the calls of one hook in this process. */
export interface HookCounts {
  readonly runs: number;
  readonly failed: number;
  readonly timedOut: number;
  /** Not begun: too many events waited, or the hook is left alone for a while. */
  readonly dropped: number;
  readonly lastAtMs: number | null;
  readonly lastError: string | null;
}

/** Of the whole process, over reloads. */
export interface HookMemory {
  readonly counts: Map<string, HookCounts>;
  readonly queues: Map<string, { waiting: number; last: Promise<unknown> }>;
  readonly slow: Map<string, { inARow: number; untilMs: number }>;
}

/** Runs one of Parley's own; it gets the event as it is, and may leave another context. */
export type BundledHook = (
  event: HookEvent,
  settings: { readonly [key: string]: unknown },
) => Promise<{ readonly context: HookEvent["context"] } | void>;

export interface HookRunnerOptions {
  readonly config: Config;
  readonly registry: Pick<HookRegistry, "hearing" | "envOf" | "settingsOf">;
  readonly processes: Pick<HookProcesses, "call">;
  readonly bundled: { readonly [name: string]: BundledHook };
  readonly memory: HookMemory;
  /** Counts one call by its hook and what became of it. */
  readonly counted: (hook: string, result: "ok" | "failed" | "timed_out" | "dropped") => void;
  readonly cells: Pick<Cells, "put">;
  readonly clock: Clock;
  readonly log: Log;
}

const waitedMs = 5_000;
const mostWaitedMs = 30_000;
/** Hooks of one event take turns for so long; then those that have not begun begin at once, side by side. */
const inTurnMs = 1_000;
/** What hooks have not said by then comes later: a person is not kept waiting for it. */
const patienceMs = 3_000;
/** Of a prompt's files all hooks together have the limit of one; whoever comes after it has at least this. */
const leastMs = 1_000;
const toldMs = 60_000;
/** The gateway is about to end: these are their limits. */
const lastMs: { readonly [name: string]: number } = {
  "gateway:shutdown": 5_000,
  "gateway:pre-restart": 10_000,
};
const mostWaiting = 256;
/** A week: no row is told again after it. */
const claimMs = 7 * 86_400_000;
/** A hook that hangs each time is left alone for a while. */
const slowInARow = 3;
const aloneMs = 600_000;

export function hookMemory(): HookMemory {
  return { counts: new Map(), queues: new Map(), slow: new Map() };
}

const none: HookCounts = { runs: 0, failed: 0, timedOut: 0, dropped: 0, lastAtMs: null, lastError: null };

export function hookRunner(options: HookRunnerOptions): HookPort {
  const { config, registry, processes, bundled, memory, counted, cells, clock } = options;
  const { log } = options;
  let shownConfig: unknown;
  /** Without secrets. */
  const cfg = (): unknown => (shownConfig ??= redact(config));

  function count(hook: Hook, result: "ok" | "failed" | "timed_out" | "dropped", error?: string): void {
    const so = memory.counts.get(hook.name) ?? none;
    memory.counts.set(hook.name, {
      runs: so.runs + (result === "dropped" ? 0 : 1),
      failed: so.failed + (result === "failed" ? 1 : 0),
      timedOut: so.timedOut + (result === "timed_out" ? 1 : 0),
      dropped: so.dropped + (result === "dropped" ? 1 : 0),
      lastAtMs: clock.now(),
      lastError: error ?? so.lastError,
    });
    counted(hook.source === "config" ? "config" : hook.name, result);
  }

  async function claimed({ id, type, action }: HookEvent): Promise<boolean> {
    if (id === undefined) return true;
    return (await cells.put(`hook:${type}:${action}:${id}`, "", { expect: 0, ttlMs: claimMs })) !== null;
  }

  /** Null: it failed, or is left alone. */
  async function call(hook: Hook, event: HookEvent, givenMs: number): Promise<HookCallResult | null> {
    const name = `${event.type}:${event.action}`;
    const limitMs = lastMs[name] ?? givenMs;
    const slow = memory.slow.get(hook.name);
    if (slow !== undefined && slow.inARow >= slowInARow && clock.mono() < slow.untilMs) {
      count(hook, "dropped");
      return null;
    }
    try {
      const own = bundled[hook.name];
      const result =
        hook.source === "bundled" && own !== undefined
          ? await ownCall(own, hook, event, limitMs)
          : await processes.call(
              hook,
              registry.envOf(hook),
              { ...event, context: { ...event.context, cfg: cfg() } },
              limitMs,
            );
      memory.slow.delete(hook.name);
      count(hook, "ok");
      return result;
    } catch (error) {
      const late = isFault(error, "unavailable");
      const message = error instanceof Error ? error.message : String(error);
      if (isFault(error, "aborted")) return null;
      count(hook, late ? "timed_out" : "failed", message);
      if (late)
        memory.slow.set(hook.name, { inARow: (slow?.inARow ?? 0) + 1, untilMs: clock.mono() + aloneMs });
      log.error({ hook: hook.name, file: hook.file, event: name, reason: message }, "a hook failed");
      return null;
    }
  }

  async function ownCall(
    own: BundledHook,
    hook: Hook,
    event: HookEvent,
    limitMs: number,
  ): Promise<HookCallResult> {
    const left = await withinLimit(clock, own(event, registry.settingsOf(hook)), limitMs);
    return { messages: [], context: left?.context ?? event.context };
  }

  /** In the order in which the hook was told; what waits without an end is not kept. */
  function enqueue(hook: Hook, event: HookEvent): Promise<HookCallResult | null> {
    const queue = memory.queues.get(hook.name) ?? { waiting: 0, last: Promise.resolve() };
    memory.queues.set(hook.name, queue);
    if (queue.waiting >= mostWaiting) {
      count(hook, "dropped");
      return Promise.resolve(null);
    }
    queue.waiting += 1;
    const next = queue.last
      .then(() => call(hook, event, hook.timeoutMs ?? toldMs))
      .finally(() => (queue.waiting -= 1));
    queue.last = next;
    return next;
  }

  async function tellAll(event: HookEvent): Promise<void> {
    const hooks = await registry.hearing(event);
    if (hooks.length === 0 || !(await claimed(event))) return;
    for (const hook of hooks) void enqueue(hook, event);
  }

  async function askAll(event: HookEvent, later: HookWords | undefined): Promise<HookAnswer | null> {
    const hooks = await registry.hearing(event);
    if (hooks.length === 0 || !(await claimed(event))) return null;
    if (event.type === "agent") return passedThrough(hooks, event);
    // Parley's own have nothing to say, so nobody waits for them.
    const isOwn = ({ source }: Hook): boolean => source === "bundled";
    for (const hook of hooks.filter(isOwn)) void enqueue(hook, event);
    const others = hooks.filter((hook) => !isOwn(hook));
    return saidBy(others, event, later);
  }

  /** Each hook gets what the one before left, so they take turns, and a hang shortens the turns behind it. */
  async function passedThrough(hooks: readonly Hook[], event: HookEvent): Promise<HookAnswer> {
    const beganMs = clock.mono();
    const messages: string[] = [];
    let { context } = event;
    for (const hook of hooks) {
      const leftMs = Math.max(leastMs, waitedLimit(hook) - (clock.mono() - beganMs));
      const left = await call(hook, { ...event, context }, leftMs);
      if (left === null) continue;
      messages.push(...left.messages);
      context = contextAfter(left);
    }
    return { messages, context };
  }

  /** What hooks say in time, in their order; what they say after that goes to `later`. */
  async function saidBy(
    hooks: readonly Hook[],
    event: HookEvent,
    later: HookWords | undefined,
  ): Promise<HookAnswer> {
    let { context } = event;
    const said = hooks.map((): readonly string[] => []);
    const begin = async (hook: Hook, at: number): Promise<void> => {
      const left = await call(hook, { ...event, context }, waitedLimit(hook));
      if (left === null) return;
      said[at] = left.messages;
      context = contextAfter(left);
    };
    let isOver = false;
    const turns = timeOut(clock, inTurnMs);
    const all = (async () => {
      const running: Promise<void>[] = [];
      for (const [at, hook] of hooks.entries()) {
        const one = begin(hook, at);
        running.push(one);
        await Promise.race([one, turns.over]);
      }
      turns.cancel();
      await Promise.all(running);
      isOver = true;
    })();
    // Of the gateway's end its caller says how long it waits.
    if (event.type === "gateway") await all;
    const patience = timeOut(clock, patienceMs);
    await Promise.race([all, patience.over]);
    patience.cancel();
    const known = [...said];
    if (!isOver)
      void all.then(() => later?.(said.flatMap((words, at) => (known[at] === words ? [] : words))));
    return { messages: known.flat(), context };
  }

  const trouble = (event: HookEvent) => (error: unknown) => {
    log.error({ event: `${event.type}:${event.action}`, error }, "hooks could not be told of an event");
    return null;
  };
  return {
    tell: (event) => void tellAll(event).catch(trouble(event)),
    ask: (event, later) => askAll(event, later).catch(trouble(event)),
  };
}

function waitedLimit({ timeoutMs }: Hook): number {
  return Math.min(timeoutMs ?? waitedMs, mostWaitedMs);
}

function contextAfter({ context, returned }: HookCallResult): HookEvent["context"] {
  const { cfg: _shown, ...after } = context;
  return returned === undefined ? after : { ...after, returned };
}

function timeOut(clock: Clock, afterMs: number): { readonly over: Promise<void>; cancel(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = clock.after(afterMs, resolve);
  return { over: promise, cancel: () => timer.cancel() };
}

async function withinLimit<T>(clock: Clock, work: Promise<T>, limitMs: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = clock.after(limitMs, () =>
    reject(new Fault("unavailable", `it took longer than ${limitMs} ms`)),
  );
  work.catch(() => {}); // Where the limit came first, nobody hears of what it throws later.
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.cancel();
  }
}
