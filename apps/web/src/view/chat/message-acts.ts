// Lets a person write a message, write an earlier one anew, take it back while nobody answers it, and ask
// again in a conversation of its own: the one that they leave stays as it is.
import type { MethodParams } from "@parley/protocol";
import { addressOf } from "../../parts/address.ts";
import type { Page } from "../../parts/page.ts";
import { askedBefore, shownMessages } from "../../session/state.ts";
import { t } from "../../texts/texts.ts";
import type { ChatReadings } from "./chat-readings.ts";
import type { Rewrite, Written } from "./composer.ts";
import type { Retry } from "./message.ts";
import type { Attempt } from "./thread-acts.ts";

const threadAlphabet = "abcdefghijkmnpqrstuvwxyz23456789";

interface MessageActs {
  /** The message that is written anew; null: none. */
  rewrite: Rewrite | null;
  readonly freshThread: () => string;
  readonly send: (written: Written) => void;
  readonly rewriteLast: () => void;
  readonly cancel: (id: string) => void;
  /** Asks what was asked before this answer. */
  readonly retry: (again: Retry) => void;
  readonly branch: (id: string) => void;
}

export function messageActs(
  page: Page,
  reads: ChatReadings,
  attempt: Attempt,
  tell: (trouble: string) => void,
): MessageActs {
  let rewrite: Rewrite | null = null;
  const rewriteThis = (next: Rewrite | null): void => {
    rewrite = next;
    page.requestUpdate();
  };
  const place = (): { readonly thread?: string } => {
    const [thread] = page.address.rest;
    return thread === undefined ? {} : { thread };
  };
  const freshThread = (): string => page.console.ids.code(threadAlphabet, 10);

  const fork = (how: Pick<MethodParams<"chat.fork">, "id" | "again" | "text" | "model">): void => {
    const { console } = page;
    const to = freshThread();
    const idempotencyKey = console.ids.uuid();
    void attempt(async () => {
      await console.call("chat.fork", { ...place(), ...how, to, idempotencyKey });
      rewriteThis(null);
      console.go(addressOf("chat", [to]));
      await reads.threads.again();
    });
  };

  return {
    get rewrite() {
      return rewrite;
    },
    set rewrite(next) {
      rewriteThis(next);
    },
    freshThread,
    send: ({ text, files, rewrite: written }) => {
      const { session, ids, call } = page.console;
      if (written?.branch !== undefined) return fork({ id: written.branch, again: true, text });
      if (written === null || written.id === null) {
        rewriteThis(null);
        return session.send(text, files);
      }
      const { id } = written;
      return void attempt(async () => {
        await call("chat.edit", { ...place(), id, text, idempotencyKey: ids.uuid() });
        rewriteThis(null);
      });
    },
    rewriteLast: () => {
      const last = shownMessages(page.console.chat.messages).findLast(({ role }) => role === "user");
      if (last === undefined) return;
      const isQueued = reads.steps.value?.waiting.includes(last.id ?? "") === true;
      rewriteThis({ id: isQueued ? (last.id ?? null) : null, text: last.text });
    },
    cancel: (id) =>
      void attempt(async () => {
        await page.console.call("chat.cancel", { ...place(), id });
        await reads.steps.again();
      }),
    retry: ({ id, model }) => {
      const asked = askedBefore(page.console.chat.messages, id);
      if (asked === undefined) tell(t.chat.nothingAsked);
      else fork({ id: asked, again: true, ...(model === undefined ? {} : { model }) });
    },
    branch: (id) => fork({ id }),
  };
}
