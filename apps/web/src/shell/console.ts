// The shell: the rail, the page that the address names, the command palette, and the one connection that all
// of it shares. A page's code is fetched when somebody goes there.
import { systemClock, systemIds, type EventFrame, type EventName } from "@parley/protocol";
import { html, LitElement, nothing, type PropertyValues, type TemplateResult } from "lit";
import { pages } from "../pages/list.ts";
import type { Console } from "../parts/console.ts";
import type { Page } from "../parts/page.ts";
import { ago } from "../parts/time.ts";
import { chatSession } from "../session/chat-session.ts";
import { codeIn, storedToken } from "../session/credential.ts";
import { askOnce } from "../session/keyed.ts";
import { storedOutbox } from "../session/outbox.ts";
import { emptyChat, type ChatState } from "../session/state.ts";
import { t } from "../texts/texts.ts";
import { loginView } from "./login.ts";
import { addressOf, readAddress, type Address } from "../parts/address.ts";
import { icon } from "../parts/icons.ts";
import { keyHelpView, keyListener } from "./keys.ts";
import type { Choice, Palette } from "./palette.ts";
import { oncePerFrame } from "./once-per-frame.ts";
import { pageElements } from "./page-elements.ts";
import { places, type PageEntry, type PlaceName } from "../parts/places.ts";
import { railView, tabsView } from "./rail.ts";
import { applyTheme, keepTheme, readTheme, themes } from "./theme.ts";

type Hearer = (payload: never) => void;

