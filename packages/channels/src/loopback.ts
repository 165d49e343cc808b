// A channel without a platform: people are function calls. For tests, the simulator and `parley chat`. It
// makes the same promises as real channels: it offers an event again until `receive` resolved (I1), and shows
// a repeated send under one key once (I5).
import {
  type Action,
  type Address,
  type Attachment,
  type Capabilities,
  type Clock,
  Fault,
  type Inbound,
  type Receipt,
  type RenderedPart,
  sleep,
} from "@parley/protocol";
import type { Channel, ChannelHealth, Receive } from "./channel.ts";

export interface LoopbackOptions {
  readonly account: string;
  readonly clock: Clock;
  /** The channel's name in addresses; "loopback" by default, another where a test plays several platforms. */
  readonly name?: string;
}

interface LoopbackSay {
  /** Id of the sender; "person" by default. */
  readonly from?: string;
  /** The conversation; by default the private chat with `from`. */
  readonly address?: Pick<Address, "kind" | "peer" | "thread">;
  /** True when the message is meant for the bot; by default only in private chats. */
  readonly addressed?: boolean;
  readonly fields?: Partial<Inbound>;
}

/** A message that the product sent, as it looks after edits and removals. */
interface LoopbackMessage {
  readonly id: string;
  readonly to: Address;
  readonly part: RenderedPart;
  readonly edited: boolean;
  readonly reactions: readonly string[];
  readonly pinned: boolean;
}

export interface Loopback extends Channel {
  /** Offers an event to the product, after the events before it, and returns it. */
  says(text: string, say?: LoopbackSay): Inbound;
  /** Creates an attachment; `download` returns its bytes. */
  attaches(bytes: Uint8Array, attachment: Omit<Attachment, "ref" | "bytes">): Attachment;
  /** The messages visible now, in order; only those of one peer when given. */
  sent(peer?: string): readonly LoopbackMessage[];
  /** Events that `receive` has accepted, in order. */
  accepted(): readonly Inbound[];
  /** Makes the next send throw this instead of sending. */
  failsNext(fault: Fault): void;
  /** Peers that were shown typing, in order. */
  typed(): readonly string[];
  /** Titles of the threads that the product opened, in order. */
  threads(): readonly string[];
}

const capabilities: Capabilities = {
  dialect: "plain",
  textChars: 16_384,
  captionChars: 16_384,
  uploadBytes: 50_000_000,
  downloadBytes: 50_000_000,
  media: true,
  polls: true,
  voice: true,
  silent: true,
  threads: true,
  pins: true,
  typing: true,
  reactions: true,
  edits: true,
  removals: true,
  replyTags: true,
  inlineButtons: true,
  menus: true,
  forms: true,
  idempotentSends: true,
};

/** Wait before an event that was not accepted is offered again. */
const reofferMs = 1_000;

