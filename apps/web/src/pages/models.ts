// Lists the language models of the config: who uses each, what it costs, what is wrong with it; one is tried
// with small real calls.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { copyable } from "../parts/text.ts";
import { duration } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type Model = MethodResult<"models.list">["models"][number];

const words = t.models;

export class Models extends Page {
  readonly #models = this.reading(() => this.console.call("models.list", {}), 30_000);

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#models,
      body: () => this.#body(this.#models.value?.models ?? []),
      drawer: this.#drawer(),
    });
  }

  #body(models: readonly Model[]): TemplateResult {
    const columns: readonly Column<Model>[] = [
      { label: words.model, cell: ({ id }) => html`<bdi>${id}</bdi>` },
      { label: words.state, cell: badge },
      { label: words.usedBy, cell: ({ usedBy }) => html`<bdi>${usedBy.join(", ")}</bdi>`, isWide: true },
      { label: words.price, cell: ({ price }) => priceOf(price), isWide: true },
      {
        label: words.context,
        cell: ({ contextWindow }) => contextWindow.toLocaleString("en"),
        isNumeric: true,
        isWide: true,
      },
    ];
    return list<Model>({
      label: words.title,
      rows: models,
      columns,
      keyOf: ({ id }) => id,
      hrefOf: ({ id }) => addressOf("models", [id]),
      textOf: ({ id, alias, usedBy }) => `${id} ${alias ?? ""} ${usedBy.join(" ")}`,
      chosen: this.address.rest[0],
      empty: empty(words),
    });
  }

  #drawer(): TemplateResult | null {
    const [id] = this.address.rest;
    if (id === undefined || this.#models.value === null) return null;
    const model = this.#models.value.models.find((each) => each.id === id);
    const back = addressOf("models");
    if (model === undefined)
      return drawer({ key: id, title: id, back, body: html`<p class="quiet-text">${words.gone}</p>` });
    const { alias, trouble, contextWindow, maxTokens, vision, thinking, price, usedBy, uncappedFor } = model;
    return drawer({
      key: id,
      title: id,
      back,
      body: html`${trouble === null ? nothing : html`<p class="trouble" role="note"><bdi>${trouble}</bdi></p>`}
      ${facts([
        [words.id, copyable(id, 44)],
        ...(alias === null ? [] : ([[words.alias, html`<bdi>${alias}</bdi>`]] as const)),
        [words.usedBy, html`<bdi>${usedBy.join(", ") || words.nobody}</bdi>`],
        [words.price, priceOf(price)],
        [words.context, contextWindow.toLocaleString("en")],
        [words.answer, maxTokens.toLocaleString("en")],
        [words.sees, vision ? words.yes : words.no],
        [words.thinks, thinking.join(", ") || words.no],
        ...(uncappedFor.length === 0
          ? []
          : ([[words.uncapped, html`<bdi>${uncappedFor.join(", ")}</bdi>`]] as const)),
      ])}`,
      foot: this.console.may("admin")
        ? act({ label: words.test, confirm: words.testMeans, run: () => this.#test(id) })
        : undefined,
    });
  }

  async #test(id: string): Promise<string> {
    const { ok, error, totalMs, toolCalling, costUsd } = await this.console.call("models.test", { id });
    if (!ok) return words.failed(error?.message ?? "");
    return words.works(duration(totalMs), toolCalling, costUsd === null ? null : `$${costUsd.toFixed(4)}`);
  }
}

function badge({ trouble }: Model): TemplateResult {
  return trouble === null
    ? html`<span class="badge ok">${words.ready}</span>`
    : html`<span class="badge danger">${words.troubled}</span>`;
}

function priceOf(price: Model["price"]): string {
  return price === null ? words.noPrice : words.perMillion(`$${price.input}`, `$${price.output}`);
}
