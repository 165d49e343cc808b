// Lists the scheduled jobs in words; one opens with its next instants and its runs, and can be run, paused or
// removed. A new one is shown with its instants before it is made.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { form } from "../parts/form.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { wordsOf } from "../parts/reading.ts";
import { copyable, unhidden } from "../parts/text.ts";
import { duration, timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type Job = MethodResult<"cron.list">["jobs"][number];
type Explained = MethodResult<"cron.explain">;
type Runs = MethodResult<"cron.runs">;
type Look = "ok" | "warn" | "danger" | "off";

const words = t.schedules;
const runLooks: { readonly [outcome in Runs["runs"][number]["outcome"]]: Look } = {
  ok: "ok",
  silent: "ok",
  failed: "danger",
  skipped: "off",
  missed: "warn",
  superseded: "off",
};

export class Schedules extends Page {
  readonly #jobs = this.reading(() => this.console.call("cron.list", {}));
  readonly #one = this.reading(
    async () => {
      const [id] = this.address.rest;
      if (id === undefined) return null;
      const [explained, runs] = await Promise.all([
        // A job whose one instant has passed means none any more.
        this.console.call("cron.explain", { id, count: 10 }).catch(() => null),
        this.console.call("cron.runs", { id, limit: 30 }),
      ]);
      return { explained, runs };
    },
    3_000,
    () => this.address.rest[0] ?? "",
  );
  #preview: { readonly written: object; readonly explained: Explained } | null = null;
  #wrong: string | null = null;

  get #isNew(): boolean {
    return this.address.query.get("new") !== null && this.console.may("admin");
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      acts: this.console.may("admin")
        ? html`<a class="button quiet" href=${addressOf("schedules", [], { new: "1" })}>${words.new}</a>`
        : undefined,
      reading: this.#jobs,
      body: () => this.#body(this.#jobs.value?.jobs ?? []),
      drawer: this.#isNew ? this.#newDrawer() : this.#drawer(),
    });
  }

  #body(jobs: readonly Job[]): TemplateResult {
    const now = this.console.clock.now();
    const columns: readonly Column<Job>[] = [
      { label: words.name, cell: ({ name }) => html`<bdi>${unhidden(name)}</bdi>` },
      { label: words.when, cell: (job) => job.words },
      { label: words.next, cell: ({ nextAtMs }) => timeOf(nextAtMs, now), isWide: true },
      {
        label: words.last,
        cell: ({ last }) => (last === null ? nothing : timeOf(last.endedAtMs, now)),
        isWide: true,
      },
      { label: words.state, cell: (job) => badge(job), isWide: true },
    ];
    return list<Job>({
      label: words.title,
      rows: jobs,
      columns,
      keyOf: ({ id }) => id,
      hrefOf: ({ id }) => addressOf("schedules", [id]),
      textOf: ({ name, words: when, agent, session }) => `${name} ${when} ${agent} ${session}`,
      chosen: this.address.rest[0],
      empty: empty(words),
    });
  }

  #drawer(): TemplateResult | null {
    const [id] = this.address.rest;
    if (id === undefined || this.#jobs.value === null) return null;
    const job = this.#jobs.value.jobs.find((each) => each.id === id);
    const back = addressOf("schedules");
    if (job === undefined)
      return drawer({ key: id, title: words.one, back, body: html`<p class="quiet-text">${words.gone}</p>` });
    const now = this.console.clock.now();
    const { explained, runs } = this.#one.value ?? { explained: null, runs: null };
    return drawer({
      key: id,
      title: unhidden(job.name),
      back,
      body: html`<div class="act-row">${badge(job)}</div>
        ${
          job.paused === null
            ? nothing
            : html`<p class="trouble" role="note">${words.pausedFor} <bdi>${unhidden(job.paused)}</bdi></p>`
        }
        ${facts([
          [words.when, job.words],
          [words.does, html`<span class="lines"><bdi>${doesOf(job)}</bdi></span>`],
          [words.agent, html`<bdi>${job.agent}</bdi>`],
          [words.session, copyable(job.session, 44)],
          [words.owner, unhidden(job.owner.sender ?? words.owners[job.owner.kind])],
          [words.misfire, words.misfires[job.misfire]],
          [words.overlap, words.overlaps[job.overlap]],
          [words.counts, words.runsAndMissed(job.runs, job.missed)],
          ...(job.last?.reason === null || job.last === null
            ? []
            : ([[words.lastReason, html`<bdi>${unhidden(job.last.reason)}</bdi>`]] as const)),
        ])}
        ${explained === null || explained.next.length === 0 ? nothing : instants(explained, now)}
        ${runs === null ? nothing : this.#runs(runs)}`,
      foot: this.#acts(job),
    });
  }

  #runs({ now: open, runs }: Runs): TemplateResult {
    const nowMs = this.console.clock.now();
    const story = (turn: string | null): unknown =>
      turn === null ? nothing : html`<a href=${addressOf("why", [turn])}>${words.story}</a>`;
    return html`<div>
      <h3>${words.runs}</h3>
      ${open.length === 0 && runs.length === 0 ? html`<p class="quiet-text small">${words.noRuns}</p>` : nothing}
      <ul class="plain-list">
        ${open.map(
          ({ instantMs, state, turn }) =>
            html`<li>
              <span class="badge warn">${words.runNow[state]}</span>
              <span class="end">${story(turn)} ${timeOf(instantMs, nowMs)}</span>
            </li>`,
        )}
        ${runs.map(
          ({ outcome, reason, count, said, instantMs, startedAtMs, endedAtMs, turn }) =>
            html`<li>
              <span class="badge ${runLooks[outcome]}"
                >${words.outcomes[outcome]}${count > 1 ? ` × ${count}` : ""}</span
              >
              <div class="ellipsis quiet-text"><bdi>${unhidden(reason ?? said)}</bdi></div>
              <span class="end quiet-text">
                ${startedAtMs === null ? nothing : duration(endedAtMs - startedAtMs)}
                ${timeOf(instantMs, nowMs)} ${story(turn)}
              </span>
            </li>`,
        )}
      </ul>
    </div>`;
  }

  #acts({ id, enabled, paused, version, name }: Job): TemplateResult {
    if (!this.console.may("admin")) return html`<p class="quiet-text">${words.cannot}</p>`;
    const isOff = !enabled || paused !== null;
    return html`<div class="act-row">
      ${act({
        label: words.run,
        confirm: words.runMeans,
        run: async () => {
          await this.console.call("cron.run", { id, idempotencyKey: this.console.ids.uuid() });
          await this.#one.again();
          return words.started;
        },
      })}
      ${act({
        label: isOff ? words.resume : words.pause,
        look: "quiet",
        run: async () => {
          await this.console.call("cron.update", { id, patch: { enabled: isOff }, version });
          await this.#jobs.again();
          return isOff ? words.resumed : words.paused;
        },
      })}
      ${act({
        label: words.remove,
        look: "danger",
        confirm: words.removeMeans(unhidden(name)),
        run: async () => {
          await this.console.call("cron.remove", { id });
          await this.#jobs.again();
          return undefined;
        },
      })}
    </div>`;
  }

  #newDrawer(): TemplateResult {
    const preview = this.#preview;
    return drawer({
      key: "new",
      title: words.new,
      back: addressOf("schedules"),
      body: html`<div @input=${() => this.#forget()}>
          ${form({
            fields: [
              { name: "name", label: words.name, required: true },
              { name: "kind", label: words.kind, kind: "choice", choices: ["cron", "every", "at"] },
              { name: "when", label: words.when, help: words.whenHelp, required: true },
              { name: "zone", label: words.zone, help: words.zoneHelp },
              {
                name: "message",
                label: words.message,
                help: words.messageHelp,
                kind: "long",
                required: true,
              },
            ],
            submit: words.show,
            wrong: this.#wrong,
            onSubmit: (values) => void this.#explain(values),
          })}
        </div>
        ${preview === null ? nothing : instants(preview.explained, this.console.clock.now())}`,
      foot:
        preview === null
          ? undefined
          : act({
              label: words.make,
              run: async () => {
                const { job } = await this.console.call("cron.add", {
                  job: { ...preview.written },
                  idempotencyKey: this.console.ids.uuid(),
                });
                this.#preview = null;
                await this.#jobs.again();
                this.console.go(addressOf("schedules", [job.id]));
                return undefined;
              },
            }),
    });
  }

  /** What was shown must be what is made. */
  #forget(): void {
    this.#preview = null;
    this.requestUpdate();
  }

  async #explain({ name = "", kind = "", when = "", zone = "", message = "" }: Values): Promise<void> {
    const at = kind === "cron" ? { expression: when } : kind === "every" ? { every: when } : { at: when };
    const schedule = { kind, ...at, ...(zone === "" || kind === "every" ? {} : { zone }) };
    const written = { name, schedule, payload: { kind: "agentTurn", message } };
    try {
      const explained = await this.console.call("cron.explain", { schedule, count: 10 });
      [this.#preview, this.#wrong] = [{ written, explained }, null];
    } catch (error) {
      [this.#preview, this.#wrong] = [null, wordsOf(error)];
    }
    this.requestUpdate();
  }
}

interface Values {
  readonly [name: string]: string;
}

function badge({ enabled, paused, consecutiveErrors }: Job): TemplateResult {
  const [look, state] =
    paused !== null
      ? (["danger", words.states.held] as const)
      : !enabled
        ? (["off", words.states.off] as const)
        : consecutiveErrors > 0
          ? (["danger", words.states.failing(consecutiveErrors)] as const)
          : (["ok", words.states.on] as const);
  return html`<span class="badge ${look}">${state}</span>`;
}

/** What the job does, as it was written. */
function doesOf({ payload }: Job): string {
  const said = payload["message"] ?? payload["text"];
  return unhidden(typeof said === "string" ? said : JSON.stringify(payload));
}

function instants({ words: meaning, zone, next }: Explained, nowMs: number): TemplateResult {
  return html`<div>
    <h3>${words.nextOnes}</h3>
    <p class="quiet-text small">${meaning.includes(zone) ? meaning : `${meaning} · ${zone}`}</p>
    <ol class="plain-list">
      ${next.map(({ atMs, local }) => html`<li><span class="number">${local}</span><span class="end quiet-text">${timeOf(atMs, nowMs)}</span></li>`)}
    </ol>
  </div>`;
}
