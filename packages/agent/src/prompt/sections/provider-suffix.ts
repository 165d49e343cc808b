// Holds the provider's text after the cache boundary.
import type { VolatileSection } from "../section.ts";

export const providerSuffix: VolatileSection = {
  id: "provider_suffix",
  title: "Provider suffix",
  level: 0,
  zone: "volatile",
  modes: ["full"],
  priority: 40,
  render: ({ stable }) => stable.provider?.dynamicSuffix ?? null,
  why: ({ stable }) =>
    stable.provider?.dynamicSuffix === undefined
      ? "the provider adds no suffix"
      : "the provider adds a suffix",
};
