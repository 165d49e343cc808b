// The conversation of this browser over the page's connection: replays what it missed, sends what it holds.
// Nothing is lost or doubled over a broken line, a reload or a restart of the gateway: events carry a seq,
// messages an idempotency key.
import {
  chatTextChars,
  type Clock,
  type ConnectResult,
  type EventFrame,
  type EventPayloads,
  type Ids,
  type Timer,
} from "@parley/protocol";
import { connection, type Connection } from "./connection.ts";
import type { TokenShelf } from "./credential.ts";
import { RequestFailure, type Link } from "./link.ts";
import type { Outbox } from "./outbox.ts";
import { emptyChat, withEcho, withMessages, type ChatState } from "./state.ts";

export interface ChatSessionOptions {
  readonly base: string;
  readonly token: TokenShelf;
  readonly outbox: Outbox;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly onChange: (state: ChatState) => void;
  /** Every event of the gateway, the conversation's too. */
  readonly onEvent?: (event: EventFrame) => void;
}

export interface ChatSession {
  /** What everything else on the page asks through. */
  readonly line: Connection;
  start(code: string | null): void;
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
  const { base, token, outbox, clock, ids } = options;
  let state: ChatState = { ...emptyChat, outgoing: outbox.list() };
  let lastSeq: number | undefined;
  let flushing = false;
  let fading: Timer | null = null;
  let shownMessages: number = historyLimit.first;

  const line = connection({
    base,
    token,
    clock,
    ids,
    onEvent(event) {
      onEvent(event);
      options.onEvent?.(event);
    },
    onChange(next) {
      change({ connection: next, ...(next.kind === "online" ? {} : { draft: null }) });
      if (next.kind === "online") void flush();
    },
    resumeAfter: () => lastSeq,
    onOpen: resume,
  });

  function change(next: Partial<ChatState>): void {
    state = { ...state, ...next };
    options.onChange(state);
  }

  async function resume(link: Link, { seq, resync, scopes }: ConnectResult): Promise<void> {
    if (lastSeq === undefined || resync) lastSeq = seq;
    if (resync) change({ messages: [] });
    // A token that may only decide or write still has a page, without a conversation to read.
    if (scopes.includes("read")) await loadHistory(link);
  }

  async function loadHistory(from: Pick<Link, "request">): Promise<void> {
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
    if (event === "resync") {
      lastSeq = seq;
      change({ messages: [] });
      loadHistory(line).catch(() => line.renew());
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
        if (next === undefined || state.connection.kind !== "online") return;
        await deliver(next.key, next.text);
      }
    } finally {
      flushing = false;
    }
  }

  async function deliver(key: string, text: string): Promise<void> {
    try {
      await line.request("chat.send", { text, idempotencyKey: key });
      outbox.remove(key);
      change({ outgoing: state.outgoing.filter((each) => each.key !== key) });
    } catch (error) {
      if (!(error instanceof RequestFailure)) throw error;
      if (passing.has(error.code)) {
        // A new connection starts from what the store says, and resends under the same key.
        return line.renew();
      }
      outbox.remove(key);
      change({
        outgoing: state.outgoing.map((each) =>
          each.key === key ? { ...each, refused: error.message } : each,
        ),
      });
    }
  }

  return {
    line,
    start: (code) => line.start(code),
    login: (typed) => line.login(typed),
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
      line.request("chat.abort", {}).catch(() => {});
    },
    earlier() {
      if (!state.hasEarlier || state.connection.kind !== "online") return;
      shownMessages = Math.min(shownMessages + historyLimit.first, historyLimit.most);
      loadHistory(line).catch(() => line.renew());
    },
    hurry: () => line.hurry(),
    end() {
      fading?.cancel();
      line.end();
    },
  };
}
