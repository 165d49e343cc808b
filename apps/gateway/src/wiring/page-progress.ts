// Shows an answer that grows on the web page and to programs: a longer text now and then, and whether the
// agent works. Nothing of it is stored, so a page that opens later sees the answer itself.
import { isProgram } from "@parley/access";
import { healPartial, renderHtml } from "@parley/channels";
import type { Hub } from "@parley/control";
import { parseConversationKey, type Clock } from "@parley/protocol";
import type { ShowProgress } from "@parley/runner";

/** Limits how often a page gets a longer text; nobody reads faster than this. */
const showEveryMs = 80;

export function pageProgress({ hub, clock }: { readonly hub: Hub; readonly clock: Clock }): ShowProgress {
  return (conversation) => {
    let shownAtMs = -Infinity;
    let latest: { turn: string; markdown: string } | null = null;
    let timer: { cancel(): void } | null = null;

    const show = (): void => {
      timer = null;
      if (latest === null || !hub.isFollowed(conversation)) return;
      shownAtMs = clock.mono();
      // A program assembles the text itself, so it gets the text as it grows.
      const shown = isForProgram(conversation) ? { text: latest.markdown } : shownOnPage(latest.markdown);
      hub.show(conversation, "chat.delta", { turn: latest.turn, ...shown });
      latest = null;
    };

    return {
      text(turn, markdown) {
        latest = { turn, markdown };
        timer ??= clock.after(Math.max(0, shownAtMs + showEveryMs - clock.mono()), show);
      },
      tool(turn, call) {
        hub.show(conversation, "chat.tool", { turn, ...call });
      },
      begin() {
        hub.show(conversation, "chat.typing", { working: true });
      },
      end() {
        timer?.cancel();
        latest = null;
        hub.show(conversation, "chat.typing", { working: false });
      },
    };
  };
}

/** Limits the text that a growing answer shows, because each change renders all of it. */
const shownChars = 30_000;

function shownOnPage(markdown: string): { readonly text: string; readonly html: string } {
  const healed = healPartial(markdown.slice(0, shownChars));
  return { text: healed, html: renderHtml(healed) };
}

function isForProgram(conversation: string): boolean {
  return isProgram(parseConversationKey(conversation));
}
