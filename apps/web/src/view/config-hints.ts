// A text field for the config file offers and marks by this: the keys and values of its schema where somebody
// types, and each mistake at its word.
import type { CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Diagnostic } from "@codemirror/lint";
import type { Text } from "@codemirror/state";
import { placeAt } from "../parts/json5-place.ts";
import { below, choicesOf, type Schema } from "../parts/schema.ts";

export interface Mistake {
  /** Counted from 1. */
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly message: string;
  readonly fix?: string | undefined;
  readonly isWarning: boolean;
}

/** Line and column count from 1; what lies outside of the text is the nearest place in it. */
export function offsetOf(doc: Text, line: number, column: number): number {
  const at = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(at.from + Math.max(column, 1) - 1, at.to);
}

/** A mistake without a line is shown elsewhere. */
export function diagnosticsOf(doc: Text, mistakes: readonly Mistake[]): readonly Diagnostic[] {
  return mistakes.flatMap(({ line, column, message, fix, isWarning }) => {
    if (line === undefined) return [];
    const from = offsetOf(doc, line, column ?? 1);
    const word = /^[\w$"'-]+/.exec(doc.sliceString(from, doc.lineAt(from).to))?.[0].length ?? 0;
    return [
      {
        from,
        to: from + word,
        severity: isWarning ? "warning" : "error",
        message: fix === undefined ? message : `${message}. ${fix}`,
      },
    ];
  });
}

export function completionsAt(context: CompletionContext, root: Schema | null): CompletionResult | null {
  const place = placeAt(context.state.doc.toString(), context.pos);
  if (place === null || root === null) return null;
  const isAsked = context.explicit || place.isQuoted || place.from < context.pos;
  if (!isAsked) return null;
  const { path, expects, from, isQuoted } = place;
  const schema = path.reduce<Schema | null>((at, step) => (at === null ? null : within(at, step)), root);
  if (schema === null) return null;
  const options =
    expects === "key"
      ? namesOf(schema).map(([name, at]) => ({
          label: name,
          ...(at.description === undefined ? {} : { info: at.description }),
          apply: isQuoted ? name : /^[A-Za-z_$][\w$]*$/.test(name) ? `${name}: ` : `"${name}": `,
        }))
      : valuesOf(schema).map((value) => ({
          label: value,
          apply: isQuoted || /^(?:true|false|null|-?\d+(?:\.\d+)?)$/.test(value) ? value : `"${value}"`,
        }));
  return options.length === 0 ? null : { from, options, validFor: /^[\w$.-]*$/ };
}

/** One of several kinds may be the block that has the name. */
function within(schema: Schema, step: string | number): Schema | null {
  for (const each of [schema, ...(schema.anyOf ?? [])]) {
    const found = below(each, step);
    if (found !== null) return found;
  }
  return null;
}

function namesOf(schema: Schema): readonly (readonly [string, Schema])[] {
  return [schema, ...(schema.anyOf ?? [])].flatMap(({ properties }) => Object.entries(properties ?? {}));
}

function valuesOf(schema: Schema): readonly string[] {
  const isSwitch = [schema, ...(schema.anyOf ?? [])].some(({ type }) => type === "boolean");
  const { default: usual } = schema;
  const byDefault =
    typeof usual === "string" || typeof usual === "number" || typeof usual === "boolean"
      ? [String(usual)]
      : [];
  return [...new Set([...choicesOf(schema), ...(isSwitch ? ["true", "false"] : []), ...byDefault])];
}
