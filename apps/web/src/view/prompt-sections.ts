// Draws what a prompt is made of: its size, each section with its zone and reason, the tools, and the text
// cut into its sections.
import type { MethodResult } from "@parley/protocol";
import { html, svg, type TemplateResult } from "lit";
import { t } from "../texts/texts.ts";

type Explanation = MethodResult<"prompt.explain">["explanation"];
type Section = Explanation["sections"][number];

const words = t.prompt;

/** The text of each section; null where it does not come out even, since a provider's overlay changed it. */
export function partsOf(
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

export function budgetLine(explanation: Explanation): TemplateResult {
  const { tokens, stableTokens, volatileTokens, tools: schemas, mode, estimator } = explanation;
  const toolTokens = schemas.reduce((sum, { tokens: each }) => sum + each, 0);
  const count = (value: number): string => value.toLocaleString("en");
  return html`<p class="small number budget">
    <b>${words.tokens(count(tokens))}</b> · ${words.stable(count(stableTokens))} ·
    ${words.volatile(count(volatileTokens))} · ${words.toolTokens(count(toolTokens))} ·
    <span class="quiet-text">${words.mode(mode)}, ${words.estimated(estimator)}</span>
  </p>`;
}

export function sectionList(sections: readonly Section[]): TemplateResult {
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

export function toolList({ tools: schemas }: Explanation): TemplateResult {
  const most = Math.max(1, ...schemas.map(({ tokens }) => tokens));
  return html`<section class="card">
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
