// Lists an agent's skills: which it uses, why it does not use the others, and what one needs.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { copyable, unhidden } from "../parts/text.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type View = MethodResult<"skills.list">;
type Skill = View["skills"][number];

const words = t.skills;
const looks = { ready: "ok", disabled: "off", unmet: "warn", "not allowed": "off" } as const;

export class Skills extends Page {
  readonly #skills = this.reading(
    async () => {
      const agent = this.#agent;
      const [view, { agents }] = await Promise.all([
        this.console.call("skills.list", agent === null ? {} : { agent }),
        this.console.call("agents.list", {}),
      ]);
      return { view, agents };
    },
    15_000,
    () => this.#agent ?? "",
  );
  readonly #info = this.reading(
    async () => {
      const [name] = this.address.rest;
      const agent = this.#agent;
      return name === undefined
        ? null
        : this.console.call("skills.info", { name, ...(agent === null ? {} : { agent }) });
    },
    15_000,
    () => `${this.address.rest[0] ?? ""} ${this.#agent ?? ""}`,
  );

  get #agent(): string | null {
    return this.address.query.get("agent");
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#skills,
      body: () => (this.#skills.value === null ? nothing : this.#body(this.#skills.value.view)),
      drawer: this.#drawer(),
    });
  }

  #body(view: View): TemplateResult {
    const columns: readonly Column<Skill>[] = [
      { label: words.name, cell: ({ name }) => html`<bdi>${unhidden(name)}</bdi>` },
      {
        label: words.state,
        cell: ({ status }) => html`<span class="badge ${looks[status]}">${words.states[status]}</span>`,
      },
      { label: words.source, cell: ({ source }) => words.sources[source], isWide: true },
      {
        label: words.about,
        cell: ({ reason, description }) => html`<bdi>${unhidden(reason ?? description)}</bdi>`,
        isWide: true,
      },
    ];
    const agents = this.#skills.value?.agents ?? [];
    return html`${list<Skill>({
      label: words.title,
      rows: view.skills,
      columns,
      keyOf: ({ name }) => name,
      hrefOf: ({ name }) => addressOf("skills", [name], { agent: this.#agent }),
      textOf: ({ name, description, reason }) => `${name} ${description} ${reason ?? ""}`,
      chosen: this.address.rest[0],
      tools:
        agents.length < 2
          ? undefined
          : html`<select
              class="narrow-select"
              aria-label=${words.agent}
              @change=${({ target }: Event) =>
                this.console.go(addressOf("skills", [], { agent: (target as HTMLSelectElement).value }))}
            >
              ${agents.map(({ id }) => html`<option ?selected=${id === view.agent}>${id}</option>`)}
            </select>`,
      empty: empty(words),
    })}
    ${this.#others(view)}`;
  }

  #others({ shadowed, rejected, cut }: View): TemplateResult {
    const lines = [
      ...shadowed.map(({ name, by, file }) => ({ file, why: words.shadowed(unhidden(name), by) })),
      ...rejected.map(({ file, reason }) => ({ file, why: unhidden(reason) })),
      ...cut.map((file) => ({ file, why: words.cut })),
    ];
    if (lines.length === 0) return html`${nothing}`;
    return html`<section class="card after">
      <h2>${words.others}</h2>
      <ul class="plain-list">
        ${lines.map(
          ({ file, why }) =>
            html`<li>
              <div>
                ${copyable(file, 60)}
                <p class="quiet-text"><bdi>${why}</bdi></p>
              </div>
            </li>`,
        )}
      </ul>
    </section>`;
  }

  #drawer(): TemplateResult | null {
    const [name] = this.address.rest;
    if (name === undefined) return null;
    const { value: skill, trouble } = this.#info;
    const back = addressOf("skills", [], { agent: this.#agent });
    if (skill === null)
      return drawer({
        key: name,
        title: unhidden(name),
        back,
        body: html`<p class=${trouble === null ? "quiet-text" : "trouble"} role="status">
          ${trouble === null ? t.list.loading : t.reading.failed(trouble)}
        </p>`,
      });
    return drawer({
      key: name,
      title: unhidden(`${skill.emoji ?? ""} ${skill.name}`.trim()),
      back,
      body: html`<p><bdi>${unhidden(skill.description)}</bdi></p>
        ${facts([
          [
            words.state,
            html`<span class="badge ${looks[skill.status]}">${words.states[skill.status]}</span>`,
          ],
          ...(skill.reason === null
            ? []
            : ([[words.reason, html`<bdi>${unhidden(skill.reason)}</bdi>`]] as const)),
          [words.source, words.sources[skill.source]],
          [words.file, copyable(skill.file, 48)],
          [
            words.command,
            skill.command === null ? words.none : html`<code><bdi>/${skill.command}</bdi></code>`,
          ],
          ...(skill.homepage === null ? [] : ([[words.homepage, copyable(skill.homepage, 48)]] as const)),
          [words.key, copyable(`skills.entries.${skill.key}`, 48)],
        ])}
        ${
          skill.requirements.length === 0
            ? nothing
            : html`<div>
                <h3>${words.needs}</h3>
                <ul class="plain-list">
                  ${skill.requirements.map(
                    ({ kind, what, satisfied }) =>
                      html`<li>
                        <span class="badge ${satisfied ? "ok" : "danger"}"
                          >${satisfied ? words.there : words.missing}</span
                        >
                        <div><bdi>${unhidden(what)}</bdi></div>
                        <span class="quiet-text end">${words.kinds[kind]}</span>
                      </li>`,
                  )}
                </ul>
              </div>`
        }
        ${[...skill.warnings, ...skill.notes].map((each) => html`<p class="trouble" role="note"><bdi>${unhidden(each)}</bdi></p>`)}`,
    });
  }
}
