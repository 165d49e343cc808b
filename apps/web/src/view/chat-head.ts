// The line above a conversation: its name, its sub-agents, and what can be done with all of it.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { duration } from "../parts/time.ts";
import { icon, type IconName } from "../parts/icons.ts";
import { t } from "../texts/texts.ts";

export type Children = MethodResult<"sessions.tree">["sessions"];

const words = t.chat;

export interface ChatHead {
  readonly named: string;
  /** As its owner called it, while they call it otherwise; null: nobody does. */
  readonly naming: string | null;
  readonly onNamed: (name: string) => void;
  readonly children: Children;
  readonly nowMs: number;
  /** Absent: there is no list. */
  readonly list?: { readonly isOpen: boolean; readonly toggle: () => void };
  /** Absent: nothing is shown beside it. */
  readonly canvas?: { readonly isOpen: boolean; readonly toggle: () => void };
  /** Absent: the token may only read. */
  readonly acts?: { readonly name: () => void; readonly start: () => void };
}

export function chatHead(head: ChatHead): TemplateResult {
  const { named, naming, onNamed, children, nowMs, list, canvas, acts } = head;
  return html`<header class="chat-head">
    ${
      list === undefined
        ? nothing
        : iconButton("list", words.conversations, list.toggle, list.isOpen, "only-phone")
    }
    ${
      naming === null
        ? html`<h1 class="chat-name"><bdi>${named}</bdi></h1>`
        : html`<input
            class="chat-name"
            aria-label=${words.name}
            dir="auto"
            maxlength="200"
            .value=${naming}
            placeholder=${named}
            @keydown=${({ key, target }: KeyboardEvent) => {
              if (key === "Enter") (target as HTMLElement).blur();
            }}
            @blur=${({ target }: Event) => onNamed((target as HTMLInputElement).value.trim())}
          />`
    }
    ${children.length === 0 ? nothing : childList(children, nowMs)}
    ${canvas === undefined ? nothing : iconButton("canvas", words.canvas, canvas.toggle, canvas.isOpen)}
    ${
      acts === undefined
        ? nothing
        : html`${iconButton("pen", words.name, acts.name)} ${iconButton("plus", words.start, acts.start)}`
    }
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

function childList(children: Children, nowMs: number): TemplateResult {
  return html`<details class="children">
    <summary>${words.children(children.length)}</summary>
    <ul class="plain-list card">
      ${children.map(
        ({ label, key, state, startedAtMs, endedAtMs }) =>
          html`<li>
            <span class="badge ${state === "running" ? "warn" : state === "failed" ? "danger" : "ok"}"
              >${state}</span
            >
            <span class="ellipsis"><bdi>${label ?? key}</bdi></span>
            <span class="quiet-text end number">${duration((endedAtMs ?? nowMs) - startedAtMs)}</span>
          </li>`,
      )}
    </ul>
  </details>`;
}
