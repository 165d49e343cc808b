// The web as a channel: its platform is the gateway's own event log, which clients replay by seq. Sends are
// effectively once (I5), because an event is unique by its delivery id. The control plane has already
// authenticated the client.
import {
  conversationKey,
  Fault,
  type Address,
  type Attachment,
  type Button,
  type Capabilities,
  type Clock,
  type ConversationKey,
  type Enclosed,
  type Inbound,
  type Receipt,
  wordsOf,
} from "@parley/protocol";
import type { Channel, Receive } from "./channel.ts";

export interface WebChannelOptions {
  readonly account: string;
  readonly clock: Clock;
  /** Where files that people send are kept; absent: a page takes none. */
  readonly files?: WebFiles;
  /**
   * Appends to the durable event log, unique by `id`, and notifies the clients that follow; resolves with the
   * event's seq.
   */
  readonly publish: (stream: ConversationKey, id: string, message: WebMessage) => Promise<number>;
}

/** Keeps the bytes of files by their content. */
export interface WebFiles {
  /** Durable once resolved; returns the reference by which they are read. */
  keep(bytes: Uint8Array, name: string): Promise<string>;
  /** Throws Fault("missing") for what is not kept any more. */
  read(ref: string): Promise<Uint8Array>;
}

/** A file as its sender's page gave it. */
interface WebFile {
  readonly name: string;
  readonly mediaType?: string | undefined;
  /** Spoken for the agent. */
  readonly voice?: boolean | undefined;
  readonly bytes: Uint8Array;
}

/** A message as clients show it; the event log adds the seq. */
export interface WebMessage {
  /** For an answer the key it was sent under, for a person's words the id of their row. */
  readonly id?: string;
  /** Id of the message that this one replaces: an answer's buttons no longer count, other words are read. */
  readonly replaces?: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  /** Sanitized HTML of an answer; empty for a person's text, which is shown as typed. */
  readonly html: string;
  readonly buttons?: readonly (readonly WebButton[])[];
  readonly cancelled?: boolean;
  readonly files?: readonly { readonly name: string; readonly bytes: number }[];
  readonly atMs: number;
}

/** A button that says `value` in the chat, or a link. */
type WebButton = Pick<Button, "label" | "value" | "url" | "style">;

interface WebSaid {
  /** Unique in this account: the client's idempotency key under its peer. */
  readonly id: string;
  readonly address: Address;
  readonly senderName: string;
  readonly text: string;
  readonly files?: readonly WebFile[];
  /** What is not their own words: something that they share. */
  readonly enclosed?: readonly Enclosed[];
  /** The id under which the words were said that these replace. */
  readonly edits?: string;
  /** True when the client's token may not administer, so that what it says has no owner's rights. */
  readonly guest?: boolean;
  /** A guest whose token may decide about approvals. */
  readonly approver?: boolean;
}

/** Role of senders whose token may not administer. */
export const guestRole = "guest";
/** Role of guests whose token may decide about approvals nevertheless. */
export const approverRole = "approver";

export interface WebChannel extends Channel {
  /**
   * Resolves when the message is durable; rejects with Fault("unavailable") while the channel does not
   * receive.
   */
  submit(said: WebSaid): Promise<void>;
  /** Shows a message that no delivery brings, once per `once`, which is its id where none is given. */
  announce(to: Address, message: WebMessage & { readonly id: string }, once?: string): Promise<void>;
}

export const webCapabilities: Capabilities = {
  dialect: "html",
  textChars: 1_000_000,
  captionChars: 1_000_000,
  uploadBytes: 0,
  downloadBytes: 2_097_152,
  media: false,
  polls: false,
  voice: false,
  silent: false,
  threads: true,
  pins: false,
  typing: false,
  reactions: false,
  edits: false,
  removals: false,
  replyTags: false,
  inlineButtons: false,
  menus: false,
  forms: false,
  idempotentSends: true,
};

/**
 * A page repeats a refused message within seconds, so a minute of silence means that nothing is refused any
 * more.
 */
const troubleShownMs = 60_000;

