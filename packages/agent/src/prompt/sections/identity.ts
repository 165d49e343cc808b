// Says who speaks. It is the only section of mode `none`.
import { neverDropped, type StableSection } from "../section.ts";

export const identity: StableSection = {
  id: "identity",
  title: "Identity",
  level: 0,
  zone: "stable",
  modes: ["full", "minimal", "none"],
  priority: neverDropped,
  render: () => "You are a personal assistant running inside Parley.",
  why: () => "always",
};
