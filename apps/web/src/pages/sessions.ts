// Lists the sessions of everybody; one opens with its newest words, and can be begun anew or forgotten.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { copyable, sessionWords, unhidden } from "../parts/text.ts";
import { clockOf, timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type Session = MethodResult<"sessions.list">["sessions"][number];
type Shown = MethodResult<"sessions.show">;

const words = t.sessions;

export class Sessions extends Page {
  readonly #sessions = this.reading(() => this.console.call("sessions.list", { limit: 500 }));
  readonly #shown = this.reading(
    async () => {
      const [key] = this.address.rest;
      return key === undefined ? null : this.console.call("sessions.show", { key, limit: 100 });
    },
    3_000,
    () => this.address.rest[0] ?? "",
  );

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#sessions,
      body: () => this.#body(this.#sessions.value?.sessions ?? []),
      drawer: this.#drawer(),
    });
  }

  #body(sessions: readonly Session[]): TemplateResult {
    const now = this.console.clock.now();
    const columns: readonly Column<Session>[] = [
      { label: words.name, cell: ({ key, name }) => html`<bdi>${unhidden(name ?? sessionWords(key))}</bdi>` },
      { label: words.kind, cell: ({ kind }) => words.kinds[kind], isWide: true },
      { label: words.agent, cell: ({ agent }) => html`<bdi>${agent}</bdi>`, isWide: true },
      {
        label: words.tokens,
        cell: ({ inputTokens, outputTokens }) => (inputTokens + outputTokens).toLocaleString("en"),
        isNumeric: true,
        isWide: true,
      },
      {
        label: words.state,
        cell: ({ working }) =>
          working ? html`<span class="badge ok">${t.overview.working}</span>` : nothing,
        isWide: true,
      },
      { label: words.changed, cell: ({ updatedAtMs }) => timeOf(updatedAtMs, now) },
    ];
    return list<Session>({
      label: words.title,
      rows: sessions,
      columns,
      keyOf: ({ key }) => key,
      hrefOf: ({ key }) => addressOf("sessions", [key]),
      textOf: ({ key, name, agent }) => `${key} ${name ?? ""} ${agent}`,
      chosen: this.address.rest[0],
      empty: empty(words),
    });
  }

  #drawer(): TemplateResult | null {
    const [key] = this.address.rest;
    if (key === undefined) return null;
    const { value: shown, trouble } = this.#shown;
    if (shown === null)
      return drawer({
        key,
        title: sessionWords(key),
        back: addressOf("sessions"),
        body: html`<p class=${trouble === null ? "quiet-text" : "trouble"} role="status">
          ${trouble === null ? t.list.loading : t.reading.failed(trouble)}
        </p>`,
      });
    const now = this.console.clock.now();
    return drawer({
      key,
      title: shown.name ?? sessionWords(key),
      back: addressOf("sessions"),
      body: html`${facts([
          [words.key, copyable(key, 44)],
          [words.agent, html`<bdi>${shown.agent}</bdi>`],
          [words.kind, words.kinds[shown.kind]],
          [words.model, html`<bdi>${shown.model ?? words.asAgent}</bdi>`],
          [words.thinking, shown.thinking ?? words.asAgent],
          [words.reasoning, shown.reasoning ?? words.asAgent],
          [words.epoch, shown.epoch.toLocaleString("en")],
          [words.tokens, t.story.tokens(shown.inputTokens, shown.outputTokens)],
          [words.begun, timeOf(shown.createdAtMs, now)],
          [words.changed, timeOf(shown.updatedAtMs, now)],
        ])}
        <h3>${words.entries}</h3>
        ${shown.entries.length === 0 ? html`<p class="quiet-text">${words.noEntries}</p>` : nothing}
        <ol class="transcript">
          ${shown.entries.map(
            ({ type, text, atMs, turn }) =>
              html`<li class=${type}>
                <p class="quiet-text small">
                  ${words.types[type]} · ${clockOf(atMs)} ·
                  <a href=${addressOf("activity", [turn])}>${words.story}</a>
                </p>
                <div class="lines"><bdi>${unhidden(text)}</bdi></div>
              </li>`,
          )}
        </ol>`,
      foot: this.#acts(shown),
    });
  }

  #acts({ key, epoch }: Shown): TemplateResult {
    // A session of somebody else takes the scope admin for both.
    if (!this.console.may("admin")) return html`<p class="quiet-text">${words.cannot}</p>`;
    return html`<div class="act-row">
      ${act({
        label: words.reset,
        look: "quiet",
        confirm: words.resetMeans,
        run: async () => {
          const idempotencyKey = `reset-${epoch}-${key}`.slice(0, 128);
          await this.console.call("sessions.reset", { key, idempotencyKey });
          await this.#shown.again();
          return words.resetDone;
        },
      })}
      ${act({
        label: words.compact,
        look: "quiet",
        confirm: words.compactMeans,
        run: async () => {
          const idempotencyKey = this.console.ids.uuid();
          await this.console.call("sessions.compact", { key, idempotencyKey });
          return words.compactDone;
        },
      })}
      ${act({
        label: words.forget,
        look: "danger",
        confirm: words.forgetMeans,
        run: async () => {
          const { entries } = await this.console.call("sessions.forget", { key });
          await this.#shown.again();
          return words.forgot(entries);
        },
      })}
    </div>`;
  }
}
