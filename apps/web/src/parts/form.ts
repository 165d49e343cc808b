// A form from a list of fields. What was typed stays until it was taken; what is wrong stands at its field,
// or above the button when the gateway says it.
import { html, nothing, type TemplateResult } from "lit";

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly help?: string;
  readonly kind?: "text" | "password" | "number" | "long" | "choice" | "switch";
  readonly value?: string;
  readonly choices?: readonly string[];
  /** What may be meant, offered while somebody types. */
  readonly suggestions?: readonly { readonly value: string; readonly label: string }[];
  readonly required?: boolean;
  readonly autocomplete?: string;
  /** What is wrong with it, as somebody found. */
  readonly wrong?: string;
}

export function form(parts: {
  readonly fields: readonly Field[];
  /** What the button does, in words. */
  readonly submit: string;
  readonly wrong?: string | null;
  readonly isBusy?: boolean;
  /** The values by name; a switch is "on" or absent. */
  readonly onSubmit: (values: { readonly [name: string]: string }) => void;
}): TemplateResult {
  const { fields, submit, wrong, isBusy, onSubmit } = parts;
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    const entries = [...new FormData(event.target as HTMLFormElement)];
    onSubmit(
      Object.fromEntries(entries.map(([name, value]) => [name, typeof value === "string" ? value : ""])),
    );
  };
  return html`<form class="form" @submit=${send}>
    ${fields.map(fieldOf)}
    ${wrong === null || wrong === undefined ? nothing : html`<p class="wrong" role="alert">${wrong}</p>`}
    <div><button ?disabled=${isBusy === true}>${submit}</button></div>
  </form>`;
}

function fieldOf(field: Field): TemplateResult {
  const { name, label, help, wrong } = field;
  const described = [
    help === undefined ? "" : `${name}-help`,
    wrong === undefined ? "" : `${name}-wrong`,
  ].join(" ");
  return html`<div>
    <label for=${name}>${label}</label>
    ${help === undefined ? nothing : html`<p class="help" id="${name}-help">${help}</p>`}
    ${inputOf(field, described.trim())}
    ${wrong === undefined ? nothing : html`<p class="wrong" id="${name}-wrong">${wrong}</p>`}
  </div>`;
}

function inputOf(field: Field, described: string): TemplateResult {
  const { name, kind = "text", value = "", choices = [], required = false, autocomplete = "off" } = field;
  const by = described === "" ? nothing : described;
  const invalid = field.wrong === undefined ? nothing : "true";
  if (kind === "long")
    return html`<textarea
      id=${name}
      name=${name}
      rows="6"
      ?required=${required}
      aria-describedby=${by}
      aria-invalid=${invalid}
      .defaultValue=${value}
    ></textarea>`;
  if (kind === "choice")
    return html`<select id=${name} name=${name} ?required=${required} aria-describedby=${by}>
      ${choices.map((each) => html`<option ?selected=${each === value}>${each}</option>`)}
    </select>`;
  if (kind === "switch")
    return html`<input
      type="checkbox"
      id=${name}
      name=${name}
      ?checked=${value === "on"}
      aria-describedby=${by}
    />`;
  const { suggestions = [] } = field;
  return html`<input
      type=${kind}
      id=${name}
      name=${name}
      ?required=${required}
      autocomplete=${autocomplete}
      aria-describedby=${by}
      aria-invalid=${invalid}
      list=${suggestions.length === 0 ? nothing : `${name}-suggestions`}
      .defaultValue=${value}
    />${
      suggestions.length === 0
        ? nothing
        : html`<datalist id="${name}-suggestions">
            ${suggestions.map((each) => html`<option value=${each.value} label=${each.label}></option>`)}
          </datalist>`
    }`;
}
