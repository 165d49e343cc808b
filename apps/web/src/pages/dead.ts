// Lists messages that failed for good. An operator has one tried again, or takes it off the list.
import type { RowStory } from "@parley/protocol";
import { html, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { copyable, unhidden } from "../parts/text.ts";
import { timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

const words = t.dead;

export class DeadLetters extends Page {
  readonly #rows = this.reading(() => this.console.call("dead.list", { limit: 500 }));

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#rows,
      body: () => this.#body(this.#rows.value?.rows ?? []),
      drawer: this.#drawer(),
    });
  }

  #body(rows: readonly RowStory[]): TemplateResult {
    const now = this.console.clock.now();
    const columns: readonly Column<RowStory>[] = [
      { label: words.said, cell: ({ text }) => html`<bdi>${unhidden(text) || words.noText}</bdi>` },
      {
        label: words.who,
        cell: ({ sender }) => html`<bdi>${unhidden(sender ?? words.nobody)}</bdi>`,
        isWide: true,
      },
      { label: words.reason, cell: ({ reason }) => html`<bdi>${unhidden(reason ?? "")}</bdi>` },
      { label: words.failed, cell: ({ endedAtMs }) => timeOf(endedAtMs, now), isWide: true },
    ];
    return list<RowStory>({
      label: words.title,
      rows,
      columns,
      keyOf: ({ id }) => id,
      hrefOf: ({ id }) => addressOf("dead", [id]),
      textOf: ({ text, sender, reason, session }) => `${text} ${sender ?? ""} ${reason ?? ""} ${session}`,
      chosen: this.address.rest[0],
      empty: empty(words),
    });
  }

  #drawer(): TemplateResult | null {
    const [id] = this.address.rest;
    if (id === undefined || this.#rows.value === null) return null;
    const row = this.#rows.value.rows.find((each) => each.id === id);
    const back = addressOf("dead");
    if (row === undefined)
      return drawer({ key: id, title: words.one, back, body: html`<p class="quiet-text">${words.gone}</p>` });
    const now = this.console.clock.now();
    return drawer({
      key: id,
      title: words.one,
      back,
      body: html`<pre class="block" tabindex="0" aria-label=${words.said}>${unhidden(row.text)}</pre>
        ${facts([
          [words.reason, html`<bdi>${unhidden(row.reason ?? "")}</bdi>`],
          [words.who, html`<bdi>${unhidden(row.sender ?? words.nobody)}</bdi>`],
          [t.why.session, copyable(row.session, 48)],
          [t.why.conversation, copyable(row.conversation, 48)],
          [words.arrived, timeOf(row.receivedAtMs, now)],
          [words.failed, timeOf(row.endedAtMs, now)],
        ])}
        <p><a href=${addressOf("why", [id])}>${words.story}</a></p>`,
      foot: this.console.may("admin")
        ? html`<div class="act-row">
            ${act({ label: words.retry, confirm: words.retryMeans, run: this.#run("dead.retry", id) })}
            ${act({ label: words.drop, look: "danger", confirm: words.dropMeans, run: this.#run("dead.drop", id) })}
          </div>`
        : html`<p class="quiet-text">${words.cannot}</p>`,
    });
  }

  #run(method: "dead.retry" | "dead.drop", id: string): () => Promise<string> {
    return async () => {
      await this.console.call(method, { id, idempotencyKey: this.console.ids.uuid() });
      await this.#rows.again();
      return words.done;
    };
  }
}
