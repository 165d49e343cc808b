// Shows what was used and what it cost: by day, agent, model, person, channel or session, against the caps.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, svg, type TemplateResult } from "lit";
import { empty } from "../parts/empty.ts";
import { Page } from "../parts/page.ts";
import { plot } from "../parts/plot.ts";
import { sessionWords, unhidden } from "../parts/text.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type View = MethodResult<"usage">;
type Amounts = View["total"];

const words = t.usage;
const groups = ["day", "agent", "model", "person", "channel", "session"] as const;
const ranges = [1, 7, 30, 62] as const;

export class Usage extends Page {
  readonly #usage = this.reading(
    async () => {
      const [rows, days] = await Promise.all([
        this.console.call("usage", { by: this.#by, days: this.#days }),
        this.console.call("usage", { by: "day", days: this.#days }),
      ]);
      return { rows, days };
    },
    15_000,
    () => this.address.query.toString(),
  );

  get #by(): (typeof groups)[number] {
    return groups.find((each) => each === this.address.query.get("by")) ?? "day";
  }

  get #days(): number {
    return ranges.find((each) => String(each) === this.address.query.get("days")) ?? 30;
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#usage,
      body: () =>
        this.#usage.value === null ? nothing : this.#body(this.#usage.value.rows, this.#usage.value.days),
    });
  }

  #body(view: View, days: View): TemplateResult {
    return html`${this.#choices()} ${view.caps.length === 0 ? nothing : caps(view.caps)}
    ${
      days.rows.length < 2
        ? nothing
        : html`<div class="plots before">
            ${plot({ label: t.overview.days, points: days.rows.map(({ name, turns }) => ({ name, value: turns })) })}
            ${plot({ label: t.overview.tokenDays, points: days.rows.map((row) => ({ name: row.name, value: tokensOf(row) })) })}
            ${plot({ label: t.overview.costDays, points: days.rows.map(({ name, costUsd }) => ({ name, value: costUsd })), shown: dollars })}
          </div>`
    }
    ${view.rows.length === 0 ? empty(words) : this.#table(view)}`;
  }

  #choices(): TemplateResult {
    const link = (name: string, query: { by: string; days: string }, isOn: boolean): TemplateResult =>
      html`<a
        class="button quiet ${isOn ? "on" : ""}"
        aria-current=${isOn ? "true" : "false"}
        href=${addressOf("usage", [], query)}
        >${name}</a
      >`;
    return html`<nav class="list-tools" aria-label=${words.choose}>
      ${groups.map((by) => link(words.by[by], { by, days: String(this.#days) }, by === this.#by))}
      <span class="spread"></span>
      ${ranges.map((days) => link(words.days(days), { by: this.#by, days: String(days) }, days === this.#days))}
    </nav>`;
  }

  #table({ rows, total, from, through, timeZone }: View): TemplateResult {
    const shown = this.#by === "day" ? rows.toReversed() : rows;
    return html`<div class="list-scroll" tabindex="0" role="group" aria-label=${words.title}>
        <table class="list still">
          <thead>
            <tr>
              <th scope="col">${words.by[this.#by]}</th>
              <th scope="col" class="numeric">${words.turns}</th>
              <th scope="col" class="numeric wide-only">${words.input}</th>
              <th scope="col" class="numeric wide-only">${words.cached}</th>
              <th scope="col" class="numeric wide-only">${words.output}</th>
              <th scope="col" class="numeric">${words.cost}</th>
            </tr>
          </thead>
          <tbody>
            ${shown.map((row) => line(this.#by === "session" ? sessionWords(row.name) : unhidden(row.name), row))}
            ${line(words.total, total, true)}
          </tbody>
        </table>
      </div>
      <p class="quiet-text small after">
        ${words.range(from, through, timeZone)}
        ${total.unpricedTokens === 0 ? nothing : words.unpriced(total.unpricedTokens)}
      </p>`;
  }
}

function line(name: string, amounts: Amounts, isTotal = false): TemplateResult {
  const { turns, inputTokens, cacheReadTokens, outputTokens, costUsd } = amounts;
  const count = (value: number): string => value.toLocaleString("en");
  return html`<tr class=${isTotal ? "total" : ""}>
    <th scope="row"><bdi>${name}</bdi></th>
    <td class="numeric">${count(turns)}</td>
    <td class="numeric wide-only">${count(inputTokens)}</td>
    <td class="numeric wide-only">${count(cacheReadTokens)}</td>
    <td class="numeric wide-only">${count(outputTokens)}</td>
    <td class="numeric">${dollars(costUsd)}</td>
  </tr>`;
}

function caps(all: View["caps"]): TemplateResult {
  return html`<section class="card before">
    <h2>${words.caps}</h2>
    <ul class="plain-list">
      ${all.map(({ agent, over, unit, used, most, resets }) => {
        const share = most === 0 ? 1 : Math.min(1, used / most);
        const amount = (value: number): string =>
          unit === "usd" ? dollars(value) : value.toLocaleString("en");
        return html`<li>
          <div>
            <div class="line">
              <span><bdi>${agent}</bdi>, ${words.over[over]}</span>
              <span class="badge ${share >= 1 ? "danger" : share >= 0.8 ? "warn" : "ok"} end">
                ${words.capUsed(amount(used), amount(most), unit)}
              </span>
            </div>
            <svg class="token-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
              ${svg`<rect class="bar" width=${share * 100} height="4"></rect>`}
            </svg>
            <p class="quiet-text">${words.resets(resets)}</p>
          </div>
        </li>`;
      })}
    </ul>
  </section>`;
}

function tokensOf({ inputTokens, outputTokens }: Amounts): number {
  return inputTokens + outputTokens;
}

function dollars(value: number): string {
  return `$${value.toFixed(value !== 0 && value < 1 ? 4 : 2)}`;
}
