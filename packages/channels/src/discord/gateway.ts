// Keeps one session with Discord's gateway alive: connects, resumes where possible, identifies where not, and
// waits between attempts. Gives up only where a person has to act. Never rejects.
import type { WebSocket } from "ws";
import { type Clock, Fault, type Ids, isFault, type Log, sleep } from "@parley/protocol";
import type { HealthBoard } from "../health.ts";
import { backoffMs, waitAfterMs } from "../persist.ts";
import { afterClose, tokenInstruction } from "./close-codes.ts";
import { type Dispatch, type Ending, gatewayConnection, type Session } from "./connection.ts";
import { refusalStatus } from "./refusals.ts";
import type { DiscordRest } from "./rest.ts";

export interface GatewayOptions {
  readonly rest: DiscordRest;
  readonly open: (url: string) => WebSocket;
  readonly token: string;
  readonly intents: number;
  /** The session of the last process, as far as its events were accepted. */
  readonly session: Session | null;
  readonly identifiedAtMs: number;
  readonly onDispatch: (dispatch: Dispatch) => boolean;
  /** Resolves when there is room for more events. */
  readonly room: () => Promise<void>;
  /**
   * A new session began, so Discord did not report what happened since the last one. `atMs` spaces the next
   * IDENTIFY, also after a restart.
   */
  readonly onIdentified: (ready: unknown, atMs: number) => void;
  /** Called after each attempt to connect, whether it succeeded or failed. */
  readonly onAttempt: () => void;
  readonly health: HealthBoard;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly signal: AbortSignal;
}

interface StartLimit {
  readonly url: string;
  readonly remaining: number;
  readonly resetAfterMs: number;
}

const mostFailedResumes = 3;
/** After a connection of this length the failure count starts over. */
const stableMs = 30_000;
/**
 * Longest waits after connections that were live and ended again and again. RESUME costs nothing; IDENTIFY is
 * one of a thousand a day.
 */
const longestAfterLiveMs = { resume: 5_000, identify: 15_000 } as const;
/** Discord allows one IDENTIFY in five seconds. */
const identifyEveryMs = 5_000;
/** With fewer starts left (of 1,000 a day) they are spread, at most this far apart. */
const scarceStarts = 100;
const scarceEveryMs = 300_000;
/** Wait between attempts with a refused token, long enough to be no loop. */
const refusedTokenMs = 10 * 60_000;
/** Discord asks for a wait of one to five seconds after a refused session. */
const refusedWaitMs = { least: 1_000, spread: 4_000 } as const;
/** After this many failures the resume address may be at fault, so the general address is tried. */
const unreachableResumes = 2;

