// Copies the database at one instant to a file on the gateway's machine, and says how to go back to it.
import { html, nothing, type TemplateResult } from "lit";
import { form } from "../parts/form.ts";
import { Page } from "../parts/page.ts";
import { wordsOf } from "../parts/reading.ts";
import { copyable } from "../parts/text.ts";
import { t } from "../texts/texts.ts";

const words = t.backups;

export class Backups extends Page {
  #made: { readonly path: string; readonly bytes: number } | null = null;
  #wrong: string | null = null;
  #isBusy = false;

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: { value: true, trouble: null },
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
      <section class="card">
        <h2>${words.back}</h2>
        <p class="quiet-text small">${words.backHelp}</p>
        <pre class="block" tabindex="0" aria-label=${words.back}>${words.backCommand}</pre>
      </section>
    </div>`;
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
