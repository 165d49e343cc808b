// Lists the sessions of everybody; one opens with its settings and its words, the newest first, those of
// before it was begun anew too, and can be begun anew, made shorter or forgotten.
import type { MethodParams, MethodResult, Timer } from "@parley/protocol";
import { html, nothing, type PropertyValues, type TemplateResult } from "lit";
import { act } from "../parts/act.ts";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { wordsOf } from "../parts/reading.ts";
import { copyable, sessionTitle, sessionWords, unhidden } from "../parts/text.ts";
import { timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";
import { childTree } from "../view/child-tree.ts";
import { mostEntries, sessionEntries } from "../view/session-entries.ts";
import { sessionSettings } from "../view/session-settings.ts";

type Session = MethodResult<"sessions.list">["sessions"][number];
type Shown = MethodResult<"sessions.show">;

const words = t.sessions;
/** As many as the gateway gives at once. */
const mostSessions = 1_000;
/** More are no help to whoever looks for one. */
const mostFound = 200;
/** Whoever writes pauses for longer. */
const typedMs = 200;
const entriesEach = 100;

const sessionAddress = (key: string): string => addressOf("sessions", [key]);

export class Sessions extends Page {
  readonly #sessions = this.reading(() => this.console.call("sessions.list", { limit: mostSessions }));
  /** Those that are looked for, where not all are listed; null while nobody looks. */
  readonly #found = this.reading(async () => {
    const find = this.#wanted.trim();
    const isWhole = (this.#sessions.value?.sessions.length ?? 0) < mostSessions;
    if (find === "" || isWhole) return null;
    return (await this.console.call("sessions.list", { find, limit: mostFound })).sessions;
  }, 10_000);
  #wanted = "";
  #look: Timer | null = null;
  readonly #shown = this.reading(
    async () => {
      const [key] = this.address.rest;
      if (key === undefined) return null;
      const epoch = this.#epoch;
      const shown = await this.console.call("sessions.show", {
        key,
        limit: this.#entries,
        ...(epoch === null ? {} : { epoch }),
      });
      return { ...shown, read: this.#entries };
    },
    3_000,
    () => `${this.address.rest[0] ?? ""} ${this.#epoch ?? ""}`,
  );
  readonly #models = this.reading(
    async () => (await this.console.call("models.list", {})).models.map(({ id }) => id),
    60_000,
  );
  /** The open session's sub-agents, and whose it is itself. */
  readonly #spawned = this.reading(
    async () => {
      const [key] = this.address.rest;
      const tree = key === undefined ? null : await this.console.call("sessions.tree", { key });
      return tree?.sessions ?? [];
    },
    3_000,
    () => this.address.rest[0] ?? "",
  );
  /** What sub-agents are called, and under whom they work. */
  readonly #called = this.reading(async () => {
    const { sessions } = await this.console.call("sessions.tree", {});
    return new Map(sessions.filter(({ parent }) => parent !== null).map((each) => [each.key, each]));
  }, 10_000);
  /** How many entries of the open session are read. */
  #entries = entriesEach;
  #wrong: string | null = null;

  /** Which beginning of the session is read; null: the last one. */
  get #epoch(): number | null {
    const epoch = Number(this.address.query.get("epoch"));
    return Number.isInteger(epoch) && epoch > 0 ? epoch : null;
  }

  override willUpdate(changed: PropertyValues<this>): void {
    if (!changed.has("address") || changed.get("address")?.rest[0] === this.address.rest[0]) return;
    this.#entries = entriesEach;
    this.#wrong = null;
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#sessions,
      body: () => this.#body(this.#sessions.value?.sessions ?? []),
      drawer: this.#drawer(),
    });
  }

  /** Somebody writes what they look for: it is asked for when they pause. */
  #find(wanted: string): void {
    this.#wanted = wanted;
    this.#look?.cancel();
    this.#look = this.console.clock.after(typedMs, () => void this.#found.again());
  }

  #body(listed: readonly Session[]): TemplateResult {
    const known = new Set(listed.map(({ key }) => key));
    const found = this.#wanted.trim() === "" ? [] : (this.#found.value ?? []);
    const sessions = [...listed, ...found.filter(({ key }) => !known.has(key))];
    const now = this.console.clock.now();
    const columns: readonly Column<Session>[] = [
      { label: words.name, cell: (session) => this.#named(session) },
      { label: words.kind, cell: ({ kind }) => words.kinds[kind], isWide: true },
      { label: words.agent, cell: ({ agent }) => html`<bdi>${agent}</bdi>`, isWide: true },
      {
        label: words.tokens,
        cell: ({ inputTokens, outputTokens }) => (inputTokens + outputTokens).toLocaleString("en"),
        isNumeric: true,
        isWide: true,
      },
      {
        label: words.state,
        cell: ({ working }) =>
          working ? html`<span class="badge ok">${t.overview.working}</span>` : nothing,
        isWide: true,
      },
      { label: words.changed, cell: ({ updatedAtMs }) => timeOf(updatedAtMs, now) },
    ];
    const isCut = listed.length >= mostSessions;
    return html`${isCut ? html`<p class="quiet-text small">${words.newest(mostSessions)}</p>` : nothing}
    ${list<Session>({
      label: words.title,
      rows: sessions,
      columns,
      keyOf: ({ key }) => key,
      hrefOf: ({ key }) => addressOf("sessions", [key]),
      textOf: ({ key, name, agent }) =>
        `${key} ${name ?? ""} ${agent} ${this.#called.value?.get(key)?.label ?? ""}`,
      onFilter: (wanted) => this.#find(wanted),
      chosen: this.address.rest[0],
      empty: empty(words),
    })}`;
  }

  /** A sub-agent is called as its parent called it. */
  #named({ key, name }: Session): TemplateResult {
    const { label = null, parent = null } = this.#called.value?.get(key) ?? {};
    const title = html`<bdi>${sessionTitle({ key, name: name ?? label })}</bdi>`;
    return parent === null
      ? title
      : html`${title} <span class="quiet-text small">${words.under(sessionWords(parent))}</span>`;
  }

  #drawer(): TemplateResult | null {
    const [key] = this.address.rest;
    if (key === undefined) return null;
    const { value: shown, trouble } = this.#shown;
    if (shown === null)
      return drawer({
        key,
        title: sessionWords(key),
        back: addressOf("sessions"),
        body: html`<p class=${trouble === null ? "quiet-text" : "trouble"} role="status">
          ${trouble === null ? t.list.loading : t.reading.failed(trouble)}
        </p>`,
      });
    const now = this.console.clock.now();
    return drawer({
      key,
      title: sessionTitle({ key, name: shown.name ?? this.#spawned.value?.[0]?.label ?? null }),
      back: addressOf("sessions"),
      body: html`${facts([
        [words.key, copyable(key, 44)],
        [words.agent, html`<bdi>${shown.agent}</bdi>`],
        [words.kind, words.kinds[shown.kind]],
        ...(this.console.may("admin")
          ? []
          : ([
              [words.model, html`<bdi>${shown.model ?? words.asAgent}</bdi>`],
              [words.thinking, shown.thinking ?? words.asAgent],
              [words.reasoning, shown.reasoning ?? words.asAgent],
            ] as const)),
        ...this.#parent(),
        [words.epoch, shown.epoch.toLocaleString("en")],
        [words.tokens, t.story.tokens(shown.inputTokens, shown.outputTokens)],
        [words.begun, timeOf(shown.createdAtMs, now)],
        [words.changed, timeOf(shown.updatedAtMs, now)],
      ])}
      ${
        this.console.may("admin")
          ? sessionSettings(shown, this.#models.value ?? [], (patch) => void this.#set(key, patch))
          : nothing
      }
      ${this.#wrong === null ? nothing : html`<p class="trouble" role="alert"><bdi>${this.#wrong}</bdi></p>`}
      ${this.#children(now)}
      ${sessionEntries(shown, this.#epoch, () => {
        this.#entries = Math.min(mostEntries, shown.read * 3);
        void this.#shown.again();
      })}`,
      foot: this.#acts(shown),
    });
  }

  #parent(): readonly (readonly [string, unknown])[] {
    const [root] = this.#spawned.value ?? [];
    const parent = root?.parent ?? null;
    if (root === undefined || parent === null) return [];
    return [
      [
        t.children.of,
        html`<a href=${addressOf("sessions", [parent])}><bdi>${sessionWords(parent)}</bdi></a>`,
      ],
      ...((root.task ?? "") === ""
        ? []
        : [[t.children.task, html`<bdi>${unhidden(root.task ?? "")}</bdi>`] as const]),
    ];
  }

  #children(nowMs: number): unknown {
    const children = this.#spawned.value ?? [];
    if (children.length < 2) return nothing;
    return html`<h3>${t.children.count(children.length - 1)}</h3>
      ${childTree({ children, nowMs: Math.floor(nowMs / 1_000) * 1_000, hrefOf: sessionAddress })}`;
  }

  async #set(key: string, patch: Omit<MethodParams<"sessions.patch">, "key">): Promise<void> {
    try {
      await this.console.call("sessions.patch", { key, ...patch });
      this.#wrong = null;
    } catch (error) {
      this.#wrong = t.act.failed(wordsOf(error));
    }
    // A choice that was not taken shows what counts.
    await this.#shown.again();
  }

  #acts({ key, epoch }: Shown): TemplateResult {
    // A session of somebody else takes the scope admin for both.
    if (!this.console.may("admin")) return html`<p class="quiet-text">${words.cannot}</p>`;
    return html`<div class="act-row">
      ${act({
        label: words.reset,
        look: "quiet",
        confirm: words.resetMeans,
        run: async () => {
          const idempotencyKey = `reset-${epoch}-${key}`.slice(0, 128);
          await this.console.call("sessions.reset", { key, idempotencyKey });
          await this.#shown.again();
          return words.resetDone;
        },
      })}
      ${act({
        label: words.compact,
        look: "quiet",
        confirm: words.compactMeans,
        run: async () => {
          const idempotencyKey = this.console.ids.uuid();
          await this.console.call("sessions.compact", { key, idempotencyKey });
          return words.compactDone;
        },
      })}
      ${act({
        label: words.forget,
        look: "danger",
        confirm: words.forgetMeans,
        run: async () => {
          const { entries } = await this.console.call("sessions.forget", { key });
          await this.#shown.again();
          return words.forgot(entries);
        },
      })}
    </div>`;
  }
}
