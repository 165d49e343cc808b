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
import { leftConversations, newestOf } from "./left-conversations.ts";
import { RequestFailure, type Link } from "./link.ts";
import type { Outbox, Unsent, UnsentFile } from "./outbox.ts";
import { emptyChat, withMessages, type ChatState } from "./state.ts";

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
  /** Turns to another conversation; null is the first. */
  open(thread: string | null): void;
  send(text: string, files?: readonly UnsentFile[]): void;
  /** Takes a message off the page that was refused, or that has not left yet. */
  discard(key: string): void;
  /** Stops the agent's work. */
  stop(): void;
  /** Reads further back. */
  earlier(): void;
  /** For somebody who reads at the end: of a very long conversation only the newest part is kept. */
  forgetEarlier(): void;
  /**
   * Connects now instead of at the end of the wait, or looks whether the line still lives: the network
   * changed, the page became visible.
   */
  hurry(): void;
  end(): void;
}

/** Read in one go. */
const pageMessages = 200;
/** Kept of a conversation whose reader stays at its end; more than twice as many are cut to these. */
const keptMessages = 1_000;
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
  let readingBack = false;
  /** The conversation that the line tells of. */
  let followed: string | null = null;
  let turning = false;
  const left = leftConversations();

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
      if (next.kind !== "online") return;
      void flush();
      if (followed !== state.thread) void turn();
    },
    follows() {
      followed = state.thread;
      return { ...placeOf(followed), ...(lastSeq === undefined ? {} : { lastSeq }) };
    },
    onOpen: resume,
  });

  function change(next: Partial<ChatState>): void {
    state = { ...state, ...next };
    options.onChange(state);
  }

  async function resume(link: Link, { seq, resync, scopes }: ConnectResult): Promise<void> {
    if (followed === state.thread) {
      if (lastSeq === undefined || resync) lastSeq = seq;
      if (resync) change({ messages: [] });
    }
    // A token that may only decide or write still has a page, without a conversation to read.
    if (!scopes.includes("read")) return;
    await follow(link);
    await loadHistory(link);
  }

  async function loadHistory(from: Pick<Link, "request">): Promise<void> {
    const { thread } = state;
    const read = await from.request("chat.history", { ...placeOf(thread), limit: pageMessages });
    // Somebody turned to another conversation meanwhile.
    if (thread !== state.thread) return;
    const { messages, working } = read;
    const isOldest = (messages[0]?.seq ?? 0) <= (state.messages[0]?.seq ?? Infinity);
    const hasEarlier = isOldest ? read.hasEarlier : state.hasEarlier;
    change({ ...withMessages(state, messages), working, hasEarlier });
  }

  async function readBack(): Promise<void> {
    const { thread, messages: known, hasEarlier: isMore } = state;
    const beforeSeq = known[0]?.seq;
    if (readingBack || !isMore || beforeSeq === undefined || state.connection.kind !== "online") return;
    readingBack = true;
    try {
      const asked = { ...placeOf(thread), limit: pageMessages, beforeSeq };
      const { messages, hasEarlier } = await line.request("chat.history", asked);
      // A resync may have emptied the page meanwhile.
      if (thread !== state.thread || state.messages[0]?.seq !== beforeSeq) return;
      change({ ...withMessages(state, messages), draft: state.draft, hasEarlier });
    } catch {
      line.renew();
    } finally {
      readingBack = false;
    }
  }

  /** Asks a line to tell of the open conversation, one after the other: the last one asked for stays. */
  async function follow(over: Pick<Link, "request">): Promise<void> {
    while (followed !== state.thread) {
      const { thread } = state;
      const asked = { ...placeOf(thread), ...(lastSeq === undefined ? {} : { lastSeq }) };
      const { seq, resync } = await over.request("chat.follow", asked);
      // The line tells of it from here on, and of the one before until here.
      followed = thread;
      if (thread !== state.thread) continue;
      if (lastSeq === undefined || resync) lastSeq = seq;
      if (resync) change({ messages: [] });
    }
  }

  async function turnTo(thread: string | null): Promise<void> {
    left.leave(state, lastSeq);
    const before = left.of(thread);
    lastSeq = before?.lastSeq;
    fading?.cancel();
    const { messages = [], hasEarlier = false } = before ?? {};
    change({ thread, messages, hasEarlier, draft: null, working: false });
    await turn();
  }

  async function turn(): Promise<void> {
    // Without a line the next one follows it from the start.
    if (turning || state.connection.kind !== "online") return;
    turning = true;
    try {
      await follow(line);
      await loadHistory(line);
    } catch {
      line.renew();
    } finally {
      turning = false;
    }
  }

  function onEvent({ event, payload, seq }: EventFrame): void {
    if (followed !== state.thread) return undefined;
    if (event === "chat.message") {
      const message = payload as EventPayloads["chat.message"];
      lastSeq = Math.max(lastSeq ?? 0, message.seq);
      return change(withMessages(state, [message]));
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
        await deliver(next);
      }
    } finally {
      flushing = false;
    }
  }

  async function deliver({ key, text, thread, files }: Unsent): Promise<void> {
    try {
      await line.request("chat.send", {
        ...placeOf(thread),
        ...(files === undefined ? {} : { files: [...files] }),
        text,
        idempotencyKey: key,
      });
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
    open(thread) {
      if (thread !== state.thread) void turnTo(thread);
    },
    send(text, files = []) {
      const { thread } = state;
      if (text.length > chatTextChars) {
        const [chars, most] = [text.length, chatTextChars].map((each) => each.toLocaleString("en"));
        const refused = `it has ${chars} characters, and ${most} can be sent at once`;
        return change({
          outgoing: [...state.outgoing, { key: ids.uuid(), text, thread, atMs: clock.now(), refused }],
        });
      }
      const along = files.length === 0 ? {} : { files };
      const message = { key: ids.uuid(), text, thread, ...along, atMs: clock.now() };
      outbox.add(message);
      change({ outgoing: [...state.outgoing, message] });
      return void flush();
    },
    discard(key) {
      outbox.remove(key);
      change({ outgoing: state.outgoing.filter((each) => each.key !== key) });
    },
    stop() {
      // When the line is dead there is nobody to tell; the button is back once it is not.
      line.request("chat.abort", placeOf(state.thread)).catch(() => {});
    },
    earlier() {
      void readBack();
    },
    forgetEarlier() {
      if (state.messages.length > 2 * keptMessages) change(newestOf(state, keptMessages));
    },
    hurry: () => line.hurry(),
    end() {
      fading?.cancel();
      line.end();
    },
  };
}

function placeOf(thread: string | null): { readonly thread?: string } {
  return thread === null ? {} : { thread };
}
