// Shows the calls of a turn's tools: one line each, which opens to what it was asked and what it gave back.
// All of it is text of others, and stays text.
import type { MethodResult } from "@parley/protocol";
import { css, html, nothing, type TemplateResult } from "lit";
import { guard } from "lit/directives/guard.js";
import { repeat } from "lit/directives/repeat.js";
import { unhidden } from "../../parts/text.ts";
import { duration } from "../../parts/time.ts";
import { t } from "../../texts/texts.ts";

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
  .tools-earlier {
    margin: 0 0 4px;
    font-size: var(--size-2);
  }
  .tools-earlier > summary {
    min-height: 32px;
    padding: 0 12px;
    color: var(--quiet);
    line-height: 32px;
    cursor: pointer;
  }
  .tools-earlier > summary b {
    color: var(--danger);
    font-weight: 600;
  }
  .tools-earlier > .tools {
    margin-bottom: 0;
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
    /* Room for how long it took, which is told later: what stands before it stays. */
    min-width: 104px;
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

/** Of more than twice as many calls the earlier ones are folded, so many at once. */
const fewCalls = 8;
/** A call that is closed is no lower, in pixels. */
const cardPx = 36;

/** How many of the earlier calls are folded where all of them are drawn for the first time. */
export function foldedAtFirst(count: number): number {
  return count < 2 * fewCalls ? 0 : Math.floor(count / fewCalls - 1) * fewCalls;
}

/** How many may be folded while somebody sees more come: only those above the `heightPx` that is seen. */
export function foldedOutOfSight(count: number, heightPx: number): number {
  return foldedAtFirst(Math.max(0, count - Math.ceil(heightPx / cardPx)));
}

/** `isOpen`: somebody looks at all of it, or does no longer. */
type CallLook = (call: string, isOpen: boolean) => void;

/**
 * Of many calls the earlier ones, `folded` of them, are one line until somebody opens it, so that a turn of
 * hundreds leaves room for what is said. What somebody looks at stays where it is.
 */
export function toolCards(
  calls: readonly ToolCall[],
  whole: ReadonlyMap<string, ToolCall>,
  look: CallLook,
  folded = foldedAtFirst(calls.length),
): TemplateResult {
  const opened = calls.findIndex(({ id }) => whole.has(id));
  const earlier = calls.slice(0, opened === -1 ? folded : Math.min(opened, folded));
  const failed = earlier.filter(({ state }) => state === "failed").length;
  return html`${
    earlier.length === 0
      ? nothing
      : html`<details class="tools-earlier">
          <summary>
            ${t.chat.earlierCalls(earlier.length)}${failed === 0 ? nothing : html` · <b>${t.chat.failedCalls(failed)}</b>`}
          </summary>
          ${cards(earlier, whole, look)}
        </details>`
  }
  ${cards(calls.slice(earlier.length), whole, look)}`;
}

function cards(
  calls: readonly ToolCall[],
  whole: ReadonlyMap<string, ToolCall>,
  look: CallLook,
): TemplateResult {
  return html`<ul class="tools" aria-label=${t.chat.tools}>
    ${repeat(
      calls,
      ({ turn, id }) => `${turn} ${id}`,
      (call) => {
        const known = whole.get(call.id);
        const all = known?.state === call.state ? known : call;
        // One that ends must not draw hundreds of others again.
        return guard([all.id, all.state, all.output.length], () => card(all, look));
      },
    )}
  </ul>`;
}

function card(call: ToolCall, look: CallLook): TemplateResult {
  const { id, tool, args, output, state, startedAtMs, endedAtMs } = call;
  return html`<li>
    <details class=${state} @toggle=${({ target }: Event) => look(id, (target as HTMLDetailsElement).open)}>
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
  </li>`;
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
