// Lists the tools of a session's next turn: which are there, and why the others are not.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { copyable, sessionTitle, sessionWords, unhidden } from "../parts/text.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type View = MethodResult<"tools.list">;
type Tool = View["tools"][number];

const words = t.tools;
const looks = { ready: "ok", removed: "off", unavailable: "warn" } as const;

export class Tools extends Page {
  readonly #tools = this.reading(
    async () => {
      const session = this.#session;
      const [view, { sessions }] = await Promise.all([
        this.console.call("tools.list", session === null ? {} : { session }),
        this.console.call("sessions.list", { limit: 100 }),
      ]);
      return { view, sessions };
    },
    10_000,
    () => this.#session ?? "",
  );

  get #session(): string | null {
    return this.address.query.get("session");
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      acts: this.console.may("admin")
        ? html`${act({
            label: words.hold,
            look: "danger",
            confirm: words.holdMeans,
            run: async () => {
              const { held } = await this.console.call("tools.hold", {});
              return held ? words.held : words.heldBefore;
            },
          })}
          ${act({
            label: words.resume,
            look: "quiet",
            confirm: words.resumeMeans,
            run: async () => {
              const { resumed } = await this.console.call("tools.resume", {});
              return resumed ? words.resumed : words.resumedBefore;
            },
          })}`
        : undefined,
      reading: this.#tools,
      body: () => (this.#tools.value === null ? nothing : this.#body(this.#tools.value.view)),
      drawer: this.#drawer(),
    });
  }

  #body(view: View): TemplateResult {
    const columns: readonly Column<Tool>[] = [
      { label: words.tool, cell: ({ id }) => html`<span class="mono"><bdi>${id}</bdi></span>` },
      {
        label: words.state,
        cell: ({ status }) => html`<span class="badge ${looks[status]}">${words.states[status]}</span>`,
      },
      { label: words.effect, cell: ({ effect }) => words.effects[effect], isWide: true },
      {
        label: words.reason,
        cell: ({ reason, summary }) => html`<bdi>${unhidden(reason ?? summary)}</bdi>`,
        isWide: true,
      },
    ];
    return html`${view.reason === null ? nothing : html`<p class="trouble" role="note"><bdi>${view.reason}</bdi></p>`}
    ${list<Tool>({
      label: words.title,
      rows: view.tools,
      columns,
      keyOf: ({ id }) => id,
      hrefOf: ({ id }) => addressOf("tools", [id], { session: this.#session }),
      textOf: ({ id, label, reason, summary, section }) =>
        `${id} ${label} ${reason ?? ""} ${summary} ${section}`,
      chosen: this.address.rest[0],
      tools: this.#choice(view.session),
      empty: empty(words),
    })}`;
  }

  #choice(session: string): TemplateResult {
    const sessions = this.#tools.value?.sessions ?? [];
    return html`<select
      class="narrow-select"
      aria-label=${words.session}
      @change=${({ target }: Event) =>
        this.console.go(addressOf("tools", [], { session: (target as HTMLSelectElement).value }))}
    >
      ${
        sessions.some(({ key }) => key === session)
          ? nothing
          : html`<option value=${session} selected>${sessionWords(session)}</option>`
      }
      ${sessions.map(
        ({ key, name }) =>
          html`<option value=${key} ?selected=${key === session}>${sessionTitle({ key, name })}</option>`,
      )}
    </select>`;
  }

  #drawer(): TemplateResult | null {
    const [id] = this.address.rest;
    const view = this.#tools.value?.view;
    if (id === undefined || view === undefined) return null;
    const tool = view.tools.find((each) => each.id === id);
    const back = addressOf("tools", [], { session: this.#session });
    if (tool === undefined)
      return drawer({ key: id, title: id, back, body: html`<p class="quiet-text">${words.gone}</p>` });
    return drawer({
      key: id,
      title: tool.label,
      back,
      body: html`<p><bdi>${unhidden(tool.summary)}</bdi></p>
        ${facts([
          [words.state, html`<span class="badge ${looks[tool.status]}">${words.states[tool.status]}</span>`],
          ...(tool.reason === null
            ? []
            : ([[words.reason, html`<bdi>${unhidden(tool.reason)}</bdi>`]] as const)),
          [words.effect, words.effects[tool.effect]],
          [words.id, copyable(tool.id)],
          [words.group, html`<bdi>${[...new Set([tool.section, ...tool.groups])].join(", ")}</bdi>`],
          [words.profiles, tool.profiles.join(", ") || words.none],
          ...(view.sandbox === null ? [] : ([[words.sandbox, html`<bdi>${view.sandbox}</bdi>`]] as const)),
          [words.session, copyable(view.session, 44)],
        ])}`,
    });
  }
}
