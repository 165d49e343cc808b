// Keeps the name that a person gave a session, in a field of it, so that it lives as long as the session.
import type { Session } from "@parley/store";

export const nameField = "name";

export function nameOf({ fields }: Pick<Session, "fields">): string | null {
  const name = fields[nameField];
  return typeof name === "string" && name !== "" ? name : null;
}
