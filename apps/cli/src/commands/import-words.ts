// Tells a person what became of everything that `parley import` met: by kinds, what needs a look first, what
// is left to do last.
import { line, styled, type Console } from "../console.ts";

interface Met {
  readonly what: string;
  readonly name: string;
  readonly fate: "carried" | "changed" | "there" | "refused" | "unknown";
  readonly to?: string;
  readonly why?: string;
}

export interface Imported {
  readonly from: string;
  readonly home: string;
  readonly applied: boolean;
  readonly changes: boolean;
  readonly met: readonly Met[];
  readonly todo: readonly string[];
}

const kinds: { readonly [what: string]: string } = {
  key: "Config",
  variable: "Variables",
  file: "Files",
  owner: "Owners",
  person: "People",
  job: "Schedules",
  session: "Conversations",
  other: "Not looked into",
};

/** `all`: also every file and key that is as it was. */
export function tellImport(
  terminal: Pick<Console, "out" | "env">,
  { home, applied, changes, met, todo }: Imported,
  all: boolean,
): void {
  const { out, env } = terminal;
  for (const [what, title] of Object.entries(kinds)) {
    const found = met.filter((each) => each.what === what);
    if (found.length === 0) continue;
    const plain = found.filter(({ fate }) => fate === "carried" || fate === "there");
    line(out, styled(out, env, "bold", title));
    // Hundreds of files that are as they were would hide what a person must look at.
    const isShort = !all && (what === "file" || what === "key");
    for (const each of isShort ? found.filter((one) => !plain.includes(one)) : found) line(out, lineOf(each));
    if (isShort && plain.length > 0) line(out, `  ${plain.length} as they are (--all shows them)`);
  }
  const left = met.filter(({ fate }) => fate === "refused" || fate === "unknown").length;
  if (left > 0) line(out, `${left} things are not carried; each has its reason above.`);
  for (const each of todo) line(out, `To do: ${each}`);
  if (!changes) line(out, "Nothing is left to carry: everything is there already.");
  else if (applied) line(out, `Carried into ${home}. Start it: parley start`);
  else line(out, "This was a dry run: nothing was written. Stop both gateways and add --apply to do it.");
}

function lineOf({ name, fate, to, why }: Met): string {
  const where = to === undefined || to === name ? "" : ` -> ${to}`;
  return `  ${fate.padEnd(8)} ${name}${where}${why === undefined ? "" : `: ${why}`}`;
}
