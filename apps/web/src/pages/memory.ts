// Searches the notes that agents keep, tells who had a line written, decides what the nightly upkeep
// proposes, takes changes back, and forgets.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { signed } from "../parts/diff.ts";
import { drawer } from "../parts/drawer.ts";
import { form } from "../parts/form.ts";
import { Page } from "../parts/page.ts";
import { wordsOf } from "../parts/reading.ts";
import { unhidden } from "../parts/text.ts";
import { timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";
import { linesView } from "../view/memory-lines.ts";
import { proposalsView } from "../view/memory-proposals.ts";

type Found = MethodResult<"memory.search">;
type Forgetting = MethodResult<"memory.forget">;
type Change = MethodResult<"memory.history">["changes"][number];

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
      ${found === null ? nothing : this.#found(found)} ${this.#proposed(proposals)} ${this.#history(changes)}
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

  #proposed(proposals: MethodResult<"memory.proposals">["proposals"]): unknown {
    return proposalsView(proposals, {
      left: this.#left,
      mayDecide: this.console.may("admin"),
      nowMs: this.console.clock.now(),
      onLeave: (name, isLeft) => {
        if (isLeft) this.#left.add(name);
        else this.#left.delete(name);
        this.requestUpdate();
      },
      decide: async (id, decision, some) => {
        const { said } = await this.console.call("memory.decide", {
          id,
          decision,
          ...some,
          idempotencyKey: this.console.ids.uuid(),
        });
        await this.#memory.again();
        return said;
      },
    });
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
                                await this.console.call("memory.undo", {
                                  ...this.#agent,
                                  id,
                                  idempotencyKey: this.console.ids.uuid(),
                                });
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
          : linesView(why.lines, this.console.clock.now()),
    });
  }
}
