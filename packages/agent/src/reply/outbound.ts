// The one way out for text: markup, then secrets and paths, then tokens. The reply parser streams through it;
// everything else that is sent to a surface goes through `sanitizeOutbound` (I8).
import { type MarkupSink, markupFilter } from "./markup-filter.ts";
import { noRedaction, type Redaction, redactStage } from "./redact.ts";
import { tokenFilter } from "./token-filter.ts";
import { mayStillSayNothing } from "./whole-token.ts";

export interface Outbound {
  push(delta: string): void;
  end(): void;
  /** Everything that may be shown so far; it only grows. */
  shown(): string;
  /**
   * The same from its first word on. Made piece by piece: trimming it anew at each piece would cost the
   * square of its length.
   */
  visible(): string;
  /** True while the whole message could still be a token, or nothing beside one. */
  undecided(): boolean;
  /** Visible text with its tokens: what the outcome is decided on. */
  whole(): string;
  /** A token was taken out of what is shown. */
  removedToken(): boolean;
  thinking(): string;
}

export function outbound(options: {
  readonly finalOnly: boolean;
  readonly redaction: Redaction;
  readonly onReplyTag: MarkupSink["replyTag"];
}): Outbound {
  const redact = redactStage(options.redaction);
  let shown = "";
  let visible = "";
  let speaks = false;
  let inCode = false;
  const tokens = tokenFilter((text) => {
    shown += text;
    visible += visible === "" ? text.trimStart() : text;
  });
  const markup = markupFilter(options.finalOnly, {
    text(text, code) {
      // Code and text are told apart by a backtick or a line break, so nothing that is held back goes on
      // across the change.
      if (code !== inCode) tokens.push(redact.end(), inCode);
      inCode = code;
      tokens.push(redact.push(text), code);
    },
    replyTag: options.onReplyTag,
  });
  let half = "";
  return {
    push(delta) {
      const text = half + delta;
      // Half a surrogate pair has no properties to judge it by.
      half = /[\ud800-\udbff]$/.exec(text)?.[0] ?? "";
      markup.push(half === "" ? text : text.slice(0, -1));
    },
    end() {
      markup.push(half);
      markup.end();
      tokens.push(redact.end(), inCode);
      tokens.end();
    },
    shown: () => shown,
    visible: () => visible,
    undecided() {
      speaks ||= !mayStillSayNothing(visible);
      return !speaks || tokens.undecided();
    },
    whole: tokens.whole,
    removedToken: tokens.removed,
    thinking: markup.thinking,
  };
}

/**
 * What may leave the house of a text that was not streamed: a tool's message, a notice, a command's answer.
 */
export function sanitizeOutbound(text: string, redaction: Redaction = noRedaction): string {
  const way = outbound({ finalOnly: false, redaction, onReplyTag: () => {} });
  way.push(text);
  way.end();
  return way.shown();
}
