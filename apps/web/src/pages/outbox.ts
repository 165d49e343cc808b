// Lists answers that wait or are in trouble. An operator sends one again or gives it up.
import type { DeliveryStory } from "@parley/protocol";
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

const words = t.outbox;
const looks = { waiting: "warn", open: "warn", sent: "ok", failed: "danger", ambiguous: "danger" } as const;

export class Outbox extends Page {
  readonly #deliveries = this.reading(() => this.console.call("outbox.list", { limit: 500 }), 3_000);

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#deliveries,
      body: () => this.#body(this.#deliveries.value?.deliveries ?? []),
      drawer: this.#drawer(),
    });
  }

  #body(deliveries: readonly DeliveryStory[]): TemplateResult {
    const now = this.console.clock.now();
    const columns: readonly Column<DeliveryStory>[] = [
      { label: words.text, cell: ({ text }) => html`<bdi>${unhidden(text) || words.noText}</bdi>` },
      { label: words.to, cell: ({ conversation }) => html`<bdi>${conversation}</bdi>`, isWide: true },
      {
        label: words.state,
        cell: ({ state }) => html`<span class="badge ${looks[state]}">${words.states[state]}</span>`,
      },
      {
        label: words.reason,
        cell: ({ parts }) =>
          html`<bdi>${unhidden(parts.find(({ reason }) => reason !== null)?.reason ?? "")}</bdi>`,
        isWide: true,
      },
      { label: words.since, cell: ({ createdAtMs }) => timeOf(createdAtMs, now), isWide: true },
    ];
    return list<DeliveryStory>({
      label: words.title,
      rows: deliveries,
      columns,
      keyOf: ({ id }) => id,
      hrefOf: ({ id }) => addressOf("outbox", [id]),
      textOf: ({ text, conversation, parts }) =>
        `${text} ${conversation} ${parts.map(({ reason }) => reason ?? "").join(" ")}`,
      chosen: this.address.rest[0],
      empty: empty(words),
    });
  }

  #drawer(): TemplateResult | null {
    const [id] = this.address.rest;
    if (id === undefined || this.#deliveries.value === null) return null;
    const found = this.#deliveries.value.deliveries.find((each) => each.id === id);
    const back = addressOf("outbox");
    if (found === undefined)
      return drawer({ key: id, title: words.one, back, body: html`<p class="quiet-text">${words.gone}</p>` });
    const { conversation, cause, createdAtMs, parts, state, text } = found;
    return drawer({
      key: id,
      title: words.one,
      back,
      body: html`<pre class="block" tabindex="0" aria-label=${words.text}>${unhidden(text)}</pre>
        ${facts([
          [words.state, html`<span class="badge ${looks[state]}">${words.states[state]}</span>`],
          [words.to, copyable(conversation, 48)],
          [words.cause, copyable(cause, 48)],
          [words.since, timeOf(createdAtMs, this.console.clock.now())],
        ])}
        <ol class="plain-list" aria-label=${words.parts}>
          ${parts.map(
            ({ state: partState, attempts, flagged, reason }, index) =>
              html`<li>
                <div>
                  ${t.story.part(partState, index + 1, parts.length)} · ${t.story.attempts(attempts)}
                  ${flagged ? html`· ${t.story.twice}` : ""}
                  <p class="quiet-text"><bdi>${unhidden(reason ?? "")}</bdi></p>
                </div>
              </li>`,
          )}
        </ol>
        <p><a href=${addressOf("why", [id])}>${words.story}</a></p>`,
      foot: this.#decide(found),
    });
  }

  #decide({ id, state, parts }: DeliveryStory): TemplateResult {
    if (state !== "failed" && state !== "ambiguous") return html`<p class="quiet-text">${words.waits}</p>`;
    if (!this.console.may("admin")) return html`<p class="quiet-text">${words.cannot}</p>`;
    const twice = state === "ambiguous" || parts.some((part) => part.state === "sent" || part.flagged);
    return html`<div class="act-row">
      ${act({ label: words.retry, confirm: twice ? words.retryTwice : words.retryMeans, run: this.#run("outbox.retry", id) })}
      ${act({ label: words.drop, look: "danger", confirm: words.dropMeans, run: this.#run("outbox.drop", id) })}
    </div>`;
  }

  #run(method: "outbox.retry" | "outbox.drop", id: string): () => Promise<string> {
    return async () => {
      await this.console.call(method, { id, idempotencyKey: this.console.ids.uuid() });
      await this.#deliveries.again();
      return words.done;
    };
  }
}