export async function keepGateway(options: GatewayOptions): Promise<void> {
  const { rest, health, clock, ids, log, signal } = options;
  let { session, identifiedAtMs } = options;
  let failures = 0;
  let failedResumes = 0;
  let unreachable = 0;
  let hasBeenLive = false;

  const identify = async (): Promise<string | null> => {
    const { url, remaining, resetAfterMs } = await gatewayBot(rest, signal);
    if (remaining <= 0) {
      const minutes = Math.ceil(resetAfterMs / 60_000);
      health.set(
        "degraded",
        `Discord allows no new session for ${minutes} min: the bot was started too often today`,
      );
      options.onAttempt();
      await sleep(clock, Math.max(resetAfterMs, identifyEveryMs), signal);
      return null;
    }
    const spreadMs = remaining < scarceStarts ? Math.min(resetAfterMs / remaining, scarceEveryMs) : 0;
    const dueAtMs = identifiedAtMs + Math.max(identifyEveryMs, spreadMs);
    // A wall clock that was set back must not make it wait for ever.
    const waitMs = Math.min(Math.max(0, dueAtMs - clock.now()), scarceEveryMs);
    if (waitMs > 0) await sleep(clock, waitMs, signal);
    identifiedAtMs = clock.now();
    return url;
  };

  const address = async (): Promise<string | null> => {
    if (session === null) return identify();
    return unreachable < unreachableResumes ? session.resumeUrl : (await gatewayBot(rest, signal)).url;
  };

  const connect = async (url: string): Promise<Ending> => {
    const resumed = session;
    const beganAtMs = clock.mono();
    log.debug({ url, resume: resumed !== null }, "connecting to the gateway");
    const ending = await gatewayConnection({
      ...options,
      url,
      session: resumed,
      onLive(ready) {
        if (ready !== null) options.onIdentified(ready, identifiedAtMs);
        failedResumes = 0;
        unreachable = 0;
        hasBeenLive = true;
        health.inboundCompleted();
        health.set("ok");
        options.onAttempt();
        log.info({ resumed: ready === null }, "the gateway is live");
      },
      onAlive: health.inboundCompleted,
    });
    session = ending.session;
    if (ending.reached === "live" && clock.mono() - beganAtMs >= stableMs) failures = 0;
    return ending;
  };

  /** Milliseconds to wait before the next connection; null to give up. */
  const judge = (ending: Ending): number | null => {
    const after = afterClose(ending.code);
    if (after.kind === "fatal") {
      health.set("down", after.instruction);
      log.error({ code: ending.code }, "the gateway refuses this account for good");
      return null;
    }
    failures++;
    if (ending.reached === "nothing") unreachable++;
    if (ending.reached === "hello" && session !== null) failedResumes++;
    if (after.kind === "identify" || ending.refused === "gone" || failedResumes >= mostFailedResumes) {
      if (session !== null)
        log.warn(
          { reason: ending.reason, code: ending.code },
          "the session cannot be resumed: identifying anew",
        );
      session = null;
      failedResumes = 0;
    }
    // A connection that was live is usually back soon, so a first end is no trouble yet.
    if (ending.reached !== "live" || failures > 1) health.set("degraded", ending.reason);
    if (ending.refused !== null) return refusedWaitMs.least + ids.chance() * refusedWaitMs.spread;
    if (ending.reached !== "live") return backoffMs(failures, ids);
    if (failures === 1) return ids.chance() * 1_000;
    return Math.min(
      backoffMs(failures, ids),
      session === null ? longestAfterLiveMs.identify : longestAfterLiveMs.resume,
    );
  };

  while (!signal.aborted) {
    let waitMs: number | null;
    try {
      await options.room();
      const url = await address();
      if (url === null || signal.aborted) continue;
      const ending = await connect(url);
      if (signal.aborted) return;
      waitMs = judge(ending);
    } catch (error) {
      if (signal.aborted) return;
      failures++;
      const isToken = refusalStatus(error) === 401;
      if (isToken || isFault(error, "denied")) {
        health.set("down", isToken || !(error instanceof Error) ? tokenInstruction : error.message);
        // A token that worked once may work again: an outage can answer with the same code.
        if (!isToken || !hasBeenLive) return options.onAttempt();
        waitMs = refusedTokenMs;
      } else {
        health.set("degraded", error instanceof Error ? error.message : String(error));
        if (!isFault(error)) log.error({ err: error }, "the gateway loop met a bug");
        waitMs = waitAfterMs(error, failures, ids);
      }
    }
    options.onAttempt();
    if (waitMs === null) return;
    await sleep(clock, waitMs, signal);
  }
}

/** Throws Fault. */
async function gatewayBot(rest: DiscordRest, signal: AbortSignal): Promise<StartLimit> {
  const answer = (await rest.call({ method: "GET", route: "/gateway/bot", signal })) as {
    readonly url?: unknown;
    readonly session_start_limit?: { readonly remaining?: unknown; readonly reset_after?: unknown };
  } | null;
  const url = answer?.url;
  if (typeof url !== "string" || !/^wss?:/.test(url))
    throw new Fault("unavailable", "Discord's /gateway/bot names no address");
  const { remaining, reset_after: resetAfterMs } = answer?.session_start_limit ?? {};
  return {
    url,
    remaining: typeof remaining === "number" ? remaining : 1_000,
    resetAfterMs: typeof resetAfterMs === "number" && resetAfterMs > 0 ? resetAfterMs : 0,
  };
}
