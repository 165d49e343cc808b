// Lists a person's conversations: pinned ones first, then the newest; found by their names and last words.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { repeat } from "lit/directives/repeat.js";
import { timeOf } from "../../parts/time.ts";
import { addressOf } from "../../parts/address.ts";
import { icon } from "../../parts/icons.ts";
import { t } from "../../texts/texts.ts";

export type Thread = MethodResult<"chat.threads">["threads"][number];

const words = t.chat;
/** A browser draws these at once without being felt; more come when somebody asks for them. */
export const fewThreads = 200;

export function titleOf({ name, title, thread }: Thread): string {
  return name ?? title ?? (thread === null ? words.first : words.unnamed);
}

/** Those of both, each once. */
export function together(threads: readonly Thread[], found: readonly Thread[]): readonly Thread[] {
  const known = new Set(threads.map(({ thread }) => thread));
  return [...threads, ...found.filter(({ thread }) => !known.has(thread))];
}

interface ThreadListParts {
  readonly threads: readonly Thread[];
  /** The one that is open. */
  readonly here: string | null;
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
  /** How many older ones there are beside these. */
  readonly left: number;
  readonly onMore: () => void;
  /** The seq through which a conversation was read. */
  readonly readThrough: (thread: string | null) => number;
  /** What can be done with one. */
  readonly menuOf: (row: Thread) => unknown;
  /** The field in which one is named; null: it is not. */
  readonly fieldOf: (row: Thread) => unknown;
  readonly nowMs: number;
}

export function threadList(parts: ThreadListParts): TemplateResult {
  const { filter, onFilter, left, onMore } = parts;
  const wanted = filter.trim().toLowerCase();
  const threads = parts.threads
    .filter((each) => `${titleOf(each)} ${each.text}`.toLowerCase().includes(wanted))
    .toSorted((a, b) => Number(b.pinned) - Number(a.pinned) || (b.atMs ?? 0) - (a.atMs ?? 0));
  return html`<nav class="threads" aria-label=${words.conversations}>
    <div class="threads-head">
      <input
        type="search"
        aria-label=${words.search}
        placeholder=${words.search}
        .value=${filter}
        @input=${({ target }: Event) => onFilter((target as HTMLInputElement).value)}
      />
    </div>
    <div class="threads-list">
      ${repeat(
        threads,
        ({ thread }) => thread ?? "",
        (row) => threadRow(row, parts),
      )}
      ${left <= 0 ? nothing : html`<button class="quiet" @click=${onMore}>${words.moreThreads(Math.min(left, fewThreads))}</button>`}
    </div>
    ${threads.length === 0 && wanted !== "" ? html`<p class="quiet-text small">${words.none}</p>` : nothing}
  </nav>`;
}

function threadRow(row: Thread, parts: ThreadListParts): TemplateResult {
  const { thread, text, atMs, working, pinned, seq } = row;
  const { here, readThrough, menuOf, fieldOf, nowMs } = parts;
  const isHere = thread === here;
  const isUnread = !isHere && seq > readThrough(thread);
  const field = fieldOf(row);
  return html`<div class="thread-row" data-thread=${thread ?? ""}>
    ${
      field ??
      html`<a
        class="row-link"
        href=${addressOf("chat", thread === null ? [] : [thread])}
        aria-current=${isHere ? "page" : nothing}
      >
        <span class="thread-name"><bdi>${titleOf(row)}</bdi></span>
        ${atMs === null ? nothing : html`<span class="thread-time">${timeOf(atMs, nowMs)}</span>`}
        <span class="thread-text"><bdi>${text}</bdi></span>
        ${pinned ? html`<span class="thread-mark" title=${words.pinned}>${icon("pin")}</span>` : nothing}
        ${working ? html`<span class="badge ok">${words.working}</span>` : nothing}
        ${isUnread ? html`<span class="unread" title=${words.unread}><span class="sr-only">${words.unread}</span></span>` : nothing}
      </a>`
    }
    ${menuOf(row)}
  </div>`;
}
