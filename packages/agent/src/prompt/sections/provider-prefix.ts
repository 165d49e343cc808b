// Holds the provider's text before the cache boundary.
import type { StableSection } from "../section.ts";

export const providerPrefix: StableSection = {
  id: "provider_prefix",
  title: "Provider prefix",
  level: 0,
  zone: "stable",
  modes: ["full"],
  priority: 50,
  render: ({ provider }) => provider?.stablePrefix ?? null,
  why: ({ provider }) =>
    provider?.stablePrefix === undefined ? "the provider adds no prefix" : "the provider adds a prefix",
};
