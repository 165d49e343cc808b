// Answers three questions in one screen: is it well and what is the one thing to do, what waits for a person,
// and what happened since one looked.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { Page } from "../parts/page.ts";
import { plot } from "../parts/plot.ts";
import { sessionTitle, sessionWords, unhidden } from "../parts/text.ts";
import { duration, timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

const words = t.overview;
const lookedName = "parley.overview.looked-at";
const mostLanes = 12;
const looks = {
  ok: "ok",
  degraded: "warn",
  down: "danger",
  starting: "warn",
  stopped: "off",
  elsewhere: "off",
} as const;

interface View {
  readonly status: MethodResult<"status">;
  readonly approvals: number;
  readonly questions: number;
  readonly pairings: number;
  readonly cron: MethodResult<"cron.status"> | null;
  readonly sessions: MethodResult<"sessions.list">["sessions"];
  readonly lanes: MethodResult<"lanes.list"> | null;
  readonly usage: MethodResult<"usage"> | null;
}

export class Overview extends Page {
  #lookedAtMs: number | null = null;
  readonly #view = this.reading(() => this.#read());

  override connectedCallback(): void {
    super.connectedCallback();
    const { storage, clock } = this.console;
    this.#lookedAtMs ??= Number(storage.getItem(lookedName) ?? 0);
    storage.setItem(lookedName, String(clock.now()));
  }

  async #read(): Promise<View> {
    const { call } = this.console;
    // One part that fails, because the store does or the config is being mended, leaves the others.
    const or = <T>(part: Promise<T>): Promise<T | null> => part.catch(() => null);
    const [status, approvals, questions, pairing, cron, sessions, usage, lanes] = await Promise.all([
      call("status", {}),
      or(call("approvals.list", { all: false })),
      or(call("questions.list", { all: false })),
      or(call("pairing.list", {})),
      or(call("cron.status", {})),
      or(call("sessions.list", { limit: 8 })),
      or(call("usage", { by: "day", days: 30 })),
      // Those with work come first.
      or(call("lanes.list", { limit: mostLanes })),
    ]);
    return {
      status,
      approvals: approvals?.approvals.length ?? 0,
      questions: questions?.questions.length ?? 0,
      pairings: pairing?.pending.length ?? 0,
      cron,
      sessions: sessions?.sessions ?? [],
      usage,
      lanes,
    };
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      reading: this.#view,
      body: () => (this.#view.value === null ? nothing : this.#body(this.#view.value)),
    });
  }

  #body(view: View): TemplateResult {
    return html`<div class="overview">
      ${this.#health(view.status)} ${this.#waits(view)} ${this.#happened(view)} ${this.#channels(view.status)}
      ${this.#work(view)}
    </div>`;
  }

  #health({ state, reasons, config, version, startedAtMs, channels }: View["status"]): TemplateResult {
    const broken = [
      ...(config.problems.length > 0 ? [words.checkConfig, ...config.problems] : []),
      ...reasons,
      ...(config.restartNeeded.length > 0 ? [`${words.restart} ${config.restartNeeded.join(", ")}`] : []),
    ];
    const [first, ...others] = broken;
    const look = state === "ok" && first === undefined ? "ok" : state === "safe-mode" ? "danger" : "warn";
    return html`<section class="health ${look}">
      <p class="verdict badge ${look}">
        ${state === "ok" && first !== undefined ? words.states.degraded : words.states[state]}
      </p>
      ${first === undefined ? nothing : html`<p class="first"><b>${words.doThis}</b> <bdi>${unhidden(first)}</bdi> ${this.#way(first, channels)}</p>`}
      ${
        others.length === 0
          ? nothing
          : html`<ul class="others small">
              ${others.map((each) => html`<li><bdi>${unhidden(each)}</bdi></li>`)}
            </ul>`
      }
      <p class="quiet-text small">
        ${words.version(version)} · ${words.up(duration(this.console.clock.now() - startedAtMs))}
      </p>
    </section>`;
  }

  /** Where the first thing that is wrong is mended. */
  #way(first: string, channels: View["status"]["channels"]): unknown {
    const account = channels
      .map(({ channel, account: name }) => `${channel}:${name}`)
      .find((each) => first.startsWith(`${each} `));
    if (account !== undefined) return this.#linked("channels", words.open(account), [account]);
    if (first === words.checkConfig || first.startsWith(words.restart))
      return this.#linked("config", words.openConfig);
    return first.includes("/estop") ? this.#linked("tools", words.openTools) : nothing;
  }

  #waits({ status, approvals, questions, pairings, cron }: View): TemplateResult {
    const waiting = [
      { count: approvals, say: words.approvals, page: "approvals" },
      { count: questions, say: words.questions, page: "approvals" },
      { count: pairings, say: words.pairings, page: "channels" },
      { count: status.deadRows, say: words.dead, page: "dead" },
      { count: status.deliveriesTroubled, say: words.troubled, page: "outbox" },
      { count: cron?.failing ?? 0, say: words.failing, page: "schedules" },
      { count: cron?.paused ?? 0, say: words.paused, page: "schedules" },
    ].filter(({ count }) => count > 0);
    return html`<section class="card">
      <h2>${words.waits}</h2>
      ${
        waiting.length === 0
          ? html`<p class="quiet-text small">${words.nothingWaits}</p>`
          : html`<ul class="plain-list">
              ${waiting.map(({ count, say, page }) => html`<li><span class="badge warn">${this.#linked(page, say(count))}</span></li>`)}
            </ul>`
      }
    </section>`;
  }

  #happened({ sessions }: View): TemplateResult {
    const now = this.console.clock.now();
    const since = this.#lookedAtMs ?? 0;
    const people = sessions.filter(({ kind }) => kind !== "cron" && kind !== "subagent");
    return html`<section class="card">
      <h2>${since === 0 ? words.lately : words.happened}</h2>
      ${
        people.length === 0
          ? html`<p class="quiet-text small">${words.nothingHappened}</p>`
          : html`<ul class="plain-list">
              ${people.map(
                ({ key, name, agent, updatedAtMs, working }) =>
                  html`<li>
                    <span class="ellipsis"
                      >${this.#linked("sessions", html`<bdi>${sessionTitle({ key, name })}</bdi>`, [key])}</span
                    >
                    <span class="quiet-text small"><bdi>${agent}</bdi></span>
                    ${
                      working
                        ? html`<span class="badge ok">${words.working}</span>`
                        : since > 0 && updatedAtMs > since
                          ? html`<span class="badge">${words.newSince}</span>`
                          : nothing
                    }
                    <span class="quiet-text small end">${timeOf(updatedAtMs, now)}</span>
                  </li>`,
              )}
            </ul>`
      }
    </section>`;
  }

  #channels({ channels }: View["status"]): TemplateResult {
    const now = this.console.clock.now();
    return html`<section class="card">
      <h2>${words.channels}</h2>
      ${
        channels.length === 0
          ? html`<p class="quiet-text small">${words.noChannels}</p>`
          : html`<ul class="plain-list">
              ${channels.map(
                ({ channel, account, state, reason, lastInboundAtMs }) =>
                  html`<li>
                    <span class="badge ${looks[state]}">${t.channels.states[state]}</span>
                    <span class="ellipsis"
                      >${this.#linked("channels", html`<bdi>${channel}:${account}</bdi>`, [`${channel}:${account}`])}</span
                    >
                    <span class="quiet-text small end">
                      ${reason === undefined ? (lastInboundAtMs === undefined ? nothing : timeOf(lastInboundAtMs, now)) : html`<bdi>${unhidden(reason)}</bdi>`}
                    </span>
                  </li>`,
              )}
            </ul>`
      }
    </section>`;
  }

  #work({ status, usage, lanes }: View): TemplateResult {
    const { turnsRunning, rowsWaiting, deliveriesWaiting, memoryBytes } = status;
    const days = usage?.rows.toSorted((a, b) => a.name.localeCompare(b.name)) ?? [];
    return html`<section class="card">
      <h2>${words.work}</h2>
      <p class="small number">
        ${words.turns(turnsRunning)} · ${words.rows(rowsWaiting)} · ${words.deliveries(deliveriesWaiting)} ·
        ${words.memory(Math.round(memoryBytes / 1_048_576))}
      </p>
      ${this.#lanes(lanes)}
      ${
        days.length < 2
          ? nothing
          : html`<div class="plots">
              ${plot({ label: words.days, points: days.map(({ name, turns }) => ({ name, value: turns })) })}
              ${plot({
                label: words.tokenDays,
                points: days.map(({ name, inputTokens, outputTokens }) => ({
                  name,
                  value: inputTokens + outputTokens,
                })),
              })}
              ${plot({
                label: words.costDays,
                points: days.map(({ name, costUsd }) => ({ name, value: costUsd })),
                shown: (value) => `$${value.toFixed(2)}`,
              })}
            </div>`
      }
    </section>`;
  }

  /** Who is at work and where something waits; those at rest say nothing. */
  #lanes(lanes: View["lanes"]): unknown {
    const busy = [
      ...(lanes?.sessions ?? []).map((lane) => ({
        ...lane,
        page: "sessions",
        name: sessionWords(lane.lane),
      })),
      ...(lanes?.conversations ?? []).map((lane) => ({ ...lane, page: "outbox", name: unhidden(lane.lane) })),
    ].filter(({ holder, waiting }) => holder !== null || waiting > 0);
    if (busy.length === 0) return nothing;
    return html`<ul class="plain-list">
      ${busy.map(
        ({ lane, page, name, holder, waiting }) =>
          html`<li>
            <span class="badge ${holder === null ? "warn" : "ok"}"
              >${holder === null ? words.laneWaits : words.working}</span
            >
            <span class="ellipsis"
              >${this.#linked(page, html`<bdi>${name}</bdi>`, page === "sessions" ? [lane] : [])}</span
            >
            <span class="quiet-text small end">
              ${waiting === 0 ? nothing : page === "sessions" ? words.rows(waiting) : words.deliveries(waiting)}
            </span>
          </li>`,
      )}
    </ul>`;
  }

  /** A link where there is such a page, else its words alone. */
  #linked(page: string, shown: unknown, rest: readonly string[] = []): unknown {
    return this.console.has(page) ? html`<a href=${addressOf(page, rest)}>${shown}</a>` : shown;
  }
}
