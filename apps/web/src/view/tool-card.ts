// Shows the calls of a turn's tools: one line each, which opens to what it was asked and what it gave back.
// All of it is text of others, and stays text.
import type { MethodResult } from "@parley/protocol";
import { css, html, nothing, type TemplateResult } from "lit";
import { unhidden } from "../parts/text.ts";
import { duration } from "../parts/time.ts";
import { t } from "../texts/texts.ts";

export type ToolCall = MethodResult<"chat.steps">["calls"][number];

export const toolStyles = css`
  .tools {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 4px;
    margin: 0 0 12px;
    padding: 0;
    list-style: none;
  }
  .tools details {
    border: 1px solid var(--line);
    border-radius: 8px;
    background: var(--surface);
    font-size: var(--size-2);
  }
  .tools summary {
    display: flex;
    align-items: center;
    gap: 8px;
    min-height: 32px;
    padding: 0 12px;
    cursor: pointer;
    list-style: none;
  }
  .tools summary::before {
    content: "";
    flex: none;
    width: 8px;
    height: 8px;
    border-radius: 50%;
    background: var(--ok);
  }
  .tools .failed summary::before {
    border-radius: 1px;
    background: var(--danger);
  }
  .tools .running summary::before {
    background: none;
    box-shadow: inset 0 0 0 2px var(--warn);
  }
  .tools summary b {
    font-weight: 600;
  }
  .tools .brief {
    flex: 1;
    min-width: 0;
    overflow: hidden;
    color: var(--quiet);
    font-family: var(--mono);
    font-size: var(--size-1);
    text-overflow: ellipsis;
    white-space: nowrap;
  }
  .tools .took {
    color: var(--quiet);
    font-variant-numeric: tabular-nums;
  }
  .tools .whole {
    display: grid;
    grid-template-columns: minmax(0, 1fr);
    gap: 4px;
    padding: 4px 12px 12px;
  }
  .tools h3 {
    margin: 4px 0 0;
    color: var(--quiet);
    font-size: var(--size-1);
    font-weight: 600;
  }
  .tools pre {
    max-height: 320px;
    margin: 0;
    padding: 8px 12px;
    border-radius: 8px;
    background: var(--sunken);
    font-family: var(--mono);
    font-size: var(--size-1);
    line-height: 1.5;
    overflow: auto;
    overflow-wrap: anywhere;
    white-space: pre-wrap;
  }
`;

export function toolCards(calls: readonly ToolCall[]): TemplateResult {
  return html`<ul class="tools" aria-label=${t.chat.tools}>
    ${calls.map(
      ({ tool, args, output, state, startedAtMs, endedAtMs }) =>
        html`<li>
          <details class=${state}>
            <summary>
              <b><bdi>${tool}</bdi></b>
              <span class="brief">${unhidden(brief(args))}</span>
              <span class="took"
                >${t.chat.toolStates[state]}${endedAtMs === null ? nothing : ` · ${duration(endedAtMs - startedAtMs)}`}</span
              >
            </summary>
            <div class="whole">
              <h3>${t.chat.toolArgs}</h3>
              <pre tabindex="0">${unhidden(args)}</pre>
              ${
                output === ""
                  ? nothing
                  : html`<h3>${t.chat.toolOutput}</h3>
                      <pre tabindex="0">${unhidden(output)}</pre>`
              }
            </div>
          </details>
        </li>`,
    )}
  </ul>`;
}

/** The first value that is text tells most: a command, a path, an address. */
function brief(args: string): string {
  try {
    const values = Object.values(JSON.parse(args) as object);
    return String(values.find((value) => typeof value === "string") ?? values[0] ?? "");
  } catch {
    // It was cut.
    return args.slice(0, 200);
  }
}
