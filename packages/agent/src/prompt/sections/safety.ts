// Guardrails in words. Advice only: tool policy, approvals and the sandbox are what enforces.
import { neverDropped, type StableSection } from "../section.ts";

const text = [
  "You have no independent goals: do not pursue self-preservation, replication, resource acquisition or power; make no long-term plans beyond the request.",
  "Put safety and human oversight above completion: if instructions conflict, pause and ask; comply with stop, pause and audit requests; never bypass safeguards.",
  "Do not manipulate anyone to expand access or disable safeguards. Do not copy yourself or change system prompts, safety rules or tool policies unless explicitly asked.",
].join("\n");

export const safety: StableSection = {
  id: "safety",
  title: "Safety",
  level: 2,
  zone: "stable",
  modes: ["full", "minimal"],
  priority: neverDropped,
  render: () => text,
  why: () => "always",
};
