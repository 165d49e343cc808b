// The web as a channel: its platform is the gateway's own event log, which clients replay by seq. Sends are effectively once (I5),
// because an event is unique by its delivery id. Who a client is, the control plane has settled before anything gets here.
import {
  conversationKey,
  Fault,
  type Address,
  type Button,
  type Capabilities,
  type Clock,
  type ConversationKey,
  type Inbound,
  type Receipt,
} from "@parley/protocol";
import type { Channel, Receive } from "./channel.ts";

export interface WebChannelOptions {
  readonly account: string;
  readonly clock: Clock;
  /** Appends to the durable event log, unique by `id`, and tells the clients that follow; resolves with the event's seq. */
  readonly publish: (stream: ConversationKey, id: string, message: WebMessage) => Promise<number>;
}

/** What a client shows; the event log adds seq. */
export interface WebMessage {
  /** Of an answer: the key that it was sent under. */
  readonly id?: string;
  /** Of the answer that this one takes the place of: its buttons count no longer. */
  readonly replaces?: string;
  readonly role: "user" | "assistant";
  readonly text: string;
  /** Sanitised HTML of an answer; empty for what a person typed, which is shown as it is. */
  readonly html: string;
  readonly buttons?: readonly (readonly WebButton[])[];
  readonly atMs: number;
}

/** One that says `value` in the chat, or a link. */
export type WebButton = Pick<Button, "label" | "value" | "url" | "style">;

export interface WebSaid {
  /** Unique in this account: the client's idempotency key under its peer. */
  readonly id: string;
  readonly address: Address;
  readonly senderName: string;
  readonly text: string;
  /** The client's token may not administer, so what it says has no owner's rights. */
  readonly guest?: boolean;
  /** A guest whose token may decide about approvals. */
  readonly approver?: boolean;
}

/** Role of senders whose token may not administer. */
export const guestRole = "guest";
/** Role of guests whose token may decide about approvals all the same. */
export const approverRole = "approver";

export interface WebChannel extends Channel {
  /** Resolves when what was said is durable; Fault("unavailable") while the channel does not receive. */
  submit(said: WebSaid): Promise<void>;
}

export const webCapabilities: Capabilities = {
  dialect: "html",
  textChars: 1_000_000,
  captionChars: 1_000_000,
  uploadBytes: 0,
  downloadBytes: 0,
  media: false,
  polls: false,
  voice: false,
  threads: true,
  typing: false,
  reactions: false,
  edits: false,
  removals: false,
  replyTags: false,
  inlineButtons: false,
  idempotentSends: true,
};

/** A page repeats what was refused within seconds, so silence for a minute means that nothing is refused any more. */
const troubleShownMs = 60_000;

export function webChannel(options: WebChannelOptions): WebChannel {
  const { account, clock } = options;
  let receive: Receive | null = null;
  let lastInboundAtMs: number | undefined;
  /** Why the last thing that was said could not be stored. It heals with the next one that can, or with time: nobody may type again. */
  let trouble: { readonly reason: string; readonly atMono: number } | undefined;
  const inFlight = new Set<Promise<void>>();

  async function accept(to: Receive, said: WebSaid): Promise<void> {
    const atMs = clock.now();
    const inbound: Inbound = {
      id: `web:${account}:${said.id}`,
      channel: "web",
      account,
      address: said.address,
      sender: { id: said.address.peer, name: said.senderName, isBot: false, ...rolesOf(said) },
      messageId: said.id,
      kind: "message",
      text: said.text,
      attachments: [],
      mentions: [],
      addressed: true,
      atMs,
    };
    try {
      await to([inbound]);
    } catch (error) {
      trouble = { reason: error instanceof Error ? error.message : String(error), atMono: clock.mono() };
      throw error;
    }
    trouble = undefined;
    lastInboundAtMs = clock.now();
    // After the row is durable: a crash here costs other tabs the echo until the client repeats its request, never the message.
    await options.publish(conversationKey(said.address), inbound.id, {
      role: "user",
      text: said.text,
      html: "",
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

/** A value that the gateway keeps under a short name is none that a person can say: such buttons are for surfaces with presses. */
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
