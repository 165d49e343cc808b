// The page that makes this browser a device: it shows what the agent wants to use before anything is agreed,
// lets its person switch each grant, and shows what is done while it is done.
import { systemClock, systemIds, type DeviceGrant } from "@parley/protocol";
import { html, LitElement, nothing, type TemplateResult } from "lit";
import { RequestFailure } from "../session/link.ts";
import { asked, lacks, pageGrants, type PageGrant } from "./abilities.ts";
import { deviceLine, type DeviceLine, type DeviceState, type WaitingCall } from "./device-line.ts";
import { offerIn, type Offer } from "./offer.ts";
import { registered } from "./register-worker.ts";
import { openShelf } from "./shelf.ts";
import type { Ready } from "./take-call.ts";
import { words } from "./words.ts";

interface Card {
  readonly call: WaitingCall;
  readonly answer: (word: Ready) => void;
}

const mostLines = 20;
const clock = systemClock();

export class DevicePage extends LitElement {
  #line: DeviceLine | null = null;
  #state: DeviceState = { paired: null, isOnline: false, isRevoked: false, noPush: null };
  #offer: Offer | null = offerIn(location.hash);
  #wrong: string | null = null;
  #isBusy = false;
  #cards: readonly Card[] = [];
  #log: readonly string[] = [];