export function webChannel(options: WebChannelOptions): WebChannel {
  const { account, clock } = options;
  let receive: Receive | null = null;
  let lastInboundAtMs: number | undefined;
  /**
   * Why the last message could not be stored. Cleared by the next one that can be, or by time, because nobody
   * may type again.
   */
  let trouble: { readonly reason: string; readonly atMono: number } | undefined;
  const inFlight = new Set<Promise<void>>();

  async function attachmentOf({ name, mediaType, voice, bytes }: WebFile): Promise<Attachment> {
    if (options.files === undefined) throw new Fault("unsupported", "files cannot be sent here");
    return {
      kind: voice === true ? "voice" : mediaType?.startsWith("image/") === true ? "image" : "file",
      ref: await options.files.keep(bytes, name),
      name,
      ...(mediaType === undefined || mediaType === "" ? {} : { mediaType }),
      bytes: bytes.length,
    };
  }

  async function accept(to: Receive, said: WebSaid): Promise<void> {
    const atMs = clock.now();
    const files = said.files ?? [];
    const attachments = await Promise.all(files.map(attachmentOf));
    const inbound: Inbound = {
      id: `web:${account}:${said.id}`,
      channel: "web",
      account,
      address: said.address,
      sender: { id: said.address.peer, name: said.senderName, isBot: false, ...rolesOf(said) },
      messageId: said.edits ?? said.id,
      kind: said.edits === undefined ? "message" : "edit",
      text: said.text,
      attachments,
      ...(said.enclosed === undefined ? {} : { enclosed: [...said.enclosed] }),
      mentions: [],
      addressed: true,
      atMs,
      ...(said.edits === undefined ? {} : { editedAtMs: atMs }),
    };
    try {
      await to([inbound]);
    } catch (error) {
      trouble = { reason: error instanceof Error ? error.message : String(error), atMono: clock.mono() };
      throw error;
    }
    trouble = undefined;
    lastInboundAtMs = clock.now();
    // Whether an edit came in time, whoever asked for it finds out.
    if (said.edits !== undefined) return;
    // Published after the row is durable: a crash here costs other tabs the echo until the client repeats its
    // request, never the message.
    await options.publish(conversationKey(said.address), inbound.id, {
      id: inbound.id,
      role: "user",
      text: wordsOf(inbound),
      html: "",
      ...(files.length === 0
        ? {}
        : { files: files.map(({ name, bytes }) => ({ name, bytes: bytes.length })) }),
      atMs,
    });
  }

  return {
    name: "web",
    account,
    capabilities: webCapabilities,
    async start(to) {
      receive = to;
    },
    async stop() {
      receive = null;
      await Promise.allSettled(inFlight);
    },
    health() {
      const fresh =
        trouble !== undefined && clock.mono() - trouble.atMono < troubleShownMs ? trouble : undefined;
      return {
        state: receive === null ? "stopped" : fresh === undefined ? "ok" : "degraded",
        ...(fresh === undefined ? {} : { reason: fresh.reason }),
        ...(lastInboundAtMs === undefined ? {} : { lastInboundAtMs }),
      };
    },
    async submit(said) {
      if (receive === null)
        throw new Fault("unavailable", "the gateway is stopping; the message was not taken", {
          retryAfterMs: 1_000,
        });
      const work = accept(receive, said);
      inFlight.add(work);
      try {
        await work;
      } finally {
        inFlight.delete(work);
      }
    },
    async download(ref, limitBytes) {
      if (options.files === undefined) throw new Fault("unsupported", "files cannot be sent here");
      const bytes = await options.files.read(ref);
      if (bytes.length > limitBytes) throw new Fault("invalid", `the file has more than ${limitBytes} bytes`);
      return { bytes };
    },
    async announce(to, message, once = message.id) {
      await options.publish(conversationKey(to), once, message);
    },
    async send(to, part, { idempotencyKey, replaces, signal }): Promise<Receipt> {
      if (signal.aborted) throw new Fault("aborted", "aborted before it was sent");
      if (part.kind !== "text") throw new Fault("unsupported", `the web chat cannot show a ${part.kind}`);
      if (part.text.length > webCapabilities.textChars) {
        throw new Fault(
          "invalid",
          `a text of ${part.text.length} characters is longer than the ${webCapabilities.textChars} that a page takes`,
        );
      }
      const buttons = shownButtons(part.buttons ?? []);
      const message: WebMessage = {
        id: idempotencyKey,
        ...(replaces === undefined ? {} : { replaces }),
        role: "assistant",
        text: part.plain,
        html: part.text,
        ...(buttons.length === 0 ? {} : { buttons }),
        atMs: clock.now(),
      };
      await options.publish(conversationKey(to), idempotencyKey, message);
      return { messageId: idempotencyKey };
    },
  };
}

function rolesOf({ guest, approver }: WebSaid): { readonly roles?: string[] } {
  return guest === true ? { roles: [guestRole, ...(approver === true ? [approverRole] : [])] } : {};
}

/**
 * Leaves out buttons whose value the gateway keeps under a short name: a person cannot say it, so they are
 * for surfaces with presses.
 */
function shownButtons(rows: readonly (readonly Button[])[]): readonly (readonly WebButton[])[] {
  return rows
    .map((row) =>
      row.flatMap(({ label, value, url, style }): WebButton[] => {
        const look = { label, ...(style === undefined ? {} : { style }) };
        if (url !== undefined) return /^https?:/i.test(url) ? [{ ...look, url }] : [];
        return value === undefined || value.startsWith("~") ? [] : [{ ...look, value }];
      }),
    )
    .filter((row) => row.length > 0);
}
