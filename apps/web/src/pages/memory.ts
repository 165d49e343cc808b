// Searches the notes that agents keep, tells who had a line written, decides what the nightly upkeep
// proposes, takes changes back, and forgets.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { diffLine } from "../parts/diff.ts";
import { drawer, facts } from "../parts/drawer.ts";
import { form } from "../parts/form.ts";
import { Page } from "../parts/page.ts";
import { wordsOf } from "../parts/reading.ts";
import { copyable, unhidden } from "../parts/text.ts";
import { ago, timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type Found = MethodResult<"memory.search">;
type Forgetting = MethodResult<"memory.forget">;
type Change = MethodResult<"memory.history">["changes"][number];
type Proposal = MethodResult<"memory.proposals">["proposals"][number];

const words = t.memory;

export class Memory extends Page {
  readonly #memory = this.reading(
    async () => {
      const agent = this.#agent;
      const query = this.#query;
      const [{ agents }, { proposals }, { changes }, found] = await Promise.all([
        this.console.call("agents.list", {}),
        this.console.call("memory.proposals", agent),
        this.console.call("memory.history", { ...agent, limit: 50 }),
        query === null ? null : this.console.call("memory.search", { ...agent, query, maxResults: 30 }),
      ]);
      return { agents, proposals, changes, found };
    },
    30_000,
    () => this.address.query.toString(),
  );
  readonly #why = this.reading(
    async () => {
      const [line] = this.address.rest;
      return line === undefined ? null : this.console.call("memory.why", { ...this.#agent, line });
    },
    30_000,
    () => `${this.address.rest[0] ?? ""} ${this.address.query.get("agent") ?? ""}`,
  );
  #forgetting: { readonly query: string; readonly seen: Forgetting } | null = null;
  #wrong: string | null = null;
  /** Changes of proposals that somebody does not want: `<proposal> <number>`. */
  readonly #left = new Set<string>();

  get #agent(): { readonly agent?: string } {
    const agent = this.address.query.get("agent");
    return agent === null ? {} : { agent };
  }

  get #query(): string | null {
    return this.address.query.get("q");
  }

  #to(rest: readonly string[], query: { readonly q?: string; readonly agent?: string } = {}): string {
    const agent = query.agent ?? this.address.query.get("agent");
    return addressOf("memory", rest, { q: query.q ?? this.#query, agent });
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#memory,
      body: () => this.#body(),
      drawer: this.#drawer(),
    });
  }

  #body(): TemplateResult {
    const { agents = [], proposals = [], changes = [], found = null } = this.#memory.value ?? {};
    const chosen = this.address.query.get("agent");
    return html`<div class="narrow">
      ${form({
        fields: [
          { name: "q", label: words.query, help: words.queryHelp, required: true, value: this.#query ?? "" },
          ...(agents.length < 2
            ? []
            : [
                {
                  name: "agent",
                  label: words.agent,
                  kind: "choice" as const,
                  choices: agents.map(({ id }) => id),
                  value: chosen ?? agents.find(({ isDefault }) => isDefault)?.id ?? "",
                },
              ]),
        ],
        submit: words.search,
        onSubmit: ({ q = "", agent = "" }) =>
          this.console.go(this.#to([], agent === "" ? { q } : { q, agent })),
      })}
      ${found === null ? nothing : this.#found(found)} ${this.#proposals(proposals)} ${this.#history(changes)}
      ${this.console.may("admin") ? this.#forget() : nothing}
    </div>`;
  }

  #found({ results, notes, mode }: Found): TemplateResult {
    return html`<section class="card" aria-live="polite">
      <h2>${words.found(results.length)}</h2>
      <p class="quiet-text small">${words.modes[mode]} ${notes.map((note) => html`· <bdi>${note}</bdi> `)}</p>
      <ul class="plain-list">
        ${results.map(
          ({ path, startLine, endLine, heading, snippet, scope, untrusted, source }) =>
            html`<li>
              <div>
                ${
                  source === "memory"
                    ? html`<a href=${this.#to([`${path}#${startLine}`])}
                        ><bdi>${unhidden(path)}</bdi>:${startLine}–${endLine}</a
                      >`
                    : html`<bdi>${unhidden(path)}</bdi>:${startLine}–${endLine}`
                }
                <span class="quiet-text"><bdi>${unhidden(heading)}</bdi> · ${scope}</span>
                ${untrusted === undefined ? nothing : html`<span class="badge warn">${words.untrusted}</span>`}
                <p class="lines"><bdi>${unhidden(snippet)}</bdi></p>
              </div>
            </li>`,
        )}
      </ul>
    </section>`;
  }

  #proposals(proposals: readonly Proposal[]): unknown {
    const open = proposals.filter(({ state }) => state === "open" || state === "accepting");
    const decided = proposals.filter((each) => !open.includes(each));
    if (proposals.length === 0) return nothing;
    const now = this.console.clock.now();
    return html`<section class="card">
      <h2>${words.proposals}</h2>
      <p class="quiet-text small">${words.proposalsHelp}</p>
      ${open.map((each) => this.#proposal(each))}
      ${
        decided.length === 0
          ? nothing
          : html`<details class="fold">
              <summary>${words.decided} <span class="quiet-text number">${decided.length}</span></summary>
              <ul class="plain-list">
                ${decided.map(
                  ({ state, said, createdAtMs, by }) =>
                    html`<li>
                      <span class="badge ${state === "accepted" ? "ok" : "off"}"
                        >${words.proposalStates[state]}</span
                      >
                      <span><bdi>${unhidden(said)}</bdi></span>
                      <span class="quiet-text end">
                        ${by === undefined ? nothing : html`<bdi>${unhidden(by)}</bdi> · `}
                        ${timeOf(createdAtMs, now)}
                      </span>
                    </li>`,
                )}
              </ul>
            </details>`
      }
    </section>`;
  }

  #proposal({ id, agent, turn, state, createdAtMs, expiresAtMs, changes }: Proposal): TemplateResult {
    const now = this.console.clock.now();
    const isMine = state === "open" && this.console.may("admin");
    const taken = changes.map((_, at) => at + 1).filter((number) => !this.#left.has(`${id} ${number}`));
    const decide = async (decision: "accept" | "refuse"): Promise<string> => {
      const some = decision === "accept" && taken.length < changes.length ? { changes: taken } : {};
      const { said } = await this.console.call("memory.decide", { id, decision, ...some });
      await this.#memory.again();
      return said;
    };
    return html`<div class="proposal" data-key=${id}>
      <p class="quiet-text small">
        <bdi>${agent}</bdi> · ${timeOf(createdAtMs, now)} ·
        <a href=${addressOf("why", [turn])}>${words.story}</a> · ${words.until(ago(expiresAtMs, now))}
        ${state === "open" ? nothing : html`· ${words.proposalStates[state]}`}
      </p>
      ${changes.map((change, at) => this.#proposed(change, id, at + 1, isMine && changes.length > 1))}
      ${
        isMine
          ? html`<div class="act-row after">
              ${
                taken.length === 0
                  ? nothing
                  : act({
                      label: words.accept(taken.length, changes.length),
                      confirm: words.acceptMeans,
                      run: () => decide("accept"),
                    })
              }
              ${act({ label: words.refuse, look: "quiet", confirm: words.refuseMeans, run: () => decide("refuse") })}
            </div>`
          : nothing
      }
    </div>`;
  }

  #proposed(
    { kind, lines, text, why, untrusted }: Proposal["changes"][number],
    id: string,
    number: number,
    mayLeave: boolean,
  ): TemplateResult {
    const name = `${id} ${number}`;
    return html`<div class="after">
      <p class="small">
        ${
          mayLeave
            ? html`<input
                type="checkbox"
                aria-label=${words.takeThis(number)}
                .checked=${!this.#left.has(name)}
                @change=${({ target }: Event) => {
                  if ((target as HTMLInputElement).checked) this.#left.delete(name);
                  else this.#left.add(name);
                  this.requestUpdate();
                }}
              />`
            : nothing
        }
        <b>${words.kinds[kind]}</b> <bdi>${unhidden(why)}</bdi>
        ${
          untrusted === undefined
            ? nothing
            : html`<span class="badge warn">${words.untrusted}</span>
                <bdi class="lines">${unhidden(untrusted)}</bdi>`
        }
      </p>
      <div class="diff">
        ${lines.map(({ path, line, text: was }, at) =>
          text === null && at === 0
            ? diffLine({ kind: "same", text: `${path}:${line} ${was}` })
            : signed(`${path}:${line} ${was}`, "removed"),
        )}
        ${text === null ? nothing : signed(text, "added")}
      </div>
      ${text === null ? html`<p class="quiet-text small">${words.superseded}</p>` : nothing}
    </div>`;
  }

  #history(changes: readonly Change[]): TemplateResult {
    const now = this.console.clock.now();
    return html`<section class="card">
      <h2>${words.history}</h2>
      ${
        changes.length === 0
          ? html`<p class="quiet-text small">${words.noHistory}</p>`
          : html`<ul class="plain-list stacked">
              ${changes.map(
                ({ id, path, by, atMs, turn, removed, added, undoneAtMs }) =>
                  html`<li>
                    <div>
                      <bdi>${unhidden(path)}</bdi>
                      <span class="quiet-text">
                        <bdi>${unhidden(by.join(", "))}</bdi> · ${timeOf(atMs, now)} ·
                        <a href=${addressOf("why", [turn])}>${words.story}</a>
                      </span>
                      <div class="diff">${signed(removed, "removed")}${signed(added, "added")}</div>
                    </div>
                    ${
                      undoneAtMs !== undefined
                        ? html`<span class="badge off">${words.undone}</span>`
                        : this.console.may("admin")
                          ? act({
                              label: words.undo,
                              look: "quiet",
                              confirm: words.undoMeans,
                              run: async () => {
                                await this.console.call("memory.undo", { ...this.#agent, id });
                                await this.#memory.again();
                                return undefined;
                              },
                            })
                          : nothing
                    }
                  </li>`,
              )}
            </ul>`
      }
    </section>`;
  }

  #forget(): TemplateResult {
    const { query = "", seen = null } = this.#forgetting ?? {};
    return html`<section class="card">
      <h2>${words.forget}</h2>
      ${form({
        fields: [{ name: "forget", label: words.forgetWhat, help: words.forgetHelp, required: true }],
        submit: words.preview,
        wrong: this.#wrong,
        onSubmit: ({ forget = "" }) => void this.#preview(forget),
      })}
      ${
        seen === null
          ? nothing
          : html`<div class="after" role="status">
              ${
                seen.done
                  ? html`<p class="badge ok">${words.forgot(seen.lines.length, seen.history ?? 0)}</p>`
                  : html`<h3>${words.wouldForget(query, seen.lines.length)}</h3>`
              }
              <div class="diff">
                ${seen.lines.map(({ path, line, text }) => signed(`${path}:${line} ${text}`, "removed"))}
              </div>
              ${seen.notes.map((note) => html`<p class="quiet-text small"><bdi>${note}</bdi></p>`)}
              ${
                seen.done || seen.lines.length === 0
                  ? nothing
                  : html`<div class="after">
                      ${act({
                        label: words.forgetNow(seen.lines.length),
                        look: "danger",
                        confirm: words.forgetMeans,
                        run: async () => {
                          const done = await this.console.call("memory.forget", {
                            ...this.#agent,
                            query,
                            confirm: true,
                          });
                          this.#forgetting = { query, seen: done };
                          await this.#memory.again();
                          return undefined;
                        },
                      })}
                    </div>`
              }
            </div>`
      }
    </section>`;
  }

  async #preview(query: string): Promise<void> {
    try {
      this.#forgetting = { query, seen: await this.console.call("memory.forget", { ...this.#agent, query }) };
      this.#wrong = null;
    } catch (error) {
      [this.#forgetting, this.#wrong] = [null, wordsOf(error)];
    }
    this.requestUpdate();
  }

  #drawer(): TemplateResult | null {
    const [line] = this.address.rest;
    if (line === undefined) return null;
    const { value: why, trouble } = this.#why;
    return drawer({
      key: line,
      title: words.why,
      back: this.#to([]),
      body:
        why === null
          ? html`<p class=${trouble === null ? "quiet-text" : "trouble"} role="status">
              ${trouble === null ? t.list.loading : t.reading.failed(trouble)}
            </p>`
          : why.lines.map(
              ({ path, line: number, text, writtenBy }) =>
                html`<div>
                  <pre class="block" tabindex="0" aria-label=${words.line}>${unhidden(text)}</pre>
                  <p class="quiet-text small"><bdi>${unhidden(path)}</bdi>:${number}</p>
                  ${
                    writtenBy.length === 0
                      ? html`<p class="small">${words.nobody}</p>`
                      : writtenBy.map(({ session, turn, by, atMs, tool, untrusted }) =>
                          facts([
                            [words.by, html`<bdi>${unhidden(by.join(", "))}</bdi>`],
                            [words.when, timeOf(atMs, this.console.clock.now())],
                            [words.tool, html`<code><bdi>${tool}</bdi></code>`],
                            [words.session, copyable(session, 44)],
                            [words.turn, html`<a href=${addressOf("why", [turn])}>${words.story}</a>`],
                            ...(untrusted === undefined
                              ? []
                              : ([[words.untrusted, html`<bdi>${unhidden(untrusted)}</bdi>`]] as const)),
                          ]),
                        )
                  }
                </div>`,
            ),
    });
  }
}

function signed(text: string, kind: "removed" | "added"): unknown {
  return text === "" ? nothing : text.split("\n").map((line) => diffLine({ kind, text: line }));
}
