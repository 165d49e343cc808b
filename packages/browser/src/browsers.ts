// Keeps one browser for each agent, with a profile of its own: started at the first call, closed when it has
// been idle, and started anew by the next call after it crashed. Calls of an agent run one after the other.
import { Fault, isFault, label, type Clock, type Timer } from "@parley/protocol";
import { act } from "./act.ts";
import type { BrowserAnswer, BrowserRequest } from "./browser-request.ts";
import { launch, type Launch, type ProxyAccess } from "./launch.ts";
import { tabsOf, type Tabs } from "./tabs.ts";

export interface BrowsersOptions extends Launch {
  /** The agent's profile on disk. */
  readonly profileOf: (agent: string) => string;
  /** Asked when a browser starts. */
  readonly proxy: () => Promise<ProxyAccess>;
  readonly mayEvaluate: boolean;
  readonly idleMs: number;
  readonly clock: Clock;
}

export interface Browsers {
  /** Throws Fault. */
  run(agent: string, request: BrowserRequest, signal: AbortSignal): Promise<BrowserAnswer>;
  /** Where the agent's tab is; null while none is open. */
  urlOf(agent: string, tab?: string): string | null;
  /** Browsers that run. */
  running(): number;
  close(): Promise<void>;
}

interface Open {
  readonly tabs: Tabs;
  readonly newPage: Parameters<typeof act>[1]["newPage"];
  readonly end: () => Promise<void>;
  ended: boolean;
  idle: Timer | null;
}

const crashed = "the browser ended; the next call starts a new one, with its tabs closed";
const callMs = 60_000;

export function browsers(options: BrowsersOptions): Browsers {
  const { clock, idleMs, mayEvaluate } = options;
  const open = new Map<string, Open>();
  const queues = new Map<string, Promise<unknown>>();
  let isClosed = false;

  async function start(agent: string): Promise<Open> {
    const known = open.get(agent);
    if (known !== undefined && !known.ended) return known;
    const { context, end } = await launch(options, options.profileOf(agent), await options.proxy());
    const made: Open = {
      tabs: tabsOf(context),
      newPage: () => context.newPage(),
      end,
      ended: false,
      idle: null,
    };
    context.on("close", () => {
      made.ended = true;
      made.idle?.cancel();
      if (open.get(agent) === made) open.delete(agent);
    });
    open.set(agent, made);
    return made;
  }

  async function one(agent: string, request: BrowserRequest, signal: AbortSignal): Promise<BrowserAnswer> {
    if (isClosed) throw new Fault("unavailable", "the gateway stops");
    if (signal.aborted) throw new Fault("aborted", "the call was stopped");
    const browser = await start(agent);
    browser.idle?.cancel();
    const over = Promise.withResolvers<never>();
    const stop = (): void => over.reject(new Fault("aborted", "the call was stopped"));
    signal.addEventListener("abort", stop, { once: true });
    const timer = clock.after(callMs, () =>
      over.reject(new Fault("unavailable", `the page did not let go in ${callMs / 1_000} s`)),
    );
    try {
      const ports = { tabs: browser.tabs, newPage: browser.newPage, mayEvaluate };
      const work = act(request, ports);
      // Whoever waits for it has gone by then.
      work.catch(() => {});
      return await Promise.race([work, over.promise]);
    } catch (error) {
      throw browser.ended ? new Fault("unavailable", crashed, { cause: error }) : faultOf(error, request);
    } finally {
      timer.cancel();
      signal.removeEventListener("abort", stop);
      if (!browser.ended)
        browser.idle = clock.after(idleMs, () => {
          open.delete(agent);
          void browser.end().catch(() => {});
        });
    }
  }

  return {
    run(agent, request, signal) {
      const mine = (queues.get(agent) ?? Promise.resolve()).then(() => one(agent, request, signal));
      queues.set(
        agent,
        mine.catch(() => {}),
      );
      return mine;
    },
    urlOf: (agent, tab) => open.get(agent)?.tabs.find(tab)?.url() ?? null,
    running: () => open.size,
    async close() {
      isClosed = true;
      await Promise.allSettled(queues.values());
      await Promise.allSettled(
        [...open.values()].map(({ idle, end }) => {
          idle?.cancel();
          return end();
        }),
      );
    },
  };
}

/** playwright's errors are pages long, with a log and colors; the first line says what happened. */
function faultOf(error: unknown, { action, ref }: BrowserRequest): Fault {
  if (isFault(error)) return error;
  const text = error instanceof Error ? error.message : String(error);
  if (/Target (?:page|closed)|has been closed|browser has disconnected|crashed/i.test(text))
    return new Fault("unavailable", "the page crashed or was closed: open it again", { cause: error });
  if (/Timeout \d+ms|TimeoutError/i.test(text))
    return new Fault(
      "unavailable",
      ref === undefined
        ? `${action} took too long`
        : `${ref} is not there any more, or something covers it: take a snapshot again`,
      { cause: error },
    );
  if (text.includes("ERR_TUNNEL_CONNECTION_FAILED"))
    return new Fault(
      "denied",
      "not opened: the address is closed to agents, or nobody answers there (the gateway's log says which)",
      { cause: error },
    );
  const [first = ""] = text.replaceAll(/\u001b\[\d*m/g, "").split("\n");
  // Words of the page may stand in it.
  return new Fault("invalid", `${action} failed: ${label(first, 300)}`, { cause: error });
}
