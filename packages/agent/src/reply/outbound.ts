// The one way out for text: markup, tokens, secrets and paths, in this order. The reply parser streams through it; everything else
// that is sent to a surface goes through `sanitizeOutbound` (I8).
import { type MarkupSink, markupFilter } from "./markup-filter.ts";
import { noRedaction, type Redaction, redactStage } from "./redact.ts";
import { tokenFilter } from "./token-filter.ts";

export interface Outbound {
  push(delta: string): void;
  end(): void;
  /** Everything that may be shown so far; it only grows. */
  shown(): string;
  /** True while the whole message could still be a token. */
  undecided(): boolean;
  /** Visible text with its tokens: what the outcome is decided on. */
  whole(): string;
  thinking(): string;
}

export function outbound(options: {
  readonly finalOnly: boolean;
  readonly redaction: Redaction;
  readonly onReplyTag: MarkupSink["replyTag"];
}): Outbound {
  const redact = redactStage(options.redaction);
  let shown = "";
  const tokens = tokenFilter((text) => {
    shown += redact.push(text);
  });
  const markup = markupFilter(options.finalOnly, { text: tokens.push, replyTag: options.onReplyTag });
  return {
    push: markup.push,
    end() {
      markup.end();
      tokens.end();
      shown += redact.end();
    },
    shown: () => shown,
    undecided: tokens.undecided,
    whole: tokens.whole,
    thinking: markup.thinking,
  };
}

/** What may leave the house of a text that was not streamed: a tool's message, a notice, a command's answer. */
export function sanitizeOutbound(text: string, redaction: Redaction = noRedaction): string {
  const way = outbound({ finalOnly: false, redaction, onReplyTag: () => {} });
  way.push(text);
  way.end();
  return way.shown();
}
