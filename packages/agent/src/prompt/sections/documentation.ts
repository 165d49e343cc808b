// Where Parley is described, so that questions about it are answered from the docs instead of from memory.
import type { StableFacts } from "../facts.ts";
import { plainLine } from "../plain-line.ts";
import type { StableSection } from "../section.ts";

const pathChars = 400;

export const documentation: StableSection = {
  id: "documentation",
  title: "Documentation",
  level: 2,
  zone: "stable",
  modes: ["full"],
  priority: 30,
  render: ({ docs, tools }) => (docs === undefined ? null : text(docs, tools)),
  why: ({ docs }) =>
    docs === undefined
      ? "no documentation is configured"
      : docs.path === undefined
        ? "local docs are missing: public address"
        : "local docs",
};

function text(docs: NonNullable<StableFacts["docs"]>, tools: StableFacts["tools"]): string {
  const where = docs.path ?? docs.publicUrl;
  const schema = tools.has("gateway") ? [`For config keys, first ask \`${tools.name("gateway")}\` for config.schema.lookup.`] : [];
  return [
    `Parley docs: ${plainLine(where, pathChars)}`,
    ...(docs.path === undefined ? [] : [`Public docs: ${plainLine(docs.publicUrl, pathChars)}`]),
    `Source: ${plainLine(docs.source, pathChars)} (look there when the docs are incomplete or stale)`,
    "For Parley behavior, commands, config, or architecture: consult the docs first.",
    ...schema,
    "When diagnosing issues, run `parley status` yourself when possible; ask the user only if you lack access (e.g. sandboxed).",
  ].join("\n");
}
