// Says what the audit log keeps of a call: who, by which token, what about and how it ended. It picks ids,
// names and places from the parameters, never values, secrets or words of people.
import { isFault, methods, type AuditRecord, type Clock, type MethodName } from "@parley/protocol";
import type { Caller } from "./auth/authenticate.ts";

export type WriteAudit = (record: Omit<AuditRecord, "atMs">) => void;

const shownFields = new Set(
  "id key name path decision agent session turn scopes lane reason config model enabled confirm grants".split(
    " ",
  ),
);
const mostChars = 200;
const mostListed = 50;

/** They show what only operators may see, and change nothing: an open page asks for them again and again. */
const looks: ReadonlySet<MethodName> = new Set([
  "audit.list",
  "backups.list",
  "config.text",
  "config.validate",
  "devices.list",
  "logs.tail",
  "prompt.show",
  "update.check",
] as const);
/** A look ends when nothing was asked for this long. */
const lookEndsMs = 300_000;
/** Remembered of one caller; the one that was not asked for the longest is recorded anew. */
const mostLooks = 100;

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

/**
 * Tells whether a record goes on with a look that stands in the log already: one caller sees one thing over
 * one connection. Whoever comes back later, or asks for something else, or is refused, has a record.
 */
export function looking(clock: Clock): (record: Omit<AuditRecord, "atMs">, caller: Caller) => boolean {
  const lastMs = new WeakMap<Caller, Map<string, number>>();
  return ({ method, about, ok }, caller) => {
    if (!ok || !looks.has(method as MethodName)) return false;
    const seen = lastMs.get(caller) ?? new Map<string, number>();
    lastMs.set(caller, seen);
    const what = JSON.stringify([method, about]);
    const [now, before] = [clock.mono(), seen.get(what)];
    seen.delete(what);
    const [oldest] = seen.keys();
    if (oldest !== undefined && seen.size >= mostLooks) seen.delete(oldest);
    seen.set(what, now);
    return before !== undefined && now - before < lookEndsMs;
  };
}
