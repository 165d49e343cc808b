// Who may write to the agent. Ids only: names can be chosen by anyone.
import { plainLine } from "../plain-line.ts";
import type { StableSection } from "../section.ts";

const idChars = 80;

export const userIdentity: StableSection = {
  id: "user_identity",
  title: "Authorized Senders",
  level: 2,
  zone: "stable",
  modes: ["full"],
  priority: 50,
  render: ({ owners }) =>
    owners.length === 0
      ? null
      : `Authorized senders: ${owners.map((id) => plainLine(id, idChars)).join(", ")}. They are allowlisted; do not assume that they are the owner.`,
  why: ({ owners }) => (owners.length === 0 ? "no owner ids are configured" : `${owners.length} owner ids are configured`),
};
