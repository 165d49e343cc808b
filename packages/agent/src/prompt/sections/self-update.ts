// Config changes, restarts and updates happen on explicit request only.
import type { StableSection } from "../section.ts";

export const selfUpdate: StableSection = {
  id: "self_update",
  title: "Parley Self-Update",
  level: 2,
  zone: "stable",
  modes: ["full"],
  priority: 40,
  render: ({ tools }) =>
    tools.has("gateway")
      ? [
          "Change, restart or update Parley ONLY when the user explicitly asks for it. Do not run config.patch, config.apply, restart or update.run unless that was requested; if it is not explicit, ask first.",
          `With \`${tools.name("gateway")}\`: config.schema.lookup explains a key, config.get reads, config.patch changes some keys, config.apply replaces all, restart restarts, update.check tells whether there is a newer Parley, update.run updates it. It changes only settings that protect nobody, and refuses all others.`,
        ].join("\n")
      : null,
  why: ({ tools }) => (tools.has("gateway") ? "the gateway tool is available" : "no gateway tool"),
};
