// Says times as people do, with the exact one on hover and for screen readers.
import { html, type TemplateResult } from "lit";
import { t } from "../texts/texts.ts";
import { once } from "./once.ts";

const units: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
];
/** Made once, and only when the first time is shown: each takes milliseconds. */
const relative = once(() => new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" }));
const exact = once(() => new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium" }));
const clockTime = once(() => new Intl.DateTimeFormat("en", { timeStyle: "medium", hourCycle: "h23" }));

export function ago(atMs: number, nowMs: number): string {
  const byMs = atMs - nowMs;
  const [unit, unitMs] = units.find(([, each]) => Math.abs(byMs) >= each) ?? ["second", 1_000];
  return Math.abs(byMs) < 1_000 ? t.time.now : relative().format(Math.trunc(byMs / unitMs), unit);
}

export function timeOf(atMs: number | null | undefined, nowMs: number): TemplateResult {
  if (atMs === null || atMs === undefined) return html`<span class="quiet-text">${t.time.never}</span>`;
  const at = new Date(atMs);
  return html`<time datetime=${at.toISOString()} title=${exact().format(at)}>${ago(atMs, nowMs)}</time>`;
}

/** Hours, minutes and seconds, for a story. */
export function clockOf(atMs: number): TemplateResult {
  const at = new Date(atMs);
  return html`<time datetime=${at.toISOString()} title=${exact().format(at)}
    >${clockTime().format(at)}</time
  >`;
}

export function duration(forMs: number): string {
  // What would be rounded up to the next unit is said in it.
  if (forMs < 999.5) return t.time.ms(forMs);
  if (forMs < 59_500) return t.time.s(forMs / 1_000);
  const seconds = Math.round(forMs / 1_000);
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? t.time.min(minutes, seconds % 60) : t.time.h(Math.floor(minutes / 60), minutes % 60);
}
