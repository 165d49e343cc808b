// One connection to Discord's gateway, from HELLO to its end: handshake with IDENTIFY or RESUME, heartbeats,
// and timeouts for both. gateway.ts decides what follows the end. No incoming frame can make it throw.
import type { WebSocket } from "ws";
import type { Clock, Ids, Log, Timer } from "@parley/protocol";
import { isSnowflake } from "./snowflake.ts";

/** The data that RESUME needs. */
export interface Session {
  readonly id: string;
  readonly resumeUrl: string;
  /** Sequence of the last event received. */
  readonly sequence: number;
}

/** An event as received; `body` may have any shape. */
export interface Dispatch {
  readonly event: string;
  readonly body: unknown;
  /** Counts up within a session; null for events that were fetched and not dispatched. */
  readonly sequence: number | null;
  readonly session: Pick<Session, "id" | "resumeUrl">;
}

export interface ConnectionOptions {
  /** Without a query string. */
  readonly url: string;
  readonly open: (url: string) => WebSocket;
  readonly token: string;
  readonly intents: number;
  /** The session to resume; null for a new one by IDENTIFY. */
  readonly session: Session | null;
  /**
   * Returns false to take no more for now. The connection then ends, and Discord repeats the following events
   * after RESUME.
   */
  readonly onDispatch: (dispatch: Dispatch) => boolean;
  /** Called when events flow. `ready` is the body of READY, null after RESUMED. */
  readonly onLive: (ready: unknown) => void;
  /** Called when Discord acknowledged a heartbeat. */
  readonly onAlive: () => void;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Ends the connection in a way that keeps its session resumable. */
  readonly signal: AbortSignal;
}

export interface Ending {
  /** Discord's close code; null when there was none, or when we closed. */
  readonly code: number | null;
  readonly reason: string;
  readonly reached: "nothing" | "hello" | "live";
  /** Op 9: Discord refuses the session, for good or for now. */
  readonly refused: "gone" | "for now" | null;
  /** The session as far as it was received. */
  readonly session: Session | null;
}

const op = {
  dispatch: 0,
  heartbeat: 1,
  identify: 2,
  resume: 6,
  reconnect: 7,
  invalidSession: 9,
  hello: 10,
  heartbeatAck: 11,
} as const;

/**
 * Closing with 1000 or 1001 would end the session. Any other code keeps it resumable, also for the next
 * process.
 */
const resumableClose = 4200;
const helloWithinMs = 20_000;
/** READY of a large bot takes long. A RESUME replays events first, and each of them extends this time. */
const liveWithinMs = 30_000;
/** A connection that does not close within this time is cut. */
const closeWithinMs = 1_000;
/** Discord asks for 41.25 s; a value far from that is not taken as an interval. */
const heartbeatMs = { least: 10, most: 600_000, usual: 41_250 } as const;

