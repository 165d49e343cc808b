// Shows what the gateway logs, as it comes: the newest first, filtered by words and level, each line linked
// to the story of its message and to the other lines about the same turn, answer or session. A line keeps its
// address over a reload and a broken connection.
import { html, nothing, type TemplateResult } from "lit";
import { drawer, facts } from "../parts/drawer.ts";
import { empty } from "../parts/empty.ts";
import { list, type Column } from "../parts/list.ts";
import { Page } from "../parts/page.ts";
import { copyable, unhidden } from "../parts/text.ts";
import { clockOf } from "../parts/time.ts";
import { addressOf } from "../parts/address.ts";
import { t } from "../texts/texts.ts";

interface Line {
  readonly key: string;
  readonly atMs: number;
  readonly level: Level;
  readonly message: string;
  readonly fields: { readonly [name: string]: unknown };
  readonly whole: string;
}
type Level = "debug" | "info" | "warn" | "error";

const words = t.logs;
const levels = ["debug", "info", "warn", "error"] as const;
const looks = { debug: "off", info: "", warn: "warn", error: "danger" } as const;
/** A browser searches these without being felt. */
const mostLines = 3_000;
/** Fields that name a message, a turn or an answer, which `why` finds. */
const storied: readonly string[] = [
  "turn",
  "turnId",
  "row",
  "rowId",
  "rows",
  "delivery",
  "deliveryId",
  "messageId",
];
/** Fields that other lines may have with the same value. */
const related: readonly string[] = [
  ...storied,
  "session",
  "lane",
  "conversation",
  "approval",
  "job",
  "account",
];

export class Logs extends Page {
  #lines: Line[] = [];
  #level: Level = "debug";
  #quit: () => void = () => {};
  /** Read once for each connection: what follows comes as events. */
  readonly #tail = this.reading(async () => {
    const { lines } = await this.console.call("logs.tail", { lines: 500, follow: true });
    this.#lines = [];
    for (const line of lines) this.#take(line);
    return true;
  }, 86_400_000);

  override connectedCallback(): void {
    super.connectedCallback();
    this.#quit = this.console.on("log.line", ({ line }) => {
      this.#take(line);
      this.requestUpdate();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#quit();
  }

  #take(line: string): void {
    const parsed = this.#parsed(line);
    const later = `${parsed.key}-`;
    // The newest of the same has the highest number; those before it may have left the list.
    const same = this.#lines.find(({ key }) => key === parsed.key || key.startsWith(later))?.key;
    const key = same === undefined ? parsed.key : `${later}${Number(same.slice(later.length) || 1) + 1}`;
    this.#lines = [{ ...parsed, key }, ...this.#lines].slice(0, mostLines);
  }

  /** What all shown lines have in them: an id out of another line. */
  get #about(): string | null {
    return this.address.query.get("about");
  }

  override render(): TemplateResult {
    return this.frame({
      title: words.title,
      lead: words.lead,
      reading: this.#tail,
      body: () => this.#body(),
      drawer: this.#drawer(),
    });
  }

  #body(): TemplateResult {
    const least = levels.indexOf(this.#level);
    const columns: readonly Column<Line>[] = [
      { label: words.message, cell: ({ message }) => html`<bdi>${unhidden(message)}</bdi>` },
      {
        label: words.level,
        cell: ({ level }) => html`<span class="badge ${looks[level]}">${words.levels[level]}</span>`,
      },
      {
        label: words.fields,
        cell: ({ fields }) => html`<span class="mono quiet-text"><bdi>${shortOf(fields)}</bdi></span>`,
        isWide: true,
      },
      { label: words.time, cell: ({ atMs }) => clockOf(atMs) },
    ];
    const about = this.#about;
    const rows = this.#lines.filter(({ level }) => levels.indexOf(level) >= least);
    return html`${about === null ? nothing : this.#aboutLine(about)}
    ${list<Line>({
      label: words.title,
      rows: about === null ? rows : rows.filter((line) => valuesOf(line.fields).includes(about)),
      columns,
      keyOf: ({ key }) => key,
      hrefOf: ({ key }) => addressOf("logs", [key], { about }),
      textOf: ({ whole }) => whole,
      chosen: this.address.rest[0],
      tools: html`<select class="narrow-select" aria-label=${words.least} @change=${this.#choose}>
        ${levels.map((level) => html`<option value=${level} ?selected=${level === this.#level}>${words.from[level]}</option>`)}
      </select>`,
      empty: empty(words),
    })}`;
  }

  #aboutLine(about: string): TemplateResult {
    return html`<p class="act-row before">
      <span class="small">${words.about} ${copyable(about, 60)}</span>
      <a class="button quiet" href=${addressOf("logs")}>${words.all}</a>
    </p>`;
  }

  #drawer(): TemplateResult | null {
    const [key] = this.address.rest;
    if (key === undefined) return null;
    const line = this.#lines.find((each) => each.key === key);
    const back = addressOf("logs", [], { about: this.#about });
    if (line === undefined)
      return drawer({ key, title: words.one, back, body: html`<p class="quiet-text">${words.gone}</p>` });
    const [story] = storied.flatMap((name) => valuesOf({ [name]: line.fields[name] }));
    const links = related.flatMap((name) =>
      valuesOf({ [name]: line.fields[name] }).map((value) => ({ name, value })),
    );
    return drawer({
      key,
      title: words.one,
      back,
      body: html`<p class="lines">
          <b><bdi>${unhidden(line.message)}</bdi></b>
        </p>
        ${facts([
          [words.level, html`<span class="badge ${looks[line.level]}">${words.levels[line.level]}</span>`],
          [words.time, clockOf(line.atMs)],
          ...Object.entries(line.fields).map(([name, value]): readonly [string, unknown] => [
            unhidden(name),
            fieldOf(unhidden(name), unhidden(textOf(value))),
          ]),
        ])}
        ${
          story === undefined && links.length === 0
            ? nothing
            : html`<ul class="plain-list">
                ${story === undefined ? nothing : html`<li><a href=${addressOf("why", [story])}>${words.story}</a></li>`}
                ${links.map(
                  ({ name, value }) =>
                    html`<li>
                      <a href=${addressOf("logs", [line.key], { about: value })}>${words.others(name)}</a>
                    </li>`,
                )}
              </ul>`
        }`,
    });
  }

  #choose({ target }: Event): void {
    this.#level = (target as HTMLSelectElement).value as Level;
    this.requestUpdate();
  }

  #parsed(line: string): Line {
    const bare = {
      key: hashOf(line),
      atMs: this.console.clock.now(),
      level: "info",
      message: line,
      fields: {},
      whole: line,
    } as const;
    let read: unknown;
    try {
      read = JSON.parse(line);
    } catch {
      // A program's own line: it is shown as it is.
      return bare;
    }
    if (typeof read !== "object" || read === null || Array.isArray(read)) return bare;
    const {
      level,
      time,
      msg,
      pid: _pid,
      hostname: _host,
      ...fields
    } = read as { readonly [name: string]: unknown };
    return {
      key: bare.key,
      atMs: typeof time === "number" ? time : Date.parse(String(time)) || bare.atMs,
      level: levelOf(level),
      // Without words of its own it would be a row that nobody can name or press.
      message: typeof msg === "string" && msg !== "" ? msg : line,
      fields,
      whole: line,
    };
  }
}

