// A slot that only a provider fills.
import type { StableSection } from "../section.ts";

export const interactionStyle: StableSection = {
  id: "interaction_style",
  title: "Interaction Style",
  level: 2,
  zone: "stable",
  modes: ["full"],
  priority: 50,
  render: ({ provider }) => provider?.replace?.interaction_style ?? null,
  why: ({ provider }) =>
    provider?.replace?.interaction_style === undefined
      ? "no provider contribution fills it"
      : "filled by the provider",
};
