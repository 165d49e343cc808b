// Shows what the nightly upkeep would change in the notes, line by line, and lets an operator take all of it,
// a part, or nothing.
import type { MethodParams, MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { addressOf } from "../parts/address.ts";
import { diffLine, signed } from "../parts/diff.ts";
import { unhidden } from "../parts/text.ts";
import { ago, timeOf } from "../parts/time.ts";
import { t } from "../texts/texts.ts";

type Proposal = MethodResult<"memory.proposals">["proposals"][number];

export interface Deciding {
  /** Changes that somebody does not want: `<proposal> <number>`. */
  readonly left: ReadonlySet<string>;
  readonly mayDecide: boolean;
  readonly nowMs: number;
  readonly onLeave: (name: string, isLeft: boolean) => void;
  readonly decide: (
    id: string,
    decision: "accept" | "refuse",
    some: Pick<MethodParams<"memory.decide">, "changes">,
  ) => Promise<string>;
}

const words = t.memory;

export function proposalsView(proposals: readonly Proposal[], deciding: Deciding): unknown {
  const open = proposals.filter(({ state }) => state === "open" || state === "accepting");
  const decided = proposals.filter((each) => !open.includes(each));
  if (proposals.length === 0) return nothing;
  const { nowMs } = deciding;
  return html`<section class="card">
    <h2>${words.proposals}</h2>
    <p class="quiet-text small">${words.proposalsHelp}</p>
    ${open.map((each) => proposalView(each, deciding))}
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
                      ${timeOf(createdAtMs, nowMs)}
                    </span>
                  </li>`,
              )}
            </ul>
          </details>`
    }
  </section>`;
}

function proposalView(
  { id, agent, turn, state, createdAtMs, expiresAtMs, changes }: Proposal,
  { left, mayDecide, nowMs, onLeave, decide }: Deciding,
): TemplateResult {
  const isMine = state === "open" && mayDecide;
  const taken = changes.map((_, at) => at + 1).filter((number) => !left.has(`${id} ${number}`));
  const accept = (): Promise<string> =>
    decide(id, "accept", taken.length < changes.length ? { changes: taken } : {});
  return html`<div class="proposal" data-key=${id}>
    <p class="quiet-text small">
      <bdi>${agent}</bdi> · ${timeOf(createdAtMs, nowMs)} ·
      <a href=${addressOf("why", [turn])}>${words.story}</a> · ${words.until(ago(expiresAtMs, nowMs))}
      ${state === "open" ? nothing : html`· ${words.proposalStates[state]}`}
    </p>
    ${changes.map((change, at) => {
      const name = `${id} ${at + 1}`;
      const leave = isMine && changes.length > 1 ? (isLeft: boolean) => onLeave(name, isLeft) : null;
      return proposedView(change, at + 1, left.has(name), leave);
    })}
    ${
      isMine
        ? html`<div class="act-row after">
            ${
              taken.length === 0
                ? nothing
                : act({
                    label: words.accept(taken.length, changes.length),
                    confirm: words.acceptMeans,
                    run: accept,
                  })
            }
            ${act({ label: words.refuse, look: "quiet", confirm: words.refuseMeans, run: () => decide(id, "refuse", {}) })}
          </div>`
        : nothing
    }
  </div>`;
}

function proposedView(
  { kind, lines, text, why, untrusted }: Proposal["changes"][number],
  number: number,
  isLeft: boolean,
  onLeave: ((isLeft: boolean) => void) | null,
): TemplateResult {
  return html`<div class="after">
    <p class="small">
      ${
        onLeave !== null
          ? html`<input
              type="checkbox"
              aria-label=${words.takeThis(number)}
              .checked=${!isLeft}
              @change=${({ target }: Event) => onLeave(!(target as HTMLInputElement).checked)}
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
