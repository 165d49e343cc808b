// The conversation of this browser: stays connected, replays what it missed, sends what it holds. Nothing is
// lost or doubled over a broken line, a reload or a restart of the gateway: events carry a seq, messages an
// idempotency key.
import {
  chatTextChars,
  type Clock,
  type ConnectParams,
  type EventFrame,
  type EventPayloads,
  type Ids,
  type Timer,
} from "@parley/protocol";
import type { TokenShelf } from "./credential.ts";
import { openLink, RequestFailure, type Link } from "./link.ts";
import type { Outbox } from "./outbox.ts";
import { emptyChat, withEcho, withMessages, type ChatState } from "./state.ts";

export interface ChatSessionOptions {
  readonly origin: string;
  readonly token: TokenShelf;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly onChange: (state: ChatState) => void;
}

export interface ChatSession {
  /** With the code of a login link, or with what this browser keeps. */
  start(code: string | null): void;
  /** With the gateway's token, typed by a person; a device token is kept in its place. */
  login(token: string): void;
  send(text: string): void;
  /** Takes a refused message off the page. */
  discard(key: string): void;
  /** Stops the agent's work. */
  stop(): void;
  /** Reads further back. */
  earlier(): void;
  /**
   * Connects now instead of at the end of the wait, or looks whether the line still lives: the network
   * changed, the page became visible.
   */
  hurry(): void;
  end(): void;
}

/** Read in one go, and at most: what the gateway answers to one request. */
const historyLimit = { first: 200, most: 1_000 } as const;
/** A turn that ended has its answer within this time, or has none: until then its draft stands. */
const draftEndsMs = 1_000;
const tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/** 256 bits. */
const tokenLength = 43;
const firstWaitMs = 500;
/** A gateway has few pages, and a person sits before each. */
const longestWaitMs = 5_000;
/** These may go away by themselves; any other refusal is final. */
const passing: ReadonlySet<string> = new Set([
  "closed",
  "unavailable",
  "rate_limited",
  "internal",
  "ambiguous",
  "aborted",
]);