export class Shell extends LitElement {
  static override properties = {
    chat: { state: true },
    address: { state: true },
    outlet: { state: true },
    wantsHelp: { state: true },
  };
  declare chat: ChatState;
  declare address: Address;
  /** What stands where the page belongs; an error says why it does not. */
  declare outlet: Page | "loading" | "unknown" | Error;
  /** Somebody asked for the keys once. */
  declare wantsHelp: boolean;
  readonly #elements = pageElements((tag, kind) => this.#create(tag, kind));
  readonly #hearers = new Map<string, Set<Hearer>>();
  readonly #watchers = new Set<() => void>();
  readonly #console: Console;
  readonly #onKey: (event: KeyboardEvent) => void;
  readonly #onHash = (): void => {
    this.address = readAddress(location.hash);
  };
  readonly #hurry = (): void => {
    if (document.visibilityState === "visible") this.#console.session.hurry();
  };

  constructor() {
    super();
    applyTheme(readTheme(localStorage));
    this.chat = emptyChat;
    this.outlet = "loading";
    this.wantsHelp = false;
    this.#console = this.#makeConsole();
    this.#onKey = keyListener(this, {
      openPalette: () => this.#palette?.open(),
      openHelp: () => this.#openHelp(),
      goTo: (letter) => this.#goToPlace(places.find((place) => place.letter === letter)?.name),
      onPage: (key) => this.outlet instanceof HTMLElement && this.outlet.onKey(key),
    });
    const login = codeIn(new URL(location.href));
    // Out of the address bar and the history before anything else happens.
    if (login !== null) history.replaceState(null, "", login.rest);
    this.address = readAddress(location.hash);
    this.#console.session.start(login?.code ?? null);
    // Its code comes while the gateway is asked what the token allows.
    const named = pages.find(({ path }) => path === this.address.page) ?? pages[0];
    named?.load().catch(() => {});
  }

  #makeConsole(): Console {
    const [clock, ids] = [systemClock(), systemIds()];
    const session = chatSession({
      base: new URL(".", location.href).href.replace(/\/$/, ""),
      token: storedToken(localStorage),
      outbox: storedOutbox(localStorage),
      clock,
      ids,
      onChange: oncePerFrame((chat) => {
        this.chat = chat;
        for (const hear of this.#watchers) hear();
      }),
      onEvent: (event) => this.#tell(event),
    });
    const onChange = (hear: () => void): (() => void) => added(this.#watchers, hear);
    const chatNow = (): ChatState => this.chat;
    return {
      clock,
      ids,
      storage: localStorage,
      session,
      get chat() {
        return chatNow();
      },
      call: (method, params) => askOnce({ line: session.line, clock, onChange }, method, params),
      on: (event, hear) => added(this.#hearersOf(event), hear as Hearer),
      onChange,
      may: (scope) => session.line.scopes.includes(scope),
      has: (page) => this.#allowed().some(({ path }) => path === page),
      go: (address) => {
        location.hash = address;
      },
    };
  }

  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    addEventListener("hashchange", this.#onHash);
    document.addEventListener("keydown", this.#onKey);
    for (const change of ["online", "offline"]) addEventListener(change, this.#hurry);
    document.addEventListener("visibilitychange", this.#hurry);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    removeEventListener("hashchange", this.#onHash);
    document.removeEventListener("keydown", this.#onKey);
    for (const change of ["online", "offline"]) removeEventListener(change, this.#hurry);
    document.removeEventListener("visibilitychange", this.#hurry);
    this.#console.session.end();
  }

  override willUpdate(changed: PropertyValues<this>): void {
    const before = changed.get("chat")?.connection.kind;
    // What the token allows is known once the gateway answered.
    if (changed.has("address") || (changed.has("chat") && before !== this.chat.connection.kind))
      this.#route();
    this.classList.toggle("plain-page", this.chat.connection.kind === "logged-out");
  }

  override updated(changed: PropertyValues<this>): void {
    if (changed.has("outlet") || changed.has("address")) requestAnimationFrame(this.#showHere);
    const title = this.#entry()?.title;
    const shown = title === undefined ? t.name : `${title} · ${t.name}`;
    if (document.title !== shown) document.title = shown;
  }

  /** A phone's bar and tabs are longer than its screen. A frame knows where things stand anyway. */
  readonly #showHere = (): void => {
    for (const here of this.querySelectorAll(".rail a[aria-current], .tabs a[aria-current]"))
      here.scrollIntoView({ block: "nearest", inline: "nearest" });
  };

  override render(): TemplateResult {
    const { connection } = this.chat;
    if (connection.kind === "logged-out")
      return loginView(connection.reason, (token) => this.#console.session.login(token));
    const entry = this.#entry();
    const tabs = entry === undefined ? [] : this.#allowed().filter(({ place }) => place === entry.place);
    return html`
      ${railView({
        allowed: this.#allowed(),
        here: entry?.place,
        connection: connection.kind,
        openPalette: () => this.#palette?.open(),
      })}
      <main>
        ${
          connection.kind === "offline"
            ? html`<p class="offline-line" role="status">
                ${t.shell.offlineSince(ago(connection.sinceMs, this.#console.clock.now()))}
              </p>`
            : nothing
        }
        ${tabs.length > 1 ? tabsView(tabs, entry) : nothing}
        <div class="outlet">${this.#outlet()}</div>
      </main>
      <parley-palette .list=${this.#choices}></parley-palette>
      ${this.wantsHelp ? keyHelpView() : nothing}
    `;
  }

  #outlet(): unknown {
    if (this.outlet instanceof HTMLElement) return this.outlet;
    if (this.outlet === "loading") return nothing;
    return this.outlet === "unknown"
      ? html`<div class="empty">
          <h2>${t.shell.unknownPage}</h2>
          <p>${t.shell.unknownPageHelp}</p>
        </div>`
      : html`<div class="empty" role="alert">
          <h2>${t.shell.loadFailed}</h2>
          <p><bdi>${this.outlet.message}</bdi></p>
          <button class="quiet" @click=${() => location.reload()}>${t.shell.reload}</button>
        </div>`;
  }

  readonly #choices = (): readonly Choice[] => [
    ...(this.outlet instanceof HTMLElement ? this.outlet.commands() : []),
    ...this.#allowed().map(({ path, place, title }) => ({
      name: t.shell.goTo(title),
      icon: icon(place),
      keys: `g ${places.find(({ name }) => name === place)?.letter ?? ""}`,
      run: () => this.#console.go(addressOf(path)),
    })),
    ...themes.map((theme) => ({ name: t.shell.theme[theme], run: () => keepTheme(localStorage, theme) })),
    { name: t.shell.showKeys, keys: "?", run: () => this.#openHelp() },
    { name: t.shell.logOut, run: () => this.#console.session.line.logout() },
  ];

  #openHelp(): void {
    this.wantsHelp = true;
    void this.updateComplete.then(() =>
      this.querySelector<HTMLDialogElement>("dialog.keys-help")?.showModal(),
    );
  }

  get #palette(): Palette | null {
    return this.querySelector<Palette>("parley-palette");
  }

  #allowed(): readonly PageEntry[] {
    return pages.filter(({ scope }) => this.#console.may(scope));
  }

  #entry(): PageEntry | undefined {
    return this.address.page === ""
      ? this.#allowed()[0]
      : this.#allowed().find(({ path }) => path === this.address.page);
  }

  #route(): void {
    // Nobody has said yet what may be shown.
    if (this.#console.session.line.scopes.length === 0) return;
    const entry = this.#entry();
    if (entry === undefined) {
      this.outlet = "unknown";
      return;
    }
    const made = this.#elements.get(entry.path);
    if (made === undefined) {
      this.outlet = "loading";
      void this.#load(entry);
    } else {
      made.address = this.address;
      this.outlet = made;
    }
  }

  async #load(entry: PageEntry): Promise<void> {
    try {
      await this.#elements.make(entry);
    } catch (error) {
      // The gateway is away, or was updated and has this file no more: its operator is told which.
      console.error(error);
      if (this.#entry() === entry)
        this.outlet = error instanceof Error ? error : new Error(String(error), { cause: error });
      return;
    }
    this.#route();
  }

  #create(tag: string, kind: new () => Page): Page {
    if (customElements.get(tag) === undefined) customElements.define(tag, kind);
    const page = document.createElement(tag) as Page;
    page.console = this.#console;
    return page;
  }

  #goToPlace(name: PlaceName | undefined): boolean {
    const first = this.#allowed().find(({ place }) => place === name);
    if (first !== undefined) this.#console.go(addressOf(first.path));
    return first !== undefined;
  }

  #hearersOf(event: EventName): Set<Hearer> {
    const hearers = this.#hearers.get(event) ?? new Set();
    this.#hearers.set(event, hearers);
    return hearers;
  }

  #tell({ event, payload }: EventFrame): void {
    for (const hear of this.#hearers.get(event) ?? []) hear(payload as never);
  }
}

function added<T>(set: Set<T>, one: T): () => void {
  set.add(one);
  return () => set.delete(one);
}
