// Lists the newest messages over all channels; a row opens its story. There is no frame that lists messages,
// so they are read from the sessions that changed last, and only from those that changed since.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, type TemplateResult } from "lit";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { storyView } from "../parts/story.ts";
import { copyable, sessionTitle, unhidden } from "../parts/text.ts";
import { timeOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

type Session = MethodResult<"sessions.list">["sessions"][number];
type Entry = MethodResult<"sessions.show">["entries"][number];

interface Message {
  readonly turn: string;
  readonly session: Session;
  readonly said: string;
  readonly answer: string;
  readonly state: "working" | "answered" | "silent";
  readonly atMs: number;
}

const words = t.activity;
const looks = { working: "warn", answered: "ok", silent: "off" } as const;
const mostSessions = 15;
const entriesEach = 40;

export class Activity extends Page {
  readonly #entries = new Map<string, { readonly updatedAtMs: number; readonly entries: readonly Entry[] }>();
  readonly #messages = this.reading(() => this.#read(), 3_000);
  readonly #story = this.reading(
    async () => {
      const [query] = this.address.rest;
      return query === undefined ? null : this.console.call("why", { query });
    },
    3_000,
    () => this.address.rest[0] ?? "",
  );

  async #read(): Promise<readonly Message[]> {
    const { sessions } = await this.console.call("sessions.list", { limit: mostSessions });
    const all = await Promise.all(
      sessions.map(async (session) => messagesOf(session, await this.#of(session))),
    );
    return all.flat().toSorted((a, b) => b.atMs - a.atMs);
  }

  async #of({ key, updatedAtMs }: Session): Promise<readonly Entry[]> {
    const known = this.#entries.get(key);
    if (known?.updatedAtMs === updatedAtMs) return known.entries;
    const { entries } = await this.console.call("sessions.show", { key, limit: entriesEach });
    this.#entries.set(key, { updatedAtMs, entries });
    return entries;
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#messages,
      body: () => this.#body(this.#messages.value ?? []),
      drawer: this.#drawer(),
    });
  }

  #body(messages: readonly Message[]): TemplateResult {
    const now = this.console.clock.now();
    const columns: readonly Column<Message>[] = [
      { label: words.said, cell: ({ said }) => html`<bdi>${unhidden(said)}</bdi>` },
      {
        label: words.where,
        cell: ({ session }) => html`<bdi>${sessionTitle(session)}</bdi>`,
        isWide: true,
      },
      { label: words.answer, cell: ({ answer }) => html`<bdi>${unhidden(answer)}</bdi>`, isWide: true },
      {
        label: words.state,
        cell: ({ state }) => html`<span class="badge ${looks[state]}">${words.states[state]}</span>`,
      },
      { label: words.when, cell: ({ atMs }) => timeOf(atMs, now), isWide: true },
    ];
    return list<Message>({
      label: words.title,
      rows: messages,
      columns,
      keyOf: ({ turn }) => turn,
      hrefOf: ({ turn }) => addressOf("activity", [turn]),
      textOf: ({ said, answer, session }) => `${said} ${answer} ${session.key} ${session.name ?? ""}`,
      chosen: this.address.rest[0],
      empty: empty(words),
    });
  }

  #drawer(): TemplateResult | null {
    const [turn] = this.address.rest;
    if (turn === undefined) return null;
    const { value: story, trouble } = this.#story;
    return drawer({
      key: turn,
      title: words.story,
      back: addressOf("activity"),
      body:
        story === null
          ? html`<p class=${trouble === null ? "quiet-text" : "trouble"} role="status">
              ${trouble === null ? t.list.loading : t.reading.failed(trouble)}
            </p>`
          : html`${facts([
              [t.why.session, copyable(story.row.session, 48)],
              [t.why.conversation, copyable(story.row.conversation, 48)],
              ...(story.turn?.costUsd === undefined
                ? []
                : ([[t.why.cost, `$${story.turn.costUsd.toFixed(4)}`]] as const)),
              ...(story.turn === null
                ? []
                : ([[words.cached, words.tokens(story.turn.cacheReadTokens)]] as const)),
            ])}
            ${storyView(story)}`,
      foot:
        story === null
          ? undefined
          : html`<div class="act-row">
              <a class="button quiet" href=${addressOf("why", [story.row.id])}>${words.link}</a>
              ${
                this.console.has("sessions")
                  ? html`<a class="button quiet" href=${addressOf("sessions", [story.row.session])}
                      >${words.session}</a
                    >`
                  : nothing
              }
            </div>`,
    });
  }
}

function messagesOf(session: Session, entries: readonly Entry[]): Message[] {
  const newest = entries.at(-1)?.turn;
  return [...Map.groupBy(entries, ({ turn }) => turn)].flatMap(([turn, own]) => {
    const asked = own.filter(({ type }) => type === "user");
    const [first] = asked;
    // What was said may stand before the entries that were read.
    if (first === undefined) return [];
    const answer = own.findLast(({ type, text }) => type === "assistant" && text !== "")?.text ?? "";
    const state = session.working && turn === newest ? "working" : answer === "" ? "silent" : "answered";
    return [
      { turn, session, said: asked.map(({ text }) => text).join(" · "), answer, state, atMs: first.atMs },
    ];
  });
}
