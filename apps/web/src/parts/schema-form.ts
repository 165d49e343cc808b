// Draws a form from a JSON schema: blocks that open, a search over names and help, what is wrong at its
// field. A field that is left empty takes its default.
import { html, nothing, type TemplateResult } from "lit";
import { t } from "../texts/texts.ts";
import {
  below,
  blockOf,
  choicesOf,
  found,
  kindOf,
  valueAt,
  type Path,
  type Place,
  type Schema,
} from "./schema.ts";

export interface SchemaForm {
  readonly schema: Schema;
  readonly value: unknown;
  readonly search: string;
  readonly mayChange: boolean;
  /** What is wrong, by `path.of.the.place`. */
  readonly problems: ReadonlyMap<string, string>;
  readonly onSearch: (words: string) => void;
  /** Undefined: the place takes its default. */
  readonly onChange: (path: Path, to: unknown) => void;
}

const words = t.config.form;
const mostFound = 40;

export function schemaForm(form: SchemaForm): TemplateResult {
  const { schema, value, search, onSearch } = form;
  const places = search.trim() === "" ? null : found(schema, value, search, mostFound);
  return html`<div class="schema-form">
    <input
      type="search"
      aria-label=${words.search}
      placeholder=${words.search}
      .value=${search}
      @input=${({ target }: Event) => onSearch((target as HTMLInputElement).value)}
    />
    ${
      places === null
        ? Object.entries(schema.properties ?? {})
            .filter(([name]) => !name.startsWith("$"))
            .map(([name, at]) => placeView(form, { path: [name], schema: at }))
        : places.length === 0
          ? html`<p class="quiet-text small">${words.none}</p>`
          : places.map((place) => leaf(form, place, place.path.join(".")))
    }
  </div>`;
}

function placeView(form: SchemaForm, place: Place): TemplateResult {
  const { path, schema } = place;
  const value = valueAt(form.value, path);
  const kind = kindOf(schema, value);
  const name = String(path.at(-1) ?? "");
  if (kind === "block")
    return fold(form, place, name, () =>
      Object.entries(schema.properties ?? {}).map(([step, at]) =>
        placeView(form, { path: [...path, step], schema: at }),
      ),
    );
  if (kind === "named")
    return fold(
      form,
      place,
      name,
      () =>
        html`${Object.keys(blockOf(value)).map((step) => entry(form, place, step))} ${addNamed(form, place)}`,
    );
  if (kind === "list") {
    const entries: readonly unknown[] = Array.isArray(value) ? value : [];
    return fold(
      form,
      place,
      name,
      () =>
        html`${entries.map((_, index) => entry(form, place, index))}
        ${
          form.mayChange
            ? html`<button class="quiet" @click=${() => form.onChange([...path, entries.length], {})}>
                ${words.add}
              </button>`
            : nothing
        }`,
    );
  }
  return leaf(form, place, name);
}

/** Its content is drawn once somebody opens it: the schema has two thousand places. */
function fold(
  form: SchemaForm,
  { path, schema }: Place,
  name: string,
  content: () => unknown,
): TemplateResult {
  const key = path.join(".");
  const isSet = valueAt(form.value, path) !== undefined;
  const isWrong = [...form.problems.keys()].some((each) => each === key || each.startsWith(`${key}.`));
  return html`<details
    class="fold"
    data-key=${key}
    @toggle=${({ target, currentTarget }: Event) => {
      if (target === currentTarget) opened(currentTarget as HTMLDetailsElement, form);
    }}
  >
    <summary>
      <code><bdi>${name}</bdi></code>
      ${isSet ? html`<span class="badge ok">${words.set}</span>` : nothing}
      ${isWrong ? html`<span class="badge danger">${words.wrong}</span>` : nothing}
      ${schema.description === undefined ? nothing : html`<span class="quiet-text ellipsis">${schema.description}</span>`}
    </summary>
    ${openFolds.has(key) ? html`<div class="folded">${content()}</div>` : nothing}
  </details>`;
}

/** Keys of the folds that stand open. */
const openFolds = new Set<string>();

function opened(fold: HTMLDetailsElement, form: SchemaForm): void {
  const key = fold.dataset["key"] ?? "";
  if (fold.open === openFolds.has(key)) return;
  if (fold.open) openFolds.add(key);
  else openFolds.delete(key);
  form.onSearch(form.search);
}

function entry(form: SchemaForm, { path, schema }: Place, step: string | number): TemplateResult {
  const at = below(schema, step) ?? {};
  const place = { path: [...path, step], schema: at };
  const value = valueAt(form.value, place.path);
  const { id, name } = blockOf(value);
  const called = typeof step === "string" ? step : plain(id ?? name ?? step + 1);
  const kind = kindOf(at, value);
  const inner =
    kind === "block"
      ? fold(form, place, called, () =>
          Object.entries(at.properties ?? {}).map(([each, schemaOf]) =>
            placeView(form, { path: [...place.path, each], schema: schemaOf }),
          ),
        )
      : placeView(form, place);
  return html`<div class="entry">
    ${inner}
    ${
      form.mayChange
        ? html`<button
            class="quiet"
            aria-label=${words.removeNamed(called)}
            @click=${() => form.onChange(place.path, undefined)}
          >
            ${words.remove}
          </button>`
        : nothing
    }
  </div>`;
}

