// Keeps this browser connected by one WebSocket, which everything on the page shares: it logs in, connects
// again after a break, asks any frame of the gateway and hands its events on. Who needs something before the
// page counts as online hangs in by `onOpen`.
import type {
  Clock,
  ConnectParams,
  ConnectResult,
  EventFrame,
  Ids,
  MethodName,
  MethodParams,
  MethodResult,
  Scope,
  Timer,
} from "@parley/protocol";
import type { TokenShelf } from "./credential.ts";
import { lostLine, openLink, RequestFailure, type Link } from "./link.ts";
import type { ConnectionState } from "./state.ts";

export interface ConnectionOptions {
  /** Of the page, with the path that a proxy put before it: `http://127.0.0.1:7275`. */
  readonly base: string;
  readonly token: TokenShelf;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly onChange: (state: ConnectionState) => void;
  readonly onEvent: (event: EventFrame) => void;
  /** Which conversation to follow, and after what, asked at every attempt. */
  readonly follows: () => Pick<ConnectParams, "thread" | "lastSeq">;
  /** Between the handshake and `online`; a rejection closes the line and tries again. */
  readonly onOpen: (link: Link, welcome: ConnectResult) => Promise<void>;
}

export interface Connection {
  readonly state: ConnectionState;
  /** What the token allows, or allowed when it was last used; empty while nobody knows. */
  readonly scopes: readonly Scope[];
  /** How the gateway calls this browser; null until it answered. */
  readonly peer: string | null;
  /** Rejects with RequestFailure, with the code `closed` where there is no line. */
  request<M extends MethodName>(method: M, params: MethodParams<M>): Promise<MethodResult<M>>;
  /** With the code of a login link, or with what this browser keeps. */
  start(code: string | null): void;
  /** With the gateway's token, typed by a person; a device token is kept in its place. */
  login(token: string): void;
  /** Forgets the token of this browser. */
  logout(): void;
  /** Connects now instead of at the end of the wait, or looks whether the line still lives. */
  hurry(): void;
  /** Gives the line up after a failure, and makes another. */
  renew(): void;
  end(): void;
}

const tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** 256 bits. */
const tokenLength = 43;
const firstWaitMs = 500;
/** A gateway has few pages, and a person sits before each. */
const longestWaitMs = 5_000;

export function connection(options: ConnectionOptions): Connection {
  const { token, clock, ids } = options;
  let state: ConnectionState = { kind: "connecting" };
  let scopes = token.scopes();
  let peer: string | null = null;
  let link: Link | null = null;
  let auth: ConnectParams["auth"] | null = null;
  /** Used when the kept token turns out to be revoked. */
  let spareCode: string | null = null;
  let failures = 0;
  let retry: Timer | null = null;
  let connecting = false;
  let ended = false;

  function change(next: ConnectionState): void {
    state = next;
    options.onChange(next);
  }

  async function connect(): Promise<void> {
    retry?.cancel();
    retry = null;
    if (auth === null || connecting || link !== null || ended) return;
    connecting = true;
    // Between two attempts nothing changes for the person.
    if (failures === 0) change({ kind: "connecting" });
    try {
      const hello = { auth, ...options.follows() };
      const { base, onEvent } = options;
      const { link: made, welcome } = await openLink({ base, hello, clock, onEvent, onClose: disconnected });
      link = made;
      if (welcome.deviceToken !== undefined) {
        token.keep(welcome.deviceToken);
        auth = { token: welcome.deviceToken };
      }
      ({ scopes, peer } = welcome);
      token.keepScopes(scopes);
      await options.onOpen(made, welcome);
      failures = 0;
      change({ kind: "online" });
    } catch (error) {
      refusedOrLost(error);
    } finally {
      connecting = false;
    }
  }

  function refusedOrLost(error: unknown): void {
    link?.close();
    link = null;
    const failure = error instanceof RequestFailure ? error : null;
    if (failure?.code === "unauthorized") {
      forget();
      auth = spareCode === null ? null : withCode(spareCode);
      spareCode = null;
      if (auth !== null) return waitAndRetry();
      return change({ kind: "logged-out", reason: failure.message });
    }
    return waitAndRetry(failure?.retryAfterMs);
  }

  function forget(): void {
    token.forget();
    scopes = [];
  }

  /** With a token of its own choice it may ask again when the answer is lost: the code itself counts once. */
  function withCode(code: string): NonNullable<ConnectParams["auth"]> {
    return { code, deviceToken: ids.code(tokenAlphabet, tokenLength) };
  }

  function disconnected(): void {
    link = null;
    if (!connecting) waitAndRetry();
  }

  function waitAndRetry(atLeastMs = 0): void {
    if (ended || auth === null || retry !== null) return;
    const waitMs = Math.min(longestWaitMs, firstWaitMs * 2 ** failures) * (0.5 + ids.chance() / 2);
    failures += 1;
    change({ kind: "offline", sinceMs: state.kind === "offline" ? state.sinceMs : clock.now() });
    retry = clock.after(Math.max(waitMs, atLeastMs), () => void connect());
  }

  function logIn(with_: NonNullable<ConnectParams["auth"]>): void {
    auth = with_;
    failures = 0;
    void connect();
  }

  return {
    get state() {
      return state;
    },
    get scopes() {
      return scopes;
    },
    get peer() {
      return peer;
    },
    request: (method, params) => (link === null ? Promise.reject(lostLine()) : link.request(method, params)),
    start(code) {
      const kept = token.read();
      // A device that is known keeps its conversation; the code of its link simply runs out.
      if (kept !== null) spareCode = code;
      if (kept !== null) logIn({ token: kept });
      else if (code !== null) logIn(withCode(code));
      else change({ kind: "logged-out", reason: null });
    },
    login: (typed) => logIn({ token: typed.trim(), remember: true }),
    logout() {
      forget();
      auth = null;
      retry?.cancel();
      retry = null;
      link?.close();
      change({ kind: "logged-out", reason: null });
    },
    hurry() {
      if (retry !== null) void connect();
      else link?.probe();
    },
    renew() {
      const over = link;
      link = null;
      over?.close();
    },
    end() {
      ended = true;
      retry?.cancel();
      link?.close();
    },
  };
}
