// Implements /activation: owners set whether the agent answers everything in this group or only messages that
// call it. The session stores the choice, which overrides the config.
import type { SessionKey } from "@parley/protocol";
import type { Session, Sessions } from "@parley/store";
import type { Activation } from "@parley/access";
import type { InLaneCommand } from "../chat-command.ts";

const field = "activation";

export function activationOf(session: Session): Activation | null {
  const value = session.fields[field];
  return value === "mention" || value === "always" ? value : null;
}

export const activation: InLaneCommand = {
  name: "activation",
  summary: "answer to everything in this group, or only when mentioned",
  place: "in-lane",
  ownersOnly: true,
  run: ({ key, args, inbound }, { store: { sessions } }) =>
    setActivation(sessions, key, args, inbound.address.kind !== "dm"),
};

/** Returns the answer. `shared`: several people write where the command was given. */
async function setActivation(
  sessions: Sessions,
  key: SessionKey,
  args: string,
  shared: boolean,
): Promise<string> {
  if (!shared) return "In private I answer everything; /activation is for groups.";
  const wanted = args.trim().toLowerCase();
  if (wanted === "mention" || wanted === "always") {
    await sessions.patch(key, { [field]: wanted });
    return wanted === "always"
      ? "From now on I answer to everything here."
      : "From now on I answer here only when I am mentioned.";
  }
  if (wanted === "default") {
    await sessions.patch(key, { [field]: null });
    return "From now on I do here as the config says.";
  }
  const now = activationOf(await sessions.open(key));
  return `Activation: ${now ?? "as the config says"}.\nUsage: /activation mention|always, or /activation default.`;
}
