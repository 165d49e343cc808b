// The line above a conversation: its name, its sub-agents, and what can be done with all of it.
import { html, nothing, type TemplateResult } from "lit";
import { icon, type IconName } from "../../parts/icons.ts";
import { t } from "../../texts/texts.ts";
import { isAtWork, type Children } from "../child-rows.ts";
import { childTree } from "../child-tree.ts";

const words = t.chat;

export interface ChatHead {
  readonly named: string;
  /** As its owner called it, while they call it otherwise; null: nobody does. */
  readonly naming: string | null;
  /** Null: it stays as it is. */
  readonly onNamed: (name: string | null) => void;
  readonly children: Children;
  /** Their tree, which is drawn while it is open. */
  readonly tree: { readonly isOpen: boolean; readonly toggle: (isOpen: boolean) => void };
  /** Where a sub-agent is shown; null: nowhere. */
  readonly hrefOf: (key: string) => string | null;
  readonly nowMs: number;
  /** Absent: there is no list. */
  readonly list?: { readonly isOpen: boolean; readonly toggle: () => void };
  /** Absent: nothing is shown beside it. */
  readonly canvas?: { readonly isOpen: boolean; readonly toggle: () => void };
  /** What can be done with all of it. */
  readonly menu: unknown;
  /** Absent: the token may only read. */
  readonly start?: () => void;
}

export function chatHead(head: ChatHead): TemplateResult {
  const { named, naming, onNamed, children, list, canvas, start } = head;
  return html`<header class="chat-head">
    ${
      list === undefined
        ? nothing
        : iconButton("list", words.conversations, list.toggle, list.isOpen, "only-phone")
    }
    ${
      naming === null
        ? html`<h1 class="chat-name"><bdi>${named}</bdi></h1>`
        : nameField(naming, named, onNamed)
    }
    ${children.length === 0 ? nothing : childrenOf(head)}
    ${canvas === undefined ? nothing : iconButton("canvas", words.canvas, canvas.toggle, canvas.isOpen)}
    ${head.menu} ${start === undefined ? nothing : iconButton("plus", words.start, start)}
  </header>`;
}

function iconButton(
  name: IconName,
  label: string,
  press: () => void,
  isOpen?: boolean,
  more = "",
): TemplateResult {
  return html`<button
    class="plain icon-only ${more}"
    aria-label=${label}
    title=${label}
    aria-expanded=${isOpen === undefined ? nothing : isOpen ? "true" : "false"}
    @click=${press}
  >
    ${icon(name)}
  </button>`;
}

/** Enter or leaving it takes the name, Escape does not. */
export function nameField(
  naming: string,
  named: string,
  onNamed: (name: string | null) => void,
): TemplateResult {
  return html`<input
    class="chat-name"
    aria-label=${words.name}
    dir="auto"
    maxlength="200"
    .value=${naming}
    placeholder=${named}
    @keydown=${(event: KeyboardEvent) => {
      if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
      event.preventDefault();
      onNamed(event.key === "Escape" ? null : (event.target as HTMLInputElement).value.trim());
    }}
    @blur=${({ target }: Event) => onNamed((target as HTMLInputElement).value.trim())}
  />`;
}

function childrenOf({ children, tree, hrefOf, nowMs }: ChatHead): TemplateResult {
  const working = children.filter(isAtWork).length;
  return html`<details
    class="children"
    ?open=${tree.isOpen}
    @toggle=${({ target }: Event) => tree.toggle((target as HTMLDetailsElement).open)}
    @keydown=${closeByEscape}
  >
    <summary>
      ${t.children.count(children.length)}${working === 0 ? nothing : html` · ${t.children.working(working)}`}
    </summary>
    ${tree.isOpen ? html`<div class="card">${childTree({ children, nowMs, hrefOf })}</div>` : nothing}
  </details>`;
}

function closeByEscape(event: KeyboardEvent): void {
  if (event.key !== "Escape") return;
  const details = event.currentTarget as HTMLDetailsElement;
  details.open = false;
  details.querySelector("summary")?.focus();
  event.preventDefault();
}
