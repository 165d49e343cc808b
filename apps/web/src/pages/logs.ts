// Shows what the gateway logs, as it comes: the newest first, filtered by words and level, each line linked
// to the story of its message.
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
const storied: readonly string[] = ["turn", "turnId", "row", "rowId", "delivery", "deliveryId", "messageId"];

export class Logs extends Page {
  #lines: Line[] = [];
  #count = 0;
  #level: Level = "debug";
  #quit: () => void = () => {};
  /** Read once for each connection: what follows comes as events. */
  readonly #tail = this.reading(async () => {
    const { lines } = await this.console.call("logs.tail", { lines: 500, follow: true });
    this.#lines = lines.map((line) => this.#parsed(line)).reverse();
    return true;
  }, 86_400_000);

  override connectedCallback(): void {
    super.connectedCallback();
    this.#quit = this.console.on("log.line", ({ line }) => {
      this.#lines = [this.#parsed(line), ...this.#lines].slice(0, mostLines);
      this.requestUpdate();
    });
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    this.#quit();
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
    return list<Line>({
      label: words.title,
      rows: this.#lines.filter(({ level }) => levels.indexOf(level) >= least),
      columns,
      keyOf: ({ key }) => key,
      hrefOf: ({ key }) => addressOf("logs", [key]),
      textOf: ({ whole }) => whole,
      chosen: this.address.rest[0],
      tools: html`<select class="narrow-select" aria-label=${words.least} @change=${this.#choose}>
        ${levels.map((level) => html`<option value=${level} ?selected=${level === this.#level}>${words.from[level]}</option>`)}
      </select>`,
      empty: empty(words),
    });
  }

  #drawer(): TemplateResult | null {
    const [key] = this.address.rest;
    if (key === undefined) return null;
    const line = this.#lines.find((each) => each.key === key);
    const back = addressOf("logs");
    if (line === undefined)
      return drawer({ key, title: words.one, back, body: html`<p class="quiet-text">${words.gone}</p>` });
    const stories = storied.flatMap((name) => {
      const value = line.fields[name];
      return typeof value === "string" ? [value] : [];
    });
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
        ${stories.length === 0 ? nothing : html`<p><a href=${addressOf("why", [stories[0] ?? ""])}>${words.story}</a></p>`}`,
    });
  }

  #choose({ target }: Event): void {
    this.#level = (target as HTMLSelectElement).value as Level;
    this.requestUpdate();
  }

  #parsed(line: string): Line {
    const key = String((this.#count += 1));
    const bare = {
      key,
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
    if (typeof read !== "object" || read === null) return bare;
    const {
      level,
      time,
      msg,
      pid: _pid,
      hostname: _host,
      ...fields
    } = read as { readonly [name: string]: unknown };
    return {
      key,
      atMs: typeof time === "number" ? time : Date.parse(String(time)) || bare.atMs,
      level: levelOf(level),
      message: typeof msg === "string" ? msg : "",
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

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  const short = JSON.stringify(value);
  return short.length <= 80 ? short : JSON.stringify(value, null, 2);
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