/** Resolves when the connection is over; never rejects. */
export function gatewayConnection(options: ConnectionOptions): Promise<Ending> {
  const { open, token, intents, clock, ids, log, signal } = options;
  return new Promise((resolve) => {
    let { session } = options;
    let reached: Ending["reached"] = "nothing";
    let refused: Ending["refused"] = null;
    let reason: string | null = null;
    let isAcknowledged = true;
    let watch: Timer | null = null;
    let beat: Timer | null = null;
    let cut: Timer | null = null;
    let isOver = false;
    const socket = open(addressOf(options.url));

    const over = (code: number | null): void => {
      if (isOver) return;
      isOver = true;
      for (const timer of [watch, beat, cut]) timer?.cancel();
      signal.removeEventListener("abort", onAbort);
      resolve({
        code,
        reason: reason ?? `the connection closed with ${code ?? "nothing"}`,
        reached,
        refused,
        session,
      });
    };
    const end = (why: string): void => {
      if (isOver || reason !== null) return;
      reason = why;
      log.debug({ reason }, "ending the gateway connection");
      if (socket.readyState === socket.OPEN) socket.close(resumableClose);
      else socket.terminate();
      // The other side may be gone and would never answer the close.
      cut = clock.after(closeWithinMs, () => {
        socket.terminate();
        over(null);
      });
    };
    const within = (afterMs: number, what: string): void => {
      watch?.cancel();
      watch = clock.after(afterMs, () => end(`${what} did not come within ${afterMs / 1000} s`));
    };
    const send = (code: number, body: unknown): void => {
      // A failed write closes the socket.
      if (socket.readyState === socket.OPEN) socket.send(JSON.stringify({ op: code, d: body }), () => {});
    };
    const heartbeat = (): void => {
      isAcknowledged = false;
      send(op.heartbeat, session?.sequence ?? null);
    };
    const beatEvery = (everyMs: number, firstMs: number): void => {
      beat?.cancel();
      beat = clock.after(firstMs, () => {
        if (!isAcknowledged) return end("a heartbeat was not acknowledged");
        heartbeat();
        beatEvery(everyMs, everyMs);
      });
    };
    const hello = (body: unknown): void => {
      if (reached !== "nothing") return;
      reached = "hello";
      const everyMs = intervalOf(body);
      beatEvery(everyMs, everyMs * ids.chance());
      if (session === null) {
        const properties = { os: process.platform, browser: "parley", device: "parley" };
        send(op.identify, {
          token,
          intents,
          properties,
          presence: { status: "online", activities: [], since: null, afk: false },
        });
        within(liveWithinMs, "READY");
      } else {
        send(op.resume, { token, session_id: session.id, seq: session.sequence });
        within(liveWithinMs, "RESUMED");
      }
    };
    const live = (ready: unknown): void => {
      reached = "live";
      watch?.cancel();
      options.onLive(ready);
    };
    const dispatch = (event: string, body: unknown, sequence: number | null): void => {
      if (event === "READY") {
        const ready = readyOf(body);
        if (ready === null) return end("READY does not say which session, or who we are");
        session = { ...ready, resumeUrl: ready.resumeUrl ?? options.url, sequence: sequence ?? 0 };
        live(body);
      } else if (session !== null && sequence !== null && sequence > session.sequence)
        session = { ...session, sequence };
      if (event === "RESUMED") live(null);
      else if (reached !== "live") within(liveWithinMs, "RESUMED");
      if (session !== null && !options.onDispatch({ event, body, sequence, session }))
        end("too many events wait");
    };
    const onFrame = (frame: Frame): void => {
      switch (frame.op) {
        case op.dispatch:
          if (typeof frame.t === "string")
            dispatch(frame.t, frame.d, Number.isSafeInteger(frame.s) ? (frame.s as number) : null);
          return;
        case op.heartbeat:
          return heartbeat();
        case op.heartbeatAck:
          isAcknowledged = true;
          return options.onAlive();
        case op.hello:
          return hello(frame.d);
        case op.reconnect:
          return end("Discord asked for a new connection");
        case op.invalidSession:
          refused = frame.d === true ? "for now" : "gone";
          return end("Discord refused the session");
        default:
          return; // An opcode that is newer than this file.
      }
    };
    function onAbort(): void {
      end("the channel stops");
    }

    socket.on("message", (raw) => {
      if (isOver || reason !== null) return;
      const frame = parse((raw as Buffer).toString());
      if (frame === null) log.debug({}, "a frame of the gateway could not be read");
      else onFrame(frame);
    });
    socket.on("error", (error) => {
      // `close` follows. The message of a failed handshake holds no secret, because the token travels in
      // IDENTIFY.
      reason ??= `no connection to Discord's gateway: ${error.message}`;
    });
    socket.on("close", (code) => over(reason === null && code !== 1006 ? code : null));
    within(helloWithinMs, "HELLO");
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
  });
}

function addressOf(url: string): string {
  const address = new URL(url);
  address.searchParams.set("v", "10");
  address.searchParams.set("encoding", "json");
  return address.href;
}

interface Frame {
  readonly op?: unknown;
  readonly d?: unknown;
  readonly s?: unknown;
  readonly t?: unknown;
}

function parse(text: string): Frame | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : null;
  } catch {
    return null; // The caller logs it.
  }
}

function intervalOf(body: unknown): number {
  const { heartbeat_interval: everyMs } = (body ?? {}) as { readonly heartbeat_interval?: unknown };
  if (typeof everyMs !== "number" || !Number.isFinite(everyMs)) return heartbeatMs.usual;
  return Math.min(Math.max(everyMs, heartbeatMs.least), heartbeatMs.most);
}

/** Null for a READY without a session or without our own id, because the bot would then answer itself. */
function readyOf(body: unknown): { readonly id: string; readonly resumeUrl: string | null } | null {
  const {
    session_id: id,
    resume_gateway_url: url,
    user,
  } = (body ?? {}) as {
    readonly session_id?: unknown;
    readonly resume_gateway_url?: unknown;
    readonly user?: { readonly id?: unknown } | null;
  };
  if (typeof id !== "string" || id === "" || !isSnowflake(user?.id)) return null;
  return { id, resumeUrl: typeof url === "string" && /^wss?:/.test(url) && URL.canParse(url) ? url : null };
}
