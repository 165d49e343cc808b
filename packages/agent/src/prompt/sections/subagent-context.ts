// Tells a subagent its task: minimal mode's counterpart of the group context.
import { neverDropped, type VolatileSection } from "../section.ts";

export const subagentContext: VolatileSection = {
  id: "subagent_context",
  title: "Subagent Context",
  level: 2,
  zone: "volatile",
  modes: ["minimal"],
  priority: neverDropped,
  render: ({ surface }) => surface.context ?? null,
  why: ({ surface }) =>
    surface.context === undefined ? "no context was handed over" : "the parent handed over a context",
};