  // The page has one style sheet.
  protected override createRenderRoot(): HTMLElement {
    return this;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#begin().catch(() => {
      this.#wrong = words.noStore;
      this.requestUpdate();
    });
  }

  async #begin(): Promise<void> {
    const worker = registered();
    const line = deviceLine({
      base: new URL(".", location.href).href.replace(/\/$/, ""),
      shelf: await openShelf(clock.now()),
      worker,
      clock,
      ids: systemIds(),
      onChange: (state) => {
        this.#state = state;
        this.requestUpdate();
      },
      ready: (call, untilMs) => this.#ready(call, untilMs, worker),
      onDone: (call, isOk) => this.#note(words.did(call.command, isOk)),
      onShared: (why) => this.#note(why === null ? words.sent : words.notSent(why)),
    });
    this.#line = line;
    line.start();
    navigator.serviceWorker?.addEventListener("message", ({ data }) =>
      data === "subscribe" ? void line.subscribe() : line.look(),
    );
    addEventListener("online", () => line.look());
    addEventListener("hashchange", () => {
      this.#offer = offerIn(location.hash);
      this.requestUpdate();
    });
    document.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "visible") line.look();
      this.#seen();
    });
    addEventListener("focus", () => this.#seen());
  }

  #note(line: string): void {
    const time = new Date(clock.now()).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    this.#log = [`${time} ${line}`, ...this.#log].slice(0, mostLines);
    this.requestUpdate();
  }

  /** At once while its person looks; else when they come back or press. */
  async #ready(
    call: WaitingCall,
    untilMs: number,
    worker: Promise<ServiceWorkerRegistration | null>,
  ): Promise<Ready> {
    if (isSeen(call)) return "go";
    if (document.visibilityState !== "visible" && Notification.permission === "granted")
      await (
        await worker
      )?.showNotification(words.asks(call.command), {
        body: words.tap,
        tag: call.id,
        data: { id: call.id },
      });
    return new Promise((resolve) => {
      const answer = (word: Ready): void => {
        timer.cancel();
        this.#cards = this.#cards.filter((each) => each !== card);
        this.requestUpdate();
        resolve(word);
      };
      const card: Card = { call, answer };
      const timer = clock.after(Math.max(0, untilMs - clock.now()), () => answer("over"));
      this.#cards = [...this.#cards, card];
      this.requestUpdate();
    });
  }

  #seen(): void {
    for (const { call, answer } of this.#cards) if (isSeen(call)) answer("go");
  }

  override render(): TemplateResult {
    const { paired, isRevoked } = this.#state;
    return html`<main>
      <h1>${words.title}</h1>
      ${isRevoked ? html`<p class="warn" role="status">${words.revoked}</p>` : nothing}
      ${this.#wrong === null ? nothing : html`<p class="warn" role="alert">${this.#wrong}</p>`}
      ${this.#offer !== null ? this.#offered(this.#offer) : paired === null ? this.#unpaired() : this.#paired()}
    </main>`;
  }

  #unpaired(): TemplateResult {
    const next = (event: SubmitEvent): void => {
      event.preventDefault();
      const given = new FormData(event.target as HTMLFormElement).get("link");
      const typed = typeof given === "string" ? given : "";
      this.#offer = offerIn(typed.includes("#") ? typed.slice(typed.indexOf("#")) : `#pair=${typed.trim()}`);
      this.#wrong = this.#offer === null ? words.bad : null;
      this.requestUpdate();
    };
    return html`<p>${words.unpaired}</p>
      <p>${words.how}</p>
      <form @submit=${next}>
        <label>${words.paste} <input name="link" autocomplete="off" required /></label>
        <button>${words.next}</button>
      </form>
      ${this.#lately()}`;
  }

  #offered({ code, name, grants }: Offer): TemplateResult {
    const pair = (event: SubmitEvent): void => {
      event.preventDefault();
      const chosen = new FormData(event.target as HTMLFormElement).getAll("grant");
      void this.#pair(
        code,
        grants.filter((grant) => chosen.includes(grant)),
      );
    };
    return html`<p>${words.asks1(name)}</p>
      <p>${words.choose}</p>
      <form @submit=${pair}>
        ${grants.map((grant) => {
          const lacking = lacks(grant);
          return html`<label class="grant"
            ><input
              type="checkbox"
              name="grant"
              value=${grant}
              ?checked=${lacking === null}
              ?disabled=${lacking !== null}
            />
            ${words.grants[grant]}${lacking === null ? nothing : html` <small>(${lacking})</small>`}</label
          >`;
        })}
        <button ?disabled=${this.#isBusy}>${this.#isBusy ? words.pairing : words.pair}</button>
      </form>`;
  }

  async #pair(code: string, chosen: readonly PageGrant[]): Promise<void> {
    const line = this.#line;
    if (line === null) return;
    this.#isBusy = true;
    this.#wrong = null;
    this.requestUpdate();
    const given: PageGrant[] = [];
    for (const grant of chosen) {
      const why = await asked(grant);
      if (why === null) given.push(grant);
      else this.#note(`${words.grants[grant]}: ${why}`);
    }
    try {
      await line.pair(code, given);
      this.#offer = null;
      history.replaceState(null, "", location.pathname);
    } catch (error) {
      this.#wrong = error instanceof RequestFailure && error.code !== "closed" ? error.message : words.noNet;
    }
    this.#isBusy = false;
    this.requestUpdate();
  }

  #paired(): TemplateResult {
    const { paired, isOnline, noPush } = this.#state;
    if (paired === null) return html``;
    return html`<p>
        <b>${words.as(paired.name)}</b> <span role="status">${isOnline ? words.online : words.offline}</span>
      </p>
      ${this.#cards.map(
        ({ call, answer }) =>
          html`<section class="card" role="alert">
            <b>${words.waits(call.command)}</b>
            <button @click=${() => answer("go")}>${words.allow}</button>
            <button class="quiet" @click=${() => answer("refused")}>${words.refuse}</button>
          </section>`,
      )}
      <form>
        ${pageGrants
          .filter((grant) => paired.most.includes(grant))
          .map(
            (grant) =>
              html`<label class="grant"
                ><input
                  type="checkbox"
                  name=${grant}
                  .checked=${paired.grants.includes(grant)}
                  ?disabled=${!isOnline || lacks(grant) !== null}
                  @change=${(event: Event) => void this.#switch(grant, (event.target as HTMLInputElement).checked)}
                />
                ${words.grants[grant]}</label
              >`,
          )}
      </form>
      <p class="quiet">${noPush === null ? words.pushOn : `${words.pushOff}: ${noPush}`}</p>
      <p class="quiet">${words.keepOpen}</p>
      ${this.#lately()}
      <button class="danger" @click=${() => void this.#leave()}>${words.leave}</button>`;
  }

  #lately(): unknown {
    if (this.#log.length === 0) return nothing;
    return html`<h2>${words.log}</h2>
      <ul>
        ${this.#log.map((line) => html`<li>${line}</li>`)}
      </ul>`;
  }

  async #switch(grant: PageGrant, isOn: boolean): Promise<void> {
    this.#wrong = null;
    try {
      const why = isOn ? await asked(grant) : null;
      if (why !== null) throw new Error(why);
      const others: readonly DeviceGrant[] = (this.#state.paired?.grants ?? []).filter(
        (each) => each !== grant,
      );
      await this.#line?.setGrants(isOn ? [...others, grant] : others);
      if (isOn && grant === "notify") await this.#line?.subscribe();
    } catch (error) {
      this.#wrong = error instanceof Error ? error.message : String(error);
    }
    this.requestUpdate();
  }

  async #leave(): Promise<void> {
    this.#wrong = null;
    try {
      await this.#line?.leave();
      this.#note(words.leaving);
    } catch {
      this.#wrong = words.noNet;
    }
    this.requestUpdate();
  }
}

/** The clipboard is open only to the page that has the focus. */
function isSeen({ command }: WaitingCall): boolean {
  const isClipboard = command === "clipboard_read" || command === "clipboard_write";
  return document.visibilityState === "visible" && (!isClipboard || document.hasFocus());
}
