// An operator decides here what agents may do only with a person's word: the whole act, who asks and why. A
// decision taken elsewhere closes it here.
import { visibleText, type MethodResult } from "@parley/protocol";
import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { drawer, facts } from "../parts/drawer.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { copyable, hasHidden, revealed } from "../parts/text.ts";
import { ago, clockOf, timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type Approval = MethodResult<"approvals.list">["approvals"][number];
type Grant = MethodResult<"approvals.list">["grants"][number];
type Decision = "once" | "always" | "deny";

const words = t.approvals;
const looks: { readonly [state in Approval["state"]]: string } = {
  open: "warn",
  once: "ok",
  always: "ok",
  used: "ok",
  denied: "danger",
  expired: "off",
  stopped: "off",
};

export class Approvals extends Page {
  readonly #approvals = this.reading(() => this.console.call("approvals.list", { all: this.#all }), 2_000);

  get #all(): boolean {
    return this.address.query.get("all") !== null;
  }

  get #chosen(): Approval | undefined {
    return this.#approvals.value?.approvals.find(({ id }) => id === this.address.rest[0]);
  }

  override onKey(key: string): boolean {
    const button = this.querySelector<HTMLElement>(
      `.drawer parley-act[data-hint="${CSS.escape(key)}"] button`,
    );
    button?.click();
    return button !== null;
  }

  override updated(changed: PropertyValues<this>): void {
    const before = changed.get("address");
    if (before !== undefined && before.query.get("all") !== this.address.query.get("all"))
      void this.#approvals.again();
    super.updated(changed);
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#approvals,
      body: () => this.#body(),
      drawer: this.#drawer(),
    });
  }

  #body(): TemplateResult {
    const { approvals = [], grants = [] } = this.#approvals.value ?? {};
    const now = this.console.clock.now();
    const columns: readonly Column<Approval>[] = [
      {
        label: words.what,
        cell: ({ shown }) => html`<span class="mono">${revealed(shown.split("\n")[0] ?? "")}</span>`,
      },
      { label: words.tool, cell: ({ tool }) => tool, isWide: true },
      { label: words.agent, cell: ({ agent }) => agent, isWide: true },
      {
        label: words.state,
        cell: ({ state }) => html`<span class="badge ${looks[state]}">${words.states[state]}</span>`,
      },
      { label: words.asked, cell: ({ createdAtMs }) => timeOf(createdAtMs, now), isWide: true },
    ];
    return html`${list<Approval>({
      label: words.title,
      rows: approvals,
      columns,
      keyOf: ({ id }) => id,
      hrefOf: ({ id }) => addressOf("approvals", [id], this.#query),
      textOf: ({ shown, tool, agent, asked }) => `${shown} ${tool} ${agent} ${asked}`,
      chosen: this.address.rest[0],
      tools: html`<a
        class="button quiet"
        role="switch"
        aria-checked=${this.#all ? "true" : "false"}
        href=${addressOf("approvals", [], { all: this.#all ? null : "1" })}
        >${this.#all ? "✓ " : ""}${words.all}</a
      >`,
      empty: html`<div class="empty">
        <h2>${words.empty}</h2>
        <p>${words.emptyHelp}</p>
        <code>${words.emptyCommand}</code>
      </div>`,
    })}
    ${grants.length === 0 ? nothing : this.#grants(grants)}`;
  }

  get #query(): { readonly all: string | null } {
    return { all: this.#all ? "1" : null };
  }

  #grants(grants: readonly Grant[]): TemplateResult {
    const now = this.console.clock.now();
    return html`<section class="card after">
      <h2>${words.grants}</h2>
      <p class="quiet-text small">${words.grantsHelp}</p>
      <ul class="plain-list">
        ${grants.map(
          ({ id, agent, argv, cwd, by, atMs }) =>
            html`<li>
              <div>
                <code>${revealed(visibleText(argv.join(" ")))}</code>
                <p class="quiet-text small">
                  <bdi>${agent}</bdi> · <bdi>${cwd}</bdi> · ${words.by} <bdi>${by}</bdi>, ${timeOf(atMs, now)}
                </p>
              </div>
              ${
                this.console.may("approve")
                  ? act({
                      label: words.revoke,
                      look: "danger",
                      confirm: words.revokeConfirm,
                      run: async () => {
                        await this.console.call("approvals.revoke", { id });
                        await this.#approvals.again();
                        return undefined;
                      },
                    })
                  : nothing
              }
            </li>`,
        )}
      </ul>
    </section>`;
  }

  #drawer(): TemplateResult | null {
    const [id] = this.address.rest;
    if (id === undefined || this.#approvals.value === null) return null;
    const back = addressOf("approvals", [], this.#query);
    const approval = this.#chosen;
    if (approval === undefined)
      return drawer({
        key: id,
        title: words.title,
        back,
        body: html`<p class="quiet-text">${words.gone}</p>`,
      });
    const { shown, reason, asked, session, agent, createdAtMs, expiresAtMs, log, state, tool } = approval;
    return drawer({
      key: id,
      title: tool,
      back,
      body: html`
        <div>
          <pre class="block" tabindex="0" aria-label=${words.whole}>${revealed(shown)}</pre>
          ${hasHidden(shown) ? html`<p class="quiet-text small">${words.hidden}</p>` : nothing}
        </div>
        ${facts([
          [words.why, reason],
          [words.who, html`<span class="lines">${asked}</span>`],
          [words.agent, agent],
          [words.session, copyable(session)],
          [words.asked, timeOf(createdAtMs, this.console.clock.now())],
          ...(state === "open"
            ? ([[words.expires, ago(expiresAtMs, this.console.clock.now())]] as const)
            : []),
        ])}
        ${
          log.length === 0
            ? nothing
            : html`<div>
                <h3>${words.log}</h3>
                <ol class="story">
                  ${log.map(
                    ({ atMs, what, by }) =>
                      html`<li>
                        ${clockOf(atMs)}<span class="dot"></span>
                        <div class="what">
                          <bdi>${what}</bdi> <span class="why"><bdi>${by}</bdi></span>
                        </div>
                      </li>`,
                  )}
                </ol>
              </div>`
        }
      `,
      foot: this.#decide(approval),
    });
  }

  #decide(approval: Approval): TemplateResult {
    const { id, state, always, agent } = approval;
    if (state !== "open") return html`<p role="status">${words.decided(words.states[state])}</p>`;
    if (!this.console.may("approve")) return html`<p class="quiet-text">${words.cannot}</p>`;
    const decide = (decision: Decision) => async (): Promise<string> => {
      const { say } = await this.console.call("approvals.resolve", {
        id,
        decision,
        idempotencyKey: this.console.ids.uuid(),
      });
      await this.#approvals.again();
      return say;
    };
    return html`<div class="act-row">
        ${act({ label: words.once, hint: "y", run: decide("once") })}
        ${act({ label: words.deny, look: "danger", hint: "n", run: decide("deny") })}
        ${always ? act({ label: words.always, look: "quiet", run: decide("always"), confirm: words.alwaysMeans(agent) }) : nothing}
      </div>
      <p class="quiet-text small">${always ? words.alwaysMeans(agent) : words.noAlways}</p>`;
  }
}
