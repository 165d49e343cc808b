// Tells one message as a story, from the platform's event to the receipts of its answer: each with its time,
// what it took and why. The same under a message in Chat and in a drawer.
import type { DeliveryStory, Story, StoryTurn } from "@parley/protocol";
import { html, nothing, svg, type TemplateResult } from "lit";
import { t } from "../texts/texts.ts";
import { unhidden } from "./text.ts";
import { clockOf, duration } from "./time.ts";

interface Moment {
  readonly atMs: number | null;
  readonly forMs?: number;
  readonly what: string;
  readonly why?: string | null;
  readonly look?: "waits" | "broken";
}

export function storyView(story: Story): TemplateResult {
  const moments = [
    ...arrival(story),
    ...(story.turn === null ? [] : turnMoments(story.turn)),
    ...story.deliveries.flatMap(deliveryMoments),
    ...(story.now === null
      ? []
      : [{ atMs: null, what: t.story.now, why: story.now, look: "waits" as const }]),
  ];
  const longestMs = Math.max(1, ...moments.map(({ forMs = 0 }) => forMs));
  return html`<ol class="story">
    ${moments.map(
      ({ atMs, forMs, what, why, look = "" }) =>
        html`<li class=${look}>
          ${atMs === null ? html`<span></span>` : clockOf(atMs)}
          <span class="dot" aria-hidden="true"></span>
          <div class="what">
            <bdi>${unhidden(what)}</bdi
            >${forMs === undefined ? nothing : html` <span class="number">${duration(forMs)}</span>`}
            ${why === null || why === undefined || why === "" ? nothing : html`<div class="why"><bdi>${unhidden(why)}</bdi></div>`}
            ${forMs === undefined ? nothing : span(forMs / longestMs)}
          </div>
        </li>`,
    )}
  </ol>`;
}

function span(share: number): TemplateResult {
  return html`<svg class="span" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
    ${svg`<rect class="bar" width=${Math.max(1, share * 100)} height="4" fill="currentColor" opacity="0.35"></rect>`}
  </svg>`;
}

function arrival({ row, admitted, waitedMs, waitedFor }: Story): Moment[] {
  return [
    {
      atMs: row.receivedAtMs,
      what: row.sender === null ? t.story.arrivedUnknown : t.story.arrived(row.sender),
      why: row.text,
    },
    ...(admitted
      ? []
      : [{ atMs: row.receivedAtMs, what: t.story.refused, why: row.reason, look: "broken" as const }]),
    ...(waitedMs < 50
      ? []
      : [
          {
            atMs: row.receivedAtMs,
            forMs: waitedMs,
            what: t.story.waited(""),
            why: waitedFor.join(", "),
            look: "waits" as const,
          },
        ]),
  ];
}

function turnMoments(turn: StoryTurn): Moment[] {
  const { openedAtMs, endedAtMs, attempt, rows, steps, state, stop } = turn;
  return [
    {
      atMs: openedAtMs,
      what: t.story.turn(attempt),
      why: rows.length > 1 ? t.story.rows(rows.length) : null,
    },
    ...steps.map(({ kind, name, end }) => ({
      atMs: null,
      what: kind === "joined" ? t.story.joined : t.story[kind](name),
      why: end,
      ...(end === "failed" || end === "error" ? { look: "broken" as const } : {}),
    })),
    {
      atMs: endedAtMs,
      ...(endedAtMs === null ? {} : { forMs: endedAtMs - openedAtMs }),
      what: stop === null ? t.story.turnNow[state] : t.story.turnEnded(stop),
      why: t.story.tokens(turn.inputTokens, turn.outputTokens),
      ...(state === "done" ? {} : { look: "waits" as const }),
    },
  ];
}

function deliveryMoments({ conversation, createdAtMs, parts, text }: DeliveryStory): Moment[] {
  return [
    { atMs: createdAtMs, what: t.story.delivery(conversation), why: text },
    ...parts.map(({ state, attempts, flagged, reason, startedAtMs }, index) => ({
      atMs: startedAtMs,
      what: t.story.part(state, index + 1, parts.length),
      why: [reason, attempts > 1 ? t.story.attempts(attempts) : null, flagged ? t.story.twice : null]
        .filter((each) => each !== null)
        .join("; "),
      ...(state === "failed" || state === "ambiguous"
        ? { look: "broken" as const }
        : state === "sent"
          ? {}
          : { look: "waits" as const }),
    })),
  ];
}
