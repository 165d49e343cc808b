// The workspace files themselves, already trimmed to their caps. The largest section, so it is the first to
// be made smaller.
import type { BootstrapFile } from "../../workspace/snapshot.ts";
import { cutMarker, trimToCaps } from "../../workspace/trim.ts";
import { truncationWarning } from "../../workspace/warning.ts";
import { readsWorkspace, type StableFacts } from "../facts.ts";
import { plainLine } from "../../plain-line.ts";
import type { StableSection } from "../section.ts";

const pathChars = 1024;
const soulRule =
  "If SOUL.md is present, embody its persona and tone. Avoid stiff, generic replies; follow its guidance unless higher-priority instructions override it.";

export const projectContext: StableSection = {
  id: "project_context",
  title: "Project Context",
  level: 1,
  zone: "stable",
  modes: ["full", "minimal"],
  priority: 80,
  shrinksFirst: true,
  render: (facts) => text(facts, facts.files),
  shrink: (facts, maxChars) => {
    const headings = facts.files.files.length * 32 + soulRule.length;
    return text(
      facts,
      trimToCaps(facts.files, { fileChars: maxChars, totalChars: Math.max(0, maxChars - headings) }),
    );
  },
  why: ({ files }) => {
    const present = files.files.filter((file) => file.state === "present").length;
    return files.files.length === 0
      ? "no workspace files for this session"
      : `${present} of ${files.files.length} workspace files are present`;
  },
};

function text(facts: StableFacts, { files }: StableFacts["files"]): string | null {
  if (files.length === 0) return null;
  const hasSoul = files.some((file) => file.name === "SOUL.md" && file.state === "present");
  const warning = facts.warnTruncation ? truncationWarning(facts.files, readsWorkspace(facts)) : null;
  return [
    ...(hasSoul ? [soulRule] : []),
    ...(warning === null ? [] : [warning]),
    ...files.map((file) => `## ${file.name}\n\n${injected(file, facts)}`),
  ].join("\n\n");
}

function injected(
  { name, path, state, text: content, truncated }: BootstrapFile,
  facts: StableFacts,
): string {
  // Where tools cannot reach the workspace its place on the host says nothing.
  const isHidden = facts.sandbox?.access === "none";
  if (state === "refused")
    return `[${plainLine(isHidden ? content.replaceAll(path, name) : content, pathChars)}]`;
  if (state === "missing")
    return isHidden ? "[missing]" : `[missing: expected at ${plainLine(path, pathChars)}]`;
  const reads = readsWorkspace(facts);
  if (content === "" && truncated)
    return reads ? `[...omitted, read ${name} for full content...]` : `[...${name} omitted...]`;
  return truncated && !reads
    ? content.replace(cutMarker(name), `\n\n[...${name} truncated...]\n\n`)
    : content;
}
