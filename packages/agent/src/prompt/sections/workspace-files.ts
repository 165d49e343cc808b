// Announces what Project Context holds, and that people edit these files.
import type { StableFacts } from "../facts.ts";
import type { StableSection } from "../section.ts";

export const workspaceFiles: StableSection = {
  id: "workspace_files",
  title: "Workspace Files (injected)",
  level: 2,
  zone: "stable",
  modes: ["full"],
  priority: 50,
  render: (facts) => {
    const names = loaded(facts);
    return names.length === 0
      ? null
      : `These user-editable files are loaded by Parley and included below in Project Context: ${names.join(", ")}.`;
  },
  why: (facts) => `${loaded(facts).length} workspace files are loaded`,
};

function loaded({ files }: StableFacts): string[] {
  return files.files.filter((file) => file.state === "present").map((file) => file.name);
}