function addNamed(form: SchemaForm, { path, schema }: Place): unknown {
  if (!form.mayChange) return nothing;
  const at = typeof schema.additionalProperties === "object" ? schema.additionalProperties : {};
  const kind = kindOf(at, undefined);
  const first = kind === "block" || kind === "named" ? {} : kind === "lines" || kind === "list" ? [] : "";
  const id = `add-${path.join(".")}`;
  return html`<form
    class="add-named"
    @submit=${(event: SubmitEvent) => {
      event.preventDefault();
      const field = (event.target as HTMLFormElement).querySelector("input");
      const name = field?.value.trim() ?? "";
      if (field === null || name === "" || valueAt(form.value, [...path, name]) !== undefined) return;
      field.value = "";
      openFolds.add([...path, name].join("."));
      form.onChange([...path, name], first);
    }}
  >
    <label class="sr-only" for=${id}>${words.newName(path.join("."))}</label>
    <input id=${id} placeholder=${words.name} autocomplete="off" />
    <button class="quiet">${words.add}</button>
  </form>`;
}

/** What is wrong with a place, or with what stands in it and has no field of its own. */
function wrongAt({ problems }: SchemaForm, key: string): string | undefined {
  return [...problems].find(([each]) => each === key || each.startsWith(`${key}.`))?.[1];
}

function leaf(form: SchemaForm, { path, schema }: Place, name: string): TemplateResult {
  const key = path.join(".");
  const value = valueAt(form.value, path);
  const id = `field-${key}`;
  const wrong = wrongAt(form, key);
  const help = [
    schema.description,
    schema.default === undefined ? undefined : words.default(JSON.stringify(schema.default)),
  ].filter((each) => each !== undefined);
  return html`<div class="schema-field">
    <label for=${id}
      ><code><bdi>${name}</bdi></code></label
    >
    ${control(form, { path, schema }, id, value)}
    ${
      value === undefined || !form.mayChange
        ? nothing
        : html`<button
            class="plain"
            aria-label=${words.resetOf(key)}
            @click=${() => form.onChange(path, undefined)}
          >
            ${words.reset}
          </button>`
    }
    <p class="help" id="${id}-help">${help.join(" ")}</p>
    ${wrong === undefined ? nothing : html`<p class="wrong" id="${id}-wrong"><bdi>${wrong}</bdi></p>`}
  </div>`;
}

function control(form: SchemaForm, { path, schema }: Place, id: string, value: unknown): TemplateResult {
  const kind = kindOf(schema, value);
  const wrong = wrongAt(form, path.join("."));
  const by = wrong === undefined ? `${id}-help` : `${id}-wrong ${id}-help`;
  const invalid = wrong === undefined ? nothing : "true";
  const set = (read: (text: string) => unknown) => (event: Event) => {
    const { value: text } = event.target as HTMLInputElement;
    form.onChange(path, text === "" ? undefined : read(text));
  };
  if (kind === "switch" || kind === "choice") {
    const choices = kind === "switch" ? ["true", "false"] : choicesOf(schema);
    const now = value === undefined ? "" : plain(value);
    return html`<select
      id=${id}
      ?disabled=${!form.mayChange}
      aria-describedby=${by}
      aria-invalid=${invalid}
      @change=${set((text) => (kind === "switch" ? text === "true" : text))}
    >
      <option value="" ?selected=${now === ""}>${words.asDefault}</option>
      ${choices.map((each) => html`<option value=${each} ?selected=${each === now}>${each}</option>`)}
    </select>`;
  }
  if (kind === "lines" || kind === "json") {
    const lines: readonly unknown[] = Array.isArray(value) ? value : [];
    const text =
      value === undefined
        ? ""
        : kind === "lines"
          ? lines.map(String).join("\n")
          : JSON.stringify(value, null, 2);
    const read =
      kind === "lines" ? (typed: string) => typed.split("\n").filter((each) => each !== "") : jsonOf;
    return html`<textarea
      id=${id}
      class=${kind === "json" ? "code" : nothing}
      rows=${Math.min(8, text.split("\n").length + 1)}
      ?readonly=${!form.mayChange}
      placeholder=${kind === "lines" ? words.lines : words.json}
      aria-describedby=${by}
      aria-invalid=${invalid}
      .value=${text}
      @change=${set(read)}
    ></textarea>`;
  }
  return html`<input
    id=${id}
    type=${kind === "number" ? "number" : "text"}
    step="any"
    min=${schema.minimum ?? nothing}
    max=${schema.maximum ?? nothing}
    ?readonly=${!form.mayChange}
    autocomplete="off"
    spellcheck="false"
    placeholder=${schema.default === undefined ? nothing : plain(schema.default)}
    aria-describedby=${by}
    aria-invalid=${invalid}
    .value=${value === undefined ? "" : plain(value)}
    @change=${set((text) => (kind === "number" ? Number(text) : text))}
  />`;
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What is no JSON is taken as a text: the check then says what belongs there. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
