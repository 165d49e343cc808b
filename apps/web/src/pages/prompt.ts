// Shows what an agent is told, section by section: the zone and size of each, why it is in or out, the text
// with the line up to which a provider keeps it, and what changed since another turn.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { empty } from "../parts/empty.ts";
import { Page } from "../parts/page.ts";
import { sessionTitle, sessionWords, unhidden } from "../parts/text.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";
import { changes, type TurnPrompt } from "../view/prompt-changes.ts";
import { budgetLine, partsOf, sectionList, toolList } from "../view/prompt-sections.ts";

type Shown = MethodResult<"prompt.show">;
type Section = TurnPrompt["explained"]["explanation"]["sections"][number];

interface View extends TurnPrompt {
  readonly sessions: MethodResult<"sessions.list">["sessions"];
  /** Number of the session's last turn; 0: it has none. */
  readonly last: number;
  readonly before: TurnPrompt | null;
}

const words = t.prompt;
const mostTurns = 50;

export class Prompt extends Page {
  readonly #view = this.reading(
    () => this.#read(),
    30_000,
    () => `${this.address.rest[0] ?? ""} ${this.address.query.toString()}`,
  );

  async #read(): Promise<View> {
    const { call } = this.console;
    const session = this.address.rest[0];
    const which = (turn: number | null): { session?: string; turn?: number } => ({
      ...(session === undefined ? {} : { session }),
      ...(turn === null ? {} : { turn }),
    });
    const show = async (turn: number | null): Promise<Shown | null> =>
      this.console.may("admin") ? call("prompt.show", which(turn)) : null;
    const turn = this.#number("turn");
    const [{ sessions }, explained, shown, newest] = await Promise.all([
      call("sessions.list", { limit: 100 }),
      call("prompt.explain", which(turn)),
      show(turn),
      // A session that had no turn yet has no last one.
      call("prompt.explain", which(-1)).catch(() => null),
    ]);
    const last = newest?.turn ?? 0;
    const since = this.#number("since") ?? explained.moved?.since.turn ?? null;
    const before =
      since === null
        ? null
        : await Promise.all([call("prompt.explain", which(since)), show(since)]).then(
            ([then, text]) => ({ explained: then, shown: text }),
            // The texts of old turns are kept no longer.
            () => null,
          );
    return { sessions, explained, shown, last, before };
  }

  #number(name: string): number | null {
    const value = Number(this.address.query.get(name));
    return Number.isInteger(value) && value > 0 ? value : null;
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#view,
      body: () => (this.#view.value === null ? nothing : this.#body(this.#view.value)),
    });
  }

  #body(view: View): TemplateResult {
    const { explanation } = view.explained;
    if (explanation.sections.length === 0) return empty(words);
    return html`${this.#choices(view)} ${budgetLine(explanation)}
      <div class="prompt">
        ${sectionList(explanation.sections)} ${toolList(explanation)} ${this.#text(view)}
        ${changes(view, view.before)}
      </div>`;
  }

  #choices({ sessions, explained, last, before }: View): TemplateResult {
    const { session, turn } = explained;
    const numbers = Array.from({ length: Math.min(last, mostTurns) }, (_, index) => last - index);
    const go = (chosen: { session?: string; turn?: string; since?: string }): void => {
      const to = chosen.session ?? session;
      const query = { turn: chosen.turn ?? String(turn ?? ""), since: chosen.since ?? "" };
      const kept = to === session ? query : { turn: "", since: "" };
      this.console.go(addressOf("prompt", [to], { turn: kept.turn || null, since: kept.since || null }));
    };
    const known = sessions.some(({ key }) => key === session);
    const named = sessions.map(({ key, name }) => ({ key, name: sessionTitle({ key, name }) }));
    const all = known ? named : [{ key: session, name: sessionWords(session) }, ...named];
    return html`<div class="choosers">
      <label
        >${words.session}
        <select @change=${({ target }: Event) => go({ session: (target as HTMLSelectElement).value })}>
          ${all.map(({ key, name }) => html`<option value=${key} ?selected=${key === session}>${name}</option>`)}
        </select>
      </label>
      <label
        >${words.turn}
        <select @change=${({ target }: Event) => go({ turn: (target as HTMLSelectElement).value })}>
          <option value="" ?selected=${turn === null}>${words.now}</option>
          ${numbers.map((number) => html`<option value=${number} ?selected=${number === turn}>${words.turnNumber(number)}</option>`)}
        </select>
      </label>
      <label
        >${words.since}
        <select @change=${({ target }: Event) => go({ since: (target as HTMLSelectElement).value })}>
          <option value="">${words.before}</option>
          ${numbers
            .filter((number) => number !== turn)
            .map(
              (number) =>
                html`<option value=${number} ?selected=${number === before?.explained.turn}>
                  ${words.turnNumber(number)}
                </option>`,
            )}
        </select>
      </label>
    </div>`;
  }

  #text({ explained, shown }: View): TemplateResult {
    return html`<section class="card text-column">
      <h2>${words.text}</h2>
      ${shown === null ? html`<p class="quiet-text small">${words.cannot}</p>` : this.#parts(explained.explanation.sections, shown)}
    </section>`;
  }

  #parts(sections: readonly Section[], { text, boundary }: Shown): TemplateResult {
    const line = html`<p class="boundary">${words.boundary}</p>`;
    const pre = (part: string, label: string): TemplateResult =>
      html`<pre class="block" tabindex="0" aria-label=${label}>${unhidden(part)}</pre>`;
    const parts = partsOf(sections, text, boundary);
    if (parts === null)
      return html`${pre(text.slice(0, boundary), words.zones.stable)} ${line}
      ${pre(text.slice(boundary).trimStart(), words.zones.volatile)}`;
    return html`${parts.map(
      ({ section, part }, index) =>
        html`${section.zone === "volatile" && parts[index - 1]?.section.zone !== "volatile" ? line : nothing}
          <div id=${`part-${section.id}`}>
            <h3>${section.id}</h3>
            ${pre(part, section.id)}
          </div>`,
    )}`;
  }
}
