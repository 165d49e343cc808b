// Checks the rules of components that Discord's description leaves out: the size of a row, ids that must
// differ, and kinds that need the new flag.
import { ComponentType as Type, MessageFlags } from "discord-api-types/v10";
import { badField } from "./refusal.ts";

interface Component {
  readonly type: number;
  readonly style?: number;
  readonly custom_id?: string;
  readonly label?: string;
  readonly emoji?: unknown;
  readonly url?: string;
  readonly options?: readonly { readonly value: string }[];
  readonly components?: readonly Component[];
  readonly accessory?: Component;
  readonly min_values?: number;
  readonly max_values?: number;
}

type Path = readonly (string | number)[];

const maxRows = 5;
const maxInRow = 5;
const linkStyle = 5;

/** Throws DiscordRefusal (50035) for the first rule broken. */
export function checkComponents(
  components: readonly Component[],
  flags: number,
  prefix: readonly string[],
): void {
  const root: Path = [...prefix, "components"];
  const isNew = (flags & MessageFlags.IsComponentsV2) !== 0;
  if (!isNew && components.length > maxRows)
    throw badField(root, "BASE_TYPE_BAD_LENGTH", `Must be between 1 and ${maxRows} in length.`);
  const ids = new Set<string>();
  components.forEach((component, index) => {
    const path = [...root, index];
    if (!isNew && component.type !== Type.ActionRow)
      throw badField([...path, "type"], "UNION_TYPE_CHOICES", 'Value of field "type" must be one of (1,).');
    visit(component, path, ids);
  });
}

function visit(component: Component, path: Path, ids: Set<string>): void {
  if (component.type === Type.ActionRow) checkRow(component.components ?? [], path);
  if (component.type === Type.Button) checkButton(component, path);
  if (component.type === Type.StringSelect) checkSelect(component, path);
  if (component.custom_id !== undefined) {
    if (ids.has(component.custom_id))
      throw badField(
        [...path, "custom_id"],
        "COMPONENT_CUSTOM_ID_DUPLICATED",
        "Component custom id cannot be duplicated",
      );
    ids.add(component.custom_id);
  }
  component.components?.forEach((inner, index) => visit(inner, [...path, "components", index], ids));
  if (component.accessory !== undefined) visit(component.accessory, [...path, "accessory"], ids);
}

function checkRow(inside: readonly Component[], path: Path): void {
  const selects = inside.filter((component) => component.type !== Type.Button).length;
  if (inside.length > maxInRow || (selects > 0 && inside.length > 1))
    throw badField(
      [...path, "components"],
      "COMPONENT_LAYOUT_WIDTH_EXCEEDED",
      "The specified component exceeds the maximum width",
    );
}

function checkButton({ style, custom_id: id, label, emoji, url }: Component, path: Path): void {
  if (style === linkStyle) {
    if (url === undefined || id !== undefined)
      throw badField([...path, "url"], "BASE_TYPE_REQUIRED", "A url is required, and no custom id");
    return;
  }
  if (id === undefined && style !== 6)
    throw badField([...path, "custom_id"], "BASE_TYPE_REQUIRED", "A custom id is required");
  if (url !== undefined)
    throw badField(
      [...path, "url"],
      "BUTTON_COMPONENT_INVALID_URL",
      "A custom id and url cannot both be specified",
    );
  if ((label ?? "") === "" && emoji === undefined)
    throw badField([...path, "label"], "BUTTON_COMPONENT_INVALID_LABEL", "A label or emoji is required");
}

function checkSelect(
  { options = [], min_values: min = 1, max_values: max = 1 }: Component,
  path: Path,
): void {
  if (options.length === 0 || options.length > 25)
    throw badField([...path, "options"], "BASE_TYPE_BAD_LENGTH", "Must be between 1 and 25 in length.");
  if (new Set(options.map((option) => option.value)).size < options.length)
    throw badField(
      [...path, "options"],
      "SELECT_COMPONENT_OPTION_VALUE_DUPLICATED",
      "The specified option value is already used",
    );
  if (max > options.length || min > max)
    throw badField(
      [...path, "max_values"],
      "BASE_TYPE_BAD_LENGTH",
      "max_values must be between min_values and the number of options",
    );
}