export function loopback({ account, clock, name = "loopback" }: LoopbackOptions): Loopback {
  const offered: Inbound[] = [];
  const accepted: Inbound[] = [];
  const messages = new Map<string, LoopbackMessage>();
  const receipts = new Map<string, Receipt>();
  const files = new Map<string, Uint8Array>();
  const faults: Fault[] = [];
  const typed: string[] = [];
  const threads: string[] = [];
  const ending = new AbortController();
  let receive: Receive | null = null;
  let pumping: Promise<void> | null = null;
  let health: ChannelHealth = { state: "starting" };
  let counter = 0;

  const pump = async (to: Receive): Promise<void> => {
    while (offered.length > 0 && !ending.signal.aborted) {
      const batch = [...offered];
      try {
        await to(batch);
        accepted.push(...offered.splice(0, batch.length));
        health = { state: "ok", lastInboundAtMs: clock.now() };
      } catch (error) {
        // The event is not durable, so it is offered again, as a platform would.
        health = {
          ...health,
          state: "degraded",
          reason: error instanceof Error ? error.message : String(error),
        };
        await sleep(clock, reofferMs, ending.signal);
      }
    }
  };
  const wake = (): void => {
    if (receive === null || pumping !== null) return;
    pumping = pump(receive).finally(() => {
      pumping = null;
      if (offered.length > 0 && !ending.signal.aborted) wake();
    });
  };
  const found = (id: string): LoopbackMessage => {
    const message = messages.get(id);
    if (message === undefined) throw new Fault("missing", `there is no message "${id}" on the loopback`);
    return message;
  };
  const perform = (action: Action, key: string): Receipt | null => {
    switch (action.kind) {
      case "edit": {
        const message = found(action.messageId);
        if (message.part.kind !== "text")
          throw new Fault("unsupported", "only texts can be edited on the loopback");
        const { buttons: _old, ...part } = message.part;
        const buttons = action.buttons === undefined ? {} : { buttons: action.buttons };
        messages.set(message.id, { ...message, part: { ...part, ...action.text, ...buttons }, edited: true });
        return { messageId: message.id };
      }
      case "remove":
        messages.delete(action.messageId);
        return null;
      case "react": {
        const message = found(action.messageId);
        messages.set(message.id, { ...message, reactions: action.emoji === null ? [] : [action.emoji] });
        return null;
      }
      case "pin":
        messages.set(action.messageId, { ...found(action.messageId), pinned: action.pinned });
        return null;
      case "createThread": {
        const known = receipts.get(key);
        if (known !== undefined) return known;
        const thread = `thread-${++counter}`;
        threads.push(action.title);
        const receipt = { messageId: thread, extra: { thread } };
        receipts.set(key, receipt);
        return receipt;
      }
      default:
        throw new Fault("unsupported", `the loopback has no ${action.kind}`);
    }
  };

  return {
    name,
    account,
    capabilities,
    actions: ["edit", "remove", "react", "pin", "createThread"],
    async start(to) {
      if (receive !== null || ending.signal.aborted)
        throw new Fault("invalid", "the loopback was started before: make a new one");
      receive = to;
      health = { state: "ok" };
      wake();
    },
    async stop() {
      ending.abort();
      await pumping;
      health = { state: "stopped" };
    },
    health: () => health,
    async send(to, part, { idempotencyKey, signal }) {
      if (signal.aborted) throw new Fault("aborted", "the send was aborted before it began");
      const fault = faults.shift();
      if (fault !== undefined) throw fault;
      const before = receipts.get(idempotencyKey);
      if (before !== undefined) return before;
      const text = part.kind === "text" ? part.text : part.kind === "media" ? (part.caption?.text ?? "") : "";
      if (text.length > capabilities.textChars)
        throw new Fault("invalid", `${text.length} units of text are over ${capabilities.textChars}`);
      const id = `sent-${++counter}`;
      messages.set(id, { id, to, part, edited: false, reactions: [], pinned: false });
      receipts.set(idempotencyKey, { messageId: id });
      return { messageId: id };
    },
    act: async (_to, action, { idempotencyKey }) => perform(action, idempotencyKey),
    async typing(to) {
      typed.push(to.peer);
    },
    async download(ref, limitBytes) {
      const bytes = files.get(ref);
      if (bytes === undefined) throw new Fault("missing", `there is no file "${ref}" on the loopback`);
      if (bytes.length > limitBytes)
        throw new Fault("invalid", `the file has ${bytes.length} bytes, over the limit of ${limitBytes}`);
      return { bytes };
    },
    says(text, { from = "person", address, addressed, fields } = {}) {
      const number = ++counter;
      const at: Address = { channel: name, account, ...(address ?? { kind: "dm", peer: from }) };
      const event: Inbound = {
        id: `${name}:${account}:e${number}`,
        channel: name,
        account,
        address: at,
        sender: { id: from, name: from, isBot: false },
        messageId: `said-${number}`,
        kind: "message",
        text,
        attachments: [],
        mentions: [],
        addressed: addressed ?? at.kind === "dm",
        atMs: clock.now(),
        ...fields,
      };
      offered.push(event);
      wake();
      return event;
    },
    attaches(bytes, attachment) {
      const ref = `file-${++counter}`;
      files.set(ref, bytes);
      return { ...attachment, ref, bytes: bytes.length };
    },
    sent: (peer) =>
      [...messages.values()].filter((message) => peer === undefined || message.to.peer === peer),
    accepted: () => accepted,
    failsNext: (fault) => void faults.push(fault),
    typed: () => typed,
    threads: () => threads,
  };
}
