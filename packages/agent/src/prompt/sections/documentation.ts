// Tells where Parley's docs are, so that questions about it are answered from them instead of from memory.
// Only told where a tool opens them.
import { runsOnHost, type DocumentationFacts, type StableFacts } from "../facts.ts";
import { plainLine } from "../../plain-line.ts";
import type { StableSection } from "../section.ts";

const pathChars = 400;

export const documentation: StableSection = {
  id: "documentation",
  title: "Documentation",
  level: 2,
  zone: "stable",
  modes: ["full"],
  priority: 30,
  render: (facts) => (facts.docs === undefined || !opens(facts) ? null : text(facts, facts.docs)),
  why: (facts) =>
    facts.docs === undefined
      ? "no docs lie beside this program"
      : opens(facts)
        ? "local docs"
        : "no tool to read the docs with",
};

function opens({ tools }: StableFacts): boolean {
  return tools.any("read", "exec");
}

function text(facts: StableFacts, docs: DocumentationFacts): string {
  const { tools, cli } = facts;
  const source =
    docs.source !== undefined && runsOnHost(facts)
      ? [`Source: ${plainLine(docs.source, pathChars)} (look there when the docs are incomplete or stale)`]
      : [];
  const schema = tools.has("gateway")
    ? [`For config keys, first ask \`${tools.name("gateway")}\` for config.schema.lookup.`]
    : [];
  return [
    `Parley docs: ${plainLine(docs.path, pathChars)} (README.md lists the pages)`,
    ...source,
    "For Parley behavior, commands, config, or architecture: consult the docs first.",
    ...schema,
    cli !== undefined && runsOnHost(facts)
      ? `When diagnosing issues, run \`${plainLine(cli, pathChars)} status\` yourself when possible.`
      : "When diagnosing issues, ask the person for what `parley status` prints.",
  ].join("\n");
}