export function chatSession(options: ChatSessionOptions): ChatSession {
  const { token, outbox, clock, ids } = options;
  let state: ChatState = { ...emptyChat, outgoing: outbox.list() };
  let link: Link | null = null;
  let auth: ConnectParams["auth"] | null = null;
  /** Used when the kept token turns out to be revoked. */
  let spareCode: string | null = null;
  let lastSeq: number | undefined;
  let failures = 0;
  let retry: Timer | null = null;
  let connecting = false;
  let flushing = false;
  let fading: Timer | null = null;
  let shownMessages: number = historyLimit.first;
  let ended = false;

  function change(next: Partial<ChatState>): void {
    state = { ...state, ...next };
    options.onChange(state);
  }

  async function connect(): Promise<void> {
    retry?.cancel();
    retry = null;
    if (auth === null || connecting || link !== null || ended) return;
    connecting = true;
    // Between two attempts nothing changes for the person.
    if (failures === 0) change({ connection: { kind: "connecting" } });
    try {
      const hello = { auth, ...(lastSeq === undefined ? {} : { lastSeq }) };
      const { link: made, welcome } = await openLink({
        origin: options.origin,
        hello,
        clock,
        onEvent,
        onClose: disconnected,
      });
      link = made;
      if (welcome.deviceToken !== undefined) {
        token.keep(welcome.deviceToken);
        auth = { token: welcome.deviceToken };
      }
      if (lastSeq === undefined || welcome.resync) lastSeq = welcome.seq;
      if (welcome.resync) change({ messages: [] });
      await loadHistory(made);
      failures = 0;
      change({ connection: { kind: "online" } });
      void flush();
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
      token.forget();
      auth = spareCode === null ? null : withCode(spareCode);
      spareCode = null;
      if (auth !== null) return waitAndRetry();
      return change({ connection: { kind: "logged-out", reason: failure.message } });
    }
    return waitAndRetry(failure?.retryAfterMs);
  }

  /** With a token of its own choice it may ask again when the answer is lost: the code itself counts once. */
  function withCode(code: string): NonNullable<ConnectParams["auth"]> {
    return { code, deviceToken: ids.code(tokenAlphabet, tokenLength) };
  }

  function disconnected(): void {
    link = null;
    change({ draft: null });
    if (!connecting) waitAndRetry();
  }

  function waitAndRetry(atLeastMs = 0): void {
    if (ended || auth === null || retry !== null) return;
    const waitMs = Math.min(longestWaitMs, firstWaitMs * 2 ** failures) * (0.5 + ids.chance() / 2);
    failures += 1;
    change({ connection: { kind: "offline" } });
    retry = clock.after(Math.max(waitMs, atLeastMs), () => void connect());
  }

  async function loadHistory(from: Link): Promise<void> {
    const { messages, working } = await from.request("chat.history", { limit: shownMessages });
    const hasEarlier = messages.length === shownMessages && shownMessages < historyLimit.most;
    change({ ...withMessages(state, messages), working, hasEarlier });
  }

  function onEvent({ event, payload, seq }: EventFrame): void {
    if (event === "chat.message") {
      const message = payload as EventPayloads["chat.message"];
      lastSeq = Math.max(lastSeq ?? 0, message.seq);
      const next = withMessages(state, [message]);
      return change(message.role === "user" && next !== state ? withEcho(next, message.text) : next);
    }
    if (event === "chat.delta") {
      const draft = payload as EventPayloads["chat.delta"];
      fading?.cancel();
      return change({ draft: draft.text === "" ? null : draft });
    }
    if (event === "chat.typing") {
      const { working } = payload as EventPayloads["chat.typing"];
      fading?.cancel();
      if (!working) fading = clock.after(draftEndsMs, () => change({ draft: null }));
      return change({ working });
    }
    if (event === "resync" && link !== null) {
      lastSeq = seq;
      change({ messages: [] });
      loadHistory(link).catch(refusedOrLost);
    }
    return undefined;
  }

  /** One after the other, so that messages arrive in the order in which they were written. */
  async function flush(): Promise<void> {
    if (flushing) return;
    flushing = true;
    try {
      for (;;) {
        const next = state.outgoing.find((each) => each.refused === undefined);
        if (next === undefined || link === null || state.connection.kind !== "online") return;
        await deliver(link, next.key, next.text);
      }
    } finally {
      flushing = false;
    }
  }

  async function deliver(over: Link, key: string, text: string): Promise<void> {
    try {
      await over.request("chat.send", { text, idempotencyKey: key });
      outbox.remove(key);
      change({ outgoing: state.outgoing.filter((each) => each.key !== key) });
    } catch (error) {
      if (!(error instanceof RequestFailure)) throw error;
      if (passing.has(error.code)) {
        // A new connection starts from what the store says, and resends under the same key.
        link = null;
        over.close();
        return;
      }
      outbox.remove(key);
      change({
        outgoing: state.outgoing.map((each) =>
          each.key === key ? { ...each, refused: error.message } : each,
        ),
      });
    }
  }

  function logIn(with_: NonNullable<ConnectParams["auth"]>): void {
    auth = with_;
    failures = 0;
    void connect();
  }

  return {
    start(code) {
      const kept = token.read();
      // A device that is known keeps its conversation; the code of its link simply runs out.
      if (kept !== null) spareCode = code;
      if (kept !== null) logIn({ token: kept });
      else if (code !== null) logIn(withCode(code));
      else change({ connection: { kind: "logged-out", reason: null } });
    },
    login: (typed) => logIn({ token: typed.trim(), remember: true }),
    send(text) {
      if (text.length > chatTextChars) {
        const [chars, most] = [text.length, chatTextChars].map((each) => each.toLocaleString("en"));
        const refused = `it has ${chars} characters, and ${most} can be sent at once`;
        return change({
          outgoing: [...state.outgoing, { key: ids.uuid(), text, atMs: clock.now(), refused }],
        });
      }
      const message = { key: ids.uuid(), text, atMs: clock.now() };
      outbox.add(message);
      change({ outgoing: [...state.outgoing, message] });
      return void flush();
    },
    discard: (key) => change({ outgoing: state.outgoing.filter((each) => each.key !== key) }),
    stop() {
      // When the line is dead there is nobody to tell; the button is back once it is not.
      link?.request("chat.abort", {}).catch(() => {});
    },
    earlier() {
      if (link === null || !state.hasEarlier) return;
      shownMessages = Math.min(shownMessages + historyLimit.first, historyLimit.most);
      loadHistory(link).catch(refusedOrLost);
    },
    hurry() {
      if (retry !== null) void connect();
      else link?.probe();
    },
    end() {
      ended = true;
      retry?.cancel();
      fading?.cancel();
      link?.close();
    },
  };
}
