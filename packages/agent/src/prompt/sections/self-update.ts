// Config changes and updates happen on explicit request only.
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
          "Self-update is ONLY allowed when the user explicitly asks for it. Do not run config.apply or update.run unless an update or config change was requested; if it is not explicit, ask first.",
          `With \`${tools.name("gateway")}\`: config.schema.lookup explains a key, config.patch changes some, config.apply replaces all, update.run updates. It refuses to change exec security.`,
        ].join("\n")
      : null,
  why: ({ tools }) => (tools.has("gateway") ? "the gateway tool is available" : "no gateway tool"),
};
