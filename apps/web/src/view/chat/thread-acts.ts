// Lets a person name, pin and save one of their conversations, take it off the list and put it back. The
// focus stays with the conversation wherever its row goes.
import { html, nothing } from "lit";
import { addressOf } from "../../parts/address.ts";
import { icon } from "../../parts/icons.ts";
import type { Page } from "../../parts/page.ts";
import { t } from "../../texts/texts.ts";
import { nameField } from "./chat-head.ts";
import type { ChatReadings } from "./chat-readings.ts";
import { exportMarkdown } from "./export.ts";
import { titleOf, type Thread } from "./thread-list.ts";
import type { ThreadMenuActs } from "./thread-menu.ts";

const words = t.chat;

/** Does it, and shows why where it fails; true when it was done. */
export type Attempt = (act: () => Promise<unknown>) => Promise<boolean>;

interface ThreadActs {
  /** The conversation that gets a name, and where it is written; null: none. */
  naming: { readonly thread: string | null; readonly isInList: boolean } | null;
  /** For the menu of a conversation's row, or of the line above the one that is open. */
  readonly menuActs: (isInList: boolean) => ThreadMenuActs;
  /** The field in which this one is named in the list; null: it is not. */
  readonly fieldOf: (row: Thread) => unknown;
  readonly named: (row: Thread, name: string | null) => Promise<void>;
  /** What was taken off the list is put back from here. */
  readonly taken: () => unknown;
}

export function threadActs(page: Page, reads: ChatReadings, attempt: Attempt): ThreadActs {
  let naming: ThreadActs["naming"] = null;
  /** What was just taken off the list. */
  let removed: Thread | null = null;
  const nameThis = (next: typeof naming): void => {
    naming = next;
    page.requestUpdate();
  };
  const showRemoved = (row: typeof removed): void => {
    removed = row;
    page.requestUpdate();
  };

  /** True when it was taken. */
  const set = async (
    { thread }: Thread,
    patch: { readonly name?: string; readonly pinned?: boolean; readonly listed?: boolean },
  ): Promise<boolean> => {
    const isTaken = await attempt(() =>
      page.console.call("chat.thread", { ...(thread === null ? {} : { thread }), ...patch }),
    );
    await reads.threads.again();
    return isTaken;
  };

  const focusMenu = async ({ thread }: Thread, isInList: boolean): Promise<void> => {
    await page.updateComplete;
    const place = isInList ? `[data-thread="${CSS.escape(thread ?? "")}"]` : ".chat-head";
    page.querySelector<HTMLElement>(`${place} .menu-button`)?.focus();
  };

  const pin = async (row: Thread, isInList: boolean): Promise<void> => {
    await set(row, { pinned: !row.pinned });
    // The row moved, and the focus stays with it.
    if (document.activeElement === document.body) await focusMenu(row, isInList);
  };

  const remove = async (row: Thread): Promise<void> => {
    if (!(await set(row, { listed: false }))) return;
    showRemoved(row);
    if (row.thread === reads.current.thread) page.console.go(addressOf("chat"));
    await page.updateComplete;
    page.querySelector<HTMLElement>(".told-line button")?.focus();
  };

  const putBack = async (row: Thread): Promise<void> => {
    showRemoved(null);
    if (!(await set(row, { listed: true }))) return;
    page.console.go(addressOf("chat", row.thread === null ? [] : [row.thread]));
  };

  const named = async (row: Thread, name: string | null): Promise<void> => {
    // A field that goes tells that it was left.
    if (naming === null) return;
    const { isInList } = naming;
    nameThis(null);
    const hadFocus = page.querySelector("input.chat-name") === document.activeElement;
    if (name !== null && name !== (row.name ?? "")) await set(row, { name });
    if (hadFocus) await focusMenu(row, isInList);
  };

  return {
    get naming() {
      return naming;
    },
    set naming(next) {
      nameThis(next);
    },
    menuActs: (isInList) => ({
      name: ({ thread }) => {
        nameThis({ thread, isInList });
        void page.updateComplete.then(() =>
          page.querySelector<HTMLInputElement>("input.chat-name")?.select(),
        );
      },
      pin: (row) => void pin(row, isInList),
      export: (row) => void attempt(() => exportMarkdown(page.console, row.thread, titleOf(row))),
      remove: (row) => void remove(row),
    }),
    fieldOf: (row) =>
      naming?.isInList === true && naming.thread === row.thread
        ? nameField(row.name ?? "", titleOf(row), (name) => void named(row, name))
        : null,
    named,
    taken: () => {
      const row = removed;
      if (row === null) return nothing;
      return html`<p class="told-line" role="status">
        <bdi>${words.removed(titleOf(row))}</bdi>
        <button class="quiet" @click=${() => void putBack(row)}>${words.putBack}</button>
        <button class="plain icon-only" aria-label=${t.shell.close} @click=${() => showRemoved(null)}>
          ${icon("close")}
        </button>
      </p>`;
    },
  };
}