/** As words, or as pino's numbers. */
function levelOf(level: unknown): Level {
  if (typeof level === "number")
    return level >= 50 ? "error" : level >= 40 ? "warn" : level >= 30 ? "info" : "debug";
  return levels.find((each) => each === level) ?? (level === "fatal" ? "error" : "info");
}

/** Tells two lines apart; the same line has the same one whenever it is read. */
function hashOf(line: string): string {
  let hash = 0x811c9dc5;
  for (let at = 0; at < line.length; at += 1) hash = Math.imul(hash ^ line.charCodeAt(at), 0x01000193);
  return (hash >>> 0).toString(36);
}

/** Texts of the fields, out of lists too. */
function valuesOf(fields: Line["fields"]): readonly string[] {
  return Object.values(fields)
    .flat()
    .filter((value): value is string => typeof value === "string" && value !== "");
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  const error = stackOf(value);
  if (error !== null) return error;
  const short = JSON.stringify(value);
  return short.length <= 80 ? short : JSON.stringify(value, null, 2);
}

/** An error as its program would print it; null for anything else. */
function stackOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return null;
  const { stack, message } = value as { readonly [name: string]: unknown };
  if (typeof stack !== "string") return null;
  return typeof message === "string" && !stack.includes(message) ? `${message}\n${stack}` : stack;
}

function fieldOf(name: string, text: string): TemplateResult {
  return text.length <= 200 && !text.includes("\n")
    ? copyable(text, 48)
    : html`<pre class="block" tabindex="0" aria-label=${name}>${text}</pre>`;
}

function shortOf(fields: Line["fields"]): string {
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${textOf(value)}`);
  return unhidden(shown.join(" ")).slice(0, 300);
}
