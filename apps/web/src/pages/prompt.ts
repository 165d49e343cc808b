// Shows what an agent is told, section by section: the zone and size of each, why it is in or out, the text
// with the line up to which a provider keeps it, and what changed since another turn.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, svg, type TemplateResult } from "lit";
import { diffLines, diffView } from "../parts/diff.ts";
import { empty } from "../parts/empty.ts";
import { Page } from "../parts/page.ts";
import { sessionWords, unhidden } from "../parts/text.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type Explained = MethodResult<"prompt.explain">;
type Shown = MethodResult<"prompt.show">;
type Section = Explained["explanation"]["sections"][number];

interface View {
  readonly sessions: MethodResult<"sessions.list">["sessions"];
  readonly explained: Explained;
  /** Number of the session's last turn; 0: it has none. */
  readonly last: number;
  /** Null for a token that may not read the agents' files. */
  readonly shown: Shown | null;
  readonly before: { readonly explained: Explained; readonly shown: Shown | null } | null;
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
    return html`${this.#choices(view)} ${budget(explanation)}
      <div class="prompt">
        ${sectionList(explanation.sections)} ${tools(explanation)} ${this.#text(view)} ${changes(view)}
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
    const named = sessions.map(({ key, name }) => ({ key, name: name ?? sessionWords(key) }));
    const all = known ? named : [{ key: session, name: sessionWords(session) }, ...named];
    return html`<div class="choosers">
      <label
        >${words.session}
        <select @change=${({ target }: Event) => go({ session: (target as HTMLSelectElement).value })}>
          ${all.map(({ key, name }) => html`<option value=${key} ?selected=${key === session}>${unhidden(name)}</option>`)}
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

/** The text of each section; null where it does not come out even, since a provider's overlay changed it. */
function partsOf(
  sections: readonly Section[],
  text: string,
  boundary: number,
): readonly { readonly section: Section; readonly part: string }[] | null {
  const gap = 2;
  let at = 0;
  const included = sections.filter(({ included: isIn }) => isIn);
  const ordered = [
    ...included.filter(({ zone }) => zone === "stable"),
    ...included.filter(({ zone }) => zone === "volatile"),
  ];
  const parts = ordered.map((section) => {
    const part = text.slice(at, at + section.chars);
    at += section.chars + gap;
    return { section, part };
  });
  const stable = parts.filter(({ section }) => section.zone === "stable");
  const stableChars = stable.reduce((sum, { part }) => sum + part.length + gap, -gap);
  return at - gap === text.length && stableChars === boundary ? parts : null;
}

function budget(explanation: Explained["explanation"]): TemplateResult {
  const { tokens, stableTokens, volatileTokens, tools: schemas, mode, estimator } = explanation;
  const toolTokens = schemas.reduce((sum, { tokens: each }) => sum + each, 0);
  const count = (value: number): string => value.toLocaleString("en");
  return html`<p class="small number budget">
    <b>${words.tokens(count(tokens))}</b> · ${words.stable(count(stableTokens))} ·
    ${words.volatile(count(volatileTokens))} · ${words.toolTokens(count(toolTokens))} ·
    <span class="quiet-text">${words.mode(mode)}, ${words.estimated(estimator)}</span>
  </p>`;
}

function sectionList(sections: readonly Section[]): TemplateResult {
  const most = Math.max(1, ...sections.map(({ tokens }) => tokens));
  return html`<section class="card">
    <h2>${words.sections}</h2>
    <ul class="plain-list">
      ${sections.map(
        ({ id, zone, tokens, included, reason }) =>
          html`<li>
            <div>
              <div class="line">
                <button class="plain link" @click=${({ currentTarget }: Event) => show(currentTarget, id)}>
                  ${id}
                </button>
                <span class="badge ${included ? (zone === "stable" ? "ok" : "") : "off"}">
                  ${included ? words.zones[zone] : words.out}
                </span>
                <span class="number end">${tokens.toLocaleString("en")}</span>
              </div>
              ${bar(tokens / most)}
              <p class="quiet-text"><bdi>${reason}</bdi></p>
            </div>
          </li>`,
      )}
    </ul>
  </section>`;
}

function show(from: EventTarget | null, id: string): void {
  if (from instanceof Element)
    from
      .closest(".prompt")
      ?.querySelector(`#${CSS.escape(`part-${id}`)}`)
      ?.scrollIntoView({ block: "start" });
}

function tools({ tools: schemas }: Explained["explanation"]): TemplateResult {
  const most = Math.max(1, ...schemas.map(({ tokens }) => tokens));
  return html`<section class="card tools-column">
    <h2>${words.tools}</h2>
    <ul class="plain-list">
      ${schemas
        .toSorted((a, b) => b.tokens - a.tokens)
        .map(
          ({ name, tokens }) =>
            html`<li>
              <div>
                <div class="line">
                  <code><bdi>${name}</bdi></code
                  ><span class="number end">${tokens.toLocaleString("en")}</span>
                </div>
                ${bar(tokens / most)}
              </div>
            </li>`,
        )}
    </ul>
  </section>`;
}

function bar(share: number): TemplateResult {
  return html`<svg class="token-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
    ${svg`<rect class="bar" width=${share === 0 ? 0 : Math.max(1, share * 100)} height="4"></rect>`}
  </svg>`;
}

function changes({ explained, shown, before }: View): TemplateResult {
  return html`<section class="card change-column">
    <h2>${words.changed}</h2>
    ${
      before === null
        ? html`<p class="quiet-text small">${words.noBefore}</p>`
        : html`<p class="badge ${before.explained.stableHash === explained.stableHash ? "ok" : "warn"}">
              ${before.explained.stableHash === explained.stableHash ? words.kept : words.lost}
            </p>
            <ul class="plain-list">
              ${[
                ...moved(
                  words.section,
                  before.explained.explanation.sections,
                  explained.explanation.sections,
                  idOf,
                ),
                ...moved(words.file, before.explained.explanation.files, explained.explanation.files, nameOf),
                ...moved(words.tool, before.explained.explanation.tools, explained.explanation.tools, nameOf),
              ].map(
                ({ what, name, change }) =>
                  html`<li>
                    ${what} <code><bdi>${name}</bdi></code> <span class="quiet-text end">${change}</span>
                  </li>`,
              )}
            </ul>
            ${
              shown === null || before.shown === null
                ? nothing
                : before.shown.text === shown.text
                  ? html`<p class="quiet-text small">${words.same}</p>`
                  : diffView(words.changed, diffLines(before.shown.text, shown.text))
            }`
    }
  </section>`;
}

const idOf = ({ id }: { readonly id: string }): string => id;
const nameOf = ({ name }: { readonly name: string }): string => name;

/** What came, went or is other, by its hash; what is left out has none. */
function moved<T extends { readonly hash: string }>(
  what: string,
  before: readonly T[],
  after: readonly T[],
  name: (one: T) => string,
): { readonly what: string; readonly name: string; readonly change: string }[] {
  const hashes = (all: readonly T[]): Map<string, string> =>
    new Map(all.filter(({ hash }) => hash !== "").map((one) => [name(one), one.hash]));
  const [old, fresh] = [hashes(before), hashes(after)];
  return [...new Set([...old.keys(), ...fresh.keys()])].flatMap((each) => {
    if (old.get(each) === fresh.get(each)) return [];
    const change = old.has(each)
      ? fresh.has(each)
        ? words.changes.changed
        : words.changes.removed
      : words.changes.added;
    return [{ what, name: each, change }];
  });
}
