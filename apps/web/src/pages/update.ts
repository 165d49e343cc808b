// Shows which version runs and how it was installed, looks for a newer one when somebody asks, and begins the
// update, which goes back by itself. Nothing is asked of the release source before that.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { facts } from "../parts/drawer.ts";
import { Page } from "../parts/page.ts";
import { copyable } from "../parts/text.ts";
import { t } from "../texts/texts.ts";

type Check = MethodResult<"update.check">;

const words = t.update;
const ends: { readonly [state: string]: string } = { done: "ok", "went-back": "warn", failed: "danger" };

export class Update extends Page {
  readonly #here = this.reading(async () => {
    const [status, check] = await Promise.all([
      this.console.call("status", {}),
      this.console.call("update.check", { look: false }),
    ]);
    return { status, check };
  }, 3_000);
  /** What the release source has, once somebody asked. */
  #found: Check | null = null;
  #to: string | null = null;

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#here,
      body: () => {
        if (this.#here.value === null) return nothing;
        const { status, check } = this.#here.value;
        return html`<div class="narrow">
          ${this.#version(status, check)} ${check.last === null ? nothing : this.#last(check.last)}
          ${this.#newer(check)}
        </div>`;
      },
    });
  }

  #version({ version }: MethodResult<"status">, { installed }: Check): TemplateResult {
    return html`<section class="card">
      <h2>${words.here}</h2>
      ${facts([
        [words.version, html`<b class="number">${this.#found?.installed?.version ?? version}</b>`],
        ...(installed === null
          ? []
          : ([
              [words.how, html`<bdi>${kindOf(installed.kind)}</bdi>`],
              [words.root, copyable(installed.root, 60)],
            ] as const)),
      ])}
    </section>`;
  }

  #last({ from, to, state, reason }: NonNullable<Check["last"]>): TemplateResult {
    const said = words.states[state as keyof typeof words.states] ?? state;
    return html`<section class="card" role="status">
      <h2>${isOver(state) ? words.last : words.runs}</h2>
      <p>
        <span class="badge ${ends[state] ?? "warn"}">${said}</span>
        <bdi>${words.fromTo(from, to)}</bdi>
      </p>
      ${reason === null ? nothing : html`<p class="lines"><bdi>${reason}</bdi></p>`}
    </section>`;
  }

  #newer({ last }: Check): TemplateResult {
    const found = this.#found;
    return html`<section class="card">
      <h2>${words.newer}</h2>
      <p class="quiet-text small">${words.newerHelp}</p>
      <div class="act-row after">${act({ label: words.look, look: "quiet", run: () => this.#look() })}</div>
      ${
        found === null
          ? nothing
          : html`<div class="after" role="status">
              ${this.#answer(found, last !== null && !isOver(last.state))}
            </div>`
      }
    </section>`;
  }

  #answer({ problem, newest, update, byHand, available }: Check, isRunning: boolean): unknown {
    if (problem !== null)
      return html`<p class="trouble"><bdi>${problem}</bdi></p>
        ${this.console.has("config") ? html`<p class="small">${words.source} <code>update.url</code></p>` : nothing}`;
    if (newest === null) return html`<p>${words.none}</p>`;
    const to = this.#to ?? newest;
    const others = available.length > 1 && byHand === null;
    return html`<p>
        <span class="badge ${update ? "warn" : "ok"}">
          ${update ? words.there(newest) : words.current(newest)}
        </span>
      </p>
      ${
        byHand !== null
          ? update
            ? html`<h3>${words.byHand}</h3>
                <pre class="block" tabindex="0" aria-label=${words.byHand}>${byHand}</pre>`
            : nothing
          : isRunning
            ? html`<p class="quiet-text small">${words.waitForEnd}</p>`
            : html`${others ? this.#choice(available, to) : nothing}
              ${
                update || to !== newest
                  ? act({
                      label: words.update(to),
                      confirm: words.means(to),
                      run: () => this.#begin(to === newest ? undefined : to),
                    })
                  : nothing
              }`
      }`;
  }

  #choice(available: readonly string[], to: string): TemplateResult {
    return html`<p>
      <label for="update-to">${words.other}</label>
      <select
        id="update-to"
        class="narrow-select"
        @change=${({ target }: Event) => {
          this.#to = (target as HTMLSelectElement).value;
          this.requestUpdate();
        }}
      >
        ${available.map((each) => html`<option ?selected=${each === to}>${each}</option>`)}
      </select>
    </p>`;
  }

  async #look(): Promise<undefined> {
    this.#found = await this.console.call("update.check", {});
    this.#to = null;
    this.requestUpdate();
    return undefined;
  }

  async #begin(to: string | undefined): Promise<string> {
    await this.console.call("update.run", to === undefined ? {} : { to });
    await this.#here.again();
    return words.begun;
  }
}

function isOver(state: string): boolean {
  return Object.hasOwn(ends, state);
}

function kindOf(kind: string): string {
  return words.kinds[kind as keyof typeof words.kinds] ?? kind;
}
