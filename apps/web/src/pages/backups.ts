// Copies the database at one instant to a file on the gateway's machine, and says how to go back to it.
import { html, nothing, type TemplateResult } from "lit";
import { form } from "../parts/form.ts";
import { Page } from "../parts/page.ts";
import { wordsOf } from "../parts/reading.ts";
import { copyable } from "../parts/text.ts";
import { timeOf } from "../parts/time.ts";
import { t } from "../texts/texts.ts";

const words = t.backups;

export class Backups extends Page {
  #made: { readonly path: string; readonly bytes: number } | null = null;
  #wrong: string | null = null;
  #isBusy = false;
  readonly #kept = this.reading(() => this.console.call("backups.list", {}), 30_000);

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#kept,
      body: () => this.#body(),
    });
  }

  #body(): TemplateResult {
    const made = this.#made;
    return html`<div class="narrow">
      ${form({
        fields: [
          { name: "path", label: words.path, help: words.pathHelp, required: true },
          {
            name: "passphrase",
            label: words.passphrase,
            help: words.passphraseHelp,
            kind: "password",
            autocomplete: "new-password",
          },
        ],
        submit: this.#isBusy ? words.busy : words.make,
        wrong: this.#wrong,
        isBusy: this.#isBusy,
        onSubmit: ({ path = "", passphrase = "" }) => void this.#make(path, passphrase),
      })}
      <div role="status">
        ${
          made === null
            ? nothing
            : html`<p class="badge ok">${words.made(Math.ceil(made.bytes / 1024))}</p>
                <p>${copyable(made.path, 80)}</p>`
        }
      </div>
      ${this.#list()}
      <section class="card">
        <h2>${words.back}</h2>
        <p class="quiet-text small">${words.backHelp}</p>
        <pre class="block" tabindex="0" aria-label=${words.back}>${words.backCommand}</pre>
      </section>
    </div>`;
  }

  #list(): TemplateResult {
    const kept = this.#kept.value;
    if (kept === null) return html`${nothing}`;
    const { everyHours, keep, folder, backups } = kept;
    const now = this.console.clock.now();
    return html`<section class="card">
      <h2>${words.own}</h2>
      <p class="quiet-text small">
        ${everyHours === null ? words.noOwn : words.every(everyHours, keep)}
        ${everyHours === null ? html`<code>backup: { everyHours: 24 }</code>` : html`<bdi>${folder}</bdi>`}
      </p>
      <ul class="plain-list">
        ${backups.map(
          ({ path, name, bytes, atMs, sealed }) =>
            html`<li>
              <span>${copyable(path, 60)}<span class="sr-only">${name}</span></span>
              ${sealed ? html`<span class="badge ok">${words.sealed}</span>` : nothing}
              <span class="quiet-text end number">
                ${words.kilobytes(Math.ceil(bytes / 1024))} · ${timeOf(atMs, now)}
              </span>
            </li>`,
        )}
      </ul>
    </section>`;
  }

  async #make(path: string, passphrase: string): Promise<void> {
    this.#isBusy = true;
    this.requestUpdate();
    try {
      this.#made = await this.console.call("backup", { path, ...(passphrase === "" ? {} : { passphrase }) });
      this.#wrong = null;
    } catch (error) {
      this.#wrong = wordsOf(error);
    }
    this.#isBusy = false;
    this.requestUpdate();
  }
}
