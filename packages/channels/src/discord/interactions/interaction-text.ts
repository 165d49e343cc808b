// The text of an interaction: a slash command as typed, a button's value, a menu's choice, or a form's
// fields.
import type { APIInteraction } from "discord-api-types/v10";

export const interactionTypes = { ping: 1, command: 2, component: 3, autocomplete: 4, modal: 5 } as const;

interface Option {
  readonly name: string;
  readonly value?: unknown;
  readonly options?: readonly Option[];
}

/** `/name subcommand value value`. Option names come from the menu; only their values are the person's. */
export function commandText(interaction: APIInteraction): string {
  const { name, options } = (interaction.data ?? {}) as {
    readonly name?: unknown;
    readonly options?: readonly Option[];
  };
  if (typeof name !== "string") throw new Error("it names no command");
  return [`/${name}`, ...words(options ?? [])].join(" ");
}

function words(options: readonly Option[]): string[] {
  return options.flatMap(({ name, value, options: inner }) =>
    value === undefined ? [name, ...words(inner ?? [])] : [wordOf(value)],
  );
}

interface Field {
  readonly custom_id?: string;
  readonly value?: unknown;
  readonly values?: readonly unknown[];
  readonly components?: readonly Field[];
  readonly component?: Field;
}

/** A button's value, a menu's choice, or a form's value followed by one line per field. */
export function formText(interaction: APIInteraction): string {
  const data = (interaction.data ?? {}) as Field;
  if (data.values !== undefined) return data.values.map(wordOf).join(", ");
  if (typeof data.custom_id !== "string") throw new Error("it names no component");
  return [data.custom_id, ...lines(data.components ?? [])].join("\n");
}

function lines(fields: readonly Field[]): string[] {
  return fields.flatMap(({ custom_id: name, value, values, components, component }) => {
    const said = value === undefined ? values?.map(wordOf).join(", ") : wordOf(value);
    const own = name === undefined || said === undefined ? [] : [`${name}: ${said}`];
    return [...own, ...lines(components ?? []), ...(component === undefined ? [] : lines([component]))];
  });
}

/** Option values are texts, numbers, booleans or ids. */
function wordOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function customIdOf(interaction: APIInteraction): string {
  const { custom_id: id } = (interaction.data ?? {}) as { readonly custom_id?: unknown };
  return typeof id === "string" ? id : "";
}
