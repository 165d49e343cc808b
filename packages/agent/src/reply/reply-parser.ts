// Model text in, Outcome out: the one machine that decides what a turn said. Every cut of the stream gives
// the same outcome, and no preview shows a byte that the outcome would not (I8). The provider's own reasoning
// events are never pushed here.
import type { Outcome } from "@parley/protocol";
import { outbound } from "./outbound.ts";
import { noRedaction, type Redaction } from "./redact.ts";
import { acknowledges, readWhole, saysNothingBeside } from "./whole-token.ts";

export interface ReplyOptions {
  /** This turn answers a heartbeat poll: its acknowledgement counts, and it has no preview. */
  readonly heartbeat?: boolean;
  /** The model was told to answer inside `<final>`: nothing outside it is shown. */
  readonly finalOnly?: boolean;
  /** What `[[reply_to_current]]` means; without it that tag is stripped and ignored. */
  readonly currentMessageId?: string;
  /** An answer without a tag quotes the current message too. */
  readonly quotesCurrent?: boolean;
  readonly redaction?: Redaction;
}

export interface ReplyParser {
  /**
   * `visible` is the whole preview so far; it only grows, and is empty while the message could still be a
   * token.
   */
  push(delta: string): { readonly visible: string };
  /** Call once. `silent` comes with reason `token` or `empty`. */
  end(): Outcome;
  /** The message that the answer quotes; a tag that is read later may name another. */
  replyTo(): string | undefined;
  /** A tag asks that the answer is spoken. */
  asksVoice(): boolean;
  /** Thoughts that came in tags, for people who asked to see them. */
  thinking(): string;
}

/** From the seeds: more text than this beside an acknowledgement is an alert. */
const heartbeatRestChars = 300;

export function replyParser(options: ReplyOptions = {}): ReplyParser {
  let replyTo = options.quotesCurrent === true ? options.currentMessageId : undefined;
  let tagged = false;
  let voice = false;
  const way = outbound({
    finalOnly: options.finalOnly === true,
    redaction: options.redaction ?? noRedaction,
    onReplyTag(tag) {
      if (tag.to === "voice") voice = true;
      if (tagged || tag.to === "voice") return;
      tagged = true;
      replyTo = tag.to === "id" ? tag.id : options.currentMessageId;
    },
  });
  return {
    push(delta) {
      way.push(delta);
      return { visible: options.heartbeat === true || way.undecided() ? "" : way.visible() };
    },
    end() {
      way.end();
      const text = way.shown().trim();
      const whole = readWhole(way.whole());
      if (
        options.heartbeat === true &&
        (whole !== null || (acknowledges(way.whole()) && text.length <= heartbeatRestChars))
      ) {
        return { kind: "heartbeatOk" };
      }
      if (whole !== null || (way.removedToken() && saysNothingBeside(text)))
        return { kind: "silent", reason: "token" };
      if (text === "") return { kind: "silent", reason: "empty" };
      return {
        kind: "reply",
        parts: [{ kind: "text", markdown: text }],
        ...(replyTo === undefined ? {} : { replyTo }),
      };
    },
    replyTo: () => replyTo,
    asksVoice: () => voice,
    thinking: way.thinking,
  };
}
