// A small plot of a few dozen values: bars, the exact value of each on hover, and all of them for screen
// readers.
import { html, svg, type TemplateResult } from "lit";
import { t } from "../texts/texts.ts";

const height = 40;
const step = 8;

export function plot(parts: {
  readonly label: string;
  readonly points: readonly { readonly name: string; readonly value: number }[];
  readonly shown?: (value: number) => string;
}): TemplateResult {
  const { label, points, shown = (value: number) => value.toLocaleString("en") } = parts;
  const most = Math.max(1e-9, ...points.map(({ value }) => value));
  const last = points.at(-1);
  return html`<figure class="plot">
    <figcaption>
      <span>${label}</span
      >${last === undefined ? "" : html`<span>${last.name} <b>${shown(last.value)}</b></span>`}
    </figcaption>
    <svg
      viewBox="0 0 ${Math.max(1, points.length) * step} ${height}"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      ${points.map(({ name, value }, index) => {
        const tall = value === 0 ? 1 : Math.max(2, (value / most) * height);
        return svg`<g>
          <rect class="bar" x=${index * step + 1} y=${height - tall} width=${step - 2} height=${tall} rx="1"></rect>
          <rect class="hit" x=${index * step} y="0" width=${step} height=${height}>
            <title>${t.plot.exact(name, shown(value))}</title>
          </rect>
        </g>`;
      })}
    </svg>
    <ul class="sr-only">
      ${points.map(({ name, value }) => html`<li>${t.plot.exact(name, shown(value))}</li>`)}
    </ul>
  </figure>`;
}
