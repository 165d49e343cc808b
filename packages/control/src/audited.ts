// Says what the audit log keeps of a call: who, by which token, what about and how it ended. It picks ids,
// names and places from the parameters, never values, secrets or words of people.
import { isFault, methods, type AuditRecord, type MethodName } from "@parley/protocol";
import type { Caller } from "./auth/authenticate.ts";

export type WriteAudit = (record: Omit<AuditRecord, "atMs">) => void;

const shownFields = new Set(
  "id key name path decision agent session scopes lane reason config model enabled confirm grants".split(" "),
);
const mostChars = 200;
const mostListed = 50;

/** What only reads, what people say in their own chats, and what devices answer is not recorded. */
export function isAudited(method: MethodName): boolean {
  const { scope, sessions } = methods[method];
  return scope !== "read" && scope !== "device" && sessions !== "own";
}

export function auditOf(
  method: MethodName,
  params: unknown,
  { device, client, address }: Caller,
  error: unknown,
): Omit<AuditRecord, "atMs"> {
  const failed = error !== undefined;
  return {
    method,
    by: device !== null ? `device:${device}` : client.name === "once" ? "once" : "gateway-token",
    client: client.name.slice(0, mostChars),
    address,
    about: aboutOf(method, params),
    ok: !failed,
    ...(failed ? { code: isFault(error) ? error.code : "internal" } : {}),
  };
}

function aboutOf(method: MethodName, params: unknown): AuditRecord["about"] {
  // A pairing's code is a credential; whoever is forgotten must not stand here.
  if (method === "pairing.approve" || method.startsWith("people.")) return {};
  if (typeof params !== "object" || params === null) return {};
  const about: { [name: string]: AuditRecord["about"][string] } = {};
  for (const [name, value] of Object.entries(params)) {
    if (name === "changes" && Array.isArray(value))
      about["changes"] = value.slice(0, mostListed).map(placeOf);
    if (!shownFields.has(name)) continue;
    if (typeof value === "string") about[name] = value.slice(0, mostChars);
    else if (typeof value === "number" || typeof value === "boolean") about[name] = value;
    else if (Array.isArray(value) && value.every((each) => typeof each === "string"))
      about[name] = value.slice(0, mostListed).map((each) => each.slice(0, mostChars));
  }
  return about;
}

/** Of a change of the config the place, without the value. */
function placeOf(change: unknown): string {
  const path = (change as { readonly path?: unknown } | null)?.path;
  return Array.isArray(path) ? path.join(".").slice(0, mostChars) : "";
}
