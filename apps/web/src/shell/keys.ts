// Hears the keys that count everywhere, and never takes one from somebody who writes.
import { html, type TemplateResult } from "lit";
import { icon } from "../parts/icons.ts";
import { places } from "../parts/places.ts";
import { t } from "../texts/texts.ts";

const keyHelp: readonly (readonly [keys: string, does: string])[] = [
  ["⌘K / Ctrl K", t.keys.palette],
  ["g …", t.keys.go],
  ["j", t.keys.nextRow],
  ["k", t.keys.previousRow],
  ["Enter", t.keys.open],
  ["Esc", t.keys.close],
  ["/", t.keys.filter],
  ["y · n", t.keys.decide],
  ["Enter · Shift Enter", t.keys.send],
  ["e · ↑", t.keys.last],
  ["↑ ↓ · ← →", t.keys.menu],
  ["Ctrl Space · Ctrl Shift M", t.keys.config],
  ["?", t.keys.help],
];

/** What `?` shows. */
export function keyHelpView(): TemplateResult {
  const all = [...keyHelp, ...places.map(({ name, letter }) => [`g ${letter}`, t.places[name]] as const)];
  return html`<dialog class="keys-help" aria-label=${t.shell.keys} @click=${closeOutside}>
    <form method="dialog" class="drawer-head">
      <h2>${t.shell.keys}</h2>
      <button class="quiet close" aria-label=${t.shell.close}>${icon("close")}</button>
    </form>
    <dl class="help-keys">
      ${all.map(
        ([keys, does]) =>
          html`<dt>${does}</dt>
            <dd><kbd>${keys}</kbd></dd>`,
      )}
    </dl>
  </dialog>`;
}

/** A press beside a dialog closes it. */
function closeOutside({ target, currentTarget }: Event): void {
  if (target === currentTarget) (currentTarget as HTMLDialogElement).close();
}

export interface KeyActs {
  openPalette(): void;
  openHelp(): void;
  /** True when there is a place with this letter. */
  goTo(letter: string): boolean;
  /** True when the page took the key. */
  onPage(key: string): boolean;
}

/** Returns what hears the document's keys. */
export function keyListener(root: HTMLElement, acts: KeyActs): (event: KeyboardEvent) => void {
  let isGoing = false;

  return (event) => {
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k" && !event.altKey) {
      event.preventDefault();
      return acts.openPalette();
    }
    if (event.defaultPrevented || event.metaKey || event.ctrlKey || event.altKey || event.isComposing)
      return undefined;
    const from = event.composedPath()[0];
    const isWriting =
      from instanceof HTMLElement &&
      (from.isContentEditable || from.matches("input:not([type=checkbox]), textarea, select"));
    if (root.querySelector("dialog[open]") !== null) return undefined;
    if (event.key === "Escape") {
      if (isWriting) (from as HTMLElement).blur();
      else root.querySelector<HTMLElement>(".drawer .close")?.click();
      return undefined;
    }
    if (isWriting) return undefined;
    const wasGoing = isGoing;
    isGoing = false;
    if (took(event.key, wasGoing)) event.preventDefault();
    return undefined;
  };

  function took(key: string, wasGoing: boolean): boolean {
    if (wasGoing) return acts.goTo(key);
    if (key === "g") return (isGoing = true);
    if (key === "?") acts.openHelp();
    else if (key === "/") root.querySelector<HTMLElement>(".list-tools input[type=search]")?.focus();
    else if (key === "j" || key === "k") step(root, key === "j" ? 1 : -1);
    else return acts.onPage(key);
    return true;
  }
}

function step(root: HTMLElement, by: number): void {
  const rows = [...root.querySelectorAll<HTMLElement>("a.row-link")];
  const now = rows.findIndex((row) => row === document.activeElement || row.ariaCurrent === "true");
  const next = now === -1 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, now + by));
  rows[next]?.focus();
  rows[next]?.scrollIntoView({ block: "nearest" });
}
