// Remembers what our messages show, as far as this process wrote them, so that an edit without a change is
// not sent. Growing answers make many such edits: the first after the message, and the last, which is the
// whole answer.
import type { Action, Address, Button, Receipt, RenderedText } from "@parley/protocol";

type Edit = Extract<Action, { readonly kind: "edit" }>;
type Rows = readonly (readonly Button[])[] | undefined;

export interface ShownTexts {
  /** Records that the message was sent and shows this. */
  now(to: Address, messageId: string, text: RenderedText, buttons: Rows): void;
  /**
   * Sends the edit when it changes something. After an edit with unknown outcome the next one is always sent.
   */
  edit(to: Address, edit: Edit, send: () => Promise<Receipt | null>): Promise<Receipt | null>;
}

/** Only messages of the last minutes still grow, and they are few. */
const mostMessages = 500;

export function shownTexts(): ShownTexts {
  const shown = new Map<string, string>();
  const keyOf = ({ peer, thread }: Address, messageId: string): string =>
    JSON.stringify([peer, thread, messageId]);
  const remember = (key: string, text: RenderedText, buttons: Rows): void => {
    shown.delete(key);
    shown.set(key, wordsOf(text, buttons));
    const [oldest] = shown.keys();
    if (shown.size > mostMessages && oldest !== undefined) shown.delete(oldest);
  };
  return {
    now: (to, messageId, text, buttons) => remember(keyOf(to, messageId), text, buttons),
    async edit(to, { messageId, text, buttons }, send) {
      const key = keyOf(to, messageId);
      if (shown.get(key) === wordsOf(text, buttons)) return { messageId };
      shown.delete(key);
      const receipt = await send();
      remember(key, text, buttons);
      return receipt;
    },
  };
}

function wordsOf({ text, entities }: RenderedText, buttons: Rows = []): string {
  return JSON.stringify([text, entities, buttons]);
}
