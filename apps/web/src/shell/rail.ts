// Draws the way about: the rail of places, which is a bar at the bottom of a phone, and the tabs of a place.
import { html, nothing, type TemplateResult } from "lit";
import type { ConnectionState } from "../session/state.ts";
import { t } from "../texts/texts.ts";
import { addressOf } from "../parts/address.ts";
import { icon } from "../parts/icons.ts";
import { places, type PageEntry, type PlaceName } from "../parts/places.ts";

export function railView(parts: {
  /** Pages that the token may see. */
  readonly allowed: readonly PageEntry[];
  readonly here: PlaceName | undefined;
  readonly connection: ConnectionState["kind"];
  readonly openPalette: () => void;
}): TemplateResult {
  const { allowed, here, connection, openPalette } = parts;
  return html`<nav class="rail" aria-label=${t.shell.rail}>
    <div class="brand"><img src="./icon.svg" alt="" width="22" height="22" />${t.name}</div>
    ${places.map(({ name }) => {
      const first = allowed.find(({ place }) => place === name);
      return first === undefined
        ? nothing
        : html`<a href=${addressOf(first.path)} aria-current=${name === here ? "page" : nothing}>
            ${icon(name)}<span>${t.places[name]}</span>
          </a>`;
    })}
    <div class="foot">
      <button @click=${openPalette}>${icon("search")}<span>${t.shell.palette}</span></button>
      <p class="connection ${connection}" role="status">${t.shell.connection[connection]}</p>
    </div>
  </nav>`;
}

export function tabsView(tabs: readonly PageEntry[], here: PageEntry | undefined): TemplateResult {
  return html`<nav class="tabs" aria-label=${t.shell.pagesOf(here === undefined ? "" : t.places[here.place])}>
    ${tabs.map(
      ({ path, title }) =>
        html`<a href=${addressOf(path)} aria-current=${path === here?.path ? "page" : nothing}>${title}</a>`,
    )}
  </nav>`;
}
